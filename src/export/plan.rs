//! The plan itself, which Plimsoll opens again.

use super::{Error, Export, Exporter};

/// The plan file.
pub(super) struct PlanFile;

const ID: &str = "plan";

impl Exporter for PlanFile {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "Plan"
    }

    fn extension(&self) -> &'static str {
        "toml"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        export
            .plan
            .to_toml()
            .map_err(|error| Error::NotExpressible {
                target: ID,
                what: format!("this plan: {error}"),
            })
    }
}

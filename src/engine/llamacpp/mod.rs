//! llama.cpp: `llama-server` as built from the versions in `version`.

use super::launch::{Launch, LaunchInputs};
use super::setting::Setting;
use super::{Axis, Engine, Inputs, Outcome};
use crate::plan::Settings;

/// The engine.
pub struct LlamaCpp;

impl Engine for LlamaCpp {
    fn id(&self) -> &'static str {
        "llama.cpp"
    }

    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    fn newest_version(&self) -> &'static str {
        "0.6.0"
    }

    fn axes(&self) -> &'static [Axis] {
        &[Axis {
            setting: "ctx_size",
            logarithmic: true,
        }]
    }

    fn project(&self, _inputs: &Inputs<'_>) -> Outcome {
        Outcome::default()
    }

    fn starting_settings(&self, _inputs: &Inputs<'_>) -> Settings {
        Settings::new()
    }

    fn launch(&self, _inputs: &LaunchInputs<'_>) -> Launch {
        Launch::default()
    }
}

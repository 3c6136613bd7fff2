//! A launch written for a target. One file per target, one line in [`EXPORTERS`].

use crate::engine::launch::Launch;
use crate::model::Model;
use crate::plan::Plan;
use crate::report::Report;

/// Every target, in the order offered.
pub const EXPORTERS: &[&dyn Exporter] = &[];

/// The exporter with this identity, in any case of letters.
pub fn find(id: &str) -> Option<&'static dyn Exporter> {
    EXPORTERS
        .iter()
        .copied()
        .find(|exporter| exporter.id().eq_ignore_ascii_case(id))
}

/// Writes a launch for one kind of place it runs in.
pub trait Exporter: Sync {
    /// As on the command line ("sh").
    fn id(&self) -> &'static str;

    /// As in the window ("Shell script").
    fn label(&self) -> &'static str;

    /// A file name for this export, without a folder.
    fn file_name(&self, export: &Export<'_>) -> String;

    /// The whole text of the file.
    ///
    /// # Errors
    /// What this target cannot say.
    fn write(&self, export: &Export<'_>) -> Result<String, Error>;
}

/// What is exported.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    /// As chosen.
    pub plan: &'a Plan,
    /// What is loaded.
    pub model: &'a Model,
    /// As projected.
    pub report: &'a Report,
    /// As started.
    pub launch: &'a Launch,
}

/// Why a target cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The format has no way to write this value.
    #[error("{target} cannot express {what}")]
    NotExpressible {
        /// The exporter's identity.
        target: &'static str,
        /// What it cannot say.
        what: String,
    },
}

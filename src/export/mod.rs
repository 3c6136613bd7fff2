//! A launch written for a target. One file per target, one line in [`EXPORTERS`].

mod cmd;
mod header;
mod json;
mod models_preset;
mod name;
mod ollama;
mod plan;
mod powershell;
mod sh;

use crate::engine::launch::{Argument, Launch, Step, Word};
use crate::engine::llamacpp::file_type::Weights;
use crate::model::Model;
use crate::plan::{Plan, Value};
use crate::report::Report;

/// Every target, in the order offered.
pub const EXPORTERS: &[&dyn Exporter] = &[
    &sh::Shell,
    &powershell::PowerShell,
    &cmd::Batch,
    &ollama::modelfile::Modelfile,
    &ollama::sh::Shell,
    &ollama::powershell::PowerShell,
    &ollama::systemd::Systemd,
    &ollama::compose::Compose,
    &json::Json,
    &models_preset::ModelsPreset,
    &plan::PlanFile,
];

/// The exporter with this identity, in any case of letters, that writes launches of an engine; engines may have
/// different ones of the same name.
pub fn find(engine: &str, id: &str) -> Option<&'static dyn Exporter> {
    for_engine(engine).find(|exporter| exporter.id().eq_ignore_ascii_case(id))
}

/// The targets that launches of an engine can be written for, in the order offered.
pub fn for_engine(engine: &str) -> impl Iterator<Item = &'static dyn Exporter> {
    EXPORTERS
        .iter()
        .copied()
        .filter(move |exporter| exporter.accepts(engine))
}

/// Every target of the plan's engine, written, or why not.
pub fn all(export: &Export<'_>) -> Vec<(&'static dyn Exporter, Result<File, Error>)> {
    for_engine(export.report.engine)
        .map(|exporter| (exporter, file(exporter, export)))
        .collect()
}

/// One target, written, with its name and kind.
///
/// # Errors
/// What this target cannot say.
pub fn file(exporter: &dyn Exporter, export: &Export<'_>) -> Result<File, Error> {
    Ok(File {
        name: exporter.file_name(export),
        text: exporter.write(export)?,
        executable: exporter.is_executable(),
    })
}

/// A file to be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// The whole of it, line ends and byte-order mark included.
    pub text: String,
    /// It is run by its name.
    pub executable: bool,
}

/// Writes a launch for one kind of place it runs in.
pub trait Exporter: Sync {
    /// As on the command line ("sh").
    fn id(&self) -> &'static str;

    /// As in the window ("Shell script").
    fn label(&self) -> &'static str;

    /// Can it write launches of this engine?
    fn accepts(&self, _engine: &str) -> bool {
        true
    }

    /// Is the file run by its name?
    fn is_executable(&self) -> bool {
        false
    }

    /// The end of its files' names ("sh").
    fn extension(&self) -> &'static str;

    /// A file name for this export, without a folder.
    fn file_name(&self, export: &Export<'_>) -> String {
        format!("{}.{}", name::stem(export), self.extension())
    }

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

impl Export<'_> {
    /// What the weights are stored in, as people name files by it: of the file that is open its own name for it; empty
    /// where it has none, or the engine has no such choice.
    pub(crate) fn file_type(&self) -> &str {
        let label = self.model.checkpoint.as_ref();
        let label = label.and_then(|file| file.label.as_deref());
        match self.report.settings.get("weights") {
            Some(Value::Text(word)) if word.eq_ignore_ascii_case(Weights::NATIVE) => {
                let label = label.unwrap_or_default();
                // Files are mostly named by it already.
                let names = |name: &str| name.to_lowercase().contains(&label.to_lowercase());
                if names(&self.report.model) { "" } else { label }
            }
            Some(Value::Text(word)) => word,
            _ => "",
        }
    }
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

/// Is a launch of this engine a single program? Ollama's is a server and what is done with it.
fn starts_one_program(engine: &str) -> bool {
    engine != "ollama"
}

/// A value, unless it has a control character: none belongs in a path or an option, and scripts would break at it.
fn printable<'a>(target: &'static str, value: &'a str) -> Result<&'a str, Error> {
    match value.chars().find(|letter| letter.is_control()) {
        None => Ok(value),
        Some(letter) => Err(Error::NotExpressible {
            target,
            what: format!(
                "the control character U+{:04X} in {value:?}",
                u32::from(letter)
            ),
        }),
    }
}

/// The step of a launch that runs here, for targets that start one program; what runs on other nodes stands in the
/// remarks.
fn single_step<'a>(target: &'static str, launch: &'a Launch) -> Result<&'a Step, Error> {
    let here: Vec<&Step> = launch.steps.iter().filter(|step| step.node == 0).collect();
    match here.as_slice() {
        [step] => Ok(step),
        steps => Err(Error::NotExpressible {
            target,
            what: format!("a launch of {} steps", steps.len()),
        }),
    }
}

/// A target that cannot ask, at a value that is asked for: which keys of the plan say it.
fn asked(target: &'static str, name: &str, launch: &Launch) -> Error {
    let mut variables = launch.variables.iter();
    let keys = variables
        .find(|variable| variable.name == name)
        .map(|variable| format!("; set {} under [launch] in the plan", variable.plan_keys));
    Error::NotExpressible {
        target,
        what: format!(
            "a value that is asked for ({name}){}",
            keys.unwrap_or_default()
        ),
    }
}

/// The words of an argument, each quoted, on one line.
fn line(
    argument: &Argument,
    quote: impl Fn(&Word) -> Result<String, Error>,
    between: &str,
) -> Result<String, Error> {
    let words: Result<Vec<String>, Error> = argument.words.iter().map(quote).collect();
    Ok(words?.join(between))
}

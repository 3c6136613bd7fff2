//! The steps that start an engine as planned, as data; `export` writes them for a target.

use std::borrow::Cow;
use std::path::Path;

use crate::hardware::{Machine, Vendor};
use crate::model::{Container, Model};
use crate::plan::{LaunchOptions, ModelRef, Settings, Value};

use super::Margin;
use super::llamacpp::base;

/// What an engine needs to build a launch.
#[derive(Clone, Copy)]
pub struct LaunchInputs<'a> {
    /// What is loaded.
    pub model: &'a Model,
    /// The small model that drafts for it, where the plan names one.
    pub draft: Option<&'a Model>,
    /// Where it runs.
    pub machine: &'a Machine,
    /// Settings as written in the plan, canonical names.
    pub settings: &'a Settings,
    /// Settings with automatic choices filled in (`Outcome::resolved`).
    pub resolved: &'a Settings,
    /// The `[launch]` table of the plan.
    pub options: &'a LaunchOptions,
    /// Memory to keep free on each GPU, for an engine that fits by itself at start.
    pub margin: Margin,
    /// Where the model is published in this engine's file format ("owner/name"), as its preset or the plan
    /// says.
    pub repository: Option<&'a str>,
    /// The file of that repository, where the plan names one.
    pub file: Option<&'a str>,
    /// The commit, branch or tag of that repository, where the plan names one.
    pub revision: Option<&'a str>,
    /// The GGUF file on this computer that the model was opened from.
    pub opened: Option<&'a str>,
    /// The same of what drafts for it.
    pub opened_draft: Option<&'a str>,
}

/// The GGUF file on this computer that a plan's model was opened from: by the plan's own path where that names it, in
/// the folder that the plan names, or where a preset keeps it.
pub fn opened<'a>(reference: &ModelRef, model: &'a Model) -> Option<Cow<'a, str>> {
    let file = model.checkpoint.as_ref()?.file.as_deref()?;
    let (Some(path), Some(name)) = (&reference.path, Path::new(file).file_name()) else {
        return Some(Cow::Borrowed(file));
    };
    let own = Path::new(path);
    if own.file_name() == Some(name) {
        return Some(Cow::Owned(path.clone()));
    }
    let inside = own.join(name);
    inside.to_str().map(|inside| Cow::Owned(inside.to_owned()))
}

/// The first part of a split file, which is what engines are given, by the name of any (`llama_split_path`,
/// `src/llama.cpp` 0.6.0-dev: "name-00002-of-00009.gguf").
pub fn first_part(path: &str) -> String {
    let split = || {
        let (stem, end) = path.split_at_checked(path.len().checked_sub(".gguf".len())?)?;
        let (rest, count) = stem.rsplit_once("-of-")?;
        let (start, number) = rest.rsplit_once('-')?;
        let is_number =
            |text: &str| text.len() == 5 && text.bytes().all(|own| own.is_ascii_digit());
        (is_number(number) && is_number(count)).then(|| format!("{start}-00001-of-{count}{end}"))
    };
    split().unwrap_or_else(|| path.to_owned())
}

impl<'a> LaunchInputs<'a> {
    /// The repository that an engine of GGUF files downloads from, and the file where one is known: the plan's own word
    /// first, then what the model was opened from, then what its preset names.
    pub fn gguf_source(&self) -> Option<(&'a str, Option<&'a str>)> {
        if let Some(repository) = &self.options.hf_repo {
            return Some((repository, None));
        }
        let other = self.model.checkpoint.as_ref();
        // A checkpoint of another kind is in a repository without a file for these engines.
        if other.is_some_and(|checkpoint| checkpoint.container != Container::Gguf) {
            return None;
        }
        let planned = self.resolved.get("weights");
        let native = matches!(planned, Some(Value::Text(word)) if base::is_native(word));
        // Of a file that was opened another form of the weights is another file of the repository.
        let file = self.file.filter(|_| native || other.is_none());
        Some((self.repository?, file))
    }
}

/// What engines download of a repository that they are told by name alone.
const BRANCH: &str = "main";

impl LaunchInputs<'_> {
    /// That an engine which takes whatever a repository's main branch holds will not be held to the plan's revision.
    pub(in crate::engine) fn revision_left_out(&self, engine: &str) -> Option<String> {
        let revision = self.revision.filter(|revision| *revision != BRANCH)?;
        // Another repository than the plan's model has revisions of its own.
        let repository = self.repository.filter(|_| self.options.hf_repo.is_none())?;
        let file = self.file.map(|file| format!(" {file}")).unwrap_or_default();
        Some(format!(
            "revision = {revision:?}: {engine} downloads what the branch {BRANCH} holds at the time, which may be another \
             file than the projected one; `hf download {repository}{file} --revision {revision}` gets exactly that, for \
             model_path"
        ))
    }
}

/// How to start an engine, per node and role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// In the order to run them.
    pub steps: Vec<Step>,
    /// Where the model file comes from.
    pub model_source: ModelSource,
    /// What the steps read beside the model.
    pub files: Vec<ConfigFile>,
    /// Maker of the GPUs that are used, for targets that hand them to a container; `None`: the processor alone.
    pub accelerator: Option<Vendor>,
    /// What the person who runs it must provide.
    pub variables: Vec<Variable>,
    /// What the person who runs it should know; written into the file's header.
    pub remarks: Vec<String>,
    /// What the plan asks for and the engine cannot be told; written into the file's header.
    pub not_expressible: Vec<String>,
}

/// A file that a step reads, where the step runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigFile {
    /// Its name, as the step's arguments say it.
    pub name: &'static str,
    /// Its lines, each an instruction with its values; exporters quote them as the format wants.
    pub lines: Vec<Argument>,
}

/// Where a launch takes the model file from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelSource {
    /// The person who runs it says so, in the [`Variable`] of this name.
    #[default]
    Asked,
    /// A file or folder where the launch runs.
    Path(String),
    /// A repository that the engine downloads from, with the file type after a colon where the engine takes one.
    Repository(String),
}

/// One program on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Which node, from 0.
    pub node: u32,
    /// What it does ("server", "worker", "convert").
    pub role: &'static str,
    /// Program name or path.
    pub program: String,
    /// Arguments, each an option with its values: exporters put one on a line.
    pub arguments: Vec<Argument>,
    /// Environment variables, in order.
    pub environment: Vec<(String, Word)>,
}

/// One option with its values, or one positional value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Argument {
    /// The words, passed to the program one by one.
    pub words: Vec<Word>,
}

impl Argument {
    /// An argument of literal words.
    pub fn literal<T: Into<String>>(words: impl IntoIterator<Item = T>) -> Self {
        Self {
            words: words
                .into_iter()
                .map(|word| Word::Literal(word.into()))
                .collect(),
        }
    }
}

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Exactly this text, quoted by the exporter.
    Literal(String),
    /// The value of a [`Variable`], by name.
    Variable(String),
}

/// A value that only the person who runs the launch knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name in the environment ("MODEL"): letters, digits and underscores.
    pub name: String,
    /// What it is, for the message that stops a script without it.
    pub meaning: String,
    /// The keys under `[launch]` of a plan that say it beforehand.
    pub plan_keys: &'static str,
    /// A password or key: never written to a file that others may read.
    pub secret: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_given_the_first_part() {
        for (path, expected) in [
            ("/m/r1-00007-of-00009.gguf", "/m/r1-00001-of-00009.gguf"),
            ("/m/r1-00001-of-00009.gguf", "/m/r1-00001-of-00009.gguf"),
            ("/m/r1-7-of-9.gguf", "/m/r1-7-of-9.gguf"),
            ("/m/r1.gguf", "/m/r1.gguf"),
            ("x", "x"),
        ] {
            assert_eq!(first_part(path), expected);
        }
    }
}

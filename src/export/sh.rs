//! A POSIX shell script.

use super::{Error, Export, Exporter, header, line, printable, single_step};
use crate::engine::launch::{Step, Variable, Word};

/// `sh` on any Unix: no feature of a particular shell.
pub(super) struct Shell;

const ID: &str = "sh";

impl Exporter for Shell {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "Shell script"
    }

    fn accepts(&self, engine: &str) -> bool {
        super::starts_one_program(engine)
    }

    fn is_executable(&self) -> bool {
        true
    }

    fn extension(&self) -> &'static str {
        "sh"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let step = single_step(ID, export.launch)?;
        let mut script = vec!["#!/bin/sh".to_owned()];
        script.extend(header::comment(export, "#", str::to_owned));
        script.extend(["set -eu".to_owned(), String::new()]);
        for variable in &export.launch.variables {
            script.push(require(variable)?);
        }
        for (name, value) in &step.environment {
            script.push(format!("export {name}={}", quote(value)?));
        }
        if !step.environment.is_empty() {
            script.push(String::new());
        }
        if has_dollar(step) {
            script.push(
                "# shellcheck disable=SC2016 # dollar signs and backticks are meant as they stand"
                    .to_owned(),
            );
        }
        let mut command = vec![format!("exec {}", quote_text(&step.program)?)];
        for argument in &step.arguments {
            command.push(line(argument, quote, " ")?);
        }
        // No space after the backslash: it would end the command there.
        script.push(command.join(" \\\n  "));
        Ok(script.join("\n") + "\n")
    }
}

/// Would shellcheck suspect that something in quotes was meant to be filled in?
fn has_dollar(step: &Step) -> bool {
    let words = step.arguments.iter().flat_map(|argument| &argument.words);
    words
        .into_iter()
        .any(|word| matches!(word, Word::Literal(text) if text.contains(['$', '`'])))
}

/// Stops the script at once where a variable is not set.
pub(super) fn require(variable: &Variable) -> Result<String, Error> {
    let Variable { name, meaning, .. } = variable;
    let message = quote_text(&format!("{name} is not set. Set it to {meaning}."))?;
    Ok(format!(
        "if [ -z \"${{{name}:-}}\" ]; then\n  printf '%s\\n' {message} >&2\n  exit 2\nfi\n"
    ))
}

pub(super) fn quote(word: &Word) -> Result<String, Error> {
    match word {
        Word::Literal(text) => quote_text(text),
        Word::Variable(name) => Ok(format!("\"${{{name}}}\"")),
    }
}

pub(super) fn quote_text(text: &str) -> Result<String, Error> {
    let text = printable(ID, text)?;
    shlex::try_quote(text)
        .map(std::borrow::Cow::into_owned)
        .map_err(|error| Error::NotExpressible {
            target: ID,
            what: format!("{text:?}: {error}"),
        })
}

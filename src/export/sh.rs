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
        script.extend(exports(step)?);
        if !step.environment.is_empty() {
            script.push(String::new());
        }
        script.extend(as_it_stands(literals(step)));
        let mut command = vec![format!("exec {}", quote_text(&step.program)?)];
        for argument in &step.arguments {
            command.push(line(argument, quote, " ")?);
        }
        // No space after the backslash: it would end the command there.
        script.push(command.join(" \\\n  "));
        Ok(script.join("\n") + "\n")
    }
}

/// The environment of a step.
pub(super) fn exports(step: &Step) -> Result<Vec<String>, Error> {
    let mut lines = Vec::with_capacity(step.environment.len());
    for (name, value) in &step.environment {
        if let Word::Literal(text) = value {
            lines.extend(as_it_stands(std::iter::once(text.as_str())));
        }
        lines.push(format!("export {name}={}", quote(value)?));
    }
    Ok(lines)
}

/// What a step's command says itself.
pub(super) fn literals(step: &Step) -> impl Iterator<Item = &str> {
    let words = step.arguments.iter().flat_map(|argument| &argument.words);
    words.filter_map(|word| match word {
        Word::Literal(text) => Some(text.as_str()),
        Word::Variable(_) => None,
    })
}

/// The line above a command that keeps shellcheck from suspecting that something in quotes was to be filled in (SC2016),
/// or that a curly quote was to be a straight one (SC1111, SC1112).
pub(super) fn as_it_stands<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let (mut filled, mut curly) = (false, false);
    for text in texts {
        filled |= text.contains(['$', '`']);
        curly |= text.contains(['\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}']);
    }
    let codes = match (filled, curly) {
        (true, true) => "SC2016,SC1111,SC1112",
        (true, false) => "SC2016",
        (false, true) => "SC1111,SC1112",
        (false, false) => return None,
    };
    Some(format!(
        "# shellcheck disable={codes} # every letter is meant as it stands"
    ))
}

/// Stops the script at once where a variable is not set.
pub(super) fn require(variable: &Variable) -> Result<String, Error> {
    let Variable { name, meaning, .. } = variable;
    let message = format!("{name} is not set. Set it to {meaning}.");
    let remark = as_it_stands(std::iter::once(message.as_str()))
        .map(|remark| format!("  {remark}\n"))
        .unwrap_or_default();
    let message = quote_text(&message)?;
    Ok(format!(
        "if [ -z \"${{{name}:-}}\" ]; then\n{remark}  printf '%s\\n' {message} >&2\n  exit 2\nfi\n"
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

//! A POSIX shell script that starts the server with its environment, makes the model and loads it.

use super::modelfile::{Line, lines};
use super::{ENGINE, Served};
use crate::engine::launch::Step;
use crate::export::sh::{as_it_stands, exports, literals, quote, quote_text, require};
use crate::export::{Error, Export, Exporter, header, line};

/// `sh` on any Unix.
pub(in crate::export) struct Shell;

const ID: &str = "sh";

const ALREADY_THERE: &str = "An Ollama server runs here already and does not see these settings. Stop it first: \
                             systemctl stop ollama, or quit the app.";

impl Exporter for Shell {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "Shell script"
    }

    fn accepts(&self, engine: &str) -> bool {
        engine == ENGINE
    }

    fn is_executable(&self) -> bool {
        true
    }

    fn extension(&self) -> &'static str {
        "sh"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let served = Served::new(ID, export.launch)?;
        let mut script = vec!["#!/bin/sh".to_owned()];
        script.extend(header::comment(export, "#", str::to_owned));
        script.extend(["set -eu".to_owned(), String::new()]);
        for variable in &export.launch.variables {
            script.push(require(variable)?);
        }
        script.extend(exports(served.server)?);
        let serve = command(&served, served.server)?;
        let program = quote_text(&served.server.program)?;
        script.push(format!(
            "\nif {program} list >/dev/null 2>&1; then\n  printf '%s\\n' {} >&2\n  exit 1\nfi",
            quote_text(ALREADY_THERE)?
        ));
        script.push(format!(
            "{serve} &\nserver=$!\nmodelfile=\ntrap 'rm -f -- \"$modelfile\"; kill \"$server\" 2>/dev/null || true' EXIT\n\
             trap 'exit 130' INT TERM\n\
             until {program} list >/dev/null 2>&1; do\n  kill -0 \"$server\"\n  sleep 1\ndone\n"
        ));
        script.push(
            "# In this folder, from which relative paths count.\nmodelfile=$(mktemp ./Modelfile.XXXXXX)"
                .to_owned(),
        );
        let written = modelfile(&served)?;
        script.extend(as_it_stands(written.iter().map(String::as_str)));
        script.push(format!(
            "printf '%s\\n' \\\n  {} >\"$modelfile\"",
            written.join(" \\\n  ")
        ));
        for client in &served.clients {
            script.extend(as_it_stands(literals(client)));
            script.push(command(&served, client)?);
        }
        script.push("wait \"$server\"\n".to_owned());
        Ok(script.join("\n"))
    }
}

/// The lines of the Modelfile, quoted.
fn modelfile(served: &Served<'_>) -> Result<Vec<String>, Error> {
    lines(ID, served.modelfile)?
        .into_iter()
        .map(|line| match line {
            Line::Whole(line) => quote_text(&line),
            Line::Asked {
                before,
                variable,
                after,
            } => Ok(format!(
                "{}\"${{{variable}}}\"{}",
                quote_text(&before)?,
                quote_text(after)?
            )),
        })
        .collect()
}

/// A step on one line.
fn command(served: &Served<'_>, step: &Step) -> Result<String, Error> {
    let mut command = vec![quote_text(&step.program)?];
    for argument in &step.arguments {
        let word = |word: &_| {
            if served.names_modelfile(word) {
                Ok("\"$modelfile\"".to_owned())
            } else {
                quote(word)
            }
        };
        command.push(line(argument, word, " ")?);
    }
    Ok(command.join(" "))
}

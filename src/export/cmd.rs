//! A batch file for the Windows command prompt.

use super::{Error, Export, Exporter, header, line, printable, single_step};
use crate::engine::launch::{Variable, Word};

/// `cmd.exe`.
pub(super) struct Batch;

const ID: &str = "cmd";

/// Longest command that `cmd.exe` takes, variables filled in ("Command prompt line string limitation", Microsoft).
const MAX_COMMAND: usize = 8191;

impl Exporter for Batch {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "Command prompt script"
    }

    fn accepts(&self, engine: &str) -> bool {
        super::starts_one_program(engine)
    }

    fn extension(&self) -> &'static str {
        "cmd"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let step = single_step(ID, export.launch)?;
        let mut script: Vec<String> = header::comment(export, "::", comment).collect();
        script.push(String::new());
        for variable in &export.launch.variables {
            script.push(require(variable)?);
        }
        for (name, value) in &step.environment {
            script.extend(assignment(name, value)?);
        }
        if !step.environment.is_empty() {
            script.push(String::new());
        }
        let mut command = vec![quote_text(&step.program)?];
        for argument in &step.arguments {
            command.push(line(argument, quote, " ")?);
        }
        // No space after the caret: it would escape the space instead of the line end.
        let command = command.join(" ^\n  ");
        if command.len() > MAX_COMMAND {
            return Err(Error::NotExpressible {
                target: ID,
                what: format!(
                    "a command of {} bytes; the command prompt takes {MAX_COMMAND}",
                    command.len()
                ),
            });
        }
        script.push(command);
        script.push("exit /b %ERRORLEVEL%\n".to_owned());
        let body = script.join("\n");
        // The code page changes how the rest of the file is read, so it comes before the first letter that needs it; a
        // byte-order mark would be read as part of the first command.
        let code_page = if body.is_ascii() {
            ""
        } else {
            "chcp 65001 >nul\n"
        };
        let text = format!("@echo off\n{code_page}setlocal DisableDelayedExpansion\n{body}");
        Ok(text.replace('\n', "\r\n"))
    }
}

/// Percent signs are filled in even in a comment, and a caret at the end draws in the next line.
fn comment(text: &str) -> String {
    let text = text.replace('%', "%%");
    if text.ends_with('^') {
        format!("{text}.")
    } else {
        text
    }
}

/// Stops the script at once where a variable is not set.
fn require(variable: &Variable) -> Result<String, Error> {
    let Variable { name, meaning, .. } = variable;
    let message = printable(ID, meaning)?;
    let message = escape(&format!("{name} is not set. Set it to {message}."));
    Ok(format!(
        "if not defined {name} (\n  echo {message} 1>&2\n  exit /b 2\n)\n"
    ))
}

/// `set "NAME=value"`: everything up to the last quote, with no special letter but the percent sign as long as quotes
/// come in pairs.
fn assignment(name: &str, value: &Word) -> Result<Option<String>, Error> {
    let value = match value {
        Word::Literal(text) if printable(ID, text)?.contains('"') => {
            return Err(Error::NotExpressible {
                target: ID,
                what: format!("a double quote in the value of {name}"),
            });
        }
        Word::Literal(text) => text.replace('%', "%%"),
        Word::Variable(variable) if variable == name => return Ok(None),
        Word::Variable(variable) => format!("%{variable}%"),
    };
    Ok(Some(format!("set \"{name}={value}\"")))
}

fn quote(word: &Word) -> Result<String, Error> {
    match word {
        Word::Literal(text) => quote_text(text),
        Word::Variable(name) => Ok(format!("\"%{name}%\"")),
    }
}

/// A word for two readers: the prompt, which splits commands, and the program, which splits its command line
/// ("Parsing C command-line arguments", Microsoft).
fn quote_text(text: &str) -> Result<String, Error> {
    let text = printable(ID, text)?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./\\:+".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    let word = program_quotes(text);
    Ok(if text.contains('"') {
        // Inner quotes would end the prompt's own quoting, so nothing is left to it: every letter it knows is escaped.
        escape(&word)
    } else {
        word.replace('%', "%%")
    })
}

/// In double quotes, with quotes and the backslashes before them escaped.
fn program_quotes(text: &str) -> String {
    let mut word = String::with_capacity(text.len() + 2);
    let mut backslashes = 0;
    word.push('"');
    for letter in text.chars() {
        match letter {
            '\\' => backslashes += 1,
            '"' => {
                word.push_str(&"\\".repeat(backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        word.push(letter);
    }
    word.push_str(&"\\".repeat(backslashes));
    word.push('"');
    word
}

/// Every letter that the prompt gives a meaning outside of quotes, escaped.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '%' => escaped.push('%'),
            '^' | '&' | '|' | '<' | '>' | '(' | ')' | '"' | '!' => escaped.push('^'),
            _ => {}
        }
        escaped.push(letter);
    }
    escaped
}

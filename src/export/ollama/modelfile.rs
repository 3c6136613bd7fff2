//! A Modelfile: `ollama create NAME --file FILE`.
//!
//! The grammar is that of `parser/parser.go` (v0.33.0-rc2): an instruction per line, a value to the end of the line or in
//! quotes; nothing can be escaped, and what Go does not print is dropped.

use super::{ENGINE, Served};
use crate::engine::launch::{ConfigFile, Word};
use crate::export::{Error, Export, Exporter, header, printable};

/// Ollama's own file.
pub(in crate::export) struct Modelfile;

const ID: &str = "modelfile";

impl Exporter for Modelfile {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "Modelfile"
    }

    fn accepts(&self, engine: &str) -> bool {
        engine == ENGINE
    }

    fn extension(&self) -> &'static str {
        "Modelfile"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let served = Served::new(ID, export.launch)?;
        let mut file: Vec<String> = header::comment(export, "#", str::to_owned).collect();
        file.extend([
            "#".to_owned(),
            "# Make the model with".to_owned(),
            format!(
                "#   ollama create {} --file {}",
                served.model(),
                self.file_name(export)
            ),
        ]);
        if !served.server.environment.is_empty() {
            file.push("# The server needs in its environment, for all its models:".to_owned());
        }
        for (name, value) in &served.server.environment {
            let value = match value {
                Word::Literal(value) => printable(ID, value)?.to_owned(),
                Word::Variable(variable) => format!("the value of {variable}"),
            };
            file.push(format!("#   {name}={value}"));
        }
        file.push(String::new());
        for line in lines(ID, served.modelfile)? {
            match line {
                Line::Whole(line) => file.push(line),
                Line::Asked {
                    before, variable, ..
                } => {
                    file.extend(to_be_written(export, variable));
                    let before = before.trim_end_matches(QUOTES);
                    file.push(format!("{before}{PLACE}{variable}"));
                }
            }
        }
        Ok(file.join("\n") + "\n")
    }
}

/// What makes a name the path of a file, so that nothing is downloaded by it.
const PLACE: &str = "./";

/// What a person has to write in place of a variable, as comments; the format has no way to ask.
fn to_be_written(export: &Export<'_>, variable: &str) -> Vec<String> {
    let own = export.launch.variables.iter();
    let own = own.filter(|own| own.name == variable);
    own.flat_map(|own| {
        [
            format!(
                "# Write {} in place of {PLACE}{variable} in the next line,",
                own.meaning
            ),
            format!("# or set {} under [launch] in the plan.", own.plan_keys),
        ]
    })
    .collect()
}

/// One line.
pub(super) enum Line<'a> {
    /// All of it.
    Whole(String),
    /// It ends with the value of a variable.
    Asked {
        /// What stands before the value.
        before: String,
        /// The variable.
        variable: &'a str,
        /// What closes the value.
        after: &'static str,
    },
}

/// Any text goes between these, as long as it is one line.
const QUOTES: &str = "\"\"\"";

/// The lines of the file.
pub(super) fn lines<'a>(
    target: &'static str,
    file: &'a ConfigFile,
) -> Result<Vec<Line<'a>>, Error> {
    file.lines
        .iter()
        .map(|instruction| {
            let mut line = String::new();
            for word in &instruction.words {
                if !line.is_empty() {
                    line.push(' ');
                }
                match word {
                    Word::Literal(text) => line.push_str(&quote(target, text)?),
                    Word::Variable(variable) => {
                        line.push_str(QUOTES);
                        return Ok(Line::Asked {
                            before: line,
                            variable,
                            after: QUOTES,
                        });
                    }
                }
            }
            Ok(Line::Whole(line))
        })
        .collect()
}

/// A value as it stands, or in triple quotes where it begins with a quote or with spaces, which would be taken off.
fn quote(target: &'static str, text: &str) -> Result<String, Error> {
    if let Some(letter) = printable(target, text)?
        .chars()
        .find(|letter| vanishes(*letter))
    {
        return Err(Error::NotExpressible {
            target,
            what: format!(
                "U+{:04X} in {text:?}: a Modelfile drops it",
                u32::from(letter)
            ),
        });
    }
    let bare = !text.is_empty() && !text.starts_with('"') && text.trim() == text;
    Ok(if bare {
        text.to_owned()
    } else {
        format!("{QUOTES}{text}{QUOTES}")
    })
}

/// Letters that `strconv.IsPrint` does not count as printable: spaces other than the ordinary one, marks of format and
/// of private use.
fn vanishes(letter: char) -> bool {
    (letter.is_whitespace() && letter != ' ')
        || matches!(
            letter,
            '\u{AD}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{E000}'..='\u{F8FF}'
                | '\u{E0000}'..='\u{10FFFF}'
        )
}

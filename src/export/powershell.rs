//! A PowerShell script, for Windows PowerShell 5.1 and for PowerShell 7 on any system.

use super::{Error, Export, Exporter, header, line, printable, single_step};
use crate::engine::launch::{Step, Variable, Word};

/// Windows PowerShell and PowerShell.
pub(super) struct PowerShell;

const ID: &str = "powershell";

/// Windows PowerShell 5.1 reads a script without a mark in the system's own encoding; with it, every version reads UTF-8.
/// A script in ASCII is the same in each, and goes without.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Before 7.3, words are put in double quotes where they have spaces and otherwise handed over as they are: inner quotes
/// vanish, and a backslash at the end escapes the closing quote ("about_Parsing", passing arguments to native commands).
const OLD_QUOTING: &str = r#"
# PowerShell before 7.3 hands quotes and empty words over as they are; programs expect them escaped.
if ($PSVersionTable.PSVersion -lt [version]'7.3') {
    $arguments = @($arguments | ForEach-Object {
        $word = $_ -replace '(\\*)"', '$1$1\"'
        if ($word -eq '') { '""' } elseif ($word -match '\s') { $word -replace '(\\+)$', '$1$1' } else { $word }
    })
}
"#;

impl Exporter for PowerShell {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "PowerShell script"
    }

    fn accepts(&self, engine: &str) -> bool {
        super::starts_one_program(engine)
    }

    fn extension(&self) -> &'static str {
        "ps1"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let step = single_step(ID, export.launch)?;
        let mut script: Vec<String> = header::comment(export, "#", str::to_owned).collect();
        script.extend(["$ErrorActionPreference = 'Stop'".to_owned(), String::new()]);
        for variable in &export.launch.variables {
            script.push(require(variable)?);
        }
        for (name, value) in &step.environment {
            script.push(format!("$env:{name} = {}", quote(value)?));
        }
        if !step.environment.is_empty() {
            script.push(String::new());
        }
        script.extend(arguments(step, quote)?);
        script.push(format!("& {} @arguments", quote_text(&step.program)?));
        script.push("exit $LASTEXITCODE\n".to_owned());
        Ok(encoded(&script.join("\n")))
    }
}

/// The text of a file as every version reads it.
pub(super) fn encoded(script: &str) -> String {
    let text = script.replace('\n', "\r\n");
    if text.is_ascii() {
        text
    } else {
        format!("{BYTE_ORDER_MARK}{text}")
    }
}

/// Lines that gather a step's arguments in `$arguments`.
pub(super) fn arguments(
    step: &Step,
    quote: impl Fn(&Word) -> Result<String, Error>,
) -> Result<Vec<String>, Error> {
    let mut lines = vec!["$arguments = @(".to_owned()];
    for argument in &step.arguments {
        lines.push(format!("    {}", line(argument, &quote, ", ")?));
    }
    lines.push(")".to_owned());
    if needs_old_quoting(step) {
        lines.push(OLD_QUOTING.to_owned());
    }
    Ok(lines)
}

/// Stops the script at once where a variable is not set.
pub(super) fn require(variable: &Variable) -> Result<String, Error> {
    let Variable { name, meaning, .. } = variable;
    let message = quote_text(&format!("{name} is not set. Set it to {meaning}."))?;
    Ok(format!(
        "if (-not $env:{name}) {{\n    [Console]::Error.WriteLine({message})\n    exit 2\n}}\n"
    ))
}

/// Does a word have what older versions hand over wrongly?
fn needs_old_quoting(step: &Step) -> bool {
    let words = step.arguments.iter().flat_map(|argument| &argument.words);
    words.into_iter().any(|word| match word {
        Word::Literal(text) => text.is_empty() || text.contains('"') || text.ends_with('\\'),
        Word::Variable(_) => false,
    })
}

pub(super) fn quote(word: &Word) -> Result<String, Error> {
    match word {
        Word::Literal(text) => quote_text(text),
        Word::Variable(name) => Ok(format!("$env:{name}")),
    }
}

/// In single quotes nothing is special but the quote, of which PowerShell knows five and each ends the string.
pub(super) fn quote_text(text: &str) -> Result<String, Error> {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for letter in printable(ID, text)?.chars() {
        if matches!(letter, '\'' | '\u{2018}'..='\u{201B}') {
            quoted.push(letter);
        }
        quoted.push(letter);
    }
    quoted.push('\'');
    Ok(quoted)
}

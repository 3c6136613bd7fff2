//! A models preset (INI) of llama-server's router mode: `llama-server --models-preset FILE`.
//!
//! The grammar is that of `common/preset.cpp` (0.6.0-dev): a value ends at the line, at `;` and at `#`, spaces around it
//! are dropped, and nothing can be escaped.

use super::{Error, Export, Exporter, asked, header, name, printable, single_step};
use crate::engine::launch::{Argument, Launch, Step, Word};

/// The INI of llama-server.
pub(super) struct ModelsPreset;

const ID: &str = "models-preset";

/// Options that belong to the router, not to a model (`tools/server/README.md`, "Model presets", 0.6.0-dev).
const OF_THE_ROUTER: [&str; 8] = [
    "--host",
    "--port",
    "--alias",
    "-a",
    "--api-key",
    "--api-key-file",
    "--models-max",
    "--models-preset",
];

impl Exporter for ModelsPreset {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "llama-server models preset"
    }

    fn accepts(&self, engine: &str) -> bool {
        engine == "llama.cpp"
    }

    fn extension(&self) -> &'static str {
        "ini"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let step = single_step(ID, export.launch)?;
        let mut file: Vec<String> = header::comment(export, ";", str::to_owned).collect();
        file.extend([";".to_owned(), "; Start it with".to_owned()]);
        file.push(format!(";   {}", router(step, &self.file_name(export))?));
        for (variable, value) in &step.environment {
            let value = match value {
                Word::Literal(value) => format!("{variable}={} in", printable(ID, value)?),
                Word::Variable(name) => format!("{variable} set to the value of {name} in"),
            };
            file.push(format!(";   with {value} its environment"));
        }
        file.extend(["version = 1".to_owned(), String::new()]);
        file.push(format!("[{}]", name::stem(export)));
        for argument in &step.arguments {
            if !is_of_the_router(argument) {
                file.push(entry(argument, export.launch)?);
            }
        }
        // A model of this size is loaded when it is asked for, not with the router.
        file.push("load-on-startup = false\n".to_owned());
        Ok(file.join("\n"))
    }
}

/// The command of the router, for the header: its own options, and room for one model at a time.
fn router(step: &Step, file: &str) -> Result<String, Error> {
    let mut command = format!("{} --models-preset {file} --models-max 1", step.program);
    for argument in step
        .arguments
        .iter()
        .filter(|argument| is_of_the_router(argument))
    {
        for word in &argument.words {
            if let Word::Literal(word) = word {
                command.push(' ');
                command.push_str(printable(ID, word)?);
            }
        }
    }
    Ok(command)
}

fn is_of_the_router(argument: &Argument) -> bool {
    matches!(argument.words.first(), Some(Word::Literal(option)) if OF_THE_ROUTER.contains(&option.as_str()))
}

/// `key = value`, the key being the option without its dashes.
fn entry(argument: &Argument, launch: &Launch) -> Result<String, Error> {
    let refuse = |what: String| Err(Error::NotExpressible { target: ID, what });
    let mut words = Vec::with_capacity(argument.words.len());
    for word in &argument.words {
        match word {
            Word::Literal(text) => words.push(printable(ID, text)?),
            Word::Variable(name) => return Err(asked(ID, name, launch)),
        }
    }
    let (option, value) = match words.as_slice() {
        [option] => (*option, "true"),
        [option, value] => (*option, *value),
        _ => {
            return refuse(format!(
                "an option with several values: {}",
                words.join(" ")
            ));
        }
    };
    let key = option.trim_start_matches('-');
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    if key == option
        || !key.starts_with(|first: char| first.is_ascii_alphabetic())
        || !key.chars().all(is_key)
    {
        return refuse(format!("{option:?}, which is no option"));
    }
    if value.is_empty() || value.contains([';', '#']) || value.trim() != value {
        return refuse(format!(
            "{value:?} as the value of {key}: the file knows no quotes, and ends a value at ; and #"
        ));
    }
    Ok(format!("{key} = {value}"))
}

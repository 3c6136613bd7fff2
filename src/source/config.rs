//! Hugging Face configurations from disk.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Map, Value};

use super::Error;
use crate::model::{self, Model};
use crate::store;

/// Most bytes of a configuration. Published ones have a few thousand; lists of modules left unquantized, a million.
const LIMIT: u64 = 16 << 20;

/// The model of a `config.json`, or of the folder it is in. It is named after the folder.
///
/// # Errors
/// A file of another kind, one that is too large or cannot be read, or a configuration that is no known model.
pub fn read(path: &Path, overrides: &Map<String, Value>) -> Result<Model, Error> {
    let file = if path.is_dir() {
        let file = path.join("config.json");
        // What is there but no file is told apart where it is read.
        if file.symlink_metadata().is_err() {
            return Err(Error::NoConfig { path: path.into() });
        }
        Cow::Owned(file)
    } else {
        Cow::Borrowed(path)
    };
    let text = store::read(&file, LIMIT)?;
    let config = parse(&text).map_err(|error| Error::Json {
        reason: error.to_string(),
        path: file.to_path_buf(),
    })?;
    model::from_config(&name(&file), &config, overrides).map_err(|reason| Error::Model {
        reason,
        path: file.into_owned(),
    })
}

/// The folder's name, which is the model's where people keep models by name.
fn name(file: &Path) -> String {
    let folder = file.parent().and_then(Path::file_name);
    let name = folder.or(file.file_stem()).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Reads JSON as Python writes it: with `Infinity` and `NaN`, which become null.
fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match without_infinities(text) {
        Some(plain) => serde_json::from_str(&plain),
        None => Err(error),
    })
}

/// The text with null for Python's names of numbers that JSON does not have; `None` where it has none.
fn without_infinities(text: &str) -> Option<String> {
    const NAMES: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let (mut quoted, mut found) = (false, false);
    while let Some(letter) = rest.chars().next() {
        let name = NAMES
            .iter()
            .find(|name| !quoted && rest.starts_with(**name));
        let (written, read) = match name {
            Some(name) => ("null", name.len()),
            // A backslash in a string takes the next character with it.
            None if quoted && letter == '\\' => {
                let end = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
                (rest.get(..end)?, end)
            }
            None => (rest.get(..letter.len_utf8())?, letter.len_utf8()),
        };
        found |= name.is_some();
        quoted ^= letter == '"';
        plain.push_str(written);
        rest = rest.get(read..)?;
    }
    found.then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_that_only_python_writes() {
        let text = r#"{"a": [0.0, Infinity, -Infinity, NaN], "b": "Infinity \" NaN \\"}"#;
        let value = parse(text).unwrap();
        assert_eq!(value["a"], serde_json::json!([0.0, null, null, null]));
        assert_eq!(value["b"], "Infinity \" NaN \\");
        assert!(parse("{Infinity").is_err());
        assert!(parse("{\"a\": Infinit}").is_err());
    }
}

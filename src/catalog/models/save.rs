//! Presets of the user, written: a model that was opened, kept under a name of the user's.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::preset::{Entry, Origin, Preset, Published};
use super::{Content, FILE_LIMIT, ModelCatalog};
use crate::model::Model;
use crate::store::{self, Overwrite};

/// Longest id: a file name that every file system takes, with room for an ending.
const LONGEST_ID: usize = 100;

/// Why a preset is not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The id cannot be the name of a file everywhere.
    #[error(
        "`{id}` cannot be a preset's id: use letters of English, digits, `.`, `-` and `_`, beginning with a letter or \
         digit, at most {LONGEST_ID} (for example `{example}`)"
    )]
    Id {
        /// As given.
        id: String,
        /// One like it that can.
        example: String,
    },
    /// A preset of the id is there.
    #[error(
        "there is a model preset `{id}` already; choose another id, or say that it shall be replaced"
    )]
    Taken {
        /// As it is spelt there.
        id: String,
    },
    /// What was written would not be read as the same model.
    #[error("this model cannot be kept as a preset ({0})")]
    NoPreset(String),
    /// The file cannot be written.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Preset {
    /// A preset of the user's, made of a model that was opened. With `path`, the model's own files are opened as long
    /// as they are there, and its configuration stands in for them after that.
    ///
    /// # Errors
    /// A model that was read from no configuration.
    pub fn of_user(id: &str, model: &Model, path: Option<&Path>) -> Result<Self, SaveError> {
        let Some(config) = model.configuration.value() else {
            let reason = "it was not read from a configuration";
            return Err(SaveError::NoPreset(reason.to_owned()));
        };
        let parameters = model.parameters();
        let container = model.checkpoint.as_deref();
        let origin = path.map(|path| path.to_string_lossy().into_owned());
        Ok(Self {
            entry: Entry {
                id: id.to_owned(),
                title: model.name.clone(),
                family: FAMILY.to_owned(),
                total_parameters: parameters.total(),
                active_parameters: parameters.active(),
                context_length: Some(model.context_length).filter(|length| *length > 0),
                quantization: container.and_then(|files| files.label.clone()),
                source: origin.clone(),
                ..Entry::default()
            },
            published: Published {
                stores_tied_head: model.stores_tied_head,
                mtp: model.mtp.as_ref().map(|mtp| mtp.stored),
                mtp_copies_embedding: model.mtp.as_ref().map(|mtp| mtp.copies_embedding),
                ..Published::default()
            },
            path: origin,
            config: config.clone(),
        })
    }

    /// The preset as a file.
    pub fn to_toml(&self) -> String {
        let Entry {
            id: _,
            title,
            family,
            publisher,
            hf_repo,
            gguf_repo,
            total_parameters,
            active_parameters,
            licence,
            release,
            context_length,
            dtype,
            quantization,
            source,
            constructed,
            note,
            vocab_size: _,
            origin: _,
        } = &self.entry;
        let Published {
            parameters,
            check,
            source: published_source,
            stores_tied_head,
            mtp,
            mtp_copies_embedding,
        } = &self.published;
        let file = serde_json::json!({
            "title": title,
            "family": family,
            "publisher": publisher,
            "hf_repo": hf_repo,
            "gguf_repo": gguf_repo,
            "total_parameters": total_parameters,
            "active_parameters": active_parameters,
            "licence": licence,
            "release": release,
            "context_length": context_length,
            "dtype": dtype,
            "quantization": quantization,
            "source": source,
            "constructed": constructed.then_some(true),
            "note": note,
            "path": self.path,
            "published": {
                "parameters": parameters,
                "check": check,
                "source": published_source,
                "stores_tied_head": stores_tied_head.then_some(true),
                "mtp": mtp,
                "mtp_copies_embedding": mtp_copies_embedding,
            },
            "config": self.config,
        });
        let Value::Object(file) = file else {
            return String::new();
        };
        table(&file).to_string()
    }
}

/// The family of saved presets: where they stand in a list.
const FAMILY: &str = "My models";

/// A table of TOML, plain values first as its grammar wants them. What TOML has no word for is left out: null, and
/// numbers beyond its integers.
fn table(object: &Map<String, Value>) -> toml::Table {
    let (tables, plain): (Vec<_>, Vec<_>) = object.iter().partition(|(_, value)| value.is_object());
    let fields = plain.into_iter().chain(tables);
    fields
        .filter_map(|(name, value)| Some((name.clone(), written(value)?)))
        .collect()
}

fn written(value: &Value) -> Option<toml::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(truth) => toml::Value::Boolean(*truth),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => toml::Value::Integer(whole),
            (None, Some(_)) => return None,
            (None, None) => toml::Value::Float(number.as_f64()?),
        },
        Value::String(text) => toml::Value::String(text.clone()),
        // A list with a gap would be another list.
        Value::Array(list) => toml::Value::Array(list.iter().map(written).collect::<Option<_>>()?),
        Value::Object(object) => {
            let table = table(object);
            if table.is_empty() && !object.is_empty() {
                return None;
            }
            toml::Value::Table(table)
        }
    })
}

impl ModelCatalog {
    /// Saves a preset in the user's folder and says where. One of the same id in that folder is replaced only where
    /// that is asked for; so is one that comes with the program, which the user's then stands before.
    ///
    /// # Errors
    /// An id that cannot be a file's name, one that is taken, or a model that a preset cannot hold.
    pub fn save(
        &self,
        folder: &Path,
        preset: &Preset,
        overwrite: Overwrite,
    ) -> Result<PathBuf, SaveError> {
        let id = &preset.entry.id;
        if id != &id_of(id) {
            return Err(SaveError::Id {
                id: id.chars().take(LONGEST_ID).collect(),
                example: id_of(id),
            });
        }
        let same = |file: &&super::File| file.id.eq_ignore_ascii_case(id);
        let there = self.files.iter().find(same);
        if let (Some(file), Overwrite::Refuse) = (there, overwrite) {
            return Err(SaveError::Taken {
                id: file.id.clone(),
            });
        }
        let text = preset.to_toml();
        check(preset, &text)?;
        let path = match there.map(|file| &file.content) {
            Some(Content::User(path)) if path.starts_with(folder) => path.clone(),
            _ => folder.join(format!("{id}.toml")),
        };
        store::make_folder(folder)?;
        store::save(&path, &text, overwrite)?;
        Ok(path)
    }
}

/// Is the file read as the same model again?
fn check(preset: &Preset, text: &str) -> Result<(), SaveError> {
    if text.len() as u64 > FILE_LIMIT {
        return Err(SaveError::NoPreset(
            "its configuration is larger than a preset may be".to_owned(),
        ));
    }
    let fail = |error: super::Error| SaveError::NoPreset(error.to_string());
    let read = Preset::parse(&preset.entry.id, text, Origin::Program).map_err(fail)?;
    let none = Map::new();
    let (meant, written) = (
        preset.model(&none).map_err(fail)?,
        read.model(&none).map_err(fail)?,
    );
    if meant != written {
        return Err(SaveError::NoPreset(
            "its configuration has values that the file cannot hold".to_owned(),
        ));
    }
    Ok(())
}

/// An id like a name: letters of English, digits, `.`, `-` and `_`, and no name that Windows keeps for devices.
pub fn id_of(name: &str) -> String {
    let mut id = String::new();
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_') {
            id.push(letter);
        } else if !id.ends_with('-') {
            id.push('-');
        }
        if id.len() >= LONGEST_ID {
            break;
        }
    }
    let id = id.trim_start_matches(['.', '-', '_']);
    let id = id.trim_end_matches(['.', '-']);
    if id.is_empty() {
        return "model".to_owned();
    }
    let stem = id.split('.').next().unwrap_or_default();
    if is_device(stem) {
        return format!("model-{id}");
    }
    id.to_owned()
}

/// Names of devices on Windows, whatever ending a file of the name has.
fn is_device(stem: &str) -> bool {
    let name = stem.to_ascii_uppercase();
    let numbered = |port: &str| {
        let number = name.strip_prefix(port);
        number.is_some_and(|number| number.len() == 1 && number.as_bytes() >= b"1".as_slice())
    };
    matches!(name.as_str(), "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_names_of_files_everywhere() {
        for (name, id) in [
            ("Qwen3-8B-Q4_K_M", "Qwen3-8B-Q4_K_M"),
            ("my model (v2)", "my-model-v2"),
            ("../../etc/passwd", "etc-passwd"),
            ("模型", "model"),
            ("", "model"),
            ("nul", "model-nul"),
            ("COM1.q4", "model-COM1.q4"),
            ("common", "common"),
            ("a\u{1b}[31m\0", "a-31m"),
            (".hidden", "hidden"),
        ] {
            assert_eq!(id_of(name), id, "{name}");
            assert_eq!(id_of(id), id);
        }
        assert_eq!(id_of(&"x".repeat(1000)).len(), LONGEST_ID);
    }
}

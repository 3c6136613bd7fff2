//! Where models come from: a preset of the catalogue, or a file that is read with bounds.

pub mod access;
mod beside;
pub mod checkpoint;
pub mod config;
pub mod files;
pub mod gguf;
pub mod hub;
pub mod library;
mod part;
mod place;

pub use beside::attached;
pub use part::{Part, part};
pub use place::{place, placed, placed_files, rewrite};

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::catalog::models::{self as presets, ModelCatalog, Preset};
use crate::model::{self, Model};
use crate::plan::ModelRef;
use crate::store;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan names neither preset nor file.
    #[error("the plan has no model; set `preset`, `path` or `repo` under [model]")]
    Nothing,
    /// The plan names several.
    #[error("the plan names several models; keep one of `preset`, `path` and `repo` under [model]")]
    Several,
    /// A repository that was not read before, or holds no such model. Nothing is read over the network here.
    #[error(transparent)]
    Hub(Box<hub::Error>),
    /// The catalogue's reason.
    #[error(transparent)]
    Preset(#[from] presets::Error),
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] store::Error),
    /// There is nothing.
    #[error("there is no file or folder {}", .path.display())]
    Absent {
        /// Where.
        path: PathBuf,
    },
    /// A GGUF file that is not as it should be.
    #[error(transparent)]
    Gguf(#[from] gguf::Error),
    /// A folder without a configuration.
    #[error("there is no config.json in the folder {}", .path.display())]
    NoConfig {
        /// The folder.
        path: PathBuf,
    },
    /// A folder with several GGUF files instead.
    #[error("there is no config.json but several GGUF files: open one of {files} in {}", .path.display())]
    SeveralGguf {
        /// The folder.
        path: PathBuf,
        /// Their names.
        files: String,
    },
    /// A folder with an adapter.
    #[error(
        "this is a LoRA adapter{base}, not a model: open that model instead, with the adapter converted to GGUF \
         (llama.cpp's convert_lora_to_gguf.py) if it is to be loaded too: {}",
        .path.display()
    )]
    Adapter {
        /// The folder.
        path: PathBuf,
        /// The model it is for, in words.
        base: String,
    },
    /// Files that are not as they should be.
    #[error("{reason} in {}", .path.display())]
    Checkpoint {
        /// Which, and what is wrong.
        reason: Box<checkpoint::Error>,
        /// The folder.
        path: PathBuf,
    },
    /// JSON that is no model.
    #[error("{reason} in {}", .path.display())]
    Model {
        /// What is wrong.
        reason: model::Error,
        /// The file.
        path: PathBuf,
    },
}

impl From<hub::Error> for Error {
    fn from(error: hub::Error) -> Self {
        Self::Hub(Box::new(error))
    }
}

/// The model that a plan refers to, its overrides applied.
///
/// # Errors
/// A reference to nothing or to two things, an unknown preset, an unreadable file, or an override of a field that the
/// model does not have.
pub fn model(reference: &ModelRef, catalog: &ModelCatalog) -> Result<Model, Error> {
    let overrides = overrides(reference);
    match (&reference.preset, &reference.path, &reference.repo) {
        (Some(id), None, None) => preset(&catalog.find(id)?, &overrides),
        (None, Some(path), None) => file(Path::new(path), &overrides),
        (None, None, Some(_)) => Ok(hub::kept(reference, &overrides)?),
        (None, None, None) => Err(Error::Nothing),
        _ => Err(Error::Several),
    }
}

/// The model of a GGUF file, or of a folder or file of another kind.
fn file(path: &Path, overrides: &Map<String, Value>) -> Result<Model, Error> {
    // A link that leads nowhere is there; why it cannot be read is told where it is read.
    if path
        .symlink_metadata()
        .is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        let path = path.to_owned();
        return Err(Error::Absent { path });
    }
    // What is no file is told apart where it is read.
    if path.is_file() && gguf::is_meant(path) {
        return Ok(gguf::open(path)?.model(overrides)?);
    }
    config::read(path, overrides)
}

/// The model of a preset: of its own files as long as they are there, of its configuration otherwise.
fn preset(preset: &Preset, overrides: &Map<String, Value>) -> Result<Model, Error> {
    let Some(path) = &preset.path else {
        return Ok(preset.model(overrides)?);
    };
    let there = Path::new(path).exists();
    let mut model = if there {
        file(Path::new(path), overrides)?
    } else {
        preset.model(overrides)?
    };
    if !there {
        model.assumptions.push(format!(
            "The files of this preset are not at {path} any more: sizes follow from its configuration alone."
        ));
    }
    model.name.clone_from(&preset.entry.id);
    Ok(model.sealed())
}

/// The overrides of a plan as configuration values.
fn overrides(reference: &ModelRef) -> Map<String, Value> {
    let value = |value| serde_json::to_value(value).unwrap_or(Value::Null);
    reference
        .overrides
        .iter()
        .map(|(field, written)| (field.clone(), value(written)))
        .collect()
}

//! Hugging Face configurations, and the weights beside them, on this computer.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::access::{Collection as _, Entry, LocalFile, LocalFolder};
use super::checkpoint::{self, Adapter, Reason, is_of_adapter};
use super::{Error, gguf};
use crate::model::Model;
use crate::plain::quoted;
use crate::store;

/// The model of a folder with a `config.json`, of that file, or of a file of weights beside it. It is named after the
/// folder. A configuration of another name is read alone.
///
/// # Errors
/// A file of another kind, one that is too large or cannot be read, or a configuration that is no model.
pub fn read(path: &Path, overrides: &Map<String, Value>) -> Result<Model, Error> {
    if path.is_dir() {
        return folder(path, None, overrides);
    }
    // What is no file, or may not be read, is told apart here.
    LocalFile::open(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new("."));
    let known = [checkpoint::CONFIG, checkpoint::PARAMS, checkpoint::ADAPTER];
    if known.contains(&name.as_ref()) {
        return folder(parent, None, overrides);
    }
    if name.ends_with(".index.json") {
        return folder(parent, None, overrides);
    }
    if checkpoint::is_weights(&name) {
        return folder(parent, Some(&name), overrides);
    }
    let model = checkpoint::described(&LocalFolder::new(parent), &name, &title(path), overrides);
    model.map_err(|error| told(error, parent))
}

/// The model of a folder. `weights` is the file that was asked for, where it was one.
fn folder(
    path: &Path,
    weights: Option<&str>,
    overrides: &Map<String, Value>,
) -> Result<Model, Error> {
    let folder = LocalFolder::new(path);
    let listing = |cause| store::Error::Read {
        path: path.into(),
        cause,
    };
    let entries = folder.entries().map_err(listing)?;
    if !checkpoint::is_model(&entries) || weights.is_some_and(|file| is_of_adapter(file, &entries))
    {
        return match without_config(path, weights, &entries, overrides)? {
            Some(model) => Ok(model),
            None => Err(no_model(path, weights, &folder, &entries)),
        };
    }
    let name = title(&path.join(checkpoint::CONFIG));
    let model = match weights {
        None => checkpoint::model(&folder, &name, overrides),
        Some(file) => checkpoint::model_of_file(&folder, file, &name, overrides),
    };
    model.map_err(|error| told(error, path))
}

/// The model of a folder without a configuration: of its GGUF file, or of weights that nothing describes.
fn without_config(
    path: &Path,
    weights: Option<&str>,
    entries: &[Entry],
    overrides: &Map<String, Value>,
) -> Result<Option<Model>, Error> {
    if is_adapter(weights, entries) || path.join(checkpoint::CONFIG).symlink_metadata().is_ok() {
        return Ok(None);
    }
    if weights.is_none()
        && let Some(file) = only_gguf(path, entries)?
    {
        return Ok(Some(gguf::open(&file)?.model(overrides)?));
    }
    let name = match weights {
        Some(file) => checkpoint::stem(file).to_owned(),
        None => title(&path.join(checkpoint::CONFIG)),
    };
    checkpoint::undescribed(&LocalFolder::new(path), weights, &name)
        .map_err(|error| told(error, path))
}

/// Why there is no model in a folder without a configuration.
fn no_model(path: &Path, weights: Option<&str>, folder: &LocalFolder, entries: &[Entry]) -> Error {
    if is_adapter(weights, entries) {
        return match checkpoint::adapter(folder) {
            Ok(adapter) => Error::Adapter {
                path: path.into(),
                base: adapter
                    .base
                    .map(|base| format!(" for `{}`", quoted(&base)))
                    .unwrap_or_default(),
            },
            Err(error) => told(error, path),
        };
    }
    let config = path.join(checkpoint::CONFIG);
    // There, but no file: a link that leads nowhere or in a circle, a device.
    if config.symlink_metadata().is_ok()
        && let Err(error) = LocalFile::open(&config)
    {
        return error.into();
    }
    Error::NoConfig { path: path.into() }
}

/// Is what is asked for an adapter?
fn is_adapter(weights: Option<&str>, entries: &[Entry]) -> bool {
    match weights {
        Some(file) => is_of_adapter(file, entries),
        None => checkpoint::is_adapter(entries),
    }
}

/// The adapter at a path, with what to call it: a folder with one, or one of its files; `None` where it is something
/// else.
///
/// # Errors
/// What is wrong with it.
pub fn adapter(path: &Path) -> Result<Option<(Adapter, String)>, Error> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let (folder, file) = if path.is_dir() {
        (path, None)
    } else {
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        (parent.unwrap_or(Path::new(".")), Some(file.as_ref()))
    };
    let collection = LocalFolder::new(folder);
    let entries = collection.entries().unwrap_or_default();
    if !is_adapter(file, &entries) {
        return Ok(None);
    }
    let name = title(&folder.join(checkpoint::ADAPTER));
    let adapter = checkpoint::adapter(&collection).map_err(|error| told(error, folder))?;
    Ok(Some((adapter, name)))
}

/// The one GGUF model of a folder; `None` where there are no such files.
fn only_gguf(path: &Path, entries: &[Entry]) -> Result<Option<PathBuf>, Error> {
    let names = entries.iter().map(|entry| entry.name.as_str());
    let all = names.filter(|name| gguf::is_named(Path::new(name)));
    let mut files: Vec<&str> = Vec::new();
    for name in all {
        let part = super::files::split(name);
        let same = |other: &&str| part.is_some() && super::files::split(other) == part;
        if !files.iter().any(same) {
            files.push(name);
        }
    }
    if files.len() > 1 && files.len() <= GGUF_FILES {
        // Projectors and adapters lie beside the model that they are for.
        let model = |name: &&str| {
            gguf::open(&path.join(name)).is_ok_and(|file| file.kind == gguf::Kind::Model)
        };
        let models: Vec<&str> = files.iter().copied().filter(model).collect();
        if models.len() == 1 {
            files = models;
        }
    }
    match files.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(path.join(one))),
        several => Err(Error::SeveralGguf {
            path: path.into(),
            files: several
                .iter()
                .take(GGUF_FILES)
                .copied()
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

/// Most GGUF files of a folder that are opened, or named.
const GGUF_FILES: usize = 16;

/// An error with the place it happened at.
fn told(error: checkpoint::Error, folder: &Path) -> Error {
    match error {
        checkpoint::Error::Model { file, reason } => Error::Model {
            reason,
            path: folder.join(file),
        },
        checkpoint::Error::File {
            file,
            reason: Reason::TooLarge { limit },
        } => Error::Read(store::Error::TooLarge {
            path: folder.join(file),
            limit: limit.get(),
        }),
        checkpoint::Error::File {
            file,
            reason: Reason::NotText,
        } => Error::Read(store::Error::NotText {
            path: folder.join(file),
        }),
        reason => Error::Checkpoint {
            reason: Box::new(reason),
            path: folder.into(),
        },
    }
}

/// The folder's name, which is the model's where people keep models by name; in the cache of Hugging Face, where
/// folders are named after revisions, the repository's.
fn title(file: &Path) -> String {
    let folder = file.parent();
    let repository = folder
        .and_then(Path::parent)
        .filter(|parent| parent.ends_with("snapshots"));
    let cached = repository.and_then(|snapshots| {
        snapshots
            .parent()?
            .file_name()?
            .to_str()?
            .strip_prefix("models--")
    });
    if let Some(cached) = cached {
        return cached.rsplit("--").next().unwrap_or(cached).to_owned();
    }
    let name = folder.and_then(Path::file_name).or(file.file_stem());
    name.unwrap_or_default().to_string_lossy().into_owned()
}

//! Models as Hugging Face keeps them: a folder, or a repository, with `config.json` and weights in safetensors files,
//! one or many; Mistral's and Meta's own files; PyTorch archives by their sizes, never unpickled; LoRA adapters.
//!
//! Only configurations, indexes and headers are read, each up to a limit. Where the weights cannot be used, the model
//! is what its configuration says, with a sentence why.

mod adapter;
mod error;
mod files;
mod header;
mod index;
mod label;
mod listing;
mod params;
mod published;
mod tensors;
mod text;
mod unpack;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use adapter::{Adapter, CONFIG as ADAPTER, adapter, is_of_adapter};
pub use error::{Error, Reason};
pub use listing::{files, flaw, is_weights, weights_of};

use super::access::{Collection, Entry};
use crate::model::{self, Checkpoint, Container, Encoder, FileTensor, Model, TensorRole};
use crate::units::Bytes;
use header::Stored;

/// Most bytes of a configuration. Published ones have a few thousand; lists of modules left unquantized, a million.
const LIMIT: u64 = 16 << 20;

/// What describes a model.
pub const CONFIG: &str = "config.json";

/// What describes it in Mistral's and Meta's own files.
pub const PARAMS: &str = "params.json";

/// How ModelOpt describes its quantization beside the configuration.
const MODEL_OPT: &str = "hf_quant_config.json";

/// The weights of a folder.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Their tensors; of PyTorch archives, one for each file.
    pub checkpoint: Arc<Checkpoint>,
    /// The files they are in.
    pub files: Vec<Entry>,
    /// What had to be assumed of the tensors, each a whole sentence.
    pub assumptions: Vec<String>,
}

/// Does a folder hold an adapter rather than a model?
pub fn is_adapter(entries: &[Entry]) -> bool {
    let has = |name| entries.iter().any(|entry| entry.name == name);
    has(adapter::CONFIG) && !has(CONFIG) && !has(PARAMS)
}

/// Does a folder hold a model's configuration?
pub fn is_model(entries: &[Entry]) -> bool {
    let described = |entry: &Entry| [CONFIG, PARAMS].contains(&entry.name.as_str());
    entries.iter().any(described)
}

/// The model of a folder, with its weights where they are there and no field is overridden.
///
/// # Errors
/// A folder without a configuration, or one that cannot be read or describes no model.
pub fn model(
    collection: &dyn Collection,
    name: &str,
    overrides: &Map<String, Value>,
) -> Result<Model, Error> {
    let entries = collection.entries().map_err(Error::Listing)?;
    let chosen = files::choose(collection, &entries);
    of_set(collection, &entries, name, overrides, chosen)
}

/// The model that a file of weights in a folder stands for: that of the folder where the file is a part of one of its
/// copies, else what this file alone holds.
///
/// # Errors
/// As [`model`].
pub fn model_of_file(
    collection: &dyn Collection,
    file: &str,
    name: &str,
    overrides: &Map<String, Value>,
) -> Result<Model, Error> {
    let entries = collection.entries().map_err(Error::Listing)?;
    match files::asked(collection, &entries, file) {
        Ok(Some(files::Asked::Alone(set))) => {
            let weights = of_files(collection, set, &Value::Null)?;
            let reason = "it is none of the files that the configuration beside it describes";
            Ok(only_weights(stem(file), &Value::Null, reason, weights))
        }
        Ok(Some(files::Asked::Copy(set))) => {
            of_set(collection, &entries, name, overrides, Ok(Some(set)))
        }
        Ok(None) => model(collection, name, overrides),
        Err(error) => of_set(collection, &entries, name, overrides, Err(error)),
    }
}

/// A file's name without its ending.
pub(super) fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// The model that a folder describes, with these weights of it.
fn of_set(
    collection: &dyn Collection,
    entries: &[Entry],
    name: &str,
    overrides: &Map<String, Value>,
    set: Result<Option<files::Set>, Error>,
) -> Result<Model, Error> {
    let (file, config) = description(collection, entries)?;
    let model = describe(name, file, &config, overrides);
    if !overrides.is_empty() {
        // The files are no longer those of this model.
        return model;
    }
    let weights = set.and_then(|set| {
        set.map(|set| of_files(collection, set, &config))
            .transpose()
    });
    match model {
        Ok(model) => Ok(with_weights(model, &config, weights)),
        Err(Error::Model { file, reason }) if is_unknown(&reason) => match weights {
            Ok(Some(weights)) => Ok(only_weights(name, &config, &reason.to_string(), weights)),
            _ => Err(Error::Model { file, reason }),
        },
        Err(error) => Err(error),
    }
}

/// What describes the model of a folder, under the names of Hugging Face, and the file that it is in.
fn description(
    collection: &dyn Collection,
    entries: &[Entry],
) -> Result<(&'static str, Value), Error> {
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let own = !has(CONFIG) && has(PARAMS);
    let file = if own { PARAMS } else { CONFIG };
    let mut config = configuration(collection, file)?;
    if own && let Value::Object(params) = &config {
        config = params::translate(params);
    }
    if has(MODEL_OPT) && config.get("quantization_config").is_none() {
        let beside = configuration(collection, MODEL_OPT)?;
        if let (Value::Object(config), Some(quantization)) =
            (&mut config, beside.get("quantization"))
        {
            config.insert("quantization_config".to_owned(), quantization.clone());
        }
    }
    Ok((file, config))
}

/// A configuration that says nothing of layers, rather than something that cannot be.
fn is_unknown(reason: &model::Error) -> bool {
    matches!(
        reason,
        model::Error::Family { .. } | model::Error::Missing { .. }
    )
}

/// A model of which nothing is known but its weights.
fn only_weights(name: &str, config: &Value, reason: &str, weights: Weights) -> Model {
    let kind = config.get("model_type").and_then(Value::as_str);
    let mut assumptions = vec![format!("Nothing but the weights is counted: {reason}.")];
    assumptions.extend(weights.assumptions);
    let model = Model {
        name: name.to_owned(),
        model_type: kind.unwrap_or_default().to_owned(),
        other: Some(Encoder {
            parameters: weights.checkpoint.parameters(),
            ..Encoder::default()
        }),
        quantization: model::quantization_of(config),
        checkpoint: Some(weights.checkpoint),
        assumptions,
        ..Model::default()
    };
    model.sealed()
}

/// The weights of a folder without a configuration, or those that one file in it stands for; `None` where there are
/// none.
///
/// # Errors
/// What is wrong with one of their files.
pub fn undescribed(
    collection: &dyn Collection,
    file: Option<&str>,
    name: &str,
) -> Result<Option<Model>, Error> {
    let entries = collection.entries().map_err(Error::Listing)?;
    let set = match file {
        None => files::choose(collection, &entries)?,
        Some(file) => {
            let asked = files::asked(collection, &entries, file)?;
            asked.map(|(files::Asked::Copy(set) | files::Asked::Alone(set))| set)
        }
    };
    let Some(set) = set else {
        return Ok(None);
    };
    let weights = of_files(collection, set, &Value::Null)?;
    let reason = "there is no config.json beside them";
    Ok(Some(only_weights(name, &Value::Null, reason, weights)))
}

/// The model of a configuration alone.
///
/// # Errors
/// It cannot be read, or describes no model.
pub fn described(
    collection: &dyn Collection,
    file: &str,
    name: &str,
    overrides: &Map<String, Value>,
) -> Result<Model, Error> {
    describe(name, file, &configuration(collection, file)?, overrides)
}

fn describe(
    name: &str,
    file: &str,
    config: &Value,
    overrides: &Map<String, Value>,
) -> Result<Model, Error> {
    model::from_config(name, config, overrides).map_err(|reason| Error::Model {
        file: file.to_owned(),
        reason,
    })
}

fn configuration(collection: &dyn Collection, file: &str) -> Result<Value, Error> {
    let text = text::read(collection, file, LIMIT);
    text.and_then(|text| text::parse(&text))
        .map_err(|reason| reason.of(file))
}

/// The weights of a folder, where there are any.
///
/// # Errors
/// What is wrong with one of their files.
pub fn weights(collection: &dyn Collection, config: &Value) -> Result<Option<Weights>, Error> {
    let entries = collection.entries().map_err(Error::Listing)?;
    let set = files::choose(collection, &entries)?;
    set.map(|set| of_files(collection, set, config)).transpose()
}

fn of_files(
    collection: &dyn Collection,
    set: files::Set,
    config: &Value,
) -> Result<Weights, Error> {
    let mut assumptions = Vec::new();
    let checkpoint = match set.container {
        Container::Safetensors => {
            let stored = stored(collection, &set.files)?;
            assumptions.extend(tensors::newer(&stored));
            let quantization = model::quantization_of(config);
            let label = label::of(config, quantization.as_ref(), &stored);
            let tensors = tensors::of(&stored, quantization.as_ref());
            Checkpoint::new(set.container, label, tensors)
        }
        Container::PyTorch | Container::Gguf => {
            let quantization = model::quantization_of(config);
            let label = label::of(config, quantization.as_ref(), &[]);
            let tensors = archives(&set.files, set.total_size);
            Checkpoint::new(set.container, label, tensors)
        }
    };
    Ok(Weights {
        checkpoint: Arc::new(checkpoint),
        files: set.files,
        assumptions,
    })
}

/// The tensors of all files, each once.
fn stored(collection: &dyn Collection, files: &[Entry]) -> Result<Vec<Stored>, Error> {
    let mut all: Vec<Stored> = Vec::new();
    for entry in files {
        let file = entry.name.as_str();
        let opened = collection
            .open(file)
            .map_err(|error| Reason::Read(error).of(file))?;
        let tensors = header::read(opened.as_ref()).map_err(|reason| reason.of(file))?;
        if all.len().saturating_add(tensors.len()) > error::TENSORS {
            return Err(Error::Tensors);
        }
        all.extend(tensors);
    }
    let mut names = HashSet::with_capacity(all.len());
    match all
        .iter()
        .find(|tensor| !names.insert(tensor.name.as_str()))
    {
        Some(twice) => Err(Error::Twice(twice.name.clone())),
        None => Ok(all),
    }
}

/// PyTorch archives: what they hold is not looked at. An index tells their tensors' bytes, their own sizes a little more.
fn archives(files: &[Entry], total_size: Option<u64>) -> Vec<FileTensor> {
    let sizes = files
        .iter()
        .fold(0, |sum: u64, file| sum.saturating_add(file.bytes));
    let of_file = |file: &Entry| match total_size {
        Some(total) if total <= sizes => Bytes::new(file.bytes).mul_ratio(total, sizes),
        _ => Bytes::new(file.bytes),
    };
    let tensor = |file: &Entry| FileTensor {
        name: file.name.clone(),
        shape: [0, 1, 1, 1],
        kind: None,
        type_name: Cow::Borrowed("archive"),
        bytes: of_file(file),
        role: TensorRole::Opaque,
    };
    files.iter().map(tensor).collect()
}

/// The model with its weights and what they tell of it, or with the reason why they are of no use.
fn with_weights(
    mut model: Model,
    config: &Value,
    weights: Result<Option<Weights>, Error>,
) -> Model {
    match weights {
        Ok(None) => return model,
        Ok(Some(weights)) => {
            model = published::told(model, config, &weights.checkpoint);
            model.checkpoint = Some(weights.checkpoint);
            model.assumptions.extend(weights.assumptions);
        }
        Err(error) => model.assumptions.push(format!(
            "The files of weights cannot be used, so that weights are counted from the configuration: {error}."
        )),
    }
    model.sealed()
}

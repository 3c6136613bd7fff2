use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Error;
use crate::model::{self, Model};

/// What is known of a model without its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// What plans call it; the file's name without ending.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// Its family ("Qwen", "DeepSeek").
    pub family: String,
    /// Who published it.
    pub publisher: Option<String>,
    /// Repository of the published checkpoint on Hugging Face.
    pub hf_repo: Option<String>,
    /// Repository of GGUF files made from it, where one is known.
    pub gguf_repo: Option<String>,
    /// All parameters with vision and audio, prediction blocks not included.
    pub total_parameters: u64,
    /// Parameters that a token of text passes through.
    pub active_parameters: u64,
    /// Its licence, as the publisher names it.
    pub licence: Option<String>,
    /// Date of its release, as exactly as known ("2025-01-20", "2024-11").
    pub release: Option<String>,
    /// Longest context the published model is meant for, in tokens.
    pub context_length: Option<u64>,
    /// Element type of the published checkpoint.
    pub dtype: Option<String>,
    /// Quantization of the published checkpoint, where it has one.
    pub quantization: Option<String>,
    /// Where the configuration was read.
    pub source: Option<String>,
    /// The configuration was put together from dimensions in `source`, not read as a file.
    pub constructed: bool,
    /// Anything else worth knowing.
    pub note: Option<String>,
    /// Tokens that it knows, as its configuration says.
    #[serde(skip)]
    pub vocab_size: Option<u64>,
    /// Who made the preset.
    #[serde(skip)]
    pub origin: Origin,
}

/// Where a preset comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// It comes with the program.
    #[default]
    Program,
    /// It is a file of the user.
    User(PathBuf),
}

/// What is known of the published checkpoint beside its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Its parameters, everything in it counted.
    pub parameters: Option<u64>,
    /// How that figure compares to the one that follows from the configuration.
    pub check: Option<String>,
    /// Where the figure was read.
    pub source: Option<String>,
    /// A head is stored although the model ties it to the embedding.
    #[serde(default)]
    pub stores_tied_head: bool,
    /// Whether prediction blocks are stored, where the family would not tell.
    pub mtp: Option<bool>,
    /// Whether prediction blocks come with copies of embedding and head, where the family would not tell.
    pub mtp_copies_embedding: Option<bool>,
}

/// A model preset: what to show, what was published, and the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// What to show.
    pub entry: Entry,
    /// What was published.
    pub published: Published,
    /// The model's own files, which say more than its configuration as long as they are there.
    pub path: Option<String>,
    pub(super) config: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: Option<String>,
    family: Option<String>,
    publisher: Option<String>,
    hf_repo: Option<String>,
    gguf_repo: Option<String>,
    #[serde(default)]
    total_parameters: u64,
    #[serde(default)]
    active_parameters: u64,
    licence: Option<String>,
    release: Option<String>,
    context_length: Option<u64>,
    dtype: Option<String>,
    quantization: Option<String>,
    source: Option<String>,
    #[serde(default)]
    constructed: bool,
    note: Option<String>,
    path: Option<String>,
    #[serde(default)]
    published: Published,
    #[serde(default)]
    config: Map<String, Value>,
}

/// Of the language model, which may stand below others.
fn vocab_size(config: &Map<String, Value>) -> Option<u64> {
    let own = config.get("vocab_size").and_then(Value::as_u64);
    own.or_else(|| {
        let mut parts = config.values().filter_map(Value::as_object);
        parts.find_map(|part| part.get("vocab_size").and_then(Value::as_u64))
    })
}

impl Preset {
    /// Reads a preset file.
    pub(super) fn parse(id: &str, text: &str, origin: Origin) -> Result<Self, Error> {
        let file: File = toml::from_str(text).map_err(|error| Error::Malformed {
            id: id.to_owned(),
            reason: error.message().to_owned(),
        })?;
        Ok(Self {
            entry: Entry {
                id: id.to_owned(),
                title: file.title.unwrap_or_else(|| id.to_owned()),
                family: file.family.unwrap_or_else(|| "Other".to_owned()),
                publisher: file.publisher,
                hf_repo: file.hf_repo,
                gguf_repo: file.gguf_repo,
                total_parameters: file.total_parameters,
                active_parameters: file.active_parameters,
                licence: file.licence,
                release: file.release,
                context_length: file.context_length,
                dtype: file.dtype,
                quantization: file.quantization,
                source: file.source,
                constructed: file.constructed,
                note: file.note,
                vocab_size: vocab_size(&file.config),
                origin,
            },
            published: file.published,
            path: file.path,
            config: Value::Object(file.config),
        })
    }

    /// The configuration, as Hugging Face has it.
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// The model. `overrides` replace hyper-parameters of the language model by name.
    ///
    /// # Errors
    /// A configuration that is no model, or an override that it has no field for.
    pub fn model(&self, overrides: &Map<String, Value>) -> Result<Model, Error> {
        let model = model::from_config(&self.entry.id, &self.config, overrides);
        let model = model.map_err(|reason| Error::Model {
            id: self.entry.id.clone(),
            reason,
        })?;
        Ok(model.published(model::Published {
            stores_tied_head: self.published.stores_tied_head,
            mtp: self.published.mtp,
            mtp_copies_embedding: self.published.mtp_copies_embedding,
        }))
    }
}

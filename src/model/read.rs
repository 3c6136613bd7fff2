//! From a Hugging Face configuration to a model.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value};

use super::config::{Config, Error};
use super::configuration::Configuration;
use super::{Model, Quantization, family, vision};

/// Where multimodal configurations keep their language model.
const NESTED: [&str; 3] = ["text_config", "llm_config", "language_config"];

/// The model that a Hugging Face configuration (`config.json`) describes. `overrides` replace fields of the language
/// model by name; lists with an entry per layer are cut where there are fewer layers than entries.
///
/// # Errors
/// A configuration of an unknown family, or with a field that is missing, of the wrong kind, or out of all bounds.
pub fn from_config(
    name: &str,
    config: &Value,
    overrides: &Map<String, Value>,
) -> Result<Model, Error> {
    read(name, config, overrides, family::read)
}

/// The model that the usual names of fields describe, of whatever family it is; only what these fields do not say is
/// among its assumptions.
///
/// # Errors
/// A field that is missing, of the wrong kind, or out of all bounds.
pub fn from_fields(
    name: &str,
    config: &Value,
    overrides: &Map<String, Value>,
) -> Result<Model, Error> {
    read(name, config, overrides, family::by_fields)
}

fn read(
    name: &str,
    config: &Value,
    overrides: &Map<String, Value>,
    family: fn(&Config<'_>) -> Result<Model, Error>,
) -> Result<Model, Error> {
    let outer = config.as_object().ok_or(Error::NotAnObject)?;
    let asked = RefCell::default();
    let top = Config::new(outer, "", &asked);
    let nested = nested(&top)?;
    let mut text = match nested {
        Some(field) => inherit(outer, field),
        None => outer.clone(),
    };
    for (field, value) in overrides {
        text.insert(field.clone(), value.clone());
    }

    let asked = RefCell::default();
    let fields = Config::new(&text, "", &asked);
    let mut model = family(&fields)?;
    name.clone_into(&mut model.name);
    model.architecture = architecture(&top)?;
    if nested.is_some() {
        model.wrapper_type = top.text("model_type")?.map(str::to_owned);
    }
    model.vision = vision::read(&top, &model)?;
    model.quantization = quantization_of(config);
    model.deepstack = model.vision.map_or(0, |vision| vision.deepstack);
    check_overrides(overrides, &asked.borrow())?;
    model.configuration = Configuration::new(outer, nested, text);
    Ok(model.sealed())
}

/// The field that holds the language model, where it is nested.
fn nested(top: &Config<'_>) -> Result<Option<&'static str>, Error> {
    for field in NESTED {
        if top.object(field)?.is_some() {
            return Ok(Some(field));
        }
    }
    Ok(None)
}

/// Stands beside a nested language model as often as in it.
const TIED: &str = "tie_word_embeddings";

/// The nested object with what it inherits from the outer one: whether the embedding is tied.
fn inherit(outer: &Map<String, Value>, field: &str) -> Map<String, Value> {
    let mut text = outer
        .get(field)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    if let (None, Some(tied)) = (text.get(TIED), outer.get(TIED)) {
        text.insert(TIED.to_owned(), tied.clone());
    }
    text
}

fn architecture(top: &Config<'_>) -> Result<String, Error> {
    let first = top.list("architectures")?.and_then(<[Value]>::first);
    match first {
        None => Ok(String::new()),
        Some(value) => value
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| top.wrong("architectures", "a list of texts", value)),
    }
}

/// How a configuration says that its published weights are quantized.
pub fn quantization_of(config: &Value) -> Option<Quantization> {
    // Beside a nested language model as often as in it.
    let nested = NESTED.iter().filter_map(|field| config.get(*field));
    let mut objects = std::iter::once(config).chain(nested);
    objects.find_map(|object| {
        let fields = ["quantization_config", "compression_config"];
        let written = fields.iter().find_map(|field| object.get(*field))?;
        Quantization::read(written)
    })
}

/// An override must name a field that the family reads; anything else is a slip that would go unnoticed.
fn check_overrides(overrides: &Map<String, Value>, asked: &BTreeSet<String>) -> Result<(), Error> {
    for field in overrides.keys() {
        if !asked.contains(field) {
            return Err(Error::Override {
                field: field.clone(),
                nearest: nearest(field, asked.iter().map(String::as_str)),
            });
        }
    }
    Ok(())
}

/// The name closest to `written`, where one is close enough to be a slip.
pub(super) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    names
        .map(|name| (strsim::jaro_winkler(written, name), name))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

/// What the configuration does not say about the checkpoint that was published from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// A head is stored although the model ties it to the embedding.
    pub stores_tied_head: bool,
    /// Whether prediction blocks are stored, where that differs from the family's habit.
    pub mtp: Option<bool>,
    /// Whether prediction blocks come with copies of embedding and head, where that differs from the family's habit.
    pub mtp_copies_embedding: Option<bool>,
}

impl Model {
    /// The model with what is known about its published checkpoint.
    #[must_use]
    pub fn published(mut self, facts: Published) -> Self {
        self.stores_tied_head = facts.stores_tied_head && self.tie_word_embeddings;
        if let Some(mtp) = &mut self.mtp {
            mtp.stored = facts.mtp.unwrap_or(mtp.stored);
            mtp.copies_embedding = facts.mtp_copies_embedding.unwrap_or(mtp.copies_embedding);
        }
        self.sealed()
    }

    /// The model with its fingerprint made anew. Whoever changes a model calls it last.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.fingerprint = 0;
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        self.fingerprint = hasher.finish();
        self
    }
}

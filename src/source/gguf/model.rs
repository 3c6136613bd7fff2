//! From a file to its model.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::{Error, Reason, shown};
use super::facts::{BLOCKS, Facts};
use super::{Gguf, Kind, architecture, refused, stem};
use crate::model::{self, Model, Published};
use crate::plain::tame;

impl Gguf {
    /// The model of a model file: hyper-parameters from its metadata and tensors, weights as the file has them.
    ///
    /// An architecture that is not known is read by the standard keys, and what is assumed is said. Where they do not
    /// suffice, nothing but the weights is known, and the model says which keys it lacks.
    ///
    /// # Errors
    /// A file of another kind, metadata of a known architecture that lacks what every model has, or an override of no
    /// field.
    pub fn model(&self, overrides: &Map<String, Value>) -> Result<Model, Error> {
        let fail = |reason| refused(self.name(), reason);
        if self.kind != Kind::Model {
            return Err(fail(Reason::NotAModel(self.kind.describe())));
        }
        let architecture = self.metadata.text("general.architecture");
        let architecture = architecture.unwrap_or_default();
        let facts = Facts::new(architecture, &self.metadata, &self.checkpoint.tensors);
        let is_known = architecture::known(&facts).is_some();
        // Engines do not load it either.
        if let Some(lack) = facts.lacking_blocks().filter(|_| is_known) {
            return Err(fail(Reason::Lacking(lack)));
        }
        let mut model = match described(&self.title(), &facts, overrides) {
            Ok(model) => model,
            // A slip of the user's is not the file's.
            Err(error @ model::Error::Override { .. }) => return Err(fail(Reason::Model(error))),
            // What nobody knows has its weights still.
            Err(error) if !is_known && overrides.is_empty() => Model::of_weights(
                self.title(),
                architecture.to_owned(),
                Arc::clone(&self.checkpoint),
                &lacks(&facts, &error),
            ),
            Err(error) => return Err(fail(Reason::Lacking(lacks(&facts, &error)))),
        };
        let doubts = facts.doubts(&model.assumptions);
        model.assumptions.extend(doubts);
        model.assumptions.extend(self.assumptions.iter().cloned());
        model.deepstack = facts.positive("n_deepstack_layers").unwrap_or(0);
        model.checkpoint = Some(Arc::clone(&self.checkpoint));
        Ok(model.published(Published {
            stores_tied_head: false,
            mtp: Some(facts.prediction_blocks() > 0),
            mtp_copies_embedding: Some(facts.some_block_has("nextn.embed_tokens.weight")),
        }))
    }

    /// The name of the file that engines are given.
    pub fn name(&self) -> &str {
        self.files.first().map(String::as_str).unwrap_or_default()
    }

    /// What to call it: its file's name without ending and number of part.
    pub fn title(&self) -> String {
        tame(stem(self.name()))
    }
}

/// The model by the rules of its architecture, or by the standard keys where there are none or the file does not keep
/// to them.
fn described(
    title: &str,
    facts: &Facts<'_>,
    overrides: &Map<String, Value>,
) -> Result<Model, model::Error> {
    let by_standard = |sentence: String| {
        let config = Value::Object(architecture::any(facts));
        let mut model = model::from_fields(title, &config, overrides)?;
        for assumption in &mut model.assumptions {
            *assumption = by_keys(facts, assumption);
        }
        model.assumptions.insert(0, sentence);
        Ok(model)
    };
    let name = shown(facts.architecture.as_bytes());
    let Some(config) = architecture::known(facts) else {
        return by_standard(format!(
            "The architecture {name} is not known here: layers and caches follow from the standard keys of its \
             metadata."
        ));
    };
    match model::from_config(title, &Value::Object(config), overrides) {
        Ok(model) => Ok(model),
        Err(error @ model::Error::Override { .. }) => Err(error),
        Err(error) => by_standard(format!(
            "The file is not as others of the architecture {name} ({}): layers and caches follow from the standard \
             keys of its metadata.",
            told(facts, &error)
        )),
    }
}

/// Every key that a file would have to have for its model to be described.
fn lacks(facts: &Facts<'_>, error: &model::Error) -> String {
    let mut lacks: Vec<String> = Vec::new();
    if facts.all_blocks() == 0 {
        lacks.push(facts.lacking(BLOCKS));
    }
    if facts.list(HEADS).is_none() {
        lacks.push(facts.lacking(HEADS));
    }
    // Another word on the same key says nothing new.
    let reason = told(facts, error);
    if !lacks.iter().any(|lack| subject(lack) == subject(&reason)) {
        lacks.push(reason);
    }
    lacks.join("; ")
}

/// The first name in a sentence.
fn subject(sentence: &str) -> Option<&str> {
    sentence.split('`').nth(1)
}

/// How many heads there are.
const HEADS: &str = "attention.head_count";

/// Why a file is not described, by its own keys.
fn told(facts: &Facts<'_>, error: &model::Error) -> String {
    let missing = match error {
        model::Error::Missing { field } => field.as_str(),
        model::Error::Family { missing, .. } => *missing,
        other => return by_keys(facts, &other.to_string()),
    };
    match architecture::key_of(facts, missing) {
        Some(key) => facts.lacking(key),
        None => by_keys(facts, &error.to_string()),
    }
}

/// A sentence that names fields of configurations, with the keys in their place that the fields were read from.
fn by_keys(facts: &Facts<'_>, sentence: &str) -> String {
    let words = sentence.split('`').enumerate().map(|(index, word)| {
        let is_name = index % 2 == 1;
        let key = architecture::key_of(facts, word).filter(|_| is_name);
        key.map_or_else(|| word.to_owned(), |key| facts.key(key))
    });
    words.collect::<Vec<_>>().join("`")
}

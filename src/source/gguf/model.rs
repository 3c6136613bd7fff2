//! From a file to its model.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::{Error, Reason};
use super::facts::Facts;
use super::split::Part;
use super::{Gguf, Kind, architecture, refused};
use crate::model::{self, Model, Published};
use crate::plain::shows_itself;

impl Gguf {
    /// The model of a model file: hyper-parameters from its metadata and tensors, weights as the file has them.
    ///
    /// An architecture that is not known is read by the standard keys, and what is assumed is said; where those are not
    /// there, the model is known by its weights alone.
    ///
    /// # Errors
    /// A file of another kind, metadata of a known architecture that lacks what every model has, or an override of no field.
    pub fn model(&self, overrides: &Map<String, Value>) -> Result<Model, Error> {
        let fail = |reason| refused(self.name(), reason);
        if self.kind != Kind::Model {
            return Err(fail(Reason::NotAModel(self.kind.describe())));
        }
        let architecture = self.metadata.text("general.architecture");
        let architecture = architecture.unwrap_or_default();
        let facts = Facts::new(architecture, &self.metadata, &self.checkpoint.tensors);
        // What nobody knows has its weights still; what is known here lacks what every such file has.
        let weights_do = architecture::known(&facts).is_none() && overrides.is_empty();
        if facts.all_blocks() == 0 {
            let reason = Reason::Missing(format!("{architecture}.block_count"));
            if weights_do {
                return Ok(self.only_weights(architecture, &reason.to_string()));
            }
            return Err(fail(reason));
        }
        let mut model = match described(&self.title(), &facts, overrides) {
            Ok(model) => model,
            Err(reason) if weights_do && says_too_little(&reason) => {
                return Ok(self.only_weights(architecture, &reason.to_string()));
            }
            Err(reason) => return Err(fail(Reason::Model(reason))),
        };
        model.assumptions.extend(self.assumptions.iter().cloned());
        model.deepstack = facts.positive("n_deepstack_layers").unwrap_or(0);
        model.checkpoint = Some(Arc::clone(&self.checkpoint));
        Ok(model.published(Published {
            stores_tied_head: false,
            mtp: Some(facts.prediction_blocks() > 0),
            mtp_copies_embedding: Some(facts.some_block_has("nextn.embed_tokens.weight")),
        }))
    }

    /// The model as far as its tensors go, and why no further.
    fn only_weights(&self, architecture: &str, reason: &str) -> Model {
        let mut model = Model::of_weights(
            self.title(),
            architecture.to_owned(),
            Arc::clone(&self.checkpoint),
            reason,
        );
        model.assumptions.extend(self.assumptions.iter().cloned());
        model.sealed()
    }

    /// The name of the file that engines are given.
    pub fn name(&self) -> &str {
        self.files.first().map(String::as_str).unwrap_or_default()
    }

    /// What to call it: its file's name without ending and number of part.
    pub fn title(&self) -> String {
        let name = self.name();
        let stem = match Part::of(name) {
            Some(part) => part.prefix,
            None => name.strip_suffix(".gguf").unwrap_or(name),
        };
        stem.chars()
            .filter(|letter| shows_itself(*letter))
            .collect()
    }
}

/// Nothing is wrong with what the file says; it is not enough.
fn says_too_little(reason: &model::Error) -> bool {
    matches!(
        reason,
        model::Error::Family { .. } | model::Error::Missing { .. }
    )
}

/// The model by the rules of its architecture, or by the standard keys where there are none or the file does not keep
/// to them.
fn described(
    title: &str,
    facts: &Facts<'_>,
    overrides: &Map<String, Value>,
) -> Result<Model, model::Error> {
    let by_standard = || {
        let config = Value::Object(architecture::any(facts));
        model::from_config(title, &config, overrides)
    };
    let Some(config) = architecture::known(facts) else {
        let mut model = by_standard()?;
        model.assumptions.push(format!(
            "The architecture `{}` is not known here: layers and caches follow from the standard keys of its metadata.",
            facts.architecture
        ));
        return Ok(model);
    };
    match model::from_config(title, &Value::Object(config), overrides) {
        Ok(model) => Ok(model),
        // A slip of the user's is not the file's.
        Err(error @ model::Error::Override { .. }) => Err(error),
        Err(error) => {
            let Ok(mut model) = by_standard() else {
                return Err(error);
            };
            model.assumptions.push(format!(
                "The file is not as others of the architecture `{}` ({error}): layers and caches follow from the \
                 standard keys of its metadata.",
                facts.architecture
            ));
            Ok(model)
        }
    }
}

//! The configuration that a model was read from, kept to be written again.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::{Map, Value};

/// The configuration that a model was read from, overrides applied. It says nothing that matters and that the model
/// does not say: all are equal, so that comparing models does not walk them.
#[derive(Clone, Debug, Default)]
pub struct Configuration(Option<Arc<Value>>);

impl Configuration {
    /// The outer configuration with the language model's in the field where it is nested.
    pub(super) fn new(
        outer: &Map<String, Value>,
        nested: Option<&str>,
        text: Map<String, Value>,
    ) -> Self {
        let whole = match nested {
            Some(field) => {
                let mut whole = outer.clone();
                whole.insert(field.to_owned(), Value::Object(text));
                whole
            }
            None => text,
        };
        Self(Some(Arc::new(Value::Object(whole))))
    }

    /// As Hugging Face has it; `None` of a model that was read from none.
    pub fn value(&self) -> Option<&Value> {
        self.0.as_deref()
    }
}

impl PartialEq for Configuration {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Configuration {}

impl Hash for Configuration {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

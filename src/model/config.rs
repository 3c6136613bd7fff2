use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Why a configuration is no model that can be projected. Every message names the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not a JSON object at all.
    #[error("the configuration is not an object")]
    NotAnObject,
    /// A field that must be there is not.
    #[error("`{field}` is missing")]
    Missing {
        /// Its name.
        field: String,
    },
    /// A field holds another kind of value.
    #[error("`{field}` must be {expected}, not {found}")]
    Kind {
        /// Its name.
        field: String,
        /// What it must be, in words.
        expected: &'static str,
        /// What it is, shortened.
        found: String,
    },
    /// A number that no real model has.
    #[error("`{field}` is {found}; it must be from {least} to {most}")]
    Bounds {
        /// Its name.
        field: String,
        /// What it is.
        found: u64,
        /// The least allowed.
        least: u64,
        /// The most allowed.
        most: u64,
    },
    /// Fields that contradict each other.
    #[error("`{field}` {reason}")]
    Inconsistent {
        /// The field that cannot be.
        field: String,
        /// Why.
        reason: String,
    },
    /// A `model_type` that no family reads, and too few fields to go by.
    #[error(
        "models of type `{model_type}` are not known{}, and there is no `{missing}` to go by",
        suggestion(.nearest.as_deref())
    )]
    Family {
        /// As written.
        model_type: String,
        /// The nearest known one.
        nearest: Option<String>,
        /// The first field that would be needed.
        missing: &'static str,
    },
    /// An override that changes nothing.
    #[error("`{field}` is no known field{}", suggestion(.nearest.as_deref()))]
    Override {
        /// As written.
        field: String,
        /// The nearest field.
        nearest: Option<String>,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!(" (did you mean `{name}`?)"))
        .unwrap_or_default()
}

/// What a number counts; each kind has a most, far above any real model, that keeps all later arithmetic harmless.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    /// Layers.
    Layers,
    /// Heads, experts, groups, ranks.
    Count,
    /// Widths of vectors.
    Width,
    /// Rows of tables.
    Rows,
    /// Tokens of context.
    Tokens,
}

impl Limit {
    pub(super) const fn most(self) -> u64 {
        match self {
            Self::Layers => 10_000,
            Self::Count => 1 << 20,
            Self::Width => 1 << 26,
            Self::Rows => 1 << 32,
            Self::Tokens => 1 << 48,
        }
    }
}

/// A configuration object that is read with care: `null` is absent, numbers are bounded, errors name the field.
pub(super) struct Config<'a> {
    object: &'a Map<String, Value>,
    prefix: String,
    /// Fields asked for, present or not: what an override may be called.
    asked: &'a RefCell<BTreeSet<String>>,
}

impl<'a> Config<'a> {
    pub(super) fn new(
        object: &'a Map<String, Value>,
        prefix: &str,
        asked: &'a RefCell<BTreeSet<String>>,
    ) -> Self {
        Self {
            object,
            prefix: prefix.to_owned(),
            asked,
        }
    }

    /// The value of a field; `null` counts as absent.
    pub(super) fn get(&self, field: &str) -> Option<&'a Value> {
        if self.prefix.is_empty() {
            self.asked.borrow_mut().insert(field.to_owned());
        }
        self.object.get(field).filter(|value| !value.is_null())
    }

    fn name(&self, field: &str) -> String {
        format!("{}{field}", self.prefix)
    }

    pub(super) fn wrong(&self, field: &str, expected: &'static str, found: &Value) -> Error {
        let mut found = match found {
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            other => other.to_string(),
        };
        if let Some((end, _)) = found.char_indices().nth(40) {
            found.truncate(end);
        }
        Error::Kind {
            field: self.name(field),
            expected,
            found,
        }
    }

    pub(super) fn inconsistent(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::Inconsistent {
            field: self.name(field),
            reason: reason.into(),
        }
    }

    fn whole(&self, field: &str, value: &Value, least: u64, limit: Limit) -> Result<u64, Error> {
        // Some writers print whole numbers as 4096.0.
        let whole_float = |number: f64| {
            (number >= 0.0 && number.fract() == 0.0 && number < 2_f64.powi(53))
                .then_some(number as u64)
        };
        let number = value
            .as_u64()
            .or_else(|| value.as_f64().and_then(whole_float))
            .ok_or_else(|| self.wrong(field, "a whole number", value))?;
        if number < least || number > limit.most() {
            return Err(Error::Bounds {
                field: self.name(field),
                found: number,
                least,
                most: limit.most(),
            });
        }
        Ok(number)
    }

    /// A number that may be absent or zero.
    pub(super) fn count(&self, field: &str, limit: Limit) -> Result<Option<u64>, Error> {
        self.get(field)
            .map(|value| self.whole(field, value, 0, limit))
            .transpose()
    }

    /// A number that may be absent, zero being the same.
    pub(super) fn positive(&self, field: &str, limit: Limit) -> Result<Option<u64>, Error> {
        Ok(self.count(field, limit)?.filter(|number| *number > 0))
    }

    /// A number, or a list of them with one per layer; empty where it is absent.
    pub(super) fn one_or_several(&self, field: &str, limit: Limit) -> Result<Vec<u64>, Error> {
        let values = match self.get(field) {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) if list.len() as u64 > Limit::Layers.most() => {
                return Err(self.inconsistent(field, "has too many entries"));
            }
            Some(Value::Array(list)) => list.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let whole = |value| self.whole(field, value, 0, limit);
        values.iter().map(whole).collect()
    }

    /// A number that must be there and be at least one.
    pub(super) fn size(&self, field: &str, limit: Limit) -> Result<u64, Error> {
        let value = self.get(field).ok_or_else(|| Error::Missing {
            field: self.name(field),
        })?;
        self.whole(field, value, 1, limit)
    }

    /// A number of at least one, or what it is where it is absent.
    pub(super) fn size_or(&self, field: &str, limit: Limit, absent: u64) -> Result<u64, Error> {
        match self.get(field) {
            Some(value) => self.whole(field, value, 1, limit),
            None => Ok(absent),
        }
    }

    /// The first of several spellings that is there, at least one.
    pub(super) fn first_size(&self, fields: &[&str], limit: Limit) -> Result<u64, Error> {
        let present = fields.iter().find(|field| self.get(field).is_some());
        match present.or(fields.first()) {
            Some(field) => self.size(field, limit),
            None => Err(Error::NotAnObject),
        }
    }

    /// A switch.
    pub(super) fn flag(&self, field: &str, absent: bool) -> Result<bool, Error> {
        match self.get(field) {
            None => Ok(absent),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| self.wrong(field, "true or false", value)),
        }
    }

    /// A text.
    pub(super) fn text(&self, field: &str) -> Result<Option<&'a str>, Error> {
        self.get(field)
            .map(|value| {
                value
                    .as_str()
                    .ok_or_else(|| self.wrong(field, "a text", value))
            })
            .transpose()
    }

    /// A finite number.
    pub(super) fn number(&self, field: &str) -> Result<Option<f64>, Error> {
        self.get(field)
            .map(|value| {
                value
                    .as_f64()
                    .filter(|number| number.is_finite())
                    .ok_or_else(|| self.wrong(field, "a number", value))
            })
            .transpose()
    }

    /// A nested object.
    pub(super) fn object(&self, field: &str) -> Result<Option<Config<'a>>, Error> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        let object = value
            .as_object()
            .ok_or_else(|| self.wrong(field, "an object", value))?;
        let prefix = format!("{}.", self.name(field));
        Ok(Some(Config::new(object, &prefix, self.asked)))
    }

    /// An object in a list.
    pub(super) fn element(&self, field: &str, value: &'a Value) -> Result<Config<'a>, Error> {
        let object = value
            .as_object()
            .ok_or_else(|| self.wrong(field, "a list of objects", value))?;
        let prefix = format!("{}[].", self.name(field));
        Ok(Config::new(object, &prefix, self.asked))
    }

    /// A list of any length.
    pub(super) fn list(&self, field: &str) -> Result<Option<&'a [Value]>, Error> {
        self.get(field)
            .map(|value| {
                value
                    .as_array()
                    .map(Vec::as_slice)
                    .ok_or_else(|| self.wrong(field, "a list", value))
            })
            .transpose()
    }

    /// A list with an entry per layer: cut to the number of layers, an error where it is shorter.
    pub(super) fn per_layer(
        &self,
        field: &str,
        layers: usize,
    ) -> Result<Option<&'a [Value]>, Error> {
        let Some(list) = self.list(field)? else {
            return Ok(None);
        };
        let cut = list.get(..layers).ok_or_else(|| {
            let reason = format!("has {} entries for {layers} layers", list.len());
            self.inconsistent(field, reason)
        })?;
        Ok(Some(cut))
    }

    /// As [`Self::per_layer`], of texts.
    pub(super) fn texts_per_layer(
        &self,
        field: &str,
        layers: usize,
    ) -> Result<Option<Vec<&'a str>>, Error> {
        let Some(list) = self.per_layer(field, layers)? else {
            return Ok(None);
        };
        list.iter()
            .map(|entry| {
                entry
                    .as_str()
                    .ok_or_else(|| self.wrong(field, "a list of texts", entry))
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// As [`Self::per_layer`], of whole numbers.
    pub(super) fn numbers_per_layer(
        &self,
        field: &str,
        layers: usize,
    ) -> Result<Option<Vec<u64>>, Error> {
        let Some(list) = self.per_layer(field, layers)? else {
            return Ok(None);
        };
        self.numbers(field, list).map(Some)
    }

    /// A list of whole numbers (indices, depths) of any length up to the most number of layers.
    pub(super) fn indices(&self, field: &str) -> Result<Vec<u64>, Error> {
        let list = self.list(field)?.unwrap_or_default();
        if list.len() as u64 > Limit::Layers.most() {
            return Err(self.inconsistent(field, "has too many entries"));
        }
        self.numbers(field, list)
    }

    fn numbers(&self, field: &str, list: &[Value]) -> Result<Vec<u64>, Error> {
        list.iter()
            .map(|entry| {
                entry
                    .as_u64()
                    .ok_or_else(|| self.wrong(field, "a list of whole numbers", entry))
            })
            .collect()
    }
}

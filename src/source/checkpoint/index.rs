//! Indexes of checkpoints in several files: which files there are. Names of tensors are passed over, so that an index
//! of any length takes the memory of its text.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};

use super::error::Reason;
use super::text;
use crate::plain::quoted;
use crate::source::access::Collection;

/// Most bytes of an index. That of DeepSeek-R1, with 91,991 tensors, has nine million.
const LIMIT: u64 = 64 << 20;

/// Most files of a checkpoint. DeepSeek-R1 comes in 163.
const FILES: usize = 10_000;

/// An index.
#[derive(Deserialize)]
pub(super) struct Index {
    #[serde(default)]
    metadata: Totals,
    weight_map: Files,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Totals {
    /// Bytes of all tensors; some writers have it as a fraction.
    total_size: Option<f64>,
}

/// The files that a map from tensors to files names.
struct Files(BTreeSet<String>);

impl Index {
    /// Reads an index of a collection.
    pub(super) fn read(collection: &dyn Collection, name: &str) -> Result<Self, Reason> {
        let text = text::read(collection, name, LIMIT)?;
        let index: Self = serde_json::from_str(&text).map_err(|error| text::sound(&error))?;
        for file in &index.weight_map.0 {
            if !is_plain(file) {
                return Err(Reason::Outside(quoted(file)));
            }
        }
        if index.weight_map.0.is_empty() {
            return Err(Reason::Shape("names no files".to_owned()));
        }
        Ok(index)
    }

    /// The files in order of their names.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.weight_map.0.iter().map(String::as_str)
    }

    /// Bytes of all tensors, where it says so.
    pub(super) fn total_size(&self) -> Option<u64> {
        let whole = |size: &f64| *size >= 0.0 && *size < 2_f64.powi(63);
        self.metadata
            .total_size
            .filter(whole)
            .map(|size| size as u64)
    }
}

/// A name that stays in the folder.
fn is_plain(name: &str) -> bool {
    let strange = |letter: char| matches!(letter, '/' | '\\' | ':') || letter.is_control();
    !name.is_empty() && !name.starts_with('.') && !name.contains(strange)
}

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = Files;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map from tensors to files")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Files, A::Error> {
                let mut files = BTreeSet::new();
                while map.next_key::<de::IgnoredAny>()?.is_some() {
                    let file: std::borrow::Cow<'de, str> = map.next_value()?;
                    if !files.contains(file.as_ref()) {
                        if files.len() == FILES {
                            return Err(de::Error::custom("it names too many files"));
                        }
                        files.insert(file.into_owned());
                    }
                }
                Ok(Files(files))
            }
        }

        deserializer.deserialize_map(Names)
    }
}

//! How near projections come to what engines really allocated: rows of measurements in, tables of errors out.
//!
//! Rows are JSON, one per line. Four kinds are known, told apart by what they hold: buffers that llama.cpp allocated,
//! choices of its automatic fit, sizes of model files by type, and numbers from public logs.

mod buffers;
mod fit;
mod log;
mod memory;
mod model;
mod row;
mod samples;
mod size;
mod table;

use std::collections::BTreeMap;

use serde_json::Value as Json;

pub use fit::{Decision, Question};
pub use log::LogLine;
pub use row::modelled;
pub use samples::{Errors, Sample, What};
pub use size::Size;

use crate::catalog::models::ModelCatalog;
use crate::engine::Memo;
use crate::model::Model;

/// Rows read so far, compared.
#[derive(Default)]
pub struct Accuracy {
    models: BTreeMap<(String, Option<u64>), Option<Model>>,
    memo: Memo,
    /// Buffers against the projection.
    pub samples: Vec<Sample>,
    /// Refusals of the engine: row, and whether the projection refuses too.
    pub refusals: Vec<(String, bool)>,
    /// Choices of the engine's fit.
    pub decisions: Vec<Decision>,
    /// Model files.
    pub sizes: Vec<Size>,
    /// Public logs.
    pub logs: Vec<LogLine>,
    /// Rows of models that no preset describes, by model.
    pub without_preset: BTreeMap<String, usize>,
    /// Rows that the projection refuses and the engine does not, with the reason.
    pub refused: Vec<String>,
    /// Lines of kinds that are compared elsewhere or not known.
    pub other: usize,
}

/// What became of a row.
enum Outcome<T> {
    /// It was compared.
    Compared(T),
    /// No preset describes the model.
    NoPreset(String),
    /// It is not of this kind.
    NotThis,
}

impl Accuracy {
    /// Compares every line of a text.
    pub fn read(&mut self, text: &str, catalog: &ModelCatalog) {
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            match serde_json::from_str(line) {
                Ok(json) => self.row(number + 1, &json, catalog),
                Err(_) => self.other += 1,
            }
        }
    }

    fn row(&mut self, number: usize, json: &Json, catalog: &ModelCatalog) {
        let has = |name: &str| json.get(name).is_some();
        if has("fit") {
            let outcome = self.fit(json, catalog);
            let row = self.compared(outcome);
            self.decisions.extend(row);
        } else if has("tensor_bytes") {
            let outcome = self.size(json, catalog);
            let row = self.compared(outcome);
            self.sizes.extend(row);
        } else if has("log") {
            let outcome = self.log(json, catalog);
            let lines = self.compared(outcome);
            self.logs.extend(lines.into_iter().flatten());
        } else {
            let outcome = self.memory(number, json, catalog);
            self.compared(outcome);
        }
    }

    /// What was compared; the rest is counted.
    fn compared<T>(&mut self, outcome: Outcome<T>) -> Option<T> {
        match outcome {
            Outcome::Compared(row) => return Some(row),
            Outcome::NoPreset(model) => *self.without_preset.entry(model).or_default() += 1,
            Outcome::NotThis => self.other += 1,
        }
        None
    }

    /// The model of a preset, read once, with another trained context where one is given.
    fn model(&mut self, id: &str, trained: Option<u64>, catalog: &ModelCatalog) -> Option<&Model> {
        let key = (id.to_owned(), trained);
        let model = self.models.entry(key).or_insert_with(|| {
            let mut overrides = serde_json::Map::new();
            if let Some(trained) = trained {
                overrides.insert("max_position_embeddings".to_owned(), trained.into());
            }
            catalog.find(id).ok()?.model(&overrides).ok()
        });
        model.as_ref()
    }

    /// Nothing was compared.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
            && self.refusals.is_empty()
            && self.refused.is_empty()
            && self.decisions.is_empty()
            && self.sizes.is_empty()
            && self.logs.is_empty()
    }

    /// Errors of a kind.
    pub fn errors(&self, what: What) -> Errors {
        Errors::of(self.samples.iter().filter(|sample| sample.what == what))
    }
}

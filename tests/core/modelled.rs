//! The machine that measured rows were made on, and models by preset.

use std::collections::BTreeMap;
use std::sync::Mutex;

pub(crate) use plimsoll::accuracy::modelled as machine;
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::model::Model;
use serde_json::Map;

/// The model of a preset, read once, with another trained context where one is given.
pub(crate) fn preset_with(id: &str, trained: Option<u64>) -> Option<Model> {
    type Read = BTreeMap<(String, Option<u64>), Option<Model>>;
    static READ: Mutex<Read> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().expect("no test panics with it");
    read.entry((id.to_owned(), trained))
        .or_insert_with(|| {
            let preset = ModelCatalog::embedded().find(id).ok()?;
            let mut overrides = Map::new();
            if let Some(trained) = trained {
                overrides.insert("max_position_embeddings".to_owned(), trained.into());
            }
            Some(preset.model(&overrides).expect("a known family"))
        })
        .clone()
}

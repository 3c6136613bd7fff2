//! Models: presets, parameter counts, configurations good and bad.

mod caches;
mod catalog;
mod config;
mod generic;
mod hostile;
mod parameters;
mod saved;

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::model::Model;
use serde_json::Map;

/// A preset as it stands.
pub(crate) fn preset(id: &str) -> Model {
    let catalog = ModelCatalog::embedded();
    let preset = catalog.find(id).expect("the preset is there");
    preset.model(&Map::new()).expect("the preset is a model")
}

//! From a repository to a model, by the same readers as from this computer.

use serde_json::{Map, Value};

use super::Error;
use super::choices::Choice;
use super::repository::Repository;
use crate::model::{Container, Model};
use crate::source::access::Collection as _;
use crate::source::{checkpoint, gguf};

/// The model of a choice.
pub(super) fn read(
    repository: &Repository<'_>,
    choice: &Choice,
    overrides: &Map<String, Value>,
) -> Result<Model, Error> {
    let model = match choice.container {
        Container::Gguf => {
            let file = choice.files.first().map(String::as_str).unwrap_or_default();
            let name = file.rsplit('/').next().unwrap_or(file);
            let model = gguf::read(repository, name).and_then(|file| file.model(overrides));
            model.map_err(|error| error.to_string())
        }
        Container::Safetensors | Container::PyTorch => {
            let name = repository
                .listing
                .repository
                .rsplit('/')
                .next()
                .unwrap_or_default();
            described(repository, name, overrides)
        }
    };
    // Readers make do without what they cannot have; here it is known why they could not.
    if let Some(failure) = repository.failure() {
        return Err(failure);
    }
    model.map_err(|reason| Error::Model(format!("{reason} of {}", repository.listing.repository)))
}

/// The model of a checkpoint, or why an adapter is none.
fn described(
    repository: &Repository<'_>,
    name: &str,
    overrides: &Map<String, Value>,
) -> Result<Model, String> {
    let said = |error: checkpoint::Error| error.to_string();
    let entries = repository.entries().map_err(|error| error.to_string())?;
    if !checkpoint::is_adapter(&entries) {
        return checkpoint::model(repository, name, overrides).map_err(said);
    }
    let adapter = checkpoint::adapter(repository).map_err(said)?;
    let base = adapter.base.map(|base| format!(" for {base}"));
    Err(format!(
        "this is a LoRA adapter{}, not a model: open that model and give it the adapter",
        base.unwrap_or_default()
    ))
}

//! From a repository to a model, by the same readers as from this computer.

use serde_json::{Map, Value};

use super::Error;
use super::choices::Choice;
use super::repository::Repository;
use crate::model::{self, Container, Model};
use crate::source::access::Collection as _;
use crate::source::gguf;

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

/// The model of a configuration.
fn described(
    repository: &Repository<'_>,
    name: &str,
    overrides: &Map<String, Value>,
) -> Result<Model, String> {
    const CONFIG: &str = "config.json";
    const LIMIT: u64 = 16 << 20;
    let file = repository.open(CONFIG).map_err(|error| error.to_string())?;
    if file.size() > LIMIT {
        return Err(format!("more than {LIMIT} bytes of {CONFIG}"));
    }
    let mut text = vec![0; usize::try_from(file.size()).unwrap_or_default()];
    file.read_at(0, &mut text)
        .map_err(|error| error.to_string())?;
    let config: Value =
        serde_json::from_slice(&text).map_err(|error| format!("{error} in {CONFIG}"))?;
    model::from_config(name, &config, overrides).map_err(|error| error.to_string())
}

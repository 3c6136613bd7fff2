//! What goes with a model and is none itself.

use std::path::Path;

use super::checkpoint::Adapter;
use super::gguf::{self, Gguf, Kind};
use super::{Error, config};

/// What goes with a model and is none itself.
#[derive(Clone, Debug)]
pub enum Part {
    /// A GGUF file: a projector, an adapter, statistics, a vocabulary.
    Gguf(Box<Gguf>),
    /// An adapter as PEFT saves it.
    Adapter {
        /// What it says.
        adapter: Box<Adapter>,
        /// What to call it.
        name: String,
    },
}

/// What lies at a path, where it goes with a model and is none.
///
/// # Errors
/// What is wrong with it.
pub fn part(path: &Path) -> Result<Option<Part>, Error> {
    if path.is_file() && gguf::is_meant(path) {
        let file = Box::new(gguf::open(path)?);
        return Ok((file.kind != Kind::Model).then_some(Part::Gguf(file)));
    }
    if !path.exists() {
        return Ok(None);
    }
    let adapter = config::adapter(path)?;
    Ok(adapter.map(|(adapter, name)| Part::Adapter {
        adapter: Box::new(adapter),
        name,
    }))
}

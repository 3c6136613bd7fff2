//! Files that a launch loads beside a model, as far as they are on this computer.

use std::path::Path;
use std::sync::Arc;

use super::gguf::{self, Gguf, Kind};
use crate::model::{Attached, Checkpoint, Model};
use crate::plan::LaunchOptions;

/// The model with what is in the files that a plan names beside it. A file that is not here may be where the launch will
/// run: what it takes is estimated then. One that is here and is something else is said so.
pub fn attached(model: Model, options: &LaunchOptions) -> Model {
    let mut assumptions = Vec::new();
    let mut read = |path: &str, wanted: Kind| match file(path, wanted) {
        Ok(found) => found,
        Err(reason) => {
            assumptions.push(reason);
            None
        }
    };
    let projector = options.mmproj_path.as_deref();
    let attached = Attached {
        projector: projector.and_then(|path| read(path, Kind::Projector)),
        adapters: options
            .lora_paths
            .iter()
            .map(|path| read(path, Kind::Adapter))
            .collect(),
    };
    if attached.is_empty() && assumptions.is_empty() {
        return model;
    }
    let mut model = model;
    model.attached = attached;
    model.assumptions.extend(assumptions);
    model.sealed()
}

/// The tensors of a file; nothing where there is no such file here.
fn file(path: &str, wanted: Kind) -> Result<Option<Arc<Checkpoint>>, String> {
    let place = Path::new(path);
    if !place.is_file() {
        return Ok(None);
    }
    let what = match wanted {
        Kind::Projector => "What the projector takes is estimated",
        _ => "What the adapter takes is estimated by the plan's own words for it",
    };
    match gguf::open(place) {
        Ok(Gguf {
            kind, checkpoint, ..
        }) if kind == wanted => Ok(Some(checkpoint)),
        Ok(Gguf { kind, .. }) => Err(format!("{what}: {path} is {}.", kind.describe())),
        Err(reason) => Err(format!("{what}: {reason}.")),
    }
}

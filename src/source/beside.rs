//! Files that a launch loads beside a model, as far as they are on this computer.

use std::path::Path;
use std::sync::Arc;

use super::gguf::{self, Gguf, Kind};
use crate::model::{Attached, Model, TowerKind, Vision};
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
    let projector = projector.and_then(|path| read(path, Kind::Projector));
    let adapters = options.lora_paths.iter();
    let adapters = adapters.map(|path| Some(read(path, Kind::Adapter)?.checkpoint));
    let attached = Attached {
        adapters: adapters.collect(),
        projector: projector.as_ref().map(|file| Arc::clone(&file.checkpoint)),
    };
    if attached.is_empty() && assumptions.is_empty() {
        return model;
    }
    let mut model = model;
    model.attached = attached;
    // A file of a language model says nothing of what sees for it.
    if let Some(towers) = projector.and_then(|file| file.towers().ok()) {
        let known = |vision: &Vision| vision.tower.kind != TowerKind::Other;
        model.vision = model.vision.or(towers.vision.filter(known));
        model.audio = model.audio.or(towers.audio);
    }
    model.assumptions.extend(assumptions);
    model.sealed()
}

/// A file; nothing where there is no such file here.
fn file(path: &str, wanted: Kind) -> Result<Option<Gguf>, String> {
    let place = Path::new(path);
    if !place.is_file() {
        return Ok(None);
    }
    let what = match wanted {
        Kind::Projector => "What the projector takes is estimated",
        _ => "What the adapter takes is estimated by the plan's own words for it",
    };
    match gguf::open(place) {
        Ok(file) if file.kind == wanted => Ok(Some(file)),
        Ok(file) => Err(format!("{what}: {path} is {}.", file.kind.describe())),
        Err(reason) => Err(format!("{what}: {reason}.")),
    }
}

//! Files that a launch loads beside a model, as far as they are on this computer.

use std::path::Path;
use std::sync::Arc;

use super::gguf::{self, Gguf, Kind};
use crate::model::{Attached, AttachedAs, Model, TowerKind, Unread, Vision};
use crate::plan::LaunchOptions;

/// The model with what is in the files that a plan names beside it. A file that is not here may be where the launch will
/// run; one that is here and is something else is refused by engines. Both are said.
pub fn attached(model: Model, options: &LaunchOptions) -> Model {
    let mut unread = Vec::new();
    let mut read = |path: &str, place: AttachedAs| {
        let found = file(path, place);
        found.map_err(|reason| unread.push(reason)).ok()
    };
    let projector = options.mmproj_path.as_deref();
    let projector = projector.and_then(|path| read(path, AttachedAs::Projector));
    let adapters = options.lora_paths.iter();
    let adapters = adapters.map(|path| Some(read(path, AttachedAs::Adapter)?.checkpoint));
    let adapters = adapters.collect();
    let towers = projector.as_ref().and_then(|file| file.towers().ok());
    let width = towers.and_then(|towers| Some(towers.vision?.tower.output_size));
    let attached = Attached {
        adapters,
        unread,
        projector_width: width.filter(|width| *width > 0),
        projector: projector.as_ref().map(|file| Arc::clone(&file.checkpoint)),
    };
    if attached.is_empty() {
        return model;
    }
    let mut model = model;
    model.attached = attached;
    // A file of a language model says nothing of what sees for it.
    if let Some(towers) = towers {
        let known = |vision: &Vision| vision.tower.kind != TowerKind::Other;
        model.vision = model.vision.or(towers.vision.filter(known));
        model.audio = model.audio.or(towers.audio);
    }
    model.sealed()
}

/// A file of the kind that is asked for.
fn file(path: &str, place: AttachedAs) -> Result<Gguf, Unread> {
    let (wanted, key, what, counted, remedy) = match place {
        AttachedAs::Projector => (
            Kind::Projector,
            "mmproj_path",
            "no projector",
            "What the projector takes is estimated where the model's vision is known, and not counted otherwise",
            "name the `mmproj` file that was published with the model",
        ),
        AttachedAs::Adapter => (
            Kind::Adapter,
            "lora_paths",
            "no LoRA adapter",
            "What the adapter takes is counted as far as the setting `lora` describes it",
            "name an adapter that was made for this model and converted to GGUF (convert_lora_to_gguf.py of llama.cpp)",
        ),
    };
    let unread = |wrong, reason| Unread {
        place,
        wrong,
        reason,
    };
    let wrong = |is: String| {
        let reason = format!(
            "{key} names {path}, {is}: engines refuse to start with it. Under [launch], {remedy}, or leave it out."
        );
        unread(true, reason)
    };
    let there = Path::new(path);
    if !there.exists() {
        return Err(unread(
            false,
            format!(
                "{key} names {path}, and there is no such file on this computer. {counted}; the launch needs the file \
                 where it runs."
            ),
        ));
    }
    if !there.is_file() {
        return Err(wrong(format!("which is {what} but no file at all")));
    }
    match gguf::open(there) {
        Ok(file) if file.kind == wanted => Ok(file),
        Ok(file) => Err(wrong(format!("which is {}, {what}", file.kind.describe()))),
        Err(reason) => Err(wrong(format!("which cannot be read ({})", reason.reason))),
    }
}

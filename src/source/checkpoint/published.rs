//! What the files tell of a model that its configuration does not: a stored head, stored prediction blocks.

use serde_json::Value;

use crate::model::{Checkpoint, Container, Model, Published};

/// Modules that are an output head.
const HEADS: [&str; 4] = ["lm_head", "output", "embed_out", "output_layer"];

/// The model with what its files tell.
pub(super) fn told(mut model: Model, config: &Value, checkpoint: &Checkpoint) -> Model {
    if checkpoint.container != Container::Safetensors {
        return model;
    }
    let names = || checkpoint.tensors.iter().map(|tensor| tensor.name.as_str());
    if let Some(other) = &mut model.other {
        // What is no decoder is known by its size alone, and its files know it best.
        other.parameters = checkpoint.parameters();
    }
    let stores_head = names().any(is_head);
    if stores_head && !says_tied(config) {
        model.tie_word_embeddings = false;
    }
    let blocks = || names().filter(|name| is_of_prediction(name, model.layers.len() as u64));
    let mtp = blocks().next().is_some();
    let copies = blocks().any(|name| name.contains("embed_tokens"));
    let facts = Published {
        stores_tied_head: stores_head,
        mtp: model.mtp.is_some().then_some(mtp),
        mtp_copies_embedding: model.mtp.is_some().then_some(copies),
    };
    model.published(facts)
}

/// Whether the configuration, or that of the language model in it, says that head and embedding are one.
fn says_tied(config: &Value) -> bool {
    const TIED: &str = "tie_word_embeddings";
    let objects = config
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.values());
    let nested = objects.filter_map(|value| value.get(TIED));
    nested
        .chain(config.get(TIED))
        .any(|tied| tied.as_bool() == Some(true))
}

fn is_head(name: &str) -> bool {
    let module = name.rsplit_once('.').map_or(name, |(module, _)| module);
    let last = module.rsplit('.').next().unwrap_or(module);
    // A head inside a layer is that of a prediction block; `output` inside one is a projection.
    HEADS.contains(&last) && !module.contains("layers.")
}

/// Blocks are numbered on behind the layers, or have a name of their own.
fn is_of_prediction(name: &str, layers: u64) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let numbered = parts.windows(2).any(|pair| match pair {
        ["layers", number] => number.parse::<u64>().is_ok_and(|number| number >= layers),
        _ => false,
    });
    // Towers of vision have layers too.
    let tower = name.contains("vision") || name.contains("visual") || name.contains("audio");
    parts.first() == Some(&"mtp") || name.contains(".mtp.") || numbered && !tower
}

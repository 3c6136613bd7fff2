//! The settings of what drafts: its own where it has them, else the model's.

use crate::engine::llamacpp::config::{self, Config, Context, Shape};
use crate::engine::llamacpp::draft::{SpecType, Speculation};
use crate::engine::llamacpp::file_type::Weights;
use crate::model::Model;
use crate::plan::{Settings, Value};
use crate::projection::Note;

/// Settings of the draft under the names that a model has for them.
const OWN: &[(&str, &str)] = &[
    ("draft_weights", "weights"),
    ("n_gpu_layers_draft", "n_gpu_layers"),
    ("cpu_moe_draft", "cpu_moe"),
    ("n_cpu_moe_draft", "n_cpu_moe"),
    ("override_tensor_draft", "override_tensor"),
    ("cache_type_k_draft", "cache_type_k"),
    ("cache_type_v_draft", "cache_type_v"),
];

/// Settings of the model that its draft does not share.
const NOT_SHARED: &[&str] = &[
    "n_cpu_ffn",
    "embedding",
    "backend_sampling",
    "n_outputs_max",
    "n_rs_seq",
    "spec_type",
    "imatrix",
];

/// The configuration of the draft (`common_base_params_to_speculative`, `common/speculative.cpp` 0.6.0-dev), with notes
/// on its own settings.
pub(super) fn config(written: &Settings, notes: &mut Vec<Note>) -> Config {
    let mut settings = written.clone();
    for (_, name) in OWN.iter().filter(|(_, name)| *name != "weights") {
        settings.shift_remove(*name);
    }
    for name in NOT_SHARED {
        settings.shift_remove(*name);
    }
    for (own, name) in OWN {
        if let Some(value) = written.get(*own) {
            settings.insert((*name).to_owned(), value.clone());
        }
    }
    let mut found = Vec::new();
    let config = config::read(&settings, false, &mut found);
    // What is wrong with shared settings is said of the model.
    notes.extend(found.iter().filter_map(of_draft));
    config
}

/// The form of the draft's weights; `None`: it has none of that name.
pub(super) fn weights(written: &Settings, draft: &Model) -> Option<Weights> {
    let word = |name: &str| match written.get(name) {
        Some(Value::Text(word)) => Some(word.as_str()),
        _ => None,
    };
    match word("draft_weights") {
        Some(word) => Weights::named(word, draft),
        None => Some(Weights::of_draft(word("weights"), draft)),
    }
}

/// A note on a setting of the draft under the draft's name for it; `None` where the setting is shared.
pub(super) fn of_draft(note: &Note) -> Option<Note> {
    let name = note.setting?;
    // Found when the whole command line was read.
    if note.code == "number-out-of-range" {
        return None;
    }
    let (own, _) = OWN.iter().find(|(_, shared)| *shared == name)?;
    Some(Note {
        setting: Some(own),
        message: format!("Draft: {}", note.message),
        fix: None,
        ..note.clone()
    })
}

/// The draft's configuration in the shape of the model's context: as long, for as many sequences, a row of logits for
/// each, nothing to go back to.
pub(super) fn shaped(own: &Config, main: &Config, shape: Shape) -> Config {
    Config {
        context: Context::Tokens(shape.context),
        sequences: main.sequences,
        unified: main.unified,
        batch: main.batch,
        micro_batch: main.micro_batch,
        flash: main.flash,
        outputs: main.sequences,
        rollback: 0,
        speculation: Speculation {
            kind: SpecType::None,
            ..main.speculation
        },
        ..own.clone()
    }
}

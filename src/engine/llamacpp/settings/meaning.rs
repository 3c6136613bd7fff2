//! What the settings say in terms that engines share.

use crate::engine::meaning::{Counterpart, Meaning, Meanings};
use crate::plan::{Settings, Value};

pub(super) const WEIGHTS: &[Counterpart] = &[Counterpart::same(Meaning::Weights)];

pub(super) const IMATRIX: &[Counterpart] = &[Counterpart::same(Meaning::ImportanceMatrix)];

pub(super) const CACHE_TYPE_K: &[Counterpart] = &[Counterpart::same(Meaning::CachedKeys)];

pub(super) const CACHE_TYPE_V: &[Counterpart] = &[Counterpart::same(Meaning::CachedValues)];

pub(super) const FLASH_ATTN: &[Counterpart] = &[Counterpart::same(Meaning::FlashAttention)];

pub(super) const UBATCH_SIZE: &[Counterpart] = &[Counterpart::same(Meaning::MicroBatch)];

/// -1 is automatic, any other negative number all (`common/arg.cpp`, `llama_model::n_gpu_layers`, 0.6.0-dev).
pub(super) const N_GPU_LAYERS: &[Counterpart] = &[Counterpart {
    tell: |value, _| match value {
        Value::Integer(-1) => Some(Value::Text("auto".to_owned())),
        Value::Integer(..-1) => Some(Value::Text("all".to_owned())),
        _ => Some(value.clone()),
    },
    ..Counterpart::same(Meaning::GpuLayers)
}];

/// All slots share it.
pub(super) const CTX_SIZE: &[Counterpart] = &[Counterpart {
    meaning: Meaning::ContextPerUser,
    tell: |value, settings| match value {
        Value::Integer(tokens) if *tokens > 0 => {
            Some(Value::Integer(tokens / slots(settings).unwrap_or(1)))
        }
        _ => None,
    },
    take: |value, meanings| match value {
        Value::Integer(tokens) => Some(Value::Integer(tokens.saturating_mul(users(meanings)))),
        _ => None,
    },
    follows: false,
}];

pub(super) const PARALLEL: &[Counterpart] = &[Counterpart {
    tell: |_, settings| slots(settings).map(Value::Integer),
    ..Counterpart::same(Meaning::Users)
}];

/// It only has to be as large as the micro-batch, which its default is up to 2048 (`common/common.h`, 0.6.0-dev).
pub(super) const BATCH_SIZE: &[Counterpart] = &[Counterpart {
    meaning: Meaning::MicroBatch,
    tell: |_, _| None,
    take: |value, _| match value {
        Value::Integer(tokens) if *tokens > 2048 => Some(value.clone()),
        _ => None,
    },
    follows: true,
}];

/// The main GPU is the only one where nothing is split.
pub(super) const MAIN_GPU: &[Counterpart] = &[Counterpart {
    tell: |value, settings| match settings.get("split_mode") {
        Some(Value::Text(mode)) if mode.eq_ignore_ascii_case("none") => Some(value.clone()),
        _ => None,
    },
    ..Counterpart::same(Meaning::OnlyGpu)
}];

pub(super) const SPLIT_MODE: &[Counterpart] = &[Counterpart {
    meaning: Meaning::OnlyGpu,
    tell: |value, settings| match value {
        Value::Text(mode) if mode.eq_ignore_ascii_case("none") => {
            let main = settings.get("main_gpu").cloned();
            Some(main.unwrap_or(Value::Integer(0)))
        }
        _ => None,
    },
    take: |_, _| Some(Value::Text("none".to_owned())),
    follows: true,
}];

pub(super) const LOAD_MODE: &[Counterpart] = &[Counterpart {
    meaning: Meaning::Mapped,
    tell: |value, _| match value {
        Value::Text(mode) if mode.eq_ignore_ascii_case("none") => Some(Value::Bool(false)),
        Value::Text(mode) if mode.to_ascii_lowercase().starts_with("mmap") => {
            Some(Value::Bool(true))
        }
        _ => None,
    },
    take: |value, _| match value {
        Value::Bool(mapped) => {
            let mode = if *mapped { "mmap" } else { "none" };
            Some(Value::Text(mode.to_owned()))
        }
        _ => None,
    },
    follows: false,
}];

/// Slots, where their number is written.
fn slots(settings: &Settings) -> Option<i64> {
    match settings.get("parallel") {
        Some(Value::Integer(slots)) if *slots > 0 => Some(*slots),
        _ => None,
    }
}

fn users(meanings: &Meanings) -> i64 {
    match meanings.get(&Meaning::Users) {
        Some(Value::Integer(users)) => (*users).max(1),
        _ => 1,
    }
}

/// Prediction blocks draft where the type of speculation says so.
pub(super) const SPEC_TYPE: &[Counterpart] = &[Counterpart {
    meaning: Meaning::PredictedTokens,
    tell: |value, settings| {
        let tokens = settings.get("spec_draft_n_max").cloned();
        // The engine's own default (`common/common.h`, 0.6.0-dev).
        predicts(value).then(|| tokens.unwrap_or(Value::Integer(3)))
    },
    take: |_, _| Some(Value::Text("draft-mtp".to_owned())),
    follows: true,
}];

pub(super) const SPEC_DRAFT_N_MAX: &[Counterpart] = &[Counterpart {
    tell: |value, settings| {
        let predicts = settings.get("spec_type").is_some_and(predicts);
        predicts.then(|| value.clone())
    },
    ..Counterpart::same(Meaning::PredictedTokens)
}];

fn predicts(spec_type: &Value) -> bool {
    matches!(spec_type, Value::Text(word) if word.eq_ignore_ascii_case("draft-mtp"))
}

//! What the settings say in terms that engines share.

use crate::engine::meaning::{Counterpart, Meaning};
use crate::plan::Value;

pub(super) const NUM_CTX: &[Counterpart] = &[Counterpart::same(Meaning::ContextPerUser)];

pub(super) const NUM_PARALLEL: &[Counterpart] = &[Counterpart::same(Meaning::Users)];

pub(super) const NUM_BATCH: &[Counterpart] = &[Counterpart {
    tell: |value, _| matches!(value, Value::Integer(1..)).then(|| value.clone()),
    ..Counterpart::same(Meaning::MicroBatch)
}];

pub(super) const FLASH_ATTENTION: &[Counterpart] = &[Counterpart::same(Meaning::FlashAttention)];

pub(super) const MAIN_GPU: &[Counterpart] = &[Counterpart {
    tell: |value, _| matches!(value, Value::Integer(0..)).then(|| value.clone()),
    ..Counterpart::same(Meaning::OnlyGpu)
}];

pub(super) const USE_MMAP: &[Counterpart] = &[Counterpart::same(Meaning::Mapped)];

pub(super) const DRAFT_NUM_PREDICT: &[Counterpart] = &[Counterpart {
    tell: |value, _| matches!(value, Value::Integer(1..)).then(|| value.clone()),
    ..Counterpart::same(Meaning::PredictedTokens)
}];

/// Any negative number is automatic (`startLlamaServer`, `llm/llama_server.go` v0.33.0-rc2).
pub(super) const NUM_GPU: &[Counterpart] = &[Counterpart {
    tell: |value, _| match value {
        Value::Integer(..0) => Some(Value::Text("auto".to_owned())),
        _ => Some(value.clone()),
    },
    ..Counterpart::same(Meaning::GpuLayers)
}];

/// One format for keys and values, of those that are documented.
pub(super) const KV_CACHE_TYPE: &[Counterpart] = &[
    Counterpart {
        take: known,
        ..Counterpart::same(Meaning::CachedKeys)
    },
    Counterpart {
        take: known,
        ..Counterpart::same(Meaning::CachedValues)
    },
];

fn known(value: &Value, _: &crate::engine::meaning::Meanings) -> Option<Value> {
    let Value::Text(word) = value else {
        return None;
    };
    super::CACHE_TYPES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(word))
        .map(|(known, _)| Value::Text((*known).to_owned()))
}

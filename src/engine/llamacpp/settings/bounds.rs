//! Least and most of the whole numbers, where they depend on model and machine.

use super::super::super::setting::Scope;
use crate::plan::Value;

/// The engine's limit on sequences (`src/llama-cparams.h`, `LLAMA_MAX_SEQ`, 0.6.0-dev).
pub(super) const MAX_SEQUENCES: i64 = 256;

/// As far as a context goes where a model does not say: the longest that models are published for, but for a few.
const UNKNOWN_CONTEXT: u64 = 1 << 17;

/// Context: from one padded step to what the model is meant for. More is accepted, with a warning.
pub(super) fn context(scope: &Scope<'_>) -> (i64, i64) {
    let model = scope.model;
    let longest = match model.context_length.max(model.max_position_embeddings) {
        0 => UNKNOWN_CONTEXT,
        longest => longest,
    };
    (256, i64::try_from(longest).unwrap_or(i64::MAX).max(256))
}

/// Slots.
pub(super) fn slots(_: &Scope<'_>) -> (i64, i64) {
    (1, MAX_SEQUENCES)
}

/// Tokens per batch: from one to what pays on any hardware.
pub(super) fn batch(_: &Scope<'_>) -> (i64, i64) {
    (1, 16_384)
}

/// Tokens per micro-batch: never more than the batch.
pub(super) fn micro_batch(scope: &Scope<'_>) -> (i64, i64) {
    let batch = match scope.settings.get("batch_size") {
        Some(Value::Integer(batch)) => (*batch).clamp(1, 16_384),
        _ => 2048,
    };
    (1, batch)
}

/// Layers of the model, the output layer not counted.
pub(super) fn layers(scope: &Scope<'_>) -> (i64, i64) {
    (0, scope.model.blocks().into())
}

/// Layers of the model and the output layer.
pub(super) fn gpu_layers(scope: &Scope<'_>) -> (i64, i64) {
    (0, layers(scope).1 + 1)
}

/// Index of a GPU.
pub(super) fn gpu(scope: &Scope<'_>) -> (i64, i64) {
    let last = scope.machine.gpus.len().saturating_sub(1);
    (0, i64::try_from(last).unwrap_or(i64::MAX))
}

/// MiB of main memory, with -1 for no limit.
pub(super) fn host_mib(scope: &Scope<'_>) -> (i64, i64) {
    let mib = scope.machine.host.ram.get() / crate::units::MIB;
    (-1, i64::try_from(mib).unwrap_or(i64::MAX))
}

/// Checkpoints per slot.
pub(super) fn checkpoints(_: &Scope<'_>) -> (i64, i64) {
    (0, 256)
}

/// Tokens between checkpoints.
pub(super) fn checkpoint_step(_: &Scope<'_>) -> (i64, i64) {
    (0, 131_072)
}

/// Rows of logits: never more than the batch.
pub(super) fn output_rows(scope: &Scope<'_>) -> (i64, i64) {
    let batch = match scope.settings.get("batch_size") {
        Some(Value::Integer(batch)) => (*batch).clamp(1, 16_384),
        _ => 2048,
    };
    (0, batch)
}

/// Rollback states per sequence.
pub(super) fn rollback_states(_: &Scope<'_>) -> (i64, i64) {
    (0, 16)
}

/// Layers of the draft model and its output layer.
pub(super) fn draft_layers(scope: &Scope<'_>) -> (i64, i64) {
    let layers = scope.draft.map_or(0, crate::model::Model::blocks);
    (0, i64::from(layers) + 1)
}

/// Tokens of one image: up to what any model makes of one (`warmup_image_size`, `tools/mtmd/clip.cpp` 0.6.0-dev).
pub(super) fn image_tokens(_: &Scope<'_>) -> (i64, i64) {
    (0, 16_384)
}

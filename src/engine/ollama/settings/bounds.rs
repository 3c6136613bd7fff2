//! Least and most of the whole numbers, where they depend on model and machine.

use crate::engine::setting::Scope;

fn saturated(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Context of one request: from one padded step to what the model is meant for.
pub(super) fn context(scope: &Scope<'_>) -> (i64, i64) {
    let model = scope.model;
    let longest = model.context_length.max(model.max_position_embeddings);
    (256, saturated(longest).max(256))
}

/// The same for the whole server, where 0 means by memory.
pub(super) fn server_context(scope: &Scope<'_>) -> (i64, i64) {
    (0, context(scope).1)
}

/// Requests at once: as many as the server below takes (`src/llama-cparams.h`, 0.6.0-dev).
pub(super) fn users(_: &Scope<'_>) -> (i64, i64) {
    (1, 256)
}

/// Tokens per batch: from one to what pays on any hardware.
pub(super) fn batch(_: &Scope<'_>) -> (i64, i64) {
    (1, 16_384)
}

/// Tokens proposed at once.
pub(super) fn draft_tokens(_: &Scope<'_>) -> (i64, i64) {
    (0, 16)
}

/// Layers of the model and the output layer.
pub(super) fn gpu_layers(scope: &Scope<'_>) -> (i64, i64) {
    let layers = saturated(scope.model.blocks().into());
    (0, layers.saturating_add(1))
}

/// Index of a GPU.
pub(super) fn gpu(scope: &Scope<'_>) -> (i64, i64) {
    let last = scope.machine.gpus.len().saturating_sub(1);
    (0, saturated(last as u64))
}

/// Threads of the processor.
pub(super) fn threads(scope: &Scope<'_>) -> (i64, i64) {
    let cores = scope.machine.host.physical_cores.unwrap_or(256);
    (0, cores.into())
}

/// Models at once.
pub(super) fn models(_: &Scope<'_>) -> (i64, i64) {
    (0, 64)
}

/// Bytes of the largest GPU.
pub(super) fn overhead(scope: &Scope<'_>) -> (i64, i64) {
    let gpus = scope.machine.gpus.iter();
    let most = gpus.map(|gpu| gpu.memory.usable.get()).max();
    (0, saturated(most.unwrap_or(0)))
}

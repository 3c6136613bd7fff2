//! For which models and machines a setting changes anything.

use super::super::super::setting::Scope;
use crate::model::mixer::Reach;
use crate::model::{FeedForward, Mixer};

/// Whatever the model and the machine.
pub(super) fn always(_: &Scope<'_>) -> bool {
    true
}

/// A machine with a GPU.
pub(super) fn gpu(scope: &Scope<'_>) -> bool {
    !scope.machine.gpus.is_empty()
}

/// A machine with several.
pub(super) fn several_gpus(scope: &Scope<'_>) -> bool {
    scope.machine.gpus.len() > 1
}

/// Routed experts that could stay in main memory.
pub(super) fn experts_and_gpu(scope: &Scope<'_>) -> bool {
    gpu(scope)
        && scope
            .model
            .layers
            .iter()
            .any(|layer| matches!(layer.feed_forward, FeedForward::Experts(_)))
}

/// Layers that see a window of the context.
pub(super) fn windows(scope: &Scope<'_>) -> bool {
    scope.model.layers.iter().any(|layer| match &layer.mixer {
        Mixer::Compressed(_) => true,
        mixer => mixer
            .attention()
            .is_some_and(|attention| attention.reach != Reach::Full),
    })
}

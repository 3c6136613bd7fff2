//! For which models and machines a setting changes anything.

use super::super::super::setting::Scope;
use crate::model::mixer::Reach;
use crate::model::{FeedForward, Mixer, Model};
use crate::plan::Value;

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
    gpu(scope) && has_experts(scope.model)
}

fn has_experts(model: &Model) -> bool {
    model
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

/// A draft model.
pub(super) fn draft(scope: &Scope<'_>) -> bool {
    scope.draft.is_some()
}

/// A draft model that could be on a GPU.
pub(super) fn draft_and_gpu(scope: &Scope<'_>) -> bool {
    draft(scope) && gpu(scope)
}

/// A draft model with experts.
pub(super) fn draft_with_experts(scope: &Scope<'_>) -> bool {
    gpu(scope) && scope.draft.is_some_and(has_experts)
}

fn spec_type<'a>(scope: &Scope<'a>) -> Option<&'a str> {
    match scope.settings.get("spec_type") {
        Some(Value::Text(word)) => Some(word),
        _ => None,
    }
}

/// The model's own prediction blocks draft.
pub(super) fn prediction(scope: &Scope<'_>) -> bool {
    spec_type(scope) == Some("draft-mtp")
}

/// A draft model or head drafts.
pub(super) fn drafting(scope: &Scope<'_>) -> bool {
    match spec_type(scope) {
        Some(word) => word.starts_with("draft-"),
        None => draft(scope),
    }
}

/// What drafts has a context of its own.
pub(super) fn drafting_by_context(scope: &Scope<'_>) -> bool {
    draft(scope) || prediction(scope)
}

/// A projector for images or sounds.
pub(super) fn projector(scope: &Scope<'_>) -> bool {
    let model = scope.model;
    model.vision.is_some() || model.audio.is_some() || model.attached.projector.is_some()
}

/// A projector that is loaded.
pub(super) fn vision(scope: &Scope<'_>) -> bool {
    projector(scope) && scope.settings.get("mmproj") == Some(&Value::Bool(true))
}

/// A projector that could be on a GPU.
pub(super) fn vision_and_gpu(scope: &Scope<'_>) -> bool {
    vision(scope) && gpu(scope)
}

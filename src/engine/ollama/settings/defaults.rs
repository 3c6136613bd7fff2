//! Ollama's defaults.

use crate::engine::ollama::{config, context, gpus};
use crate::engine::setting::Scope;
use crate::plan::Value;

pub(super) fn auto(_: &Scope<'_>) -> Value {
    Value::Text("auto".to_owned())
}

pub(super) fn on(_: &Scope<'_>) -> Value {
    Value::Bool(true)
}

pub(super) fn off(_: &Scope<'_>) -> Value {
    Value::Bool(false)
}

pub(super) fn f16(_: &Scope<'_>) -> Value {
    Value::Text("f16".to_owned())
}

/// By the server's setting or the memory of all GPUs, as far as the model goes.
pub(super) fn context(scope: &Scope<'_>) -> Value {
    let config = config::read(scope.settings, &mut Vec::new());
    let config = config::Config {
        num_ctx: None,
        ..config
    };
    let devices = gpus::devices(scope.machine, &config);
    let model = scope.model;
    let trained = match model.max_position_embeddings {
        0 => model.context_length,
        trained => trained,
    };
    let tokens = context::context(&config, &devices, trained).tokens;
    crate::engine::ollama::translate::number(tokens)
}

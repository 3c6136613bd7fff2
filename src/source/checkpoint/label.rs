//! What the form of a checkpoint's weights is called: one rule for lists, inspections and plans.

use serde_json::Value;

use super::header::Stored;
use super::tensors;
use crate::model::Quantization;

/// How its configuration says that it is quantized; else the type that most bytes have; where no header tells (PyTorch's
/// archives), the type that the configuration names.
pub(super) fn of(
    config: &Value,
    quantization: Option<&Quantization>,
    stored: &[Stored],
) -> Option<String> {
    quantization
        .map(Quantization::label)
        .or_else(|| mlx(config))
        .or_else(|| tensors::main_type(stored))
        .or_else(|| element(config))
}

/// MLX writes `quantization` without a method (`mlx_lm/utils.py`, `quantize_model`).
fn mlx(config: &Value) -> Option<String> {
    let mut written = fields(config, "quantization");
    let bits = written.find_map(|written| written.get("bits")?.as_u64())?;
    Some(format!("{bits}-bit"))
}

fn element(config: &Value) -> Option<String> {
    let mut named = fields(config, "torch_dtype").chain(fields(config, "dtype"));
    let element = named.find_map(Value::as_str)?;
    Some(match element {
        "bfloat16" => "BF16".to_owned(),
        "float16" => "F16".to_owned(),
        "float32" => "F32".to_owned(),
        other => other.to_owned(),
    })
}

/// A field of the configuration, and of the language model's where that is nested.
fn fields<'a>(config: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    let text = config.get("text_config").and_then(|text| text.get(name));
    config.get(name).into_iter().chain(text)
}

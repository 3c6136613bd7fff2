//! What llama.cpp's converter makes of published weights that are quantized already (ggml-org/llama.cpp
//! `conversion/base.py`, `dequant_model` and `prepare_tensors`, 00bd27a62).

use crate::model::{Container, Format, Grouping, Method, Model, Quantization, Scheme};
use crate::projection::Note;

/// What becomes of quantized weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    /// They are turned back into 16 or 32 bits first.
    Restored,
    /// They keep their form.
    Kept,
    /// The converter stops.
    Refused,
}

/// A word on a model that was opened from such files. Presets and GGUF files have been converted.
pub(super) fn published(model: &Model) -> Option<Note> {
    let checkpoint = model.checkpoint.as_deref()?;
    if checkpoint.container == Container::Gguf {
        return None;
    }
    let quantization = model.quantization.as_ref()?;
    let label = quantization.label();
    Some(match conversion(quantization) {
        Conversion::Restored => Note::hint(
            "published-quantized",
            format!(
                "The files hold weights that are quantized already, {label}: the converter restores 16 bits before it \
                 writes another form, which cannot be better than they are."
            ),
        ),
        Conversion::Kept => Note::hint(
            "published-quantized",
            format!("The files hold weights that are quantized already, {label}: the converter keeps those as they are."),
        ),
        Conversion::Refused => Note::warning(
            "published-form-refused",
            format!(
                "The files hold weights in a form that the converter to GGUF refuses, {label}: convert the model that \
                 they were made from."
            ),
        ),
    }
    .on("weights"))
}

fn conversion(quantization: &Quantization) -> Conversion {
    let restored = |can: bool| {
        if can {
            Conversion::Restored
        } else {
            Conversion::Refused
        }
    };
    match quantization.method {
        Method::Mxfp4 => Conversion::Kept,
        Method::Gptq => restored(matches!(quantization.weight_bits(), Some(2 | 4 | 8))),
        Method::CompressedTensors => restored(is_unpacked(quantization)),
        Method::ModelOpt if quantization.schemes.iter().any(is_nvfp4) => Conversion::Kept,
        Method::Fp8 | Method::BitNet | Method::ModelOpt => Conversion::Restored,
        _ => Conversion::Refused,
    }
}

/// One scheme, of a kind that it knows.
fn is_unpacked(quantization: &Quantization) -> bool {
    let [scheme] = quantization.schemes.as_slice() else {
        return false;
    };
    let Format {
        float, grouping, ..
    } = scheme.weights;
    match quantization.format.as_deref() {
        Some("float-quantized" | "int-quantized" | "naive-quantized") => {
            matches!(grouping, Grouping::Channel | Grouping::Block(..))
        }
        Some("pack-quantized") => !float && matches!(grouping, Grouping::Group(_)),
        _ => false,
    }
}

fn is_nvfp4(scheme: &Scheme) -> bool {
    let Format {
        bits,
        float,
        grouping,
        ..
    } = scheme.weights;
    float && bits == 4 && grouping == Grouping::Group(16)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(config: &Value, expected: Conversion) {
        let quantization = Quantization::read(config).unwrap();
        assert_eq!(conversion(&quantization), expected, "{config}");
    }

    fn compressed(format: &str, weights: &Value) -> Value {
        json!({"quant_method": "compressed-tensors", "format": format, "config_groups": {"a": {"weights": weights}}})
    }

    #[test]
    fn converts_what_the_converter_converts() {
        check(&json!({"quant_method": "fp8"}), Conversion::Restored);
        check(
            &json!({"quant_method": "gptq", "bits": 4, "group_size": 128}),
            Conversion::Restored,
        );
        check(
            &json!({"quant_method": "gptq", "bits": 3, "group_size": 128}),
            Conversion::Refused,
        );
        check(
            &json!({"quant_method": "awq", "bits": 4, "group_size": 128}),
            Conversion::Refused,
        );
        check(&json!({"load_in_4bit": true}), Conversion::Refused);
        check(&json!({"quant_method": "mxfp4"}), Conversion::Kept);
        check(
            &json!({"quant_algo": "NVFP4", "group_size": 16}),
            Conversion::Kept,
        );
        check(&json!({"quant_algo": "FP8"}), Conversion::Restored);
        let int4 = json!({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32});
        check(&compressed("pack-quantized", &int4), Conversion::Restored);
        check(&compressed("marlin-24", &int4), Conversion::Refused);
        let channel = json!({"num_bits": 8, "type": "float", "strategy": "channel"});
        check(
            &compressed("float-quantized", &channel),
            Conversion::Restored,
        );
        let tensor = json!({"num_bits": 8, "type": "float", "strategy": "tensor"});
        check(&compressed("float-quantized", &tensor), Conversion::Refused);
    }
}

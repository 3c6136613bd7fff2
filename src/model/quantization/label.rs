//! What to call a form of weights.

use super::{Format, Grouping, Method, Quantization, Scheme};

pub(super) fn of(quantization: &Quantization) -> String {
    let method = &quantization.method;
    let [scheme] = quantization.schemes.as_slice() else {
        let name = title(method);
        if quantization.schemes.is_empty() {
            return name.to_owned();
        }
        let forms = quantization
            .schemes
            .iter()
            .map(|scheme| number(scheme.weights));
        return format!(
            "{name} mixture of {}",
            distinct(forms.collect()).join(" and ")
        );
    };
    let weights = scheme.weights;
    let form = match method {
        Method::Mxfp4 => return "MXFP4".to_owned(),
        Method::BitsAndBytes if weights.float => return "bitsandbytes 4-bit".to_owned(),
        Method::BitsAndBytes => return "bitsandbytes 8-bit".to_owned(),
        Method::Fp8 | Method::FbgemmFp8 => number(weights),
        Method::CompressedTensors | Method::ModelOpt | Method::Quark => {
            let name = number(weights);
            match widths(scheme) {
                Some(widths) => format!("{name} ({widths})"),
                None => name,
            }
        }
        _ => format!("{} {}-bit", title(method), weights.bits),
    };
    match weights.grouping {
        Grouping::Block(rows, columns) => format!("{form} (block {rows}x{columns})"),
        Grouping::Group(_) if is_own_name(weights) => form,
        Grouping::Group(size) => format!("{form}, groups of {size}"),
        Grouping::Tensor | Grouping::Channel => form,
    }
}

/// Formats whose name includes the size of their groups.
fn is_own_name(weights: Format) -> bool {
    weights.float && weights.bits == 4 && matches!(weights.grouping, Grouping::Group(16 | 32))
}

fn number(format: Format) -> String {
    match (format.float, format.bits, format.grouping) {
        (true, 4, Grouping::Group(16)) => "NVFP4".to_owned(),
        (true, 4, Grouping::Group(32)) => "MXFP4".to_owned(),
        (true, bits, _) => format!("FP{bits}"),
        (false, bits, _) => format!("INT{bits}"),
    }
}

/// "W4A16", as people write which numbers are of how many bits; nothing where the format's name says it.
fn widths(scheme: &Scheme) -> Option<String> {
    let activations = scheme.activations.map_or(16, |format| format.bits);
    let plain = is_own_name(scheme.weights) && activations == scheme.weights.bits;
    (!plain).then(|| format!("W{}A{activations}", scheme.weights.bits))
}

fn distinct(mut forms: Vec<String>) -> Vec<String> {
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// As its makers write it.
fn title(method: &Method) -> &str {
    match method {
        Method::Fp8 | Method::FbgemmFp8 => "FP8",
        Method::Awq => "AWQ",
        Method::Gptq => "GPTQ",
        Method::Mxfp4 => "MXFP4",
        Method::ModelOpt => "ModelOpt",
        Method::Eetq => "EETQ",
        Method::Hqq => "HQQ",
        Method::Aqlm => "AQLM",
        Method::Quark => "Quark",
        Method::Exl2 => "EXL2",
        Method::Exl3 => "EXL3",
        Method::BitNet => "BitNet",
        Method::CompressedTensors | Method::BitsAndBytes | Method::TorchAo | Method::Other(_) => {
            method.name()
        }
    }
}

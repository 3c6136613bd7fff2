//! Formats of weights and caches.

use super::super::super::setting::{Choice, Group, Kind, Scope, Setting};
use super::meaning;
use super::shape::{choices, off};
use crate::engine::llamacpp::file_type::FileType;
use crate::plan::Value;

const CACHE_TYPES: &[(&str, &str)] = &[
    ("f16", "the engine's default"),
    ("q8_0", "about half of f16, next to no loss"),
    ("q4_0", "about a quarter of f16, visible loss"),
    ("bf16", "as large as f16"),
    ("f32", "twice f16"),
    ("q5_1", ""),
    ("q5_0", ""),
    ("q4_1", ""),
    ("iq4_nl", "no CUDA kernel: attention runs on the processor"),
];

pub(super) fn cache_types(_: &Scope<'_>) -> Vec<Choice> {
    choices(CACHE_TYPES)
}

pub(super) fn f16(_: &Scope<'_>) -> Value {
    Value::Text("f16".to_owned())
}

/// Every file type of the quantizer, largest first.
pub(super) fn file_types(_: &Scope<'_>) -> Vec<Choice> {
    let hint = |kind: FileType| match kind {
        FileType::BF16 => "as published",
        FileType::Q8_0 => "no visible loss",
        FileType::Q4_K_M => "the usual choice",
        FileType::MXFP4_MOE => "experts in MXFP4, the rest Q8_0",
        FileType::TQ1_0 | FileType::TQ2_0 => "for models trained in ternary",
        _ => "",
    };
    FileType::ALL
        .into_iter()
        .map(|kind| Choice {
            word: kind.name(),
            hint: hint(kind).to_owned(),
        })
        .collect()
}

fn default_file_type(scope: &Scope<'_>) -> Value {
    Value::Text(FileType::usual(scope.model).name().to_owned())
}

pub(in super::super) const WEIGHTS: Setting = Setting {
    aliases: &["quant", "quantization", "file_type", "ftype"],
    counterparts: meaning::WEIGHTS,
    ..Setting::new(
        "weights",
        "Weights",
        Group::Quantization,
        Kind::Choice {
            options: file_types,
        },
        default_file_type,
        "File type of the model: fewer bits per weight need less memory and lose some quality. Not a flag: it is the \
         file that is downloaded.",
    )
};

pub(in super::super) const IMATRIX: Setting = Setting {
    counterparts: meaning::IMATRIX,
    ..Setting::new(
        "imatrix",
        "Importance matrix",
        Group::Advanced,
        Kind::Toggle,
        off,
        "The file was quantized with an importance matrix, which moves a few tensors of some types to another format. \
         Not a flag: a property of the file.",
    )
};

pub(super) const CACHE_TYPE_K: Setting = Setting {
    aliases: &["ctk"],
    counterparts: meaning::CACHE_TYPE_K,
    ..Setting::new(
        "cache_type_k",
        "KV cache, keys",
        Group::Quantization,
        Kind::Choice {
            options: cache_types,
        },
        f16,
        "Format of the keys in the KV cache: q8_0 halves them with next to no loss.",
    )
};

pub(super) const CACHE_TYPE_V: Setting = Setting {
    aliases: &["ctv"],
    counterparts: meaning::CACHE_TYPE_V,
    ..Setting::new(
        "cache_type_v",
        "KV cache, values",
        Group::Quantization,
        Kind::Choice {
            options: cache_types,
        },
        f16,
        "Format of the values in the KV cache; a quantized one needs flash attention.",
    )
};

//! Formats of weights and caches.

use super::super::super::setting::{Choice, Group, Kind, Scope, Setting};
use super::meaning;
use super::shape::{choices, off};
use crate::engine::llamacpp::file_type::{FileType, Weights, native};
use crate::model::{Container, Model};
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

fn forms_of_model(scope: &Scope<'_>) -> Vec<Choice> {
    forms(scope.model)
}

/// The model's own file, and every file type of the quantizer, largest first.
pub(super) fn forms(model: &Model) -> Vec<Choice> {
    let hint = |kind: FileType| match kind {
        FileType::BF16 => "as published",
        FileType::Q8_0 => "no visible loss",
        FileType::Q4_K_M => "the usual choice",
        FileType::MXFP4_MOE => "experts in MXFP4, the rest Q8_0",
        FileType::TQ1_0 | FileType::TQ2_0 => "for models trained in ternary",
        _ => "",
    };
    let own = native(model).map(|file| Choice {
        word: Weights::NATIVE,
        title: Some(Weights::Native.title(model)),
        hint: match file.container {
            Container::Gguf => String::new(),
            Container::Safetensors | Container::PyTorch => "as published".to_owned(),
        },
    });
    let others = FileType::ALL.into_iter().map(|kind| Choice {
        word: kind.name(),
        title: None,
        hint: match kind {
            // What is published is what there is.
            FileType::BF16 if own.is_some() => String::new(),
            kind => hint(kind).to_owned(),
        },
    });
    // Nobody knows what a quantizer would make of tensors that it does not know.
    let others = others.filter(|_| model.only_weights().is_none());
    let others: Vec<Choice> = others.collect();
    own.into_iter().chain(others).collect()
}

fn usual_form(scope: &Scope<'_>) -> Value {
    Value::Text(Weights::usual(scope.model).word().to_owned())
}

pub(in super::super) const WEIGHTS: Setting = Setting {
    aliases: &["quant", "quantization", "file_type", "ftype"],
    of_files: &[Weights::NATIVE],
    counterparts: meaning::WEIGHTS,
    ..Setting::new(
        "weights",
        "Weights",
        Group::Quantization,
        Kind::Choice {
            options: forms_of_model,
        },
        usual_form,
        "File type of the model: fewer bits per weight need less memory and lose some quality; \"native\" is the file \
         that is open, as it is. Not a flag: it is the file that is loaded.",
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

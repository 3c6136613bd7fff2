//! The tensors of a file that there is, as the loader takes them (`src/llama-model-loader.cpp`, `src/llama-arch.cpp`,
//! 0.6.0-dev).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Architecture, Layer, Stored, Tensor, Unsupported, reads, tensors_as};
use crate::model::{Checkpoint, FileTensor, Model};
use crate::quant::Type;

/// What the loader would say of a file, by names of tensors in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// It needs them and they are not there: loading fails.
    pub missing: Vec<String>,
    /// It does not ask for them: loading fails, because the numbers of tensors do not agree.
    pub unread: Vec<String>,
    /// They have another shape than the metadata says: loading fails.
    pub misshapen: Vec<String>,
    /// Types that are not known here, by the names that they have.
    pub unknown_types: BTreeSet<String>,
}

/// The tensors of a file in the order of the loader, each with how it is stored.
pub(super) struct Loaded<'a> {
    pub(super) architecture: Architecture,
    pub(super) tensors: Vec<(Tensor, &'a FileTensor)>,
    pub(super) findings: Findings,
}

/// What the loader makes of a file. `prediction`: prediction blocks are loaded.
///
/// # Errors
/// The engine cannot have a file of the model.
pub(super) fn loaded<'a>(
    model: &Model,
    file: &'a Checkpoint,
    prediction: bool,
) -> Result<Loaded<'a>, Unsupported> {
    let names: HashSet<&str> = file.tensors.iter().map(|own| own.name.as_str()).collect();
    let holds = |name: &str| names.contains(name);
    let known = match model.only_weights() {
        Some(_) => Architecture::Unknown,
        None => Architecture::of(model)?,
    };
    let architecture = architecture(known, holds);
    let reads =
        reads::of(architecture.name(model)).filter(|_| architecture != Architecture::Unknown);
    let expected = match model.only_weights() {
        Some(_) => Vec::new(),
        None => tensors_as(model, architecture, prediction),
    };
    let mut expected: HashMap<String, Tensor> = expected
        .into_iter()
        .map(|tensor| (tensor.name.clone(), tensor))
        .collect();
    let mut findings = Findings::default();
    let mut found: Vec<(Tensor, &FileTensor)> = Vec::with_capacity(file.tensors.len());
    for stored in &file.tensors {
        let name = stored.name.as_str();
        if stored.kind.is_none() {
            let kind = stored.type_name.clone().into_owned();
            findings.unknown_types.insert(kind);
        }
        let mut tensor = expected.remove(name);
        if let Some(tensor) = &mut tensor
            && tensor.elements() != stored.elements()
        {
            findings.misshapen.push(name.to_owned());
            tensor.shape = stored.shape;
        }
        let mut tensor = tensor.unwrap_or_else(|| unexpected(model, stored, prediction));
        if let Some(reads) = reads
            && (!reads.knows(name, holds) || predicts(model, &tensor) && !reads.predicts())
        {
            findings.unread.push(name.to_owned());
            tensor.loaded = false;
        }
        found.push((tensor, stored));
    }
    found.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
    if let Some(reads) = reads {
        let needed = |tensor: &Tensor| tensor.loaded && reads.requires(&tensor.name, holds);
        let mut missing: Vec<Tensor> = expected.into_values().filter(needed).collect();
        missing.sort_by(|a, b| order(a).cmp(&order(b)));
        findings.missing = missing.into_iter().map(|tensor| tensor.name).collect();
    }
    Ok(Loaded {
        architecture,
        tensors: found,
        findings,
    })
}

/// Files of before keys and values of latent attention were kept apart have both in one matrix, and the engine caches
/// those of every head (`is_mla()`, `src/models/deepseek2.cpp` 0.6.0-dev).
fn architecture(known: Architecture, holds: impl Fn(&str) -> bool) -> Architecture {
    let joined = holds("blk.0.attn_kv_b.weight") && !holds("blk.0.attn_k_b.weight");
    match known {
        Architecture::DeepSeek2 if joined => Architecture::DeepSeek2Expanded,
        known => known,
    }
}

/// Whether a tensor is of a block behind those of the model.
fn predicts(model: &Model, tensor: &Tensor) -> bool {
    matches!(tensor.layer, Layer::Block(block) if block >= model.blocks().max(1))
}

/// A tensor that the model alone does not tell of.
fn unexpected(model: &Model, stored: &FileTensor, prediction: bool) -> Tensor {
    let tensor = Tensor {
        name: stored.name.clone(),
        layer: layer(stored),
        shape: stored.shape,
        stored: match stored.kind {
            Some(Type::I32 | Type::I64 | Type::I16 | Type::I8) => Stored::Integer,
            Some(Type::F32) => Stored::Single,
            _ => Stored::Plain,
        },
        loaded: true,
    };
    Tensor {
        loaded: prediction || !predicts(model, &tensor),
        ..tensor
    }
}

/// Endings of embeddings of tokens in checkpoints.
const EMBEDDINGS: [&str; 3] = [
    "embed_tokens.weight",
    "tok_embeddings.weight",
    ".wte.weight",
];

/// Which buffers a tensor goes with (`LLM_TENSOR_INFOS` in `src/llama-arch.cpp`, 0.6.0-dev).
fn layer(stored: &FileTensor) -> Layer {
    if let Some(block) = stored.block() {
        return Layer::Block(block);
    }
    let is_embedding = |ending: &&str| stored.name.ends_with(*ending);
    if EMBEDDINGS.iter().any(is_embedding) {
        return Layer::Input;
    }
    match stored.name.split('.').next().unwrap_or_default() {
        "token_embd" | "position_embd" | "token_types" | "per_layer_token_embd" => Layer::Input,
        "rope_freqs" | "rope_factors_long" | "rope_factors_short" => Layer::EveryBlock,
        // Used by the first block.
        "token_embd_norm" | "per_layer_model_proj" | "per_layer_proj_norm" => Layer::Block(0),
        _ => Layer::Output,
    }
}

/// `weight_name_comparer` in `src/llama-model-loader.h`.
fn order(tensor: &Tensor) -> (Option<u32>, &str) {
    let block = match tensor.layer {
        Layer::Block(block) if tensor.name.starts_with("blk.") => Some(block),
        _ => None,
    };
    (block, &tensor.name)
}

/// The known type whose elements are nearest in size to those of one that is not.
pub(super) fn nearest(stored: &FileTensor) -> Type {
    let elements = stored.elements().max(1) as f64;
    let bits = 8.0 * stored.bytes.get() as f64 / elements;
    let distance = |kind: &Type| (kind.bits_per_element() - bits).abs();
    // Without the types of intermediate results and of integers.
    let is_stored = |kind: &Type| {
        !matches!(
            kind,
            Type::Q8_1 | Type::Q8_K | Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::F64
        )
    };
    let kinds = Type::ALL.into_iter().filter(is_stored);
    // Its rows are whole blocks of that type, so that nothing about it has no size.
    let fits = |kind: &Type| stored.shape[0].is_multiple_of(kind.block_elements());
    kinds
        .filter(fits)
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(Type::F32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TensorRole;
    use crate::units::Bytes;

    #[test]
    fn names_tell_where_tensors_belong() {
        let named = |name: &str| FileTensor {
            name: name.to_owned(),
            shape: [1; 4],
            kind: None,
            type_name: "".into(),
            bytes: Bytes::ZERO,
            role: TensorRole::Parameters,
        };
        for (name, expected) in [
            ("blk.12.attn_q.weight", Layer::Block(12)),
            ("dec.blk.3.attn_q.weight", Layer::Block(3)),
            ("token_embd.weight", Layer::Input),
            ("token_embd_norm.weight", Layer::Block(0)),
            ("rope_freqs.weight", Layer::EveryBlock),
            ("output_norm.weight", Layer::Output),
            ("output.weight", Layer::Output),
        ] {
            assert_eq!(layer(&named(name)), expected, "{name}");
        }
    }

    #[test]
    fn unknown_types_are_taken_for_the_nearest() {
        let stored = |bytes| FileTensor {
            name: "blk.0.ffn_up.weight".to_owned(),
            shape: [4096, 4096, 1, 1],
            kind: None,
            type_name: "137".into(),
            bytes: Bytes::new(bytes),
            role: TensorRole::Parameters,
        };
        // 4.5, 5.5 and 16 bits.
        for (bytes, expected) in [
            (9_437_184, Type::Q4_0),
            (11_534_336, Type::Q5_0),
            (33_554_432, Type::F16),
        ] {
            assert_eq!(nearest(&stored(bytes)), expected);
        }
    }
}

//! The tensors of a file that there is, as the loader takes them (`src/llama-model-loader.cpp`, `src/llama-arch.cpp`,
//! 0.6.0-dev).

use std::collections::{BTreeMap, BTreeSet};

use super::{Architecture, Layer, Stored, Tensor, Unsupported, reads, tensors};
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
    let (architecture, expected) = tensors(model, prediction)?;
    let mut expected: BTreeMap<String, Tensor> = expected
        .into_iter()
        .map(|tensor| (tensor.name.clone(), tensor))
        .collect();
    let mut findings = Findings::default();
    let mut found: Vec<(Tensor, &FileTensor)> = Vec::with_capacity(file.tensors.len());
    for stored in &file.tensors {
        if stored.kind.is_none() {
            findings
                .unknown_types
                .insert(stored.type_name.clone().into_owned());
        }
        let tensor = match expected.remove(&stored.name) {
            Some(tensor) if tensor.elements() == stored.elements() => tensor,
            Some(tensor) => {
                findings.misshapen.push(stored.name.clone());
                Tensor {
                    shape: stored.shape,
                    ..tensor
                }
            }
            None => {
                let tensor = unexpected(model, stored, prediction);
                if !reads::knows(architecture, &stored.name) {
                    findings.unread.push(stored.name.clone());
                }
                tensor
            }
        };
        found.push((tensor, stored));
    }
    found.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
    if architecture != Architecture::Unknown {
        let names: BTreeSet<&str> = file.tensors.iter().map(|own| own.name.as_str()).collect();
        let missing = expected.into_values().filter(|tensor| {
            tensor.loaded
                && reads::requires(architecture, &tensor.name, |name| names.contains(name))
        });
        let mut missing: Vec<Tensor> = missing.collect();
        missing.sort_by(|a, b| order(a).cmp(&order(b)));
        findings.missing = missing.into_iter().map(|tensor| tensor.name).collect();
    }
    Ok(Loaded {
        architecture,
        tensors: found,
        findings,
    })
}

/// A tensor that the model alone does not tell of.
fn unexpected(model: &Model, stored: &FileTensor, prediction: bool) -> Tensor {
    let layer = layer(&stored.name);
    let predicts =
        matches!(layer, Layer::Block(block) if block as usize >= model.layers.len().max(1));
    Tensor {
        name: stored.name.clone(),
        layer,
        shape: stored.shape,
        stored: match stored.kind {
            Some(Type::I32 | Type::I64 | Type::I16 | Type::I8) => Stored::Integer,
            Some(Type::F32) => Stored::Single,
            _ => Stored::Plain,
        },
        loaded: prediction || !predicts,
    }
}

/// Which buffers a tensor goes with (`LLM_TENSOR_INFOS` in `src/llama-arch.cpp`, 0.6.0-dev).
fn layer(name: &str) -> Layer {
    let inside = ["blk.", "enc.blk.", "dec.blk."];
    let number = inside.iter().find_map(|prefix| {
        let (number, _) = name.strip_prefix(prefix)?.split_once('.')?;
        number.parse().ok()
    });
    if let Some(block) = number {
        return Layer::Block(block);
    }
    match name.split('.').next().unwrap_or_default() {
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
    let stores = |kind: &Type| {
        !matches!(
            kind,
            Type::Q8_1 | Type::Q8_K | Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::F64
        )
    };
    let kinds = Type::ALL.into_iter().filter(stores);
    // Its rows are whole blocks of that type, so that nothing about it has no size.
    let fits = |kind: &Type| stored.shape[0].is_multiple_of(kind.block_elements());
    kinds
        .filter(fits)
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(Type::F32)
}

impl Findings {
    /// Nothing of it keeps the engine from loading the file.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn names_tell_where_tensors_belong() {
        for (name, expected) in [
            ("blk.12.attn_q.weight", Layer::Block(12)),
            ("dec.blk.3.attn_q.weight", Layer::Block(3)),
            ("token_embd.weight", Layer::Input),
            ("token_embd_norm.weight", Layer::Block(0)),
            ("rope_freqs.weight", Layer::EveryBlock),
            ("output_norm.weight", Layer::Output),
            ("output.weight", Layer::Output),
        ] {
            assert_eq!(layer(name), expected, "{name}");
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

//! From headers of safetensors to tensors of a checkpoint.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use safetensors::Dtype;

use super::header::Stored;
use super::unpack::{Role, Roles};
use crate::model::{FileTensor, Quantization, TensorRole};
use crate::quant::Type;
use crate::units::Bytes;

/// The tensors with what they stand for.
pub(super) fn of(stored: &[Stored], quantization: Option<&Quantization>) -> Vec<FileTensor> {
    let roles = Roles::new(quantization, stored);
    let tensor = |stored: &Stored| {
        let role = roles.of(stored);
        let kind = stored.dtype.known().and_then(kind);
        let (shape, kind, role) = match role {
            Role::Packed {
                parameters,
                dimension,
            } => (
                Cow::Owned(unpacked(&stored.shape, parameters, dimension)),
                None,
                TensorRole::Parameters,
            ),
            Role::Plain => (Cow::Borrowed(&stored.shape), kind, TensorRole::Parameters),
            Role::Beside => (Cow::Borrowed(&stored.shape), kind, TensorRole::Beside),
            Role::Opaque => (Cow::Borrowed(&stored.shape), kind, TensorRole::Opaque),
        };
        FileTensor {
            name: stored.name.clone(),
            shape: fastest_first(&shape),
            kind,
            type_name: Cow::Owned(stored.dtype.to_string()),
            bytes: Bytes::new(stored.bytes),
            role,
        }
    };
    stored.iter().map(tensor).collect()
}

/// A sentence on the types that are newer than this build; `None` where there are none.
pub(super) fn newer(stored: &[Stored]) -> Option<String> {
    /// Most types that are named.
    const NAMED: usize = 8;
    let unknown = stored
        .iter()
        .filter(|tensor| tensor.dtype.known().is_none());
    let names: BTreeSet<String> = unknown.map(|tensor| tensor.dtype.to_string()).collect();
    let listed: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = names.len().saturating_sub(NAMED);
    let more = match more {
        0 => String::new(),
        _ => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| {
        format!(
            "Tensors are stored in types that are newer than this build ({}{more}): their bytes are those that the \
             file gives them, their parameters those of their shapes.",
            listed.join(", ")
        )
    })
}

/// The shape of what is packed: one dimension longer, or a plain count where that is no whole number.
fn unpacked(shape: &[u64], parameters: u64, dimension: usize) -> Vec<u64> {
    let others = shape
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != dimension);
    let others = others.fold(1, |product: u64, (_, edge)| product.saturating_mul(*edge));
    let mut shape = shape.to_vec();
    match shape.get_mut(dimension) {
        Some(edge) if others > 0 && parameters.is_multiple_of(others) => {
            *edge = parameters / others;
        }
        _ => shape = vec![parameters],
    }
    shape
}

fn fastest_first(shape: &[u64]) -> [u64; 4] {
    let mut ne = [1_u64; 4];
    for (index, edge) in shape.iter().rev().enumerate() {
        if let Some(to) = ne.get_mut(index.min(3)) {
            *to = to.saturating_mul(*edge);
        }
    }
    ne
}

/// The same type among ggml's.
fn kind(dtype: Dtype) -> Option<Type> {
    Some(match dtype {
        Dtype::F64 => Type::F64,
        Dtype::F32 => Type::F32,
        Dtype::F16 => Type::F16,
        Dtype::BF16 => Type::BF16,
        Dtype::I8 => Type::I8,
        Dtype::I16 => Type::I16,
        Dtype::I32 => Type::I32,
        Dtype::I64 => Type::I64,
        _ => return None,
    })
}

/// The type of most bytes.
pub(super) fn main_type(stored: &[Stored]) -> Option<String> {
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    for tensor in stored {
        let of_type = bytes.entry(tensor.dtype.to_string()).or_default();
        *of_type = of_type.saturating_add(tensor.bytes);
    }
    bytes
        .into_iter()
        .max_by_key(|(_, bytes)| *bytes)
        .map(|(name, _)| name)
}

//! Which type the quantizer gives each tensor (`src/llama-quant.cpp`, 0.6.0-dev), without `--pure` and without
//! overrides by hand.
//!
//! The choice depends on the order of tensors: some layers get more bits, counted as they come.

mod category;
mod choice;

use super::file_type::FileType;
use super::tensors::{Architecture, Stored, Tensor};
use crate::quant::Type;
use category::{Category, Named};
use choice::Choice;

/// What the quantizer asks of the model itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) struct Traits {
    /// The architecture.
    pub(in crate::engine::llamacpp) architecture: Architecture,
    /// Blocks in the file, prediction blocks included (`n_layer_all`).
    pub(in crate::engine::llamacpp) blocks: u64,
    /// Routed experts (`n_expert`); 0 where there are none.
    pub(in crate::engine::llamacpp) experts: u64,
    /// Query heads per key-value head of the first layer (`n_gqa`); 0 where it has none.
    pub(in crate::engine::llamacpp) queries_per_key: u64,
    /// The engine calls its size "70B" (`LLM_TYPE_70B`).
    pub(in crate::engine::llamacpp) is_70b: bool,
}

/// The types of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine::llamacpp) struct Mixture {
    /// One per tensor, in their order.
    pub(in crate::engine::llamacpp) types: Vec<Type>,
    /// Tensors whose rows are no whole number of blocks and so got another type.
    pub(in crate::engine::llamacpp) fallbacks: usize,
    /// The quantizer refuses to write the file without an importance matrix.
    pub(in crate::engine::llamacpp) requires_imatrix: bool,
}

/// The quantizer gives up: no other type is defined for rows that do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "llama.cpp's quantizer writes no {file_type} of this model: rows of {columns} elements are no whole number of {kind} blocks (`{tensor}`)"
)]
pub struct NoFallback {
    /// The file type asked for.
    pub file_type: &'static str,
    /// The tensor.
    pub tensor: String,
    /// Length of its rows.
    pub columns: u64,
    /// The type meant for it.
    pub kind: Type,
}

/// The types that `file_type` gives to `tensors`, which are in the loader's order.
///
/// # Errors
/// The quantizer would stop.
pub(in crate::engine::llamacpp) fn mixture(
    tensors: &[Tensor],
    traits: Traits,
    file_type: FileType,
    imatrix: bool,
) -> Result<Mixture, NoFallback> {
    let names = Named::all(tensors);
    let mut choice = Choice::new(&names, traits, file_type, imatrix);
    let mut mixture = Mixture {
        types: Vec::with_capacity(tensors.len()),
        fallbacks: 0,
        requires_imatrix: false,
    };
    for (tensor, named) in tensors.iter().zip(&names) {
        let chosen = if !named.is_quantized(tensor) {
            stored_type(tensor, file_type)
        } else if file_type.default_type().is_quantized() {
            let wanted = choice.next(tensor, named.category);
            let fitting = fitting(wanted, tensor, file_type)?;
            mixture.fallbacks += usize::from(fitting != wanted);
            mixture.requires_imatrix |= requires_imatrix(fitting, named.category, file_type);
            fitting
        } else {
            file_type.default_type()
        };
        mixture.types.push(chosen);
    }
    Ok(mixture)
}

/// The type of a tensor that the quantizer leaves as the converter wrote it.
fn stored_type(tensor: &Tensor, file_type: FileType) -> Type {
    match (tensor.stored, file_type) {
        (Stored::Integer, _) => Type::I32,
        (Stored::Single, _) | (Stored::Plain, FileType::F32) => Type::F32,
        (Stored::Plain, FileType::BF16) => Type::BF16,
        (Stored::Plain, _) => Type::F16,
    }
}

/// `wanted`, or what stands in for it where a row is no whole number of its blocks.
fn fitting(wanted: Type, tensor: &Tensor, file_type: FileType) -> Result<Type, NoFallback> {
    let columns = tensor.shape[0];
    wanted.fitting(columns).ok_or_else(|| NoFallback {
        file_type: file_type.name(),
        tensor: tensor.name.clone(),
        columns,
        kind: wanted,
    })
}

/// `tensor_requires_imatrix`.
fn requires_imatrix(kind: Type, category: Category, file_type: FileType) -> bool {
    if matches!(category, Category::Embedding | Category::Output) {
        return false;
    }
    match kind {
        Type::IQ3_XXS | Type::IQ2_XXS | Type::IQ2_XS | Type::IQ2_S | Type::IQ1_M | Type::IQ1_S => {
            true
        }
        Type::Q2_K => file_type == FileType::Q2_K_S,
        _ => false,
    }
}

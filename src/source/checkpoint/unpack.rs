//! What a stored tensor stands for: a parameter, several packed into one number, or what belongs to packed ones. By
//! the names that each method gives its tensors.

use std::collections::HashSet;

use safetensors::Dtype;

use super::header::Stored;
use crate::model::{Method, Quantization, product};

/// What a stored tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// As many parameters as it has elements.
    Plain,
    /// This many parameters, packed along the dimension that counts from the slowest.
    Packed {
        /// The parameters.
        parameters: u64,
        /// Which dimension grows.
        dimension: usize,
    },
    /// Scales, zero points, orders, codebooks: no parameters of the model.
    Beside,
}

/// Endings of what methods store beside their packed weights: AutoAWQ, AutoGPTQ, compressed-tensors, FP8, Mistral's
/// FP8, bitsandbytes, ModelOpt, gpt-oss, HQQ, EETQ, AQLM, ExLlama.
const BESIDE: [&str; 38] = [
    ".qzeros",
    ".scales",
    ".g_idx",
    "_scale",
    "_scale_inv",
    "_scale_2",
    "_scales",
    "_scale_inverse",
    "_global_scale",
    "_zero_point",
    "_shape",
    "_g_idx",
    ".scale",
    ".zero",
    ".meta",
    ".activation_scale",
    ".qscale_weight",
    ".qscale_act",
    ".absmax",
    ".quant_map",
    ".nested_absmax",
    ".nested_quant_map",
    ".quant_state.bitsandbytes__nf4",
    ".quant_state.bitsandbytes__fp4",
    ".SCB",
    ".weight_format",
    ".codebooks",
    ".q_scale",
    ".q_scale_max",
    ".q_groups",
    ".q_group_map",
    ".q_perm",
    ".q_invperm",
    ".suh",
    ".svh",
    ".mcg",
    ".mul1",
    "_bias_k_scale",
];

/// Says what each tensor of a checkpoint is.
pub(super) struct Roles<'a> {
    quantization: Option<&'a Quantization>,
    names: HashSet<&'a str>,
}

impl<'a> Roles<'a> {
    pub(super) fn new(quantization: Option<&'a Quantization>, tensors: &'a [Stored]) -> Self {
        // Only to look up what stands beside a tensor.
        let names = match quantization {
            Some(_) => tensors.iter().map(|tensor| tensor.name.as_str()).collect(),
            None => HashSet::new(),
        };
        Self {
            quantization,
            names,
        }
    }

    pub(super) fn of(&self, tensor: &Stored) -> Role {
        let Some(quantization) = self.quantization else {
            return Role::Plain;
        };
        if BESIDE.iter().any(|ending| tensor.name.ends_with(ending)) {
            return Role::Beside;
        }
        let elements = product(&tensor.shape);
        if let Some((ending, role)) = self.packed(quantization, tensor, elements) {
            debug_assert!(tensor.name.ends_with(ending), "a rule for another tensor");
            return role;
        }
        Role::Plain
    }

    /// The rule of the ending that a tensor has, where it is packed.
    fn packed(
        &self,
        quantization: &Quantization,
        tensor: &Stored,
        elements: u64,
    ) -> Option<(&'static str, Role)> {
        let name = tensor.name.as_str();
        let bits = quantization.weight_bits();
        let last = tensor.shape.len().saturating_sub(1);
        let packed = |parameters: u64, dimension: usize| Role::Packed {
            parameters,
            dimension,
        };
        let word = word(tensor.dtype);
        if name.ends_with(".qweight") {
            // AutoGPTQ packs input channels, which are its rows; AutoAWQ packs output channels, its columns.
            let rows = quantization.method == Method::Gptq;
            let dimension = if rows { 0 } else { last };
            return Some((
                ".qweight",
                packed(elements.saturating_mul(word) / bits?, dimension),
            ));
        }
        if name.ends_with(".weight_packed") {
            let bits = bits.unwrap_or(4);
            return Some((
                ".weight_packed",
                packed(elements.saturating_mul(word) / bits, last),
            ));
        }
        if name.ends_with("_blocks") && tensor.dtype == Dtype::U8 {
            // gpt-oss: two FP4 numbers per byte.
            return Some(("_blocks", packed(elements.saturating_mul(2), last)));
        }
        if name.ends_with(".W_q") {
            return Some((".W_q", packed(elements.saturating_mul(word) / bits?, last)));
        }
        if name.ends_with(".trellis") {
            // ExLlamaV3: tiles of 16 by 16 weights.
            let tiles = product(tensor.shape.get(..2)?);
            return Some((".trellis", packed(tiles.saturating_mul(256), 0)));
        }
        if name.ends_with(".codes") {
            // AQLM: codes for groups of input channels.
            let group = match quantization.schemes.first()?.weights.grouping {
                crate::model::Grouping::Group(size) => size,
                _ => 1,
            };
            let groups = product(tensor.shape.get(..2)?);
            return Some((".codes", packed(groups.saturating_mul(group), 1)));
        }
        if name.ends_with(".weight") && matches!(tensor.dtype, Dtype::U8 | Dtype::I8) {
            let factor = self.in_bytes(quantization, name, tensor)?;
            return Some((".weight", packed(elements.saturating_mul(factor), last)));
        }
        None
    }

    /// How many weights a byte of a tensor holds that has an ordinary name.
    fn in_bytes(&self, quantization: &Quantization, name: &str, tensor: &Stored) -> Option<u64> {
        let beside = |ending: &str| self.names.contains(format!("{name}{ending}").as_str());
        match quantization.method {
            Method::BitNet => beside("_scale").then_some(4),
            Method::BitsAndBytes => (tensor.dtype == Dtype::U8).then_some(2),
            // DeepSeek-V4 keeps FP8 for the rest and packs experts by two, with scales under another name.
            Method::Fp8 => {
                let stem = name.strip_suffix(".weight")?;
                let scaled = self.names.contains(format!("{stem}.scale").as_str());
                (tensor.dtype == Dtype::I8 && scaled).then_some(2)
            }
            // A byte per weight is FP8 or I8 there; U8 is two of FP4.
            _ => (tensor.dtype == Dtype::U8).then_some(2),
        }
    }
}

/// Bits of what numbers are packed into.
fn word(dtype: Dtype) -> u64 {
    dtype.bitsize() as u64
}

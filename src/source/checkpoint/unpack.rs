//! What a stored tensor stands for: a parameter, several packed into one number, or what belongs to packed ones. By
//! the names that each method gives its tensors.

use std::collections::HashSet;

use safetensors::Dtype;

use super::header::Stored;
use crate::model::{Grouping, Method, Quantization, product};

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
    /// Packed in a way that nothing describes.
    Opaque,
}

/// Last parts of names that only packed weights have.
const PACKED: [&str; 5] = ["qweight", "W_q", "weight_packed", "trellis", "codes"];

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
        let last = tensor.name.rsplit('.').next().unwrap_or_default();
        // Without a description: several weights of fewer bits in one integer, or one weight in each.
        let opaque = PACKED.contains(&last) || last == "weight" && is_integer(tensor.dtype.known());
        let Some(quantization) = self.quantization else {
            return if opaque { Role::Opaque } else { Role::Plain };
        };
        if BESIDE.iter().any(|ending| tensor.name.ends_with(ending)) {
            return Role::Beside;
        }
        match self.packed(quantization, tensor) {
            Some(role) => role,
            None if PACKED.contains(&last) => Role::Opaque,
            None => Role::Plain,
        }
    }

    /// What a tensor holds that is packed, by the last part of its name.
    fn packed(&self, quantization: &Quantization, tensor: &Stored) -> Option<Role> {
        let (stem, last) = tensor.name.rsplit_once('.')?;
        let bits = quantization.weight_bits();
        let elements = product(&tensor.shape);
        let columns = tensor.shape.len().saturating_sub(1);
        // As many as fit into what they are packed into.
        let of_bits = |bits: u64| tensor.bytes.saturating_mul(8) / bits.max(1);
        let dtype = tensor.dtype.known();
        let (parameters, dimension) = match last {
            // AutoGPTQ packs input channels, which are its rows; AutoAWQ packs output channels, its columns.
            "qweight" if quantization.method == Method::Gptq => (of_bits(bits?), 0),
            "qweight" | "W_q" => (of_bits(bits?), columns),
            "weight_packed" => (of_bits(bits.unwrap_or(4)), columns),
            // ExLlamaV3: tiles of 16 by 16 weights.
            "trellis" => (product(tensor.shape.get(..2)?).saturating_mul(256), 0),
            // AQLM: codes for groups of input channels.
            "codes" => {
                let group = match quantization.schemes.first()?.weights.grouping {
                    Grouping::Group(size) => size,
                    _ => 1,
                };
                (product(tensor.shape.get(..2)?).saturating_mul(group), 1)
            }
            "weight" => (
                elements.saturating_mul(self.in_bytes(quantization, stem, dtype?)?),
                columns,
            ),
            // gpt-oss: two FP4 numbers per byte.
            _ if last.ends_with("_blocks") && dtype == Some(Dtype::U8) => {
                (elements.saturating_mul(2), columns)
            }
            _ => return None,
        };
        Some(Role::Packed {
            parameters,
            dimension,
        })
    }

    /// How many weights a byte holds of a tensor with an ordinary name.
    fn in_bytes(&self, quantization: &Quantization, stem: &str, dtype: Dtype) -> Option<u64> {
        let beside = |name: &str| self.names.contains(format!("{stem}.{name}").as_str());
        let count = match (&quantization.method, dtype) {
            (Method::BitNet, Dtype::U8 | Dtype::I8) if beside("weight_scale") => 4,
            // DeepSeek-V4 keeps FP8 for the rest and packs experts by two, with scales under another name.
            (Method::Fp8, Dtype::I8) if beside("scale") => 2,
            (Method::BitNet | Method::Fp8, _) => return None,
            // A byte per weight is FP8 or I8 in all others; U8 is two of four bits.
            (_, Dtype::U8) => 2,
            _ => return None,
        };
        Some(count)
    }
}

fn is_integer(dtype: Option<Dtype>) -> bool {
    matches!(
        dtype,
        Some(
            Dtype::U8
                | Dtype::I8
                | Dtype::U16
                | Dtype::I16
                | Dtype::U32
                | Dtype::I32
                | Dtype::U64
                | Dtype::I64
                | Dtype::F4
        )
    )
}

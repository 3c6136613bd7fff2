//! One tensor of a file with its type and sizes.

use std::borrow::Cow;

use super::native;
use super::{Layer, Tensor};
use crate::model::{FeedForward, FileTensor, Mixer, Model};
use crate::quant::Type;
use crate::units::Bytes;

/// One tensor with its type and sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The tensor.
    pub tensor: Tensor,
    /// Its type; of one that is not known here, the known one of nearest size.
    pub kind: Type,
    /// Its type's name.
    pub type_name: Cow<'static, str>,
    /// Bytes in the file.
    pub bytes: Bytes,
    /// What it takes of a GPU's buffer.
    pub gpu_bytes: Bytes,
    /// What it takes of a buffer in main memory.
    pub host_bytes: Bytes,
    /// The GPU backend has the operation that uses it.
    pub gpu_can: bool,
    /// What tensor overrides see in its name.
    pub part: Option<Part>,
}

/// What tensor overrides see in a name: a part of a feed-forward network. The engine's own patterns
/// (`LLM_FFN_EXPS_REGEX`, `LLM_FFN_DENSE_REGEX` in `common/common.h`, `get_overflow_pattern` in `common/fit.cpp`,
/// 0.6.0-dev) tell no more, so they are matched once instead of by regular expression each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which matrix, or what is named like it (a router counts as gate).
    pub matrix: Matrix,
    /// Of which network.
    pub network: Network,
}

/// Which matrix of a feed-forward network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// `\.ffn_up`
    Up,
    /// `\.ffn_gate`, gate and up in one included.
    Gate,
    /// `\.ffn_down`
    Down,
}

/// Which feed-forward network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// `_(ch|)exps`
    Experts,
    /// The one for all tokens: nothing but `.weight` or `.bias` follows the matrix's name.
    Dense,
    /// Shared experts, routers.
    Other,
}

/// What decides whether the CUDA backend can run a state space (`GGML_OP_SSM_SCAN` in
/// `ggml_backend_cuda_device_supports_op`, 0.6.0-dev).
#[derive(Clone, Copy, Default)]
pub(super) struct StateShape {
    scan_on_gpu: bool,
}

impl StateShape {
    pub(super) fn of(model: &Model) -> Self {
        let scan_on_gpu = model.layers.iter().all(|layer| match &layer.mixer {
            Mixer::Mamba2(mamba) | Mixer::AttentionAndMamba2(_, mamba) => {
                let head = mamba.d_inner.checked_div(mamba.num_heads).unwrap_or(0);
                matches!(mamba.d_state, 96 | 128 | 256) && head.is_multiple_of(16)
            }
            _ => true,
        });
        Self { scan_on_gpu }
    }
}

/// CUDA kernels read rows to the end of the last 512 elements (`MATRIX_ROW_PADDING` in `ggml-cuda/common.cuh`).
const GPU_ROW: u64 = 512;
/// Alignment of tensors in a CUDA buffer (`ggml_backend_cuda_buffer_type_get_alignment`).
const GPU_ALIGNMENT: u64 = 128;
/// Alignment of tensors in a buffer of main memory (`TENSOR_ALIGNMENT` in `ggml-impl.h`).
const HOST_ALIGNMENT: u64 = 32;

impl Row {
    pub(super) fn new(tensor: Tensor, kind: Type, states: StateShape) -> Self {
        // Rows are whole blocks by now, so only an absurd size has no number.
        let bytes = kind
            .shape_bytes(&tensor.shape)
            .unwrap_or(Bytes::new(u64::MAX));
        let (gpu_bytes, host_bytes) = held(bytes, Some(kind), &tensor.shape);
        Self {
            bytes,
            gpu_bytes,
            host_bytes,
            gpu_can: gpu_can(&tensor, kind, states),
            part: Part::of(&tensor.name),
            tensor,
            kind,
            type_name: Cow::Borrowed(kind.name()),
        }
    }

    /// As a file holds it, with the bytes that it takes there.
    pub(super) fn stored(tensor: Tensor, stored: &FileTensor, states: StateShape) -> Self {
        let kind = stored.kind.unwrap_or_else(|| native::nearest(stored));
        let row = Self::new(tensor, kind, states);
        let known = stored.kind.and_then(|kind| kind.shape_bytes(&stored.shape));
        if known == Some(stored.bytes) && known == Some(row.bytes) {
            return row;
        }
        let (gpu_bytes, host_bytes) = held(stored.bytes, stored.kind, &stored.shape);
        Self {
            bytes: stored.bytes,
            gpu_bytes,
            host_bytes,
            type_name: stored.type_name.clone(),
            ..row
        }
    }
}

/// What so many bytes of a tensor take of a GPU's buffer and of one in main memory. Of a type that is not known the end of
/// a row is not padded.
pub(in crate::engine::llamacpp) fn held(
    bytes: Bytes,
    kind: Option<Type>,
    shape: &[u64; 4],
) -> (Bytes, Bytes) {
    let missing = match shape[0] % GPU_ROW {
        0 => 0,
        rest => GPU_ROW - rest,
    };
    // The missing part of one row; ggml rounds it down to whole blocks.
    let padding = match kind {
        Some(kind) if kind.is_quantized() => missing / kind.block_elements() * kind.block_bytes(),
        _ => 0,
    };
    let on_gpu = (bytes + Bytes::new(padding)).align_up(GPU_ALIGNMENT);
    (on_gpu, bytes.align_up(HOST_ALIGNMENT))
}

/// Whether the CUDA backend can run the operation with which the loader probes a tensor (`weight_buft_supported` in
/// `src/llama-model-loader.cpp`, `ggml_backend_cuda_device_supports_op`, 0.6.0-dev).
fn gpu_can(tensor: &Tensor, kind: Type, states: StateShape) -> bool {
    let name = tensor.name.as_str();
    if matches!(kind, Type::TQ1_0 | Type::TQ2_0) {
        return false;
    }
    if name.ends_with(".ssm_conv1d.weight") {
        return tensor.shape[1].is_multiple_of(128);
    }
    if name.ends_with(".ssm_a") && tensor.shape[0] == 1 {
        return states.scan_on_gpu;
    }
    true
}

impl Row {
    /// A matrix or bias of routed experts: what `cpu_moe` and `n_cpu_moe` move.
    pub fn is_routed(&self) -> bool {
        self.part
            .is_some_and(|part| part.network == Network::Experts)
    }

    /// Elements that are parameters of the model, and those of them that a token uses: neither tables of integers and
    /// rotary factors, nor scales beside matrices.
    pub(super) fn parameters(&self, model: &Model) -> (u64, u64) {
        let tensor = &self.tensor;
        let counts = tensor.layer != Layer::EveryBlock
            && !matches!(self.kind, Type::I8 | Type::I16 | Type::I32 | Type::I64)
            && !tensor.name.ends_with("_scale");
        if !counts {
            return (0, 0);
        }
        let all = tensor.elements();
        let layer = match tensor.layer {
            Layer::Block(block) if self.is_routed() => model.layers.get(block as usize),
            _ => None,
        };
        match layer.map(|layer| &layer.feed_forward) {
            Some(FeedForward::Experts(experts)) => {
                let one = all.checked_div(experts.num_experts).unwrap_or(all);
                (
                    all,
                    one.saturating_mul(experts.num_experts_per_tok).min(all),
                )
            }
            _ => (all, all),
        }
    }

    /// A matrix or bias of the one network for all tokens: what `n_cpu_ffn` moves.
    pub fn is_dense(&self) -> bool {
        self.part.is_some_and(|part| part.network == Network::Dense)
    }
}

impl Part {
    fn of(name: &str) -> Option<Self> {
        let (_, tail) = name.split_once(".ffn_")?;
        // The longer name first: the rest decides about the network.
        let (matrix, rest) = [
            ("gate_up", Matrix::Gate),
            ("gate", Matrix::Gate),
            ("up", Matrix::Up),
            ("down", Matrix::Down),
        ]
        .into_iter()
        .find_map(|(start, matrix)| Some((matrix, tail.strip_prefix(start)?)))?;
        let network = if rest.starts_with("_exps") || rest.starts_with("_chexps") {
            Network::Experts
        } else if rest.starts_with('.') {
            Network::Dense
        } else {
            Network::Other
        };
        Some(Self { matrix, network })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_the_engines_patterns() {
        for (name, expected) in [
            (
                "ffn_gate_up_exps.weight",
                Some((Matrix::Gate, Network::Experts)),
            ),
            ("ffn_down_exps.bias", Some((Matrix::Down, Network::Experts))),
            (
                "ffn_down_shexp.weight",
                Some((Matrix::Down, Network::Other)),
            ),
            ("ffn_gate_inp.weight", Some((Matrix::Gate, Network::Other))),
            ("ffn_up.weight", Some((Matrix::Up, Network::Dense))),
            ("ffn_norm.weight", None),
            ("attn_q.weight", None),
        ] {
            let found = Part::of(&format!("blk.3.{name}"));
            assert_eq!(
                found.map(|part| (part.matrix, part.network)),
                expected,
                "{name}"
            );
        }
    }
}

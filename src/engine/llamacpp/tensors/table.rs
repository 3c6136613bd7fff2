//! The tensors of one file with their types and sizes: what placement and graphs work on, made once per model and
//! file type.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::architecture::queries_per_key;
use super::native::{self, Findings};
use super::{Architecture, Layer, Tensor, Unsupported, tensors};
use crate::engine::llamacpp::file_type::{self, FileType, Weights};
use crate::engine::llamacpp::mixture::{Mixture, NoFallback, Traits, mixture};
use crate::model::{Checkpoint, FeedForward, FileTensor, Model};
use crate::quant::Type;
use crate::units::Bytes;

/// A model file, tensor by tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorTable {
    /// The architecture.
    pub architecture: Architecture,
    /// What it is quantized to.
    pub weights: Weights,
    /// What that is called where it is read.
    pub title: String,
    /// Every tensor of the file, by block and name.
    pub rows: Vec<Row>,
    /// Blocks of the main model.
    pub blocks: u32,
    /// Blocks in the file, prediction blocks included (`n_layer_all`): what `n_gpu_layers` counts.
    pub all_blocks: u32,
    /// Output head and embedding are one tensor.
    pub tied: bool,
    /// Tensors that got another type because of the length of their rows.
    pub fallbacks: usize,
    /// The quantizer writes such a file only with an importance matrix.
    pub requires_imatrix: bool,
    /// What the loader would say of the model's own file.
    pub findings: Findings,
    /// Bytes and elements of all tensors.
    totals: (Bytes, u64),
    /// Equal for equal tables; keys of caches are made of it.
    pub fingerprint: u64,
}

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

/// Why there is no such file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The engine has no architecture for the model.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The quantizer stops.
    #[error(transparent)]
    NoFallback(#[from] NoFallback),
}

impl TensorTable {
    /// The file that converter and quantizer write. Costs about a millisecond for the largest models: keep it.
    ///
    /// # Errors
    /// Converter or quantizer would not write it.
    pub fn new(model: &Model, file_type: FileType, imatrix: bool) -> Result<Self, Error> {
        Self::loading(model, Weights::Quantized(file_type), imatrix, false)
    }

    /// The file in any form; where the prediction blocks are loaded too, and the file holds them. A model without a file
    /// of its own has none of its own form.
    ///
    /// # Errors
    /// Converter or quantizer would not write it.
    pub fn loading(
        model: &Model,
        weights: Weights,
        imatrix: bool,
        prediction: bool,
    ) -> Result<Self, Error> {
        let mut hasher = DefaultHasher::new();
        (model.fingerprint, weights, imatrix, prediction).hash(&mut hasher);
        let fingerprint = hasher.finish();
        let parts = match (weights, file_type::native(model)) {
            (Weights::Native, Some(file)) => Parts::native(model, file, prediction)?,
            (Weights::Native, None) => {
                Parts::quantized(model, FileType::usual(model), imatrix, prediction)?
            }
            (Weights::Quantized(file_type), _) => {
                Parts::quantized(model, file_type, imatrix, prediction)?
            }
        };
        Ok(Self {
            weights,
            title: weights.title(model),
            fingerprint,
            ..parts.finish(model)
        })
    }

    /// Bytes of all tensors in the file.
    pub fn file_bytes(&self) -> Bytes {
        self.totals.0
    }

    /// Elements of all tensors in the file: what the engine prints as its parameters.
    pub fn elements(&self) -> u64 {
        self.totals.1
    }

    /// Bits per element over the whole file.
    pub fn bits_per_weight(&self) -> f64 {
        let elements = self.elements();
        if elements == 0 {
            return 0.0;
        }
        8.0 * self.file_bytes().get() as f64 / elements as f64
    }
}

/// What differs between a file that there is and one that would be written.
struct Parts {
    architecture: Architecture,
    rows: Vec<Row>,
    fallbacks: usize,
    requires_imatrix: bool,
    findings: Findings,
}

impl Parts {
    fn native(model: &Model, file: &Checkpoint, prediction: bool) -> Result<Self, Error> {
        let native::Loaded {
            architecture,
            tensors,
            findings,
        } = native::loaded(model, file, prediction)?;
        let states = StateShape::of(model);
        let rows = tensors
            .into_iter()
            .map(|(tensor, stored)| Row::stored(tensor, stored, states))
            .collect();
        Ok(Self {
            architecture,
            rows,
            fallbacks: 0,
            requires_imatrix: false,
            findings,
        })
    }

    fn quantized(
        model: &Model,
        file_type: FileType,
        imatrix: bool,
        prediction: bool,
    ) -> Result<Self, Error> {
        let (architecture, tensors) = tensors(model, prediction)?;
        let traits = Traits {
            architecture,
            blocks: u64::from(all_blocks(model, tensors.iter())),
            experts: experts(model),
            queries_per_key: queries_per_key(architecture, model),
            is_70b: architecture.is_70b(model),
        };
        let Mixture {
            types,
            fallbacks,
            requires_imatrix,
        } = mixture(&tensors, traits, file_type, imatrix)?;
        let states = StateShape::of(model);
        let rows = tensors
            .into_iter()
            .zip(types)
            .map(|(tensor, kind)| Row::new(tensor, kind, states))
            .collect();
        Ok(Self {
            architecture,
            rows,
            fallbacks,
            requires_imatrix,
            findings: Findings::default(),
        })
    }

    /// The table but for what it is called.
    fn finish(self, model: &Model) -> TensorTable {
        let Self {
            architecture,
            rows,
            fallbacks,
            requires_imatrix,
            findings,
        } = self;
        let elements = rows.iter().map(|row| row.tensor.elements());
        TensorTable {
            architecture,
            weights: Weights::Native,
            title: String::new(),
            totals: (
                rows.iter().map(|row| row.bytes).sum(),
                elements.fold(0, u64::saturating_add),
            ),
            blocks: model.layers.len() as u32,
            all_blocks: all_blocks(model, rows.iter().map(|row| &row.tensor)),
            tied: !rows.iter().any(|row| row.tensor.name == "output.weight"),
            rows,
            fallbacks,
            requires_imatrix,
            findings,
            fingerprint: 0,
        }
    }
}

/// Blocks of a file, prediction blocks included.
fn all_blocks<'a>(model: &Model, tensors: impl Iterator<Item = &'a Tensor>) -> u32 {
    let blocks = tensors.filter_map(|tensor| match tensor.layer {
        Layer::Block(block) => Some(block.saturating_add(1)),
        _ => None,
    });
    blocks.fold(model.layers.len() as u32, u32::max)
}

/// `n_expert`: the most routed experts of any layer.
fn experts(model: &Model) -> u64 {
    model
        .layers
        .iter()
        .map(|layer| match &layer.feed_forward {
            FeedForward::Experts(experts) => experts.num_experts,
            _ => 0,
        })
        .max()
        .unwrap_or(0)
}

/// What decides whether the CUDA backend can run a state space (`GGML_OP_SSM_SCAN` in
/// `ggml_backend_cuda_device_supports_op`, 0.6.0-dev).
#[derive(Clone, Copy, Default)]
struct StateShape {
    scan_on_gpu: bool,
}

impl StateShape {
    fn of(model: &Model) -> Self {
        use crate::model::Mixer;
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
    fn new(tensor: Tensor, kind: Type, states: StateShape) -> Self {
        // Rows are whole blocks by now, so only an absurd size has no number.
        let bytes = kind
            .shape_bytes(&tensor.shape)
            .unwrap_or(Bytes::new(u64::MAX));
        let missing = match tensor.shape[0] % GPU_ROW {
            0 => 0,
            rest => GPU_ROW - rest,
        };
        // The missing part of one row; ggml rounds it down to whole blocks.
        let padding = if kind.is_quantized() {
            missing / kind.block_elements() * kind.block_bytes()
        } else {
            0
        };
        Self {
            bytes,
            gpu_bytes: (bytes + Bytes::new(padding)).align_up(GPU_ALIGNMENT),
            host_bytes: bytes.align_up(HOST_ALIGNMENT),
            gpu_can: gpu_can(&tensor, kind, states),
            part: Part::of(&tensor.name),
            tensor,
            kind,
            type_name: Cow::Borrowed(kind.name()),
        }
    }

    /// As a file holds it, with the bytes that it takes there.
    fn stored(tensor: Tensor, stored: &FileTensor, states: StateShape) -> Self {
        let kind = stored.kind.unwrap_or_else(|| native::nearest(stored));
        let row = Self::new(tensor, kind, states);
        let known = stored.kind.and_then(|kind| kind.shape_bytes(&stored.shape));
        if known == Some(stored.bytes) && known == Some(row.bytes) {
            return row;
        }
        Self {
            bytes: stored.bytes,
            gpu_bytes: stored.bytes.align_up(GPU_ALIGNMENT),
            host_bytes: stored.bytes.align_up(HOST_ALIGNMENT),
            type_name: stored.type_name.clone(),
            ..row
        }
    }
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

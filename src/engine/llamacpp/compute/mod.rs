//! The compute buffers of llama.cpp, from the graphs themselves: the nodes that the engine's graph builder makes for a
//! model, its scheduler's splits and copies between devices, and its allocator's placement of every tensor.
//!
//! Nothing here is fitted: each file follows one source file of the engine (0.6.0-dev) and names it. A new layer kind
//! is one file under `build`.

mod alive;
mod alloc;
mod backend;
mod bound;
mod buffers;
mod build;
mod content;
mod draft;
mod fusion;
mod graph;
mod linear;
mod ops;
mod place;
mod plan;
mod reserve;
mod schedule;
mod segments;
mod shorten;
mod steady;
mod tensor;
mod vision;

pub(in crate::engine::llamacpp) use alive::Use;
pub(in crate::engine::llamacpp) use buffers::{Buffers, ComputeBuffer, Exactness, Purpose};
pub(in crate::engine::llamacpp) use plan::GraphPlan;
pub(in crate::engine::llamacpp) use shorten::Extent;
pub(in crate::engine::llamacpp) use tensor::Part;
pub(in crate::engine::llamacpp) use vision::{Picture, picture_buffers};

use crate::model::Model;

use crate::quant::Type;

/// A weight, as the loader placed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) struct PlacedWeight<'a> {
    /// Its GGUF name ("blk.3.attn_q.weight").
    pub(in crate::engine::llamacpp) name: &'a str,
    /// Its dimensions, innermost first; unused ones are 1.
    pub(in crate::engine::llamacpp) shape: [u64; 4],
    /// Its type.
    pub(in crate::engine::llamacpp) format: Type,
    /// The GPU it is on; `None`: main memory.
    pub(in crate::engine::llamacpp) gpu: Option<usize>,
}

/// A placed model: everything the compute buffers depend on besides the load.
pub(in crate::engine::llamacpp) struct GraphConfig<'a> {
    /// What is loaded.
    pub(in crate::engine::llamacpp) model: &'a Model,
    /// `general.architecture` of the file ("qwen3moe").
    pub(in crate::engine::llamacpp) architecture: &'a str,
    /// The model's layers are blocks that predict further tokens from hidden states.
    pub(in crate::engine::llamacpp) prediction: bool,
    /// Every tensor that is loaded.
    pub(in crate::engine::llamacpp) weights: &'a [PlacedWeight<'a>],
    /// Where things are and what may move.
    pub(in crate::engine::llamacpp) placement: GraphPlacement<'a>,
}

/// Devices of blocks and caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "settings as they are")]
pub(in crate::engine::llamacpp) struct GraphPlacement<'a> {
    /// Number of GPUs used.
    pub(in crate::engine::llamacpp) gpus: usize,
    /// GPU of each block of the main model; `None`: CPU.
    pub(in crate::engine::llamacpp) blocks: &'a [Option<usize>],
    /// `n_gpu_layers` exceeds the blocks of the file, prediction blocks included.
    pub(in crate::engine::llamacpp) all_offloaded: bool,
    /// Batches may be pipelined over several GPUs as far as settings say: split by layer, no tensor overrides.
    pub(in crate::engine::llamacpp) may_pipeline: bool,
    /// Caches lie with their blocks (`kv_offload`).
    pub(in crate::engine::llamacpp) kv_offload: bool,
    /// Large batches run on a GPU even where the weight is in main memory (`op_offload`).
    pub(in crate::engine::llamacpp) op_offload: bool,
    /// Compute capability of the first GPU, times ten (89 for Ada).
    pub(in crate::engine::llamacpp) compute_capability: u32,
}

/// Batch, sequences and caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) struct GraphLoad {
    /// Tokens of a micro-batch: min of context, batch and micro-batch, as asked for.
    pub(in crate::engine::llamacpp) ubatch: u64,
    /// Sequences (`n_seq_max`).
    pub(in crate::engine::llamacpp) sequences: u64,
    /// All sequences share one stream of cells.
    pub(in crate::engine::llamacpp) kv_unified: bool,
    /// Most rows of logits of a batch.
    pub(in crate::engine::llamacpp) outputs: u64,
    /// Cells per stream of full attention.
    pub(in crate::engine::llamacpp) cells: u64,
    /// Cells per stream of sliding or chunked attention.
    pub(in crate::engine::llamacpp) window_cells: u64,
    /// Type of cached keys.
    pub(in crate::engine::llamacpp) cache_k: Type,
    /// Type of cached values.
    pub(in crate::engine::llamacpp) cache_v: Type,
    /// `flash_attn`; `None` is auto.
    pub(in crate::engine::llamacpp) flash_attn: Option<bool>,
    /// States of speculative rollback kept per sequence besides the current one.
    pub(in crate::engine::llamacpp) rollback_states: u64,
    /// Builds since mid 2026: inputs for mixed batches, and attention's f16 copies inside of the compute buffer.
    pub(in crate::engine::llamacpp) since_mid_2026: bool,
}

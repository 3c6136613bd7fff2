//! What comes of reserving graphs: one buffer per device.

use super::alive::Use;
use super::tensor::Stage;
use crate::units::Bytes;

/// The compute buffers of all devices.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine::llamacpp) struct Buffers {
    /// One per GPU, in order.
    pub(in crate::engine::llamacpp) gpus: Vec<ComputeBuffer>,
    /// Of the CPU, in pinned memory where there is a GPU.
    pub(in crate::engine::llamacpp) host: ComputeBuffer,
    /// What `flash_attn` comes to.
    pub(in crate::engine::llamacpp) flash_attn: bool,
    /// Whether the graph is that of the architecture.
    pub(in crate::engine::llamacpp) exactness: Exactness,
    /// Copies of each input for pipelining over GPUs; 1 without.
    pub(in crate::engine::llamacpp) copies: u64,
}

impl Buffers {
    /// None that is counted, on so many GPUs: nobody knows the graph.
    pub(in crate::engine::llamacpp) fn unknown(gpus: usize) -> Self {
        let nothing = ComputeBuffer {
            bytes: Bytes::ZERO,
            peak: Stage::NOTHING,
            largest: [None; 3],
        };
        Self {
            gpus: vec![nothing.clone(); gpus],
            host: nothing,
            flash_attn: false,
            exactness: Exactness::Unknown,
            copies: 1,
        }
    }
}

/// One compute buffer.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine::llamacpp) struct ComputeBuffer {
    /// Its size.
    pub(in crate::engine::llamacpp) bytes: Bytes,
    /// What was computed when the buffer was fullest.
    pub(in crate::engine::llamacpp) peak: Stage,
    /// What took most of it then, largest first.
    pub(in crate::engine::llamacpp) largest: [Option<(Use, Bytes)>; 3],
}

/// What buffers are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) enum Purpose {
    /// What is allocated.
    Allocation,
    /// What the engine's dry run, and so its fitting, takes it to be: the first graph only, and without the bindings of
    /// nodes to devices, which `ggml_backend_sched_reserve_size` forgets.
    DryRun,
}

/// How far a graph can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) enum Exactness {
    /// The graph of this architecture, node by node.
    Emulated,
    /// The nearest graph known; the architecture has nodes of its own.
    Approximate,
    /// No graph at all: nothing is counted.
    Unknown,
}

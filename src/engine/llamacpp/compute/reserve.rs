//! The graphs that are reserved, and the buffers they need (`llama_context::sched_reserve`, `graph_reserve` in
//! `src/llama-context.cpp` 0.6.0-dev).

use super::GraphConfig;
use super::backend::Rules;
use super::build::{self, Batch};
use super::fusion::{self, Keep};
use super::place::{Placed, place};
use super::plan::Plan;
use super::schedule::Schedule;
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

/// One compute buffer.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine::llamacpp) struct ComputeBuffer {
    /// What is allocated.
    pub(in crate::engine::llamacpp) bytes: Bytes,
    /// What the engine's own dry run, and so its fitting, takes it to be.
    pub(in crate::engine::llamacpp) dry_run: Bytes,
    /// What was computed when the buffer was fullest.
    pub(in crate::engine::llamacpp) peak: Stage,
}

/// How far a graph can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) enum Exactness {
    /// The graph of this architecture, node by node.
    Emulated,
    /// The nearest graph known; the architecture has nodes of its own.
    Approximate,
}

/// The compute buffers of a configuration.
pub(in crate::engine::llamacpp) fn reserve(config: &GraphConfig<'_>) -> Buffers {
    let plan = Plan::new(config);
    let placement = config.placement;
    let rules = Rules {
        gpus: u8::try_from(placement.gpus).unwrap_or(u8::MAX - 1),
        op_offload: placement.op_offload,
        attention_copies: config.load.since_mid_2026,
        tensor_cores: placement.compute_capability >= 75,
        ada: placement.compute_capability >= 89,
    };
    let pipeline = placement.gpus > 1
        && placement.all_offloaded
        && placement.may_pipeline
        && placement.kv_offload;
    let run = Run {
        config,
        plan: &plan,
        rules,
        pipeline,
    };
    let flash_attn = config
        .load
        .flash_attn
        .unwrap_or_else(|| run.resolves_flash_attn());
    let prompt = run.placed(run.prompt(), flash_attn);
    let decode = run.placed(run.decode(), flash_attn);
    let mut buffers = prompt.iter().zip(&decode).map(|(prompt, decode)| {
        let larger = if decode.bytes > prompt.bytes {
            decode
        } else {
            prompt
        };
        ComputeBuffer {
            bytes: Bytes::new(larger.bytes),
            dry_run: Bytes::new(prompt.bytes),
            peak: larger.peak,
        }
    });
    let gpus = buffers.by_ref().take(placement.gpus).collect();
    let host = buffers.next().unwrap_or_else(|| ComputeBuffer {
        bytes: Bytes::ZERO,
        dry_run: Bytes::ZERO,
        peak: Stage::NOTHING,
    });
    Buffers {
        gpus,
        host,
        flash_attn,
        exactness: build::exactness(config),
        copies: if pipeline { 4 } else { 1 },
    }
}

struct Run<'a> {
    config: &'a GraphConfig<'a>,
    plan: &'a Plan<'a>,
    rules: Rules,
    pipeline: bool,
}

impl Run<'_> {
    /// A full micro-batch, in equal parts for all sequences.
    fn prompt(&self) -> Batch {
        let load = &self.config.load;
        let sequences = load.sequences.max(1);
        let tokens = load
            .ubatch
            .max(1)
            .checked_next_multiple_of(sequences)
            .unwrap_or(load.ubatch);
        Batch {
            tokens,
            sequences,
            outputs: load.outputs.min(load.ubatch).max(1),
        }
    }

    /// One token per sequence.
    fn decode(&self) -> Batch {
        let sequences = self.config.load.sequences.max(1);
        Batch {
            tokens: sequences,
            sequences,
            outputs: sequences,
        }
    }

    fn placed(&self, batch: Batch, flash_attn: bool) -> Vec<Placed> {
        let built = build::build(self.config, self.plan, &self.rules, batch, flash_attn);
        let mut graph = built.graph;
        let mut schedule = Schedule::new(&mut graph, &self.rules, self.pipeline);
        let mut keep = Keep::default();
        for split in &mut schedule.splits {
            if split.backend < self.rules.gpus {
                fusion::optimize(&graph, &mut split.nodes, &mut keep);
            }
        }
        place(&graph, &self.rules, &schedule, &keep)
    }

    /// Fused attention is on where every attention would run on the device of its block.
    fn resolves_flash_attn(&self) -> bool {
        let built = build::build(self.config, self.plan, &self.rules, self.decode(), true);
        let mut graph = built.graph;
        let schedule = Schedule::new(&mut graph, &self.rules, self.pipeline);
        built
            .attention_nodes
            .iter()
            .all(|&(node, backend)| schedule.backend(node) == backend)
    }
}

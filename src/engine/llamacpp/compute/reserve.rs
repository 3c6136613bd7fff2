//! The graphs that are reserved, and the buffers they need (`llama_context::sched_reserve`, `graph_reserve` in
//! `src/llama-context.cpp` 0.6.0-dev).

use super::GraphLoad;
use super::backend::Rules;
use super::build::{self, Batch, Built};
use super::fusion::{self, Keep};
use super::place::{Placed, place};
use super::plan::GraphPlan;
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
    /// Its size.
    pub(in crate::engine::llamacpp) bytes: Bytes,
    /// What was computed when the buffer was fullest.
    pub(in crate::engine::llamacpp) peak: Stage,
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
}

impl GraphPlan {
    /// The compute buffers under a load.
    pub(in crate::engine::llamacpp) fn reserve(
        &self,
        load: &GraphLoad,
        purpose: Purpose,
    ) -> Buffers {
        let run = Run {
            plan: self,
            load,
            rules: Rules {
                gpus: self.gpus,
                op_offload: self.op_offload,
                attention_copies: load.since_mid_2026,
                tensor_cores: self.compute_capability >= 75,
                ada: self.compute_capability >= 89,
            },
        };
        let pinned = purpose == Purpose::Allocation;
        let prompt = |flash_attn| run.place(run.schedule(run.prompt(), flash_attn, pinned));
        let (flash_attn, placed) = match load.flash_attn {
            Some(asked) if purpose == Purpose::DryRun || self.prompt_decides(load) => {
                (asked, prompt(asked))
            }
            _ => {
                let (flash_attn, decode) = run.decode();
                let placed = match purpose {
                    Purpose::Allocation => larger(prompt(flash_attn), run.place(decode)),
                    Purpose::DryRun => prompt(flash_attn),
                };
                (flash_attn, placed)
            }
        };
        let buffer = |backend: u8| {
            let placed = placed.get(usize::from(backend));
            ComputeBuffer {
                bytes: placed.map_or(Bytes::ZERO, |placed| Bytes::new(placed.bytes)),
                peak: placed.map_or(Stage::NOTHING, |placed| placed.peak),
            }
        };
        Buffers {
            gpus: self.stand_ins.iter().map(|&gpu| buffer(gpu)).collect(),
            host: buffer(self.gpus),
            flash_attn,
            exactness: build::exactness(self),
            copies: if self.pipeline { 4 } else { 1 },
        }
    }
}

impl GraphPlan {
    /// Whether every tensor of the prompt's graph is at least as large as its counterpart in that of one token per
    /// sequence, on the same device. With a part on the CPU it need not be: few tokens stay there.
    fn prompt_decides(&self, load: &GraphLoad) -> bool {
        self.all_on_gpus && self.kv_offload && load.outputs.min(load.ubatch) >= load.sequences
    }
}

/// The larger of each buffer: it grows to what any graph needs.
fn larger(one: Vec<Placed>, other: Vec<Placed>) -> Vec<Placed> {
    let pairs = one.into_iter().zip(other);
    pairs
        .map(|(one, other)| if other.bytes > one.bytes { other } else { one })
        .collect()
}

struct Run<'a> {
    plan: &'a GraphPlan,
    load: &'a GraphLoad,
    rules: Rules,
}

/// A graph with its splits.
struct Scheduled {
    built: Built,
    schedule: Schedule,
}

impl Run<'_> {
    /// A full micro-batch, in equal parts for all sequences.
    fn prompt(&self) -> Batch {
        let sequences = self.load.sequences.max(1);
        let ubatch = self.load.ubatch.max(1);
        Batch {
            tokens: ubatch.checked_next_multiple_of(sequences).unwrap_or(ubatch),
            sequences,
            outputs: self.load.outputs.min(ubatch).max(1),
        }
    }

    /// The graph of one token per sequence, which also decides on fused attention.
    fn decode(&self) -> (bool, Scheduled) {
        let sequences = self.load.sequences.max(1);
        let batch = Batch {
            tokens: sequences,
            sequences,
            outputs: sequences,
        };
        let asked = self.load.flash_attn;
        let scheduled = self.schedule(batch, asked.unwrap_or(true), true);
        if asked.is_none() && !scheduled.attention_is_at_home() {
            return (false, self.schedule(batch, false, true));
        }
        (asked.unwrap_or(true), scheduled)
    }

    fn schedule(&self, batch: Batch, flash_attn: bool, pinned: bool) -> Scheduled {
        let mut built = build::build(self.plan, self.load, self.rules, batch, flash_attn);
        if !pinned {
            built.graph.pins.clear();
        }
        let schedule = Schedule::new(&mut built.graph, self.rules, self.plan.pipeline);
        Scheduled { built, schedule }
    }

    fn place(&self, scheduled: Scheduled) -> Vec<Placed> {
        let Scheduled {
            built: Built { graph, .. },
            mut schedule,
        } = scheduled;
        let mut keep = Keep::default();
        for split in &mut schedule.splits {
            if split.backend < self.rules.gpus {
                fusion::optimize(&graph, &mut split.nodes, &mut keep);
            }
        }
        place(&graph, self.rules, &schedule, &keep)
    }
}

impl Scheduled {
    /// Every attention runs on the device of its block (`resolve_fused_ops`).
    fn attention_is_at_home(&self) -> bool {
        let mut nodes = self.built.attention_nodes.iter();
        nodes.all(|&(node, backend)| self.schedule.backend(node) == backend)
    }
}

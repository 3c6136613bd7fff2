//! The graphs that are reserved, and the buffers they need (`llama_context::sched_reserve`, `graph_reserve` in
//! `src/llama-context.cpp` 0.6.0-dev).

use std::sync::Arc;

use super::GraphLoad;
use super::backend::Rules;
use super::bound;
use super::buffers::{Buffers, ComputeBuffer, Purpose};
use super::build::{self, Batch, Built, Fused, Kernels};
use super::fusion::{self, Keep};
use super::linear::Domain;
use super::place::{Placed, Twin, place};
use super::plan::GraphPlan;
use super::schedule::Schedule;
use super::segments::{self, Segment};
use super::shorten::Extent;
use super::tensor::Stage;
use crate::units::Bytes;

impl GraphPlan {
    /// The compute buffers under a load. `longer` makes the plan with less left out.
    pub(in crate::engine::llamacpp) fn reserve(
        &self,
        load: &GraphLoad,
        purpose: Purpose,
        longer: &dyn Fn(Extent) -> Self,
    ) -> Buffers {
        let (segment, plan) = self.around(load, purpose, longer);
        let steps = segments::steps(load).unwrap_or(0);
        let buffer = |backend: usize| {
            let placed = segment.placed.get(backend);
            ComputeBuffer {
                bytes: placed.map_or(Bytes::ZERO, |placed| Bytes::new(placed.bytes.at(steps))),
                peak: placed.map_or(Stage::NOTHING, |placed| {
                    plan.named(placed.peak, segment.whole)
                }),
                largest: placed.map_or([None; 3], |placed| {
                    let largest = placed.alive.largest(steps);
                    largest.map(|found| found.map(|(kind, bytes)| (kind, Bytes::new(bytes))))
                }),
            }
        };
        let gpus = self.stand_ins.len();
        Buffers {
            gpus: (0..gpus).map(buffer).collect(),
            host: buffer(gpus),
            flash_attn: segment.flash_attn,
            exactness: build::exactness(self),
            copies: if self.pipeline { 4 } else { 1 },
        }
    }

    /// What is known around a load's context, and the plan by which it is: a longer one where what is left out matters.
    fn around(
        &self,
        load: &GraphLoad,
        purpose: Purpose,
        longer: &dyn Fn(Extent) -> Self,
    ) -> (Arc<Segment>, &Self) {
        if let Some(known) = self.known(load, purpose) {
            return (known, self);
        }
        match self.extent.longer() {
            Some(extent) => {
                let plan = self.longer.get_or_init(|| Box::new(longer(extent)));
                plan.around(load, purpose, longer)
            }
            None => (Arc::default(), self),
        }
    }

    fn known(&self, load: &GraphLoad, purpose: Purpose) -> Option<Arc<Segment>> {
        let steps = segments::steps(load);
        let find = |few: bool| self.find(load, steps, few, purpose);
        match steps {
            Some(steps) => {
                let key = (segments::at(load, 0), purpose);
                self.segments.around(key, steps, find)
            }
            None => find(true).map(Arc::new),
        }
    }

    /// The buffers around a context; `None`: what is left out matters.
    fn find(
        &self,
        load: &GraphLoad,
        steps: Option<i64>,
        few: bool,
        purpose: Purpose,
    ) -> Option<Segment> {
        let Some(steps) = steps else {
            return self.point(load, purpose);
        };
        if let Some((low, high)) = self.plateau(load, steps) {
            return Some(self.point(load, purpose)?.over(low, high));
        }
        if few {
            // Many loads are asked for at one context or two only.
            return Some(self.point(load, purpose)?.over(steps, steps));
        }
        self.segment(load, steps, purpose)
    }

    /// The buffers at one context; `None`: what is left out matters.
    fn point(&self, load: &GraphLoad, purpose: Purpose) -> Option<Segment> {
        let run = Run::new(self, load);
        let mut domain = Domain::everywhere(0);
        domain.narrow();
        let mut reserved = run.reserve(purpose);
        let mut placed: Vec<Vec<Placed>> = Vec::with_capacity(reserved.graphs.len());
        for graph in &mut reserved.graphs {
            let own = (&graph.built.graph, &graph.schedule);
            let first = placed.first();
            if !first.is_some_and(|first| bound::is_within(self, own, run.rules, first)) {
                graph.optimize(run.rules);
                placed.push(run.place(graph, None, &mut domain)?);
            }
        }
        domain.narrow();
        Some(self.larger(placed, reserved.flash_attn, &mut domain))
    }

    /// The buffers around a context, as far as everything is decided alike; `None`: what is left out matters.
    fn segment(&self, load: &GraphLoad, steps: i64, purpose: Purpose) -> Option<Segment> {
        let mut domain = Domain::everywhere(steps);
        for step in self.breakpoints() {
            domain.split(step);
        }
        let other = if steps < domain.high {
            steps + 1
        } else {
            steps - 1
        };
        let (here, there) = (segments::at(load, steps), segments::at(load, other));
        let (run, twin) = (Run::new(self, &here), Run::new(self, &there));
        let (mut reserved, mut twins) = (run.reserve(purpose), twin.reserve(purpose));
        for graph in reserved.graphs.iter_mut().chain(&mut twins.graphs) {
            graph.optimize(run.rules);
        }
        if other < domain.low || !reserved.is_like(&twins) {
            return Some(self.point(load, purpose)?.over(steps, steps));
        }
        let graphs = reserved.graphs.iter().zip(&twins.graphs);
        let placed = graphs
            .map(|(graph, twin)| {
                let twin = Twin {
                    graph: &twin.built.graph,
                    steps: other,
                };
                run.place(graph, Some(twin), &mut domain)
            })
            .collect::<Option<Vec<_>>>()?;
        Some(self.larger(placed, reserved.flash_attn, &mut domain))
    }

    /// The larger of each buffer: it grows to what any graph needs. One per GPU, left out or not, then the host's.
    fn larger(&self, graphs: Vec<Vec<Placed>>, flash_attn: bool, domain: &mut Domain) -> Segment {
        let placed = segments::larger(graphs, domain);
        let all = self.stand_ins.iter().chain([&self.gpus]);
        Segment {
            low: domain.low,
            high: domain.high,
            placed: all
                .filter_map(|&backend| placed.get(usize::from(backend)).cloned())
                .collect(),
            flash_attn,
            whole: self.is_whole,
        }
    }
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
    /// What fusion keeps, once it is [optimized](Self::optimize).
    keep: Keep,
}

/// The graphs that are reserved.
struct Reserved {
    graphs: Vec<Scheduled>,
    flash_attn: bool,
}

impl Reserved {
    /// The same nodes on the same devices.
    fn is_like(&self, other: &Self) -> bool {
        let mut pairs = self.graphs.iter().zip(&other.graphs);
        self.flash_attn == other.flash_attn
            && self.graphs.len() == other.graphs.len()
            && pairs.all(|(one, other)| one.is_like(other))
    }
}

impl<'a> Run<'a> {
    fn new(plan: &'a GraphPlan, load: &'a GraphLoad) -> Self {
        Self {
            plan,
            load,
            rules: Rules {
                gpus: plan.gpus,
                op_offload: plan.op_offload,
                attention_copies: load.since_mid_2026,
                tensor_cores: plan.compute_capability >= 75,
                ada: plan.compute_capability >= 89,
            },
        }
    }

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

    /// A full micro-batch of one sequence.
    fn single(&self) -> Batch {
        Batch {
            tokens: self.load.ubatch.max(1),
            sequences: 1,
            ..self.prompt()
        }
    }

    /// One token per sequence.
    fn decode(&self) -> Batch {
        let sequences = self.load.sequences.max(1);
        Batch {
            tokens: sequences,
            sequences,
            outputs: sequences,
        }
    }

    /// The prompt's graph is the same as that of one token per sequence, only larger throughout: the second need not be
    /// made. Where operations move between devices with the number of tokens, or layers have other nodes for one token,
    /// it must.
    fn prompt_suffices(&self) -> bool {
        let (prompt, decode) = (self.prompt(), self.decode());
        self.plan.all_on_gpus
            && self.plan.all_offloaded
            && self.plan.kv_offload
            && !self.plan.is_recurrent()
            && prompt.outputs >= decode.outputs
            && prompt.tokens >= decode.tokens.saturating_mul(4).max(32)
    }

    fn reserve(&self, purpose: Purpose) -> Reserved {
        // The graph that decides on fused operations.
        let suffices = self.prompt_suffices();
        let pinned = purpose == Purpose::Allocation;
        let asked = self.load.flash_attn;
        let mut fused = Kernels::all(asked.unwrap_or(true));
        let mut deciding = None;
        if pinned || asked.is_none() || self.plan.trunk.streams > 1 {
            let batch = if suffices {
                self.prompt()
            } else {
                self.decode()
            };
            let (kernels, scheduled) = self.resolve(batch, fused, asked.is_none());
            fused = kernels;
            deciding = pinned.then_some(scheduled);
        }
        let graphs = if let (Some(_), true) = (&deciding, suffices) {
            deciding.into_iter().collect()
        } else {
            let prompt = self.schedule(self.prompt(), fused, pinned);
            // The last graph is that of one sequence (`TAG_RESERVE_DIAG_DECAY`).
            let single = (pinned && self.plan.grows_with_steps() && self.load.sequences > 1)
                .then(|| self.schedule(self.single(), fused, pinned));
            [prompt].into_iter().chain(deciding).chain(single).collect()
        };
        Reserved {
            graphs,
            flash_attn: fused.attention,
        }
    }

    /// Which operations are fused, one after the other (`resolve_fused_ops`), and the graph that results.
    fn resolve(&self, batch: Batch, fused: Kernels, attention: bool) -> (Kernels, Scheduled) {
        let mut fused = fused;
        let mut scheduled = self.schedule(batch, fused, true);
        for kind in [Fused::Attention, Fused::Pre, Fused::Comb, Fused::Post] {
            let asked = kind == Fused::Attention && !attention;
            if !asked && !scheduled.is_at_home(kind) {
                fused = fused.without(kind);
                scheduled = self.schedule(batch, fused, true);
            }
        }
        (fused, scheduled)
    }

    fn schedule(&self, batch: Batch, fused: Kernels, pinned: bool) -> Scheduled {
        let mut built = build::build(self.plan, self.load, self.rules, batch, fused);
        if !pinned {
            built.graph.pins.clear();
        }
        let schedule = Schedule::new(&mut built.graph, self.rules, self.plan.pipeline);
        Scheduled {
            built,
            schedule,
            keep: Keep::default(),
        }
    }

    fn place(
        &self,
        scheduled: &Scheduled,
        twin: Option<Twin<'_>>,
        domain: &mut Domain,
    ) -> Option<Vec<Placed>> {
        let Scheduled {
            built,
            schedule,
            keep,
        } = scheduled;
        // With a pipeline all copies are kept, so that more blocks take more where blocks need copies.
        let splits = usize::from(self.rules.gpus) + 1;
        if self.plan.pipeline && !self.plan.is_whole && schedule.splits.len() > splits {
            return None;
        }
        let repeats = &self.plan.repeats;
        let (graph, rules) = (&built.graph, self.rules);
        place(graph, twin, rules, schedule, keep, repeats, domain)
    }
}

impl Scheduled {
    /// Puts the nodes of every GPU in the order in which they are fused; before that nothing can be placed.
    fn optimize(&mut self, rules: Rules) {
        for split in &mut self.schedule.splits {
            if split.backend < rules.gpus {
                fusion::optimize(&self.built.graph, &mut split.nodes, &mut self.keep);
            }
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let (mine, others) = (&self.schedule.splits, &other.schedule.splits);
        let mut pairs = mine.iter().zip(others);
        self.built.graph.arena.len() == other.built.graph.arena.len()
            && self.built.graph.leafs == other.built.graph.leafs
            && mine.len() == others.len()
            && pairs.all(|(one, other)| {
                one.backend == other.backend
                    && one.nodes == other.nodes
                    && one.inputs == other.inputs
            })
    }

    /// Every such operation runs on the device of its block.
    fn is_at_home(&self, kind: Fused) -> bool {
        let mut nodes = self.built.fused_nodes.iter();
        nodes.all(|&(own, node, backend)| own != kind || self.schedule.backend(node) == backend)
    }
}

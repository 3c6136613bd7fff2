//! The memory of a whole graph: which tensor is placed when, over which source, and given back when
//! (`ggml_gallocr_alloc_graph_impl`, `ggml/src/ggml-alloc.c` 0.6.0-dev).

use std::cmp::Ordering;

use super::alive::{Alive, Lives};
use super::alloc::Allocator;
use super::backend::Rules;
use super::fusion::Keep;
use super::graph::Graph;
use super::linear::{Domain, Linear};
use super::schedule::Schedule;
use super::shorten::Repeat;
use super::steady::Watch;
use super::tensor::{Id, MAX_SOURCES, Stage};

/// Alignment of CUDA buffers (`ggml_backend_cuda_buffer_type_get_alignment`).
const GPU_ALIGNMENT: u64 = 128;
/// Alignment of host buffers (`TENSOR_ALIGNMENT`).
const HOST_ALIGNMENT: u64 = 32;

/// One buffer after a graph has been placed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    /// Bytes the buffer must have.
    pub(super) bytes: Linear,
    /// What was being computed when it grew to that.
    pub(super) peak: Stage,
    /// What was in it then.
    pub(super) alive: Alive,
}

#[derive(Clone, Copy, Default)]
struct State {
    children: u32,
    views: u32,
    backend: u8,
    offset: Linear,
    /// Memory of its own that has not passed to another tensor.
    allocated: bool,
}

/// A node as the allocator sees it: those of the graph, copies before a split, and what fusion keeps.
struct Step {
    id: Id,
    backend: u8,
    /// The sources; for a mere dependency these are all there is.
    src: [Id; MAX_SOURCES],
    dependency: bool,
}

impl Step {
    fn sources(&self) -> impl Iterator<Item = Id> {
        self.src.iter().copied().filter(|&id| id != Id::NONE)
    }
}

/// The same graph at another context, from which sizes as functions of the context follow.
#[derive(Clone, Copy)]
pub(super) struct Twin<'a> {
    pub(super) graph: &'a Graph,
    /// Its context in steps.
    pub(super) steps: i64,
}

/// Places every tensor of the graph; one entry per backend. Sizes hold over what is left of the domain. `None`: memory
/// is not the same after blocks of a repeat.
pub(super) fn place(
    graph: &Graph,
    twin: Option<Twin<'_>>,
    rules: Rules,
    schedule: &Schedule,
    keep: &Keep,
    repeats: &[Repeat],
    domain: &mut Domain,
) -> Option<Vec<Placed>> {
    let steps = steps(graph, schedule, keep);
    let mut placing = Placing::new(graph, twin, rules, domain);
    placing.leafs(schedule);
    placing.count(&steps);
    let nodes = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| !step.dependency);
    let mut watch = Watch::new(graph, nodes.map(|(index, step)| (index, step.id)), repeats);
    for (index, step) in steps.iter().enumerate() {
        placing.run(step);
        if let Some(block) = watch.ends(index) {
            let state = placing.state(step.id);
            watch.note(block, &placing.buffers, (state.backend, state.offset));
        }
    }
    watch.is_steady(repeats).then(|| placing.finish(schedule))
}

/// The order of `graph_copy`: before each split its copies, each with a dependency on what is copied.
fn steps(graph: &Graph, schedule: &Schedule, keep: &Keep) -> Vec<Step> {
    let mut steps = Vec::with_capacity(graph.nodes.len() + 64);
    let none = [Id::NONE; MAX_SOURCES];
    let depend = |on: &[Id], backend| {
        let mut src = none;
        for (slot, &id) in src.iter_mut().zip(on) {
            *slot = id;
        }
        Step {
            id: Id::NONE,
            backend,
            src,
            dependency: true,
        }
    };
    for split in &schedule.splits {
        for &input in &split.inputs {
            steps.push(depend(&[input], schedule.backend(input)));
            if let Some(&id) = schedule.copies(input, split.backend).first() {
                steps.push(Step {
                    id,
                    backend: split.backend,
                    src: none,
                    dependency: false,
                });
            }
        }
        for &id in &split.nodes {
            steps.push(Step {
                id,
                backend: schedule.backend(id),
                src: graph.at(id).src,
                dependency: false,
            });
            for kept in keep.until(id).chunks(MAX_SOURCES) {
                steps.push(depend(kept, split.backend));
            }
        }
    }
    steps
}

struct Placing<'a> {
    graph: &'a Graph,
    twin: Option<Twin<'a>>,
    rules: Rules,
    domain: &'a mut Domain,
    states: Vec<State>,
    buffers: Vec<Allocator>,
    /// What was being computed when a buffer grew last, and when.
    peaks: Vec<(Stage, u32)>,
    lives: Lives,
    sizes: Vec<Option<Linear>>,
}

impl<'a> Placing<'a> {
    fn new(graph: &'a Graph, twin: Option<Twin<'a>>, rules: Rules, domain: &'a mut Domain) -> Self {
        let backends = usize::from(rules.cpu()) + 1;
        Self {
            graph,
            twin,
            rules,
            domain,
            states: vec![State::default(); graph.arena.len()],
            buffers: vec![Allocator::new(); backends],
            peaks: vec![(Stage::NOTHING, 0); backends],
            lives: Lives::new(graph.arena.len()),
            sizes: vec![None; graph.arena.len()],
        }
    }

    fn state(&self, id: Id) -> State {
        self.states.get(id.index()).copied().unwrap_or_default()
    }

    fn change(&mut self, id: Id, change: impl FnOnce(&mut State)) {
        if let Some(state) = self.states.get_mut(id.index()) {
            change(state);
        }
    }

    /// Inputs first, so that nothing is written over them; with a pipeline all copies before everything else.
    fn leafs(&mut self, schedule: &Schedule) {
        for &input in &schedule.pipeline_inputs {
            let backend = schedule.backend(input);
            for &copy in schedule.copies(input, backend) {
                self.allocate(copy, backend);
            }
        }
        if !schedule.pipeline_inputs.is_empty() {
            for split in &schedule.splits {
                for &input in &split.inputs {
                    for &copy in schedule.copies(input, split.backend) {
                        self.allocate(copy, split.backend);
                    }
                }
            }
        }
        let graph = self.graph;
        for &leaf in &graph.leafs {
            self.allocate(leaf, schedule.backend(leaf));
        }
    }

    fn count(&mut self, steps: &[Step]) {
        for step in steps {
            let view_src = self.graph.at(step.id).view_src;
            if !step.dependency && view_src != Id::NONE {
                self.change(view_src, |state| state.views += 1);
            }
            if !step.dependency && self.graph.at(step.id).input {
                self.allocate(step.id, step.backend);
            }
            for id in step.sources() {
                self.change(id, |state| state.children += 1);
                if self.graph.at(id).input {
                    self.allocate(id, step.backend);
                }
            }
        }
    }

    fn run(&mut self, step: &Step) {
        for id in step.sources() {
            self.allocate(id, step.backend);
        }
        if !step.dependency {
            self.allocate(step.id, step.backend);
        }
        for id in step.sources() {
            self.change(id, |state| {
                state.children = state.children.saturating_sub(1);
            });
            let state = self.state(id);
            if state.children != 0 || state.views != 0 {
                continue;
            }
            match self.graph.at(id).view_src.some() {
                Some(base) => {
                    self.change(base, |state| state.views = state.views.saturating_sub(1));
                    let state = self.state(base);
                    if state.views == 0 && state.children == 0 && state.allocated {
                        self.release(base);
                    }
                }
                None if state.allocated => self.release(id),
                None => {}
            }
        }
    }

    /// Bytes of a tensor in a buffer, aligned.
    fn bytes(&mut self, id: Id, backend: u8) -> Linear {
        let known = self.sizes.get(id.index()).copied().flatten();
        if let Some(known) = known {
            return known;
        }
        let alignment = if backend < self.rules.gpus {
            GPU_ALIGNMENT
        } else {
            HOST_ALIGNMENT
        };
        let aligned = |graph: &Graph| {
            let bytes = self.rules.alloc_bytes(graph, backend, id);
            bytes.checked_next_multiple_of(alignment).unwrap_or(bytes)
        };
        let here = aligned(self.graph);
        let bytes = match self.twin {
            Some(twin) => {
                let there = aligned(twin.graph);
                Linear::through((self.domain.at, here), (twin.steps, there))
            }
            None => Linear::constant(here),
        };
        if !bytes.keeps_alignment(alignment) {
            self.domain.narrow();
        }
        if let Some(slot) = self.sizes.get_mut(id.index()) {
            *slot = Some(bytes);
        }
        bytes
    }

    fn allocate(&mut self, id: Id, backend: u8) {
        let tensor = self.graph.at(id);
        if tensor.home.is_some() || tensor.view_src != Id::NONE || self.state(id).allocated {
            return;
        }
        if tensor.op.can_overwrite() && self.overwrite(id) {
            return;
        }
        let bytes = self.bytes(id, backend);
        let Some(buffer) = self.buffers.get_mut(usize::from(backend)) else {
            return;
        };
        let (offset, grows) = buffer.allocate(bytes, self.domain);
        let now = self.lives.begin(id);
        if grows && let Some(peak) = self.peaks.get_mut(usize::from(backend)) {
            *peak = (tensor.stage, now);
        }
        self.change(id, |state| {
            state.allocated = true;
            state.backend = backend;
            state.offset = offset;
        });
    }

    /// Takes the memory of a source of the same layout that nobody else needs; what is too much is given back.
    fn overwrite(&mut self, id: Id) -> bool {
        let tensor = self.graph.at(id);
        for source in tensor.sources() {
            let (state, parent) = (self.state(source), self.graph.at(source));
            let free = state.allocated && state.children == 1 && state.views == 0;
            if !free || parent.output || !tensor.same_layout(parent) {
                continue;
            }
            let (old, new) = (
                self.bytes(source, state.backend),
                self.bytes(id, state.backend),
            );
            self.change(source, |state| state.allocated = false);
            self.lives.end(source);
            self.lives.begin(id);
            self.change(id, |own| {
                own.allocated = true;
                own.backend = state.backend;
                own.offset = state.offset;
            });
            if let Some(buffer) = self.buffers.get_mut(usize::from(state.backend))
                && self.domain.compare(old, new) == Ordering::Greater
            {
                buffer.release(state.offset + new, old - new, self.domain);
            }
            return true;
        }
        false
    }

    fn release(&mut self, id: Id) {
        if self.graph.at(id).output {
            return;
        }
        let state = self.state(id);
        let bytes = self.bytes(id, state.backend);
        if let Some(buffer) = self.buffers.get_mut(usize::from(state.backend)) {
            buffer.release(state.offset, bytes, self.domain);
        }
        self.change(id, |state| state.allocated = false);
        self.lives.end(id);
    }

    fn finish(self, schedule: &Schedule) -> Vec<Placed> {
        let times: Vec<u32> = self.peaks.iter().map(|(_, time)| *time).collect();
        let alive = self.lives.at(&times, self.graph, schedule, |id| {
            let bytes = self.sizes.get(id.index()).copied().flatten();
            (self.state(id).backend, bytes.unwrap_or_default())
        });
        self.buffers
            .iter()
            .zip(self.peaks)
            .zip(alive)
            .map(|((buffer, (peak, _)), alive)| Placed {
                bytes: buffer.grown(),
                peak,
                alive,
            })
            .collect()
    }
}

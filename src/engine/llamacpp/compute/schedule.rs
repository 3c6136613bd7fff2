//! Which backend runs which node, and what is copied between them: `ggml_backend_sched_split_graph`
//! (`ggml/src/ggml-backend.cpp` 0.6.0-dev).

use std::collections::HashMap;

use super::backend::Rules;
use super::graph::Graph;
use super::tensor::{Arena, Id, Op};

/// Copies of the inputs for pipeline parallelism (`GGML_SCHED_MAX_COPIES`).
const PIPELINE_COPIES: usize = 4;

/// Not yet decided.
const UNASSIGNED: u8 = u8::MAX;

/// A run of nodes on one backend.
pub(super) struct Split {
    /// Where it runs.
    pub(super) backend: u8,
    /// Its nodes, in order.
    pub(super) nodes: Vec<Id>,
    /// Tensors of other backends that are copied before it.
    pub(super) inputs: Vec<Id>,
}

/// A graph cut into splits.
pub(super) struct Schedule {
    /// In order.
    pub(super) splits: Vec<Split>,
    /// Backend of each tensor.
    backends: Vec<u8>,
    /// Copies of a tensor on a backend, all of them where there is a pipeline.
    copies: HashMap<(Id, u8), Vec<Id>>,
    /// Inputs of the whole graph, where there is a pipeline.
    pub(super) pipeline_inputs: Vec<Id>,
}

impl Schedule {
    /// Assigns and cuts. Sources of nodes are replaced by their copies.
    pub(super) fn new(graph: &mut Graph, rules: Rules, pipeline: bool) -> Self {
        let mut schedule = Self {
            splits: Vec::new(),
            backends: vec![UNASSIGNED; graph.arena.len()],
            copies: HashMap::new(),
            pipeline_inputs: Vec::new(),
        };
        for &(id, backend) in &graph.pins {
            schedule.assign(id, backend);
        }
        schedule.assign_homes(graph, rules);
        schedule.spread(graph, rules);
        schedule.settle(graph, rules);
        schedule.assign_from_users(graph, rules);
        let copies = if pipeline { PIPELINE_COPIES } else { 1 };
        schedule.cut(graph, rules, copies);
        if pipeline {
            schedule.copy_inputs(graph);
        }
        schedule
    }

    /// Where this tensor is computed or lies.
    pub(super) fn backend(&self, id: Id) -> u8 {
        self.backends.get(id.index()).copied().unwrap_or(UNASSIGNED)
    }

    /// The copies of a tensor on a backend.
    pub(super) fn copies(&self, id: Id, backend: u8) -> &[Id] {
        self.copies.get(&(id, backend)).map_or(&[], Vec::as_slice)
    }

    fn assign(&mut self, id: Id, backend: u8) {
        if let Some(slot) = self.backends.get_mut(id.index()) {
            *slot = backend;
        }
    }

    /// Pass 1: nodes with memory, inputs, and operations on weights.
    fn assign_homes(&mut self, graph: &Graph, rules: Rules) {
        for &id in graph.leafs.iter().chain(&graph.nodes) {
            if self.backend(id) == UNASSIGNED {
                self.assign(id, home_backend(graph, rules, id));
            }
        }
    }

    /// Pass 2: neighbours follow, GPUs before the CPU, down before up.
    fn spread(&mut self, graph: &Graph, rules: Rules) {
        let nodes: Vec<Id> = graph
            .nodes
            .iter()
            .copied()
            .filter(|&id| !graph.at(id).op.is_view())
            .collect();
        for gpu_only in [true, false] {
            self.spread_along(graph, rules, nodes.iter().copied(), gpu_only);
            self.spread_along(graph, rules, nodes.iter().rev().copied(), gpu_only);
        }
    }

    fn spread_along(
        &mut self,
        graph: &Graph,
        rules: Rules,
        nodes: impl Iterator<Item = Id>,
        gpu_only: bool,
    ) {
        let mut current = UNASSIGNED;
        for id in nodes {
            let own = self.backend(id);
            if own != UNASSIGNED {
                current = if gpu_only && own == rules.cpu() {
                    UNASSIGNED
                } else {
                    own
                };
            } else if current != UNASSIGNED && rules.supports(graph, current, id) {
                self.assign(id, current);
            }
        }
    }

    /// Pass 3: nodes that no neighbour could take go where most of their sources are.
    fn settle(&mut self, graph: &Graph, rules: Rules) {
        for &id in &graph.nodes {
            if graph.at(id).op.is_view() || self.backend(id) != UNASSIGNED {
                continue;
            }
            let mut best: Option<(u8, usize)> = None;
            for backend in 0..=rules.cpu() {
                if !rules.supports(graph, backend, id) {
                    continue;
                }
                let near = graph
                    .at(id)
                    .sources()
                    .filter(|&source| self.readable(graph, rules, source, backend))
                    .count();
                if best.is_none_or(|(_, most)| near > most) {
                    best = Some((backend, near));
                }
            }
            if let Some((backend, _)) = best {
                self.assign(id, backend);
            }
        }
    }

    /// Pass 4: views follow what they look at, other sources their first user.
    fn assign_from_users(&mut self, graph: &Graph, rules: Rules) {
        for &id in &graph.nodes {
            let node = graph.at(id);
            if node.view_src != Id::NONE && self.backend(id) == UNASSIGNED {
                self.assign(id, self.backend(node.view_src));
            }
            for source in node.sources() {
                if self.backend(source) == UNASSIGNED {
                    let base = graph.at(source).view_src;
                    let from = if base == Id::NONE { id } else { base };
                    self.assign(source, self.backend(from));
                }
            }
            if self.backend(id) == UNASSIGNED {
                let first = (0..=rules.cpu()).find(|&backend| rules.supports(graph, backend, id));
                self.assign(id, first.unwrap_or_else(|| rules.cpu()));
            }
        }
    }

    /// Whether a backend can read a tensor where it is (`ggml_backend_sched_buffer_supported`).
    fn readable(&self, graph: &Graph, rules: Rules, id: Id, backend: u8) -> bool {
        let lies = match graph.arena.home(id) {
            Some(home) => home.backend,
            None => match self.backend(id) {
                UNASSIGNED => self.backend(graph.at(id).view_src),
                own => own,
            },
        };
        lies != UNASSIGNED && lies.min(rules.cpu()) == backend
    }

    /// Pass 5: a new split where the backend changes or a copied weight could make room for the next.
    fn cut(&mut self, graph: &mut Graph, rules: Rules, copies: usize) {
        let first = graph
            .nodes
            .iter()
            .find(|&&id| !graph.at(id).op.is_view())
            .map_or(rules.cpu(), |&id| self.backend(id));
        let mut split = Split {
            backend: first,
            nodes: Vec::new(),
            inputs: Vec::new(),
        };
        for index in 0..graph.nodes.len() {
            let Some(&id) = graph.nodes.get(index) else {
                break;
            };
            if graph.at(id).op.is_view() {
                split.nodes.push(id);
                continue;
            }
            let backend = self.backend(id);
            let other = backend != split.backend;
            if other || self.needs_room(graph, rules, &split, id) {
                let next = Split {
                    backend,
                    nodes: Vec::new(),
                    inputs: Vec::new(),
                };
                self.splits.push(std::mem::replace(&mut split, next));
            }
            self.copy_sources(graph, rules, &mut split, id, copies);
            split.nodes.push(id);
        }
        self.splits.push(split);
    }

    /// Whether the node reads a weight that has to be copied while the split has copies already.
    fn needs_room(&self, graph: &Graph, rules: Rules, split: &Split, id: Id) -> bool {
        !split.inputs.is_empty()
            && graph.at(id).sources().any(|source| {
                graph.at(source).home.is_some_and(|home| home.weight)
                    && self.backend(source) != split.backend
                    && !self.readable(graph, rules, source, split.backend)
            })
    }

    fn copy_sources(
        &mut self,
        graph: &mut Graph,
        rules: Rules,
        split: &mut Split,
        id: Id,
        copies: usize,
    ) {
        let sources = graph.at(id).src;
        for (position, source) in sources.into_iter().enumerate() {
            if source == Id::NONE
                || self.backend(source) == split.backend
                || self.readable(graph, rules, source, split.backend)
            {
                continue;
            }
            let made = self
                .copies
                .entry((source, split.backend))
                .or_insert_with(|| {
                    split.inputs.push(source);
                    (0..copies)
                        .map(|_| duplicate(&mut graph.arena, source, copies > 1))
                        .collect()
                });
            if let Some(&copy) = made.first() {
                graph.set_sources(id, position, [copy]);
            }
        }
    }

    /// Pass 6: with a pipeline, every input of the graph is there several times; the original is the first.
    fn copy_inputs(&mut self, graph: &mut Graph) {
        for index in 0..graph.leafs.len() {
            let Some(&leaf) = graph.leafs.get(index) else {
                break;
            };
            if !graph.at(leaf).input {
                continue;
            }
            let mut made = vec![leaf];
            graph.set_output(leaf);
            made.extend((1..PIPELINE_COPIES).map(|_| duplicate(&mut graph.arena, leaf, true)));
            self.copies.insert((leaf, self.backend(leaf)), made);
            self.pipeline_inputs.push(leaf);
        }
    }
}

/// A tensor of the same layout; kept for the whole run where there are several.
fn duplicate(arena: &mut Arena, of: Id, kept: bool) -> Id {
    let mut copy = *arena.at(of);
    copy.op = Op::None;
    copy.src = [Id::NONE; super::tensor::MAX_SOURCES];
    copy.view_src = Id::NONE;
    copy.offset = 0;
    copy.home = None;
    copy.input = kept;
    copy.output = kept;
    copy.compute = false;
    arena.push(copy)
}

/// `ggml_backend_sched_backend_id_from_cur`.
fn home_backend(graph: &Graph, rules: Rules, id: Id) -> u8 {
    let node = graph.at(id);
    if let Some(home) = graph.arena.home(id) {
        return home.backend;
    }
    if node.input {
        return rules.cpu();
    }
    // Tables of rotary factors and sinks are too small to decide.
    if matches!(node.op, Op::Rope | Op::FlashAttn) {
        return UNASSIGNED;
    }
    for source in node.sources() {
        let Some(home) = graph.at(source).home.filter(|home| home.weight) else {
            continue;
        };
        if !rules.supports(graph, home.backend, id) {
            // No backend runs the operation where the weight is: it will be copied.
            return UNASSIGNED;
        }
        if rules.op_offload && home.backend == rules.cpu() && Rules::wants(graph, id) {
            let taker = (0..rules.cpu()).find(|&backend| rules.supports(graph, backend, id));
            if let Some(taker) = taker {
                return taker;
            }
        }
        return home.backend;
    }
    UNASSIGNED
}

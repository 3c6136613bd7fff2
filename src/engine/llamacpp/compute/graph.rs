//! A compute graph under construction: nodes in the order in which they run, as `ggml_build_forward_expand` puts them
//! (`ggml/src/ggml.c` 0.6.0-dev).

use super::tensor::{Arena, Home, Id, Op, Part, Stage, Tensor};
use crate::quant::Type;

/// A graph and its tensors.
pub(super) struct Graph {
    /// Every tensor made, in the graph or not.
    pub(super) arena: Arena,
    /// Operations in order.
    pub(super) nodes: Vec<Id>,
    /// Inputs, weights and caches in the order in which they were met.
    pub(super) leafs: Vec<Id>,
    /// Tensors bound to a backend by the graph builder.
    pub(super) pins: Vec<(Id, u8)>,
    /// How often each tensor is a source.
    uses: Vec<u32>,
    visited: Vec<bool>,
    stage: Stage,
}

impl Graph {
    /// An empty graph with room for `capacity` tensors.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            arena: Arena::with_capacity(capacity),
            nodes: Vec::with_capacity(capacity),
            leafs: Vec::with_capacity(capacity / 2),
            pins: Vec::new(),
            uses: Vec::with_capacity(capacity),
            visited: Vec::with_capacity(capacity),
            stage: Stage {
                part: Part::Input,
                block: None,
            },
        }
    }

    /// What the tensors made from here on are part of.
    pub(super) fn stage(&mut self, part: Part, block: Option<usize>) {
        let block = block.and_then(|block| u32::try_from(block).ok());
        self.stage = Stage { part, block };
    }

    /// The tensor.
    pub(super) fn at(&self, id: Id) -> &Tensor {
        self.arena.at(id)
    }

    /// How often this tensor is a source of a node of the graph.
    pub(super) fn uses(&self, id: Id) -> u32 {
        self.uses.get(id.index()).copied().unwrap_or(0)
    }

    /// An input that is filled before each batch.
    pub(super) fn input(&mut self, dtype: Type, ne: [u64; 4]) -> Id {
        let mut tensor = Arena::dense(dtype, ne);
        tensor.input = true;
        self.push(tensor)
    }

    /// A tensor without data or operation.
    pub(super) fn bare(&mut self, dtype: Type, ne: [u64; 4]) -> Id {
        self.push(Arena::dense(dtype, ne))
    }

    /// A weight or a cache that exists already.
    pub(super) fn existing(&mut self, dtype: Type, ne: [u64; 4], home: Home) -> Id {
        let mut tensor = Arena::dense(dtype, ne);
        tensor.home = Some(home);
        self.push(tensor)
    }

    /// A new dense node.
    pub(super) fn node<const N: usize>(
        &mut self,
        op: Op,
        dtype: Type,
        ne: [u64; 4],
        sources: [Id; N],
    ) -> Id {
        let mut tensor = Arena::dense(dtype, ne);
        tensor.op = op;
        for (slot, source) in tensor.src.iter_mut().zip(sources) {
            *slot = source;
        }
        self.push(tensor)
    }

    /// A node that is a view of `of`.
    pub(super) fn view_node(
        &mut self,
        op: Op,
        of: Id,
        ne: [u64; 4],
        nb: [u64; 4],
        offset: u64,
    ) -> Id {
        let mut tensor = self.arena.view(of, ne, nb, offset);
        tensor.op = op;
        if let Some(slot) = tensor.src.first_mut() {
            *slot = of;
        }
        self.push(tensor)
    }

    /// Replaces the sources of a node from `position` on.
    pub(super) fn set_sources<const N: usize>(
        &mut self,
        node: Id,
        position: usize,
        sources: [Id; N],
    ) {
        self.arena.change(node, |tensor| {
            for (slot, source) in tensor.src.iter_mut().skip(position).zip(sources) {
                *slot = source;
            }
        });
    }

    /// Keeps the memory of a tensor after the graph has run.
    pub(super) fn set_output(&mut self, id: Id) {
        self.arena.change(id, |tensor| tensor.output = true);
    }

    /// Binds a node to a backend.
    pub(super) fn pin(&mut self, id: Id, backend: u8) {
        self.pins.push((id, backend));
    }

    /// Appends `id` and what it depends on (`ggml_build_forward_expand`).
    pub(super) fn expand(&mut self, id: Id) {
        self.uses.resize(self.arena.len(), 0);
        self.visited.resize(self.arena.len(), false);
        self.visit(id, true);
    }

    /// Appends several alternatives, of which this batch takes one (`ggml_build_forward_select`).
    pub(super) fn select(&mut self, alternatives: &[Id], chosen: usize) -> Id {
        self.uses.resize(self.arena.len(), 0);
        self.visited.resize(self.arena.len(), false);
        for (index, &id) in alternatives.iter().enumerate() {
            self.visit(id, index == chosen);
        }
        alternatives.get(chosen).copied().unwrap_or(Id::NONE)
    }

    fn visit(&mut self, id: Id, compute: bool) {
        let op = self.arena.at(id).op;
        if compute && op != Op::None {
            self.arena.change(id, |tensor| tensor.compute = true);
        }
        let Some(visited) = self.visited.get_mut(id.index()) else {
            return;
        };
        if std::mem::replace(visited, true) {
            return;
        }
        let sources = self.arena.at(id).src;
        for source in sources.iter().copied().filter(|id| *id != Id::NONE) {
            // A cast names itself as a source.
            self.visit(source, compute);
            if let Some(uses) = self.uses.get_mut(source.index()) {
                *uses += 1;
            }
        }
        if op == Op::None {
            self.leafs.push(id);
        } else {
            self.nodes.push(id);
        }
    }

    fn push(&mut self, mut tensor: Tensor) -> Id {
        tensor.stage = self.stage;
        self.arena.push(tensor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_come_before_their_users_and_once() {
        let mut graph = Graph::with_capacity(8);
        let shape = [4, 1, 1, 1];
        let input = graph.input(Type::F32, shape);
        let left = graph.node(Op::Scale, Type::F32, shape, [input]);
        let right = graph.node(Op::Sqr, Type::F32, shape, [left]);
        let sum = graph.node(Op::Add, Type::F32, shape, [right, left]);
        graph.expand(sum);
        graph.expand(right);
        assert_eq!(graph.nodes, [left, right, sum]);
        assert_eq!(graph.leafs, [input]);
        assert_eq!(graph.uses(left), 2);
    }
}

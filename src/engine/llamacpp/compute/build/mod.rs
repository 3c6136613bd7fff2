//! Graph builders: one file per kind of layer, on shared pieces (`src/llama-graph.cpp` 0.6.0-dev).

mod attention;
mod experts;
mod feed_forward;
mod input;

use super::GraphLoad;
use super::backend::Rules;
use super::graph::Graph;
use super::plan::{Block, Plan, Weight};
use super::tensor::{Home, Id, Op, Part};

/// One graph to build.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// Tokens.
    pub(super) tokens: u64,
    /// Sequences.
    pub(super) sequences: u64,
    /// Rows of logits.
    pub(super) outputs: u64,
}

/// A graph under construction, with what its parts share.
pub(super) struct Builder<'a> {
    pub(super) graph: Graph,
    pub(super) plan: &'a Plan<'a>,
    pub(super) load: &'a GraphLoad,
    pub(super) rules: &'a Rules,
    pub(super) batch: Batch,
    pub(super) flash_attn: bool,
    /// Norms are bound to the device of their block.
    pub(super) pins_norms: bool,
    /// Caches lie with their blocks.
    pub(super) kv_offload: bool,
    /// Attention nodes with the backend of their block, to resolve `flash_attn = auto`.
    pub(super) attention_nodes: Vec<(Id, u8)>,
    known: Vec<(&'static str, usize, Id)>,
}

/// Blocks are counted from 0; what stands outside of them is filed under this.
const OUTSIDE: usize = usize::MAX;

impl<'a> Builder<'a> {
    /// An empty graph.
    pub(super) fn new(
        plan: &'a Plan<'a>,
        load: &'a GraphLoad,
        rules: &'a Rules,
        batch: Batch,
        flash_attn: bool,
    ) -> Self {
        Self {
            graph: Graph::with_capacity(plan.blocks.len() * 96 + 64),
            plan,
            load,
            rules,
            batch,
            flash_attn,
            pins_norms: false,
            kv_offload: true,
            attention_nodes: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Streams of cells: one per sequence unless unified.
    pub(super) fn streams(&self) -> u64 {
        if self.load.kv_unified {
            1
        } else {
            self.batch.sequences
        }
    }

    /// A weight of a block, where it has it.
    pub(super) fn weight(&mut self, block: &Block<'_>, name: &'static str) -> Option<Id> {
        let weight = block.weights.get(name)?;
        Some(self.leaf(name, block.index, weight))
    }

    /// A weight outside of the blocks, where there is one.
    pub(super) fn outside(&mut self, name: &'static str) -> Option<Id> {
        let weight = self.plan.outside.get(name)?;
        Some(self.leaf(name, OUTSIDE, weight))
    }

    fn leaf(&mut self, name: &'static str, block: usize, weight: Weight) -> Id {
        let known = self.known.iter().rev().take(48);
        let mut known = known.filter(|(own, at, _)| *at == block && *own == name);
        if let Some((_, _, id)) = known.next() {
            return *id;
        }
        let home = Home {
            backend: weight.backend,
            weight: true,
        };
        let id = self.graph.existing(weight.dtype, weight.ne, home);
        self.known.push((name, block, id));
        id
    }

    /// Product with a weight; the vector itself where the block lacks it.
    pub(super) fn project(&mut self, block: &Block<'_>, name: &'static str, a: Id) -> Id {
        match self.weight(block, name) {
            Some(weight) => self.graph.mul_mat(weight, a),
            None => a,
        }
    }

    /// Adds a bias, where the block has it.
    pub(super) fn bias(&mut self, block: &Block<'_>, name: &'static str, a: Id) -> Id {
        match self.weight(block, name) {
            Some(bias) => self.graph.add(a, bias),
            None => a,
        }
    }

    /// A norm with its weight and bias (`build_norm`); `kind` is the bare operation.
    pub(super) fn norm(
        &mut self,
        block: &Block<'_>,
        kind: Op,
        names: (&'static str, &'static str),
        a: Id,
    ) -> Id {
        let (weight, bias) = (self.weight(block, names.0), self.weight(block, names.1));
        let bare = self.graph.map(kind, a);
        if weight.is_none() && bias.is_none() {
            return bare;
        }
        self.pin_norm(block, bare);
        let mut normed = bare;
        if let Some(weight) = weight {
            normed = self.graph.mul(normed, weight);
        }
        match bias {
            Some(bias) => self.graph.add(normed, bias),
            None => normed,
        }
    }

    /// An RMS norm with its weight.
    pub(super) fn rms_norm(&mut self, block: &Block<'_>, name: &'static str, a: Id) -> Id {
        self.norm(block, Op::RmsNorm, (name, ""), a)
    }

    /// Norms stay with their block, lest the scheduler moves them to the one before (`graph_get_cb`).
    fn pin_norm(&mut self, block: &Block<'_>, node: Id) {
        if self.pins_norms && self.rules.supports(&self.graph, block.backend, node) {
            self.graph.pin(node, block.backend);
        }
    }

    /// A norm outside of the blocks.
    pub(super) fn outside_norm(&mut self, kind: Op, name: &'static str, a: Id) -> Id {
        let bare = self.graph.map(kind, a);
        match self.outside(name) {
            Some(weight) => self.graph.mul(bare, weight),
            None => bare,
        }
    }

    /// The chosen rows of both, in the last block.
    pub(super) fn last_rows(&mut self, ids: Id, a: Id, b: Id) -> (Id, Id) {
        (self.graph.get_rows(a, ids), self.graph.get_rows(b, ids))
    }

    /// Whether this is the last block of the model.
    pub(super) fn is_last(&self, block: &Block<'_>) -> bool {
        self.plan
            .blocks
            .last()
            .is_some_and(|last| last.index == block.index)
    }

    /// Norm and head: `result_norm` is kept as an output, and so are the logits.
    pub(super) fn head(&mut self, kind: Op, a: Id) -> Id {
        self.graph.stage(Part::Output, None);
        let normed = self.outside_norm(kind, "output_norm.weight", a);
        let normed = match self.outside("output_norm.bias") {
            Some(bias) => self.graph.add(normed, bias),
            None => normed,
        };
        self.graph.set_output(normed);
        self.logits(normed)
    }

    /// The output matrix, or the tied embedding where there is none.
    pub(super) fn logits(&mut self, normed: Id) -> Id {
        let head = self
            .outside("output.weight")
            .or_else(|| self.outside("token_embd.weight"));
        match head {
            Some(head) => self.graph.mul_mat(head, normed),
            None => normed,
        }
    }

    /// Ends the graph with the logits.
    pub(super) fn finish(mut self, logits: Id) -> (Graph, Vec<(Id, u8)>) {
        self.graph.set_output(logits);
        self.graph.expand(logits);
        (self.graph, self.attention_nodes)
    }
}

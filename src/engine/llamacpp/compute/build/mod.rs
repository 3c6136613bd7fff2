//! Graph builders: one file per kind of layer, on shared pieces (`src/llama-graph.cpp` 0.6.0-dev).

mod attention;
mod blocks;
mod blocks_mask;
mod compressed;
mod compressor;
mod experts;
mod family;
mod feed_forward;
mod gemma;
mod gemma3n;
mod hybrid;
mod hyper;
mod input;
mod kimi;
mod latent;
mod lightning;
mod mamba;
mod prediction;
mod recurrent;
mod sparse;
mod transformer;

use super::GraphLoad;
use super::backend::Rules;
use super::draft::Weight;
use super::graph::Graph;
use super::plan::{Block, GraphPlan};
use super::tensor::{Home, Id, Op, Part};
use crate::model::{Activation, Norm};
use crate::quant::Type;

use self::family::{Family, family};

pub(super) use self::family::exactness;

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

/// An operation that is one node where every block's own device runs it (`llm_fused_op`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fused {
    /// Attention.
    Attention,
    /// The mixture of residual streams before a layer part.
    Pre,
    /// The weights of old streams in new ones.
    Comb,
    /// The streams after a layer part.
    Post,
}

/// Which operations are fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "resolved one by one")]
pub(super) struct Kernels {
    pub(super) attention: bool,
    pub(super) pre: bool,
    pub(super) comb: bool,
    pub(super) post: bool,
}

impl Kernels {
    /// As the engine begins.
    pub(super) fn all(attention: bool) -> Self {
        Self {
            attention,
            pre: true,
            comb: true,
            post: true,
        }
    }

    /// Without one of them.
    pub(super) fn without(mut self, fused: Fused) -> Self {
        match fused {
            Fused::Attention => self.attention = false,
            Fused::Pre => self.pre = false,
            Fused::Comb => self.comb = false,
            Fused::Post => self.post = false,
        }
        self
    }
}

/// A graph under construction, with what its parts share.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a batch and a placement"
)]
pub(super) struct Builder<'a> {
    pub(super) graph: Graph,
    pub(super) plan: &'a GraphPlan,
    pub(super) load: &'a GraphLoad,
    pub(super) rules: Rules,
    pub(super) batch: Batch,
    pub(super) flash_attn: bool,
    /// Mixing of residual streams in one node each.
    fused: Kernels,
    /// Values are cached transposed: fused attention was ruled out before the cache was made.
    pub(super) values_transposed: bool,
    /// Norms are bound to the device of their block.
    pub(super) pins_norms: bool,
    /// Caches lie with their blocks.
    pub(super) kv_offload: bool,
    /// Fused nodes with the backend of their block, to resolve what is fused.
    pub(super) fused_nodes: Vec<(Fused, Id, u8)>,
    /// Weights met so far, by the place of their block (after the last: outside of blocks) and their position in it.
    leaves: Vec<Vec<Id>>,
    /// Rotary factors, one copy per device (`TENSOR_DUPLICATED` in `llama-model-loader.cpp`).
    rope_factors: Vec<(u8, Id)>,
    /// Caches of the blocks built so far.
    caches_by_block: Vec<(usize, (Id, Id))>,
}

impl<'a> Builder<'a> {
    fn new(
        plan: &'a GraphPlan,
        load: &'a GraphLoad,
        rules: Rules,
        batch: Batch,
        fused: Kernels,
    ) -> Self {
        // Tensors of a block, copies included, so that the arena seldom grows.
        let per_block = if plan.trunk.streams > 1 { 352 } else { 192 };
        Self {
            graph: Graph::with_capacity(plan.blocks.len() * per_block + 256),
            plan,
            load,
            rules,
            batch,
            flash_attn: fused.attention,
            fused,
            values_transposed: load.flash_attn == Some(false),
            // `graph_get_cb`: fewer than 32 tokens, or everything offloaded.
            pins_norms: batch.tokens < 32 || plan.all_offloaded,
            kv_offload: plan.kv_offload,
            fused_nodes: Vec::new(),
            leaves: vec![Vec::new(); plan.blocks.len() + 1],
            rope_factors: Vec::new(),
            caches_by_block: Vec::new(),
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
    pub(super) fn weight(&mut self, block: &Block, name: &str) -> Option<Id> {
        let (position, weight) = block.weights.find(name)?;
        Some(self.leaf((block.place, position), weight))
    }

    /// A weight that the loader gives another shape of the same size.
    pub(super) fn weight_as(&mut self, block: &Block, name: &str, ne: [u64; 4]) -> Option<Id> {
        let (position, weight) = block.weights.find(name)?;
        Some(self.leaf((block.place, position), Weight { ne, ..weight }))
    }

    /// A weight outside of the blocks, where there is one.
    pub(super) fn outside(&mut self, name: &str) -> Option<Id> {
        let (position, weight) = self.plan.outside.find(name)?;
        Some(self.leaf((self.plan.blocks.len(), position), weight))
    }

    /// The one tensor of a weight.
    fn leaf(&mut self, (place, position): (usize, usize), weight: Weight) -> Id {
        let known = self.leaves.get(place).and_then(|own| own.get(position));
        if let Some(known) = known.and_then(|known| known.some()) {
            return known;
        }
        let home = Home {
            backend: weight.backend,
            weight: true,
        };
        let id = self.graph.existing(weight.dtype, weight.ne, home);
        if let Some(own) = self.leaves.get_mut(place) {
            own.resize(own.len().max(position + 1), Id::NONE);
            own.iter_mut()
                .skip(position)
                .take(1)
                .for_each(|slot| *slot = id);
        }
        id
    }

    /// Product with a weight; the vector itself where the block lacks it.
    pub(super) fn project(&mut self, block: &Block, name: &'static str, a: Id) -> Id {
        match self.weight(block, name) {
            Some(weight) => self.graph.mul_mat(weight, a),
            None => a,
        }
    }

    /// Adds a bias, where the block has it.
    pub(super) fn bias(&mut self, block: &Block, name: &'static str, a: Id) -> Id {
        match self.weight(block, name) {
            Some(bias) => self.graph.add(a, bias),
            None => a,
        }
    }

    /// A norm with its weight and bias (`build_norm`); `kind` is the bare operation.
    pub(super) fn norm(
        &mut self,
        block: &Block,
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
    pub(super) fn rms_norm(&mut self, block: &Block, name: &'static str, a: Id) -> Id {
        self.norm(block, Op::RmsNorm, (name, ""), a)
    }

    /// An RMS norm that the builder does not bind to its block.
    pub(super) fn unbound_norm(&mut self, block: &Block, name: &'static str, a: Id) -> Id {
        let weight = self.weight(block, name);
        let bare = self.graph.map(Op::RmsNorm, a);
        match weight {
            Some(weight) => self.graph.mul(bare, weight),
            None => bare,
        }
    }

    /// Norms stay with their block, lest the scheduler moves them to the one before (`graph_get_cb`).
    fn pin_norm(&mut self, block: &Block, node: Id) {
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
    pub(super) fn is_last(&self, block: &Block) -> bool {
        // All rows of a prediction block are handed on; those of logits are chosen after it.
        !self.plan.prediction
            && self
                .plan
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
        let logits = match head {
            Some(head) => self.graph.mul_mat(head, normed),
            None => normed,
        };
        match self.outside("output.bias") {
            Some(bias) => self.graph.add(logits, bias),
            None => logits,
        }
    }

    /// A tanh between two scales.
    pub(super) fn cap(&mut self, a: Id) -> Id {
        let scaled = self.graph.scale(a);
        let bounded = self.graph.map(Op::Unary, scaled);
        self.graph.scale(bounded)
    }

    fn hidden_size(&self) -> u64 {
        self.plan.trunk.hidden_size
    }

    fn activation(&self) -> Activation {
        self.plan.trunk.activation
    }

    fn final_norm(&self) -> Norm {
        self.plan.trunk.final_norm
    }

    /// Factors of rotary frequencies, of which each device has its own.
    fn rope_factors(&mut self, block: &Block) -> Option<Id> {
        let known = self.rope_factors.iter();
        if let Some((_, id)) = known.clone().find(|(own, _)| *own == block.backend) {
            return Some(*id);
        }
        let weight = ["rope_freqs.weight", "rope_factors_long.weight"]
            .into_iter()
            .find_map(|name| self.plan.outside.get(name))?;
        let home = Home {
            backend: block.backend,
            weight: true,
        };
        let id = self.graph.existing(weight.dtype, weight.ne, home);
        self.rope_factors.push((block.backend, id));
        Some(id)
    }

    /// A factor per token row.
    fn row_scales(&mut self) -> Id {
        self.graph.input(Type::F32, [1, self.batch.tokens, 1, 1])
    }

    /// A factor per position of queries.
    fn position_scales(&mut self) -> Id {
        self.graph.input(Type::F32, [1, 1, self.batch.tokens, 1])
    }
}

/// A built graph.
pub(super) struct Built {
    pub(super) graph: Graph,
    /// Fused nodes with the backend of their block.
    pub(super) fused_nodes: Vec<(Fused, Id, u8)>,
}

/// The graph of one batch.
pub(super) fn build(
    plan: &GraphPlan,
    load: &GraphLoad,
    rules: Rules,
    batch: Batch,
    fused: Kernels,
) -> Built {
    let mut builder = Builder::new(plan, load, rules, batch, fused);
    let logits = match family(plan) {
        _ if plan.prediction => builder.prediction(),
        Family::Transformer(style) => builder.transformer(style),
        Family::Latent(style) => builder.latent_decoder(style),
        Family::Hybrid(style) => builder.hybrid_decoder(style),
        Family::Sparse => builder.sparse_decoder(),
        Family::Compressed => builder.compressed_decoder(),
        Family::Gemma4 => builder.gemma4(),
        Family::Kimi => builder.kimi_decoder(),
        Family::Lightning => builder.lightning_decoder(),
        Family::BlockSparse => builder.block_sparse_decoder(),
        Family::Gemma3n => builder.gemma3n(),
    };
    builder.graph.set_output(logits);
    builder.graph.expand(logits);
    Built {
        graph: builder.graph,
        fused_nodes: builder.fused_nodes,
    }
}

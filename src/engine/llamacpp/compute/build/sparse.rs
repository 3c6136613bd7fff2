//! Decoders with latent attention over positions that an indexer chooses: `src/models/deepseek32.cpp`,
//! `src/models/glm-dsa.cpp` (0.6.0-dev).

use super::Builder;
use super::attention::Heads;
use super::input::CacheInputs;
use super::latent::latent;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::mixer::{Indexer, LatentAttention};
use crate::quant::Type;

/// Inputs of the indexer's own cache.
#[derive(Clone, Copy)]
pub(super) struct IndexerInputs {
    /// Cells that keys are written to.
    k_cells: Id,
    /// Who sees what, always in f16 for the fused indexer.
    mask: Id,
    /// Hadamard rotation of queries and keys.
    rotation: Id,
}

/// What every block reads.
#[derive(Clone, Copy)]
struct Inputs {
    positions: Id,
    cache: CacheInputs,
    indexer: IndexerInputs,
    out_ids: Id,
}

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn sparse_decoder(&mut self) -> Id {
        let plan = self.plan;
        let mut stream = self.embeddings(self.hidden_size(), true);
        self.graph.expand(stream);
        let inputs = Inputs {
            positions: self.positions(1),
            cache: self.latent_cache(),
            indexer: self.indexer_inputs(),
            out_ids: self.output_ids(),
        };
        let mut chosen = None;
        for block in &plan.blocks {
            stream = self.sparse_block(block, &inputs, &mut chosen, stream);
        }
        self.head(Op::RmsNorm, stream)
    }

    fn indexer_inputs(&mut self) -> IndexerInputs {
        let (tokens, streams) = (self.batch.tokens, self.streams());
        let sparse = self
            .plan
            .blocks
            .iter()
            .find_map(|block| latent(block)?.sparse);
        let width = sparse.map_or(64, |sparse| sparse.index_head_dim);
        let size = hadamard(width);
        IndexerInputs {
            k_cells: self.graph.input(Type::I64, [tokens, 1, 1, 1]),
            mask: self.graph.input(
                Type::F16,
                [self.load.cells, tokens / streams.max(1), 1, streams],
            ),
            rotation: self.graph.input(Type::F32, [size, size, 1, 1]),
        }
    }

    fn sparse_block(
        &mut self,
        block: &Block,
        inputs: &Inputs,
        chosen: &mut Option<Id>,
        input: Id,
    ) -> Id {
        self.graph.stage(Part::Attention, Some(block.place));
        let normed = self.rms_norm(block, "attn_norm.weight", input);
        let Some(latent) = latent(block) else {
            return input;
        };
        let low = self.project(block, "attn_q_a.weight", normed);
        let low = self.rms_norm(block, "attn_q_a_norm.weight", low);
        if let (Some(sparse), true) = (
            latent.sparse,
            block.weights.get("indexer.attn_k.weight").is_some(),
        ) {
            self.graph.stage(Part::Indexer, Some(block.place));
            *chosen = Some(self.choose_cells(block, sparse, inputs, low, normed));
            self.graph.stage(Part::Attention, Some(block.place));
        }
        let mixed = self.sparse_attention(block, latent, inputs, *chosen, low, normed);
        let (mut stream, mut residual) = (self.output_projection(block, mixed), input);
        if self.is_last(block) {
            (stream, residual) = self.last_rows(inputs.out_ids, stream, residual);
        }
        let attended = self.graph.add(stream, residual);
        self.graph.stage(Part::FeedForward, Some(block.place));
        let normed = self.rms_norm(block, "ffn_norm.weight", attended);
        let out = self.latent_network(block, normed);
        self.graph.add(out, attended)
    }

    /// The positions that score best (the lightning indexer).
    fn choose_cells(
        &mut self,
        block: &Block,
        sparse: Indexer,
        inputs: &Inputs,
        low: Id,
        normed: Id,
    ) -> Id {
        let tokens = self.batch.tokens;
        let (width, count) = (sparse.index_head_dim, sparse.index_n_heads);
        let q = self.project(block, "indexer.attn_q_b.weight", low);
        let q = self.graph.reshape(q, [width, count, tokens, 1]);
        let q = self.graph.rope(q, inputs.positions, None);
        let k = self.project(block, "indexer.attn_k.weight", normed);
        let names = ("indexer.k_norm.weight", "indexer.k_norm.bias");
        let k = self.norm(block, Op::Norm, names, k);
        let k = self.graph.reshape(k, [width, 1, tokens, 1]);
        let k = self.graph.rope(k, inputs.positions, None);
        let q = self.graph.mul_mat(inputs.indexer.rotation, q);
        let k = self.graph.mul_mat(inputs.indexer.rotation, k);
        let heads = Heads {
            q: count,
            kv: 1,
            k_width: width,
            v_width: width,
        };
        let (cache, _) = self.caches(block, heads, self.load.cells);
        let stored = self.store_keys(cache, k, inputs.indexer.k_cells);
        self.graph.expand(stored);
        let weights = self.project(block, "indexer.proj.weight", normed);
        let k = self.cached_keys(cache, heads, self.load.cells);
        let (q, weights) = self.per_stream(q, k, weights);
        let weights = self.graph.scale(weights);
        let scores = self.score_node(q, k, weights, inputs.indexer.mask);
        let [cells, ..] = self.graph.at(scores).ne;
        let best = self.graph.top_k(scores, sparse.index_topk.min(cells));
        self.graph.cont(best)
    }

    /// Queries of the indexer and their weights by the stream of `k` they belong to.
    pub(super) fn per_stream(&mut self, q: Id, k: Id, weights: Id) -> (Id, Id) {
        let [_, _, _, streams] = self.graph.at(k).ne;
        let each = streams.max(1);
        let ([q0, q1, q2, _], [_, qb1, qb2, qb3]) = (self.graph.at(q).ne, self.graph.at(q).nb);
        let q = self
            .graph
            .view(q, [q0, q1, q2 / each, streams], [qb1, qb2, qb3 / each], 0);
        let ([w0, w1, w2, _], [_, wb1, wb2, wb3]) =
            (self.graph.at(weights).ne, self.graph.at(weights).nb);
        let weights = self.graph.view(
            weights,
            [w0, w1 / each, w2, streams],
            [wb1, wb2 / each, wb3 / each],
            0,
        );
        (q, weights)
    }

    /// One score per token and cell, in one kernel.
    pub(super) fn score_node(&mut self, q: Id, k: Id, weights: Id, mask: Id) -> Id {
        let ([_, _, rows, _], [_, _, cells, streams]) = (self.graph.at(q).ne, self.graph.at(k).ne);
        let ne = [cells, rows, 1, streams];
        let sources = [q, k, weights, mask];
        self.graph
            .node(Op::LightningIndexer, Type::F32, ne, sources)
    }

    fn sparse_attention(
        &mut self,
        block: &Block,
        latent: &LatentAttention,
        inputs: &Inputs,
        chosen: Option<Id>,
        low: Id,
        normed: Id,
    ) -> Id {
        let (tokens, heads) = (self.batch.tokens, latent.num_attention_heads);
        let q = self.project(block, "attn_q_b.weight", low);
        let q = self
            .graph
            .reshape(q, [latent.qk_head_dim(), heads, tokens, 1]);
        let (compressed, rotated) = self.joint_latent(block, latent, normed);
        let rotated = self.graph.rope(rotated, inputs.positions, None);
        let compressed = self.rms_norm(block, "attn_kv_a_norm.weight", compressed);
        let (q, k, v) = self.absorb(block, latent, q, compressed, rotated, inputs.positions);
        self.attend_latent(block, latent, &inputs.cache, [q, k, v], chosen)
    }

    /// A mask that opens the chosen positions only; `dtype` is that of the zeros that open them.
    pub(super) fn open_chosen(&mut self, mask: Id, chosen: Id, dtype: Type) -> Id {
        let closed = self.graph.map(Op::Fill, mask);
        let ([ne0, ne1, _, ne3], [nb0, nb1, nb2, _]) =
            (self.graph.at(closed).ne, self.graph.at(closed).nb);
        let single = self
            .graph
            .view(closed, [1, ne0, ne1, ne3], [nb0, nb1, nb2], 0);
        let ([best, rows, _, streams], [_, b1, b2, b3]) =
            (self.graph.at(chosen).ne, self.graph.at(chosen).nb);
        let all = streams.saturating_mul(b3);
        let ids = self
            .graph
            .view(chosen, [best, rows, streams, 1], [b1, b2, all], 0);
        // Not an input and not a weight: allocated at the start of the graph, for every block.
        let zeros = self.graph.bare(dtype, [1, best, rows, streams]);
        let zeros = self.graph.map(Op::Fill, zeros);
        let open = self.graph.set_rows(single, zeros, ids);
        let ([_, o1, o2, o3], [_, _, ob2, ob3]) = (self.graph.at(open).ne, self.graph.at(open).nb);
        let open = self.graph.view(open, [o1, o2, 1, o3], [ob2, ob3, ob3], 0);
        self.graph.add(open, mask)
    }
}

/// Edge of the largest Hadamard matrix that divides a head (`llama-kv-cache.cpp`).
pub(super) fn hadamard(head: u64) -> u64 {
    let mut size = 64;
    while head > 0 && head.is_multiple_of(2 * size) {
        size *= 2;
    }
    size
}

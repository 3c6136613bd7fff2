//! MiniMax-M3 (`src/models/minimax-m3.cpp` 0.6.0-dev): attention over the blocks of positions that an indexer finds best,
//! one choice per group of heads. It needs fused attention and a stream per sequence; otherwise everything is attended to.

use super::Builder;
use super::attention::{Heads, Qkv, Softmax};
use super::experts::Routing;
use super::feed_forward::Names;
use super::input::{CacheInputs, Caches};
use super::transformer::heads;
use crate::engine::llamacpp::compute::linear::STEP;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::mixer::{Attention, BlockIndexer};
use crate::model::{FeedForward, Mixer};
use crate::quant::Type;

/// Inputs of the choice of blocks.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub(super) indexer: BlockIndexer,
    /// Cells that index keys are written to.
    k_cells: Id,
    /// Puts the latest blocks first.
    pub(super) bias: Id,
    /// Which positions are seen.
    pub(super) seen: Id,
    /// Cell of each position.
    pub(super) cell_of: Id,
    /// The same as numbers, for one token per stream.
    cell_values: Option<Id>,
    /// Block of each cell and the mask in f32, for more tokens.
    block_of: Option<(Id, Id)>,
    /// Positions the choice is made from.
    pub(super) positions: u64,
}

impl Choice {
    /// How many blocks are chosen.
    pub(super) fn blocks(&self) -> u64 {
        let blocks = self.positions / self.indexer.block_size.max(1);
        self.indexer.topk_blocks.min(blocks)
    }
}

/// What every block reads.
struct Inputs {
    positions: Id,
    caches: Caches,
    choice: Option<Choice>,
    out_ids: Id,
}

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn block_sparse_decoder(&mut self) -> Id {
        let plan = self.plan;
        let mut stream = self.embeddings(self.hidden_size(), true);
        self.graph.expand(stream);
        let positions = self.positions(1);
        let caches = self.attention_caches(false);
        let mut blocks = plan.blocks.iter();
        let indexer = blocks.find_map(|block| block.layer.mixer.attention()?.block_indexer);
        let separate = self.load.sequences <= 1 || !self.load.kv_unified;
        let choice = match indexer {
            Some(indexer) if self.flash_attn && separate => Some(self.choice(indexer, &caches)),
            _ => None,
        };
        let inputs = Inputs {
            positions,
            caches,
            choice,
            out_ids: self.output_ids(),
        };
        for block in &plan.blocks {
            stream = self.block_sparse_block(block, &inputs, stream);
        }
        self.head(Op::RmsNorm, stream)
    }

    fn choice(&mut self, indexer: BlockIndexer, caches: &Caches) -> Choice {
        let (tokens, streams) = (self.batch.tokens, self.streams().max(1));
        let cells = self.load.cells;
        // Nothing is in the cache when graphs are reserved: the least that is made room for (`get_n_pos`).
        let size = indexer.block_size.max(1);
        let positions = STEP.checked_next_multiple_of(size).unwrap_or(STEP);
        let mask = caches.full_mask();
        let one_each = tokens == streams;
        Choice {
            indexer,
            k_cells: self.graph.input(Type::I64, [tokens, 1, 1, 1]),
            bias: self
                .graph
                .input(Type::F32, [positions / size, tokens, 1, 1]),
            seen: self.graph.input(Type::F32, [positions, tokens, 1, 1]),
            cell_of: self.graph.input(Type::I32, [positions, streams, 1, 1]),
            cell_values: one_each.then(|| self.graph.input(Type::F32, [positions, streams, 1, 1])),
            block_of: (!one_each).then(|| {
                let block_of = self.graph.input(Type::I32, [cells, streams, 1, 1]);
                (block_of, self.graph.cast(mask, Type::F32))
            }),
            positions,
        }
    }

    fn block_sparse_block(&mut self, block: &Block, inputs: &Inputs, input: Id) -> Id {
        self.graph.stage(Part::Attention, Some(block.place));
        let normed = self.rms_norm(block, "attn_norm.weight", input);
        let Mixer::Attention(attention) = &block.layer.mixer else {
            return input;
        };
        let shape = heads(attention);
        let mut qkv = self.qkv(block, shape, normed);
        qkv.q = self.rms_norm(block, "attn_q_norm.weight", qkv.q);
        qkv.k = self.rms_norm(block, "attn_k_norm.weight", qkv.k);
        qkv.q = self.graph.rope(qkv.q, inputs.positions, None);
        qkv.k = self.graph.rope(qkv.k, inputs.positions, None);
        let cache = inputs.caches.of(attention);
        let mixed = match (attention.block_indexer, &inputs.choice) {
            (Some(_), Some(choice)) => self.attend_blocks(
                block,
                attention,
                choice,
                &cache,
                (normed, inputs.positions),
                qkv,
            ),
            _ => self.attend(block, shape, &cache, qkv, Softmax::default()),
        };
        let (mut stream, mut residual) = (self.output_projection(block, mixed), input);
        if self.is_last(block) {
            (stream, residual) = self.last_rows(inputs.out_ids, stream, residual);
        }
        let attended = self.graph.add(stream, residual);
        self.graph.stage(Part::FeedForward, Some(block.place));
        let normed = self.rms_norm(block, "ffn_norm.weight", attended);
        let activation = self.activation();
        let out = match &block.layer.feed_forward {
            FeedForward::None => normed,
            FeedForward::Dense(_) => {
                self.feed_forward(block, Names::DENSE, activation, false, normed)
            }
            FeedForward::Experts(experts) => {
                self.graph.stage(Part::Experts, Some(block.place));
                let routing = Routing::of(experts, activation);
                self.experts_with_shared(block, experts, routing, normed)
            }
        };
        self.graph.add(out, attended)
    }

    /// Stores index keys, keys and values, and attends to the blocks chosen.
    fn attend_blocks(
        &mut self,
        block: &Block,
        attention: &Attention,
        choice: &Choice,
        cache: &CacheInputs,
        (a, positions): (Id, Id),
        qkv: Qkv,
    ) -> Id {
        let (shape, cells) = (heads(attention), cache.cells);
        let (index_q, index_keys) = self.index(block, choice, cells, a, positions);
        self.graph.stage(Part::Attention, Some(block.place));
        let Qkv { q, k, v } = self.rotated(cache, qkv);
        for id in [q, k, v] {
            self.graph.expand(id);
        }
        let (k, v) = self.store(block, shape, cache, k, v);
        let mixed = match (choice.cell_values, choice.block_of) {
            (Some(values), _) => {
                let chosen = self.choose_for_one_each(choice, index_q, index_keys);
                self.gather_blocks(choice, values, chosen, q, k, v)
            }
            (None, Some(block_of)) => {
                let mixed = (0..self.streams()).map(|stream| {
                    let own = self.stream_of(choice, stream, index_q, index_keys);
                    self.mask_blocks(choice, block_of, stream, own, [q, k, v])
                });
                let mixed: Vec<Id> = mixed.collect();
                let mut mixed = mixed.into_iter();
                let first = mixed.next().unwrap_or(q);
                mixed.fold(first, |all, other| self.graph.concat(all, other, 1))
            }
            (None, None) => q,
        };
        match cache.v_rotation {
            Some(rotation) => self.rotate(mixed, rotation),
            None => mixed,
        }
    }

    /// Queries and stored keys of the indexer.
    fn index(
        &mut self,
        block: &Block,
        choice: &Choice,
        cells: u64,
        a: Id,
        positions: Id,
    ) -> (Id, Id) {
        let (indexer, tokens) = (choice.indexer, self.batch.tokens);
        self.graph.stage(Part::Indexer, Some(block.place));
        let width = indexer.head_dim;
        let index_q = self.project(block, "indexer.q_proj.weight", a);
        let index_k = self.project(block, "indexer.k_proj.weight", a);
        let index_q = self
            .graph
            .reshape(index_q, [width, indexer.num_heads, tokens, 1]);
        let index_k = self.graph.reshape(index_k, [width, 1, tokens, 1]);
        let index_q = self.rms_norm(block, "indexer.q_norm.weight", index_q);
        let index_k = self.rms_norm(block, "indexer.k_norm.weight", index_k);
        let index_q = self.graph.rope(index_q, positions, None);
        let index_k = self.graph.rope(index_k, positions, None);
        let index_shape = Heads {
            q: indexer.num_heads,
            kv: 1,
            k_width: width,
            v_width: width,
        };
        let (index_cache, _) = self.caches(block, index_shape, cells);
        let stored = self.store_keys(index_cache, index_k, choice.k_cells);
        self.graph.expand(stored);
        let index_keys = self.cached_keys(index_cache, index_shape, cells);
        (index_q, index_keys)
    }

    /// Blocks chosen, one token per stream.
    fn choose_for_one_each(&mut self, choice: &Choice, index_q: Id, index_keys: Id) -> Id {
        let (streams, positions) = (self.streams(), choice.positions);
        let (width, count) = (choice.indexer.head_dim, choice.indexer.num_heads);
        let ([_, _, cells, _], [_, _, nb2, nb3]) =
            (self.graph.at(index_keys).ne, self.graph.at(index_keys).nb);
        let keys = self
            .graph
            .view_3d(index_keys, [width, cells, streams], [nb2, nb3], 0);
        let keys = self.graph.get_rows(keys, choice.cell_of);
        let q = self.graph.reshape(index_q, [width, count, 1, streams]);
        let keys = self.graph.reshape(keys, [width, positions, 1, streams]);
        let scores = self.graph.mul_mat(keys, q);
        let seen = self.graph.reshape(choice.seen, [positions, 1, 1, streams]);
        let scores = self.graph.add_in_place(scores, seen);
        let best = self.graph.pool(scores, choice.indexer.block_size);
        let [blocks, ..] = self.graph.at(best).ne;
        let bias = self.graph.reshape(choice.bias, [blocks, 1, 1, streams]);
        let best = self.graph.add(best, bias);
        self.graph.top_k(best, choice.blocks())
    }

    /// Attention over the keys and values of the chosen blocks, gathered.
    fn gather_blocks(
        &mut self,
        choice: &Choice,
        values: Id,
        chosen: Id,
        q: Id,
        k: Id,
        v: Id,
    ) -> Id {
        let (streams, positions) = (self.streams(), choice.positions);
        let (size, count) = (choice.indexer.block_size, choice.indexer.num_heads);
        let kept = choice.blocks();
        let [width, kv, cells, _] = self.graph.at(k).ne;
        let each = [size, kept, count, streams];
        let all = size.saturating_mul(kept).saturating_mul(count);
        let first = self.graph.cast(chosen, Type::F32);
        let first = self.graph.scale(first);
        let first = self.graph.reshape(first, [1, kept, count, streams]);
        let first = self.graph.repeat(first, each);
        let within = self.graph.arange(size);
        let within = self.graph.reshape(within, [size, 1, 1, 1]);
        let position = self.graph.add(first, within);
        let position = self.graph.reshape(position, [all, streams, 1, 1]);
        let position = self.graph.cast(position, Type::I32);
        let values = self.graph.reshape(values, [1, positions, streams, 1]);
        let cell = self.graph.get_rows(values, position);
        let cell = self.graph.reshape(cell, each);
        let row = self.graph.scale(cell);
        let head = self.graph.arange(kv);
        let head = self.graph.reshape(head, [1, 1, count, 1]);
        let row = self.graph.add(row, head);
        let row = self.graph.reshape(row, [all, streams, 1, 1]);
        let row = self.graph.cast(row, Type::I32);
        let seen = self.graph.reshape(choice.seen, [1, positions, streams, 1]);
        let rows = |builder: &mut Self, cache: Id| {
            let ([width, ..], [_, nb1, _, nb3]) =
                (builder.graph.at(cache).ne, builder.graph.at(cache).nb);
            let ne = [width, kv.saturating_mul(cells), streams];
            let lines = builder.graph.view_3d(cache, ne, [nb1, nb3], 0);
            builder.graph.get_rows(lines, row)
        };
        let (k_rows, v_rows) = (rows(self, k), rows(self, v));
        let mask = self.graph.get_rows(seen, position);
        let (k_type, v_type) = (self.graph.at(k).dtype, self.graph.at(v).dtype);
        let keys = size.saturating_mul(kept);
        let channels = count.saturating_mul(streams);
        let k = self.graph.reshape(k_rows, [width, keys, 1, channels]);
        let v = self.graph.reshape(v_rows, [width, keys, 1, channels]);
        let k = self.as_cached(k, k_type);
        let v = self.as_cached(v, v_type);
        let mask = self.graph.reshape(mask, [keys, 1, 1, channels]);
        let mask = self.graph.cast(mask, Type::F16);
        self.attend_groups(q, k, v, mask, kv)
    }

    /// In the type of the cache, or f16 where that is quantized.
    fn as_cached(&mut self, a: Id, cached: Type) -> Id {
        let dtype = if cached.is_quantized() {
            Type::F16
        } else {
            cached
        };
        if self.graph.at(a).dtype == dtype {
            a
        } else {
            self.graph.cast(a, dtype)
        }
    }

    /// One attention for all groups of heads, put side by side as sequences (`build_attn_msa_fa`).
    pub(super) fn attend_groups(&mut self, q: Id, k: Id, v: Id, mask: Id, groups: u64) -> Id {
        let ([width, heads, tokens, _], [_, _, _, channels]) =
            (self.graph.at(q).ne, self.graph.at(k).ne);
        let per_group = heads / groups.max(1);
        let rows = heads.saturating_mul(tokens) / per_group.saturating_mul(channels).max(1);
        let q = self.graph.reshape(q, [width, per_group, channels, rows]);
        let q = self.graph.permute(q, [0, 2, 3, 1]);
        let mixed = self.graph.flash_attn(q, k, v, mask, None);
        let mut mixed = self.graph.permute(mixed, [0, 1, 3, 2]);
        if !self.graph.at(mixed).is_contiguous() {
            mixed = self.graph.cont(mixed);
        }
        let all = width.saturating_mul(heads);
        self.graph.reshape(mixed, [all, tokens, 1, 1])
    }
}

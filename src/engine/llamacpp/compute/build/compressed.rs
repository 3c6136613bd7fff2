//! Decoders with compressed attention over several residual streams: `src/models/deepseek4.cpp` (0.6.0-dev).

use super::Builder;
use super::attention::{Softmax, flatten};
use super::compressor::{self, Compressor, CompressorInputs, single_head};
use super::experts::Routing;
use super::feed_forward::Names;
use super::hyper::Site;
use super::input::CacheInputs;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::mixer::{CompressedAttention, Indexer};
use crate::model::{FeedForward, Mixer};
use crate::quant::Type;

/// What every block reads.
struct Inputs {
    /// Token numbers, by which the first blocks choose experts.
    tokens: Id,
    positions: Id,
    out_ids: Id,
    /// The window of uncompressed tokens.
    window: CacheInputs,
    /// Entries of each ratio.
    entries: Vec<(u64, CompressorInputs)>,
    /// Entries of the indexer.
    indexer: Option<CompressorInputs>,
}

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn compressed_decoder(&mut self) -> Id {
        let plan = self.plan;
        let (width, tokens) = (self.hidden_size(), self.batch.tokens);
        let hc = plan.trunk.streams;
        let ids = self.graph.input(Type::I32, [tokens, 1, 1, 1]);
        let embedded = self.graph.input(Type::F32, [width, tokens, 1, 1]);
        let rows = self.token_rows(ids, width);
        let embedding = self.graph.select(&[rows, embedded], 0);
        self.graph.expand(embedding);
        let inputs = self.compressed_inputs(ids);
        self.graph.expand(inputs.window.mask);
        let single = self.graph.reshape(embedding, [width, 1, tokens, 1]);
        let mut streams = self.graph.repeat(single, [width, hc, tokens, 1]);
        for block in &plan.blocks {
            streams = self.compressed_block(block, &inputs, streams);
        }
        self.graph.stage(Part::Output, None);
        let flat = [width.saturating_mul(hc), tokens, 1, 1];
        let flat = self.graph.reshape(streams, flat);
        let rows = self.graph.get_rows(flat, inputs.out_ids);
        let [_, outputs, ..] = self.graph.at(rows).ne;
        let streams = self.graph.reshape(rows, [width, hc, outputs, 1]);
        let mixture = self.head_mixture(streams);
        self.head(Op::RmsNorm, mixture)
    }

    fn compressed_inputs(&mut self, tokens: Id) -> Inputs {
        let plan = self.plan;
        let positions = self.positions(1);
        let out_ids = self.output_ids();
        let mixers = || plan.blocks.iter().filter_map(compressed);
        let head = mixers().next().map_or(0, |mixer| mixer.head_dim);
        let k_cells = self.graph.input(Type::I64, [self.batch.tokens, 1, 1, 1]);
        let window = CacheInputs {
            k_cells,
            v_cells: k_cells,
            mask: self.mask(self.load.window_cells),
            k_rotation: self.key_rotation(head),
            v_rotation: None,
            cells: self.load.window_cells,
            keys_first: false,
        };
        let mut inputs = Inputs {
            tokens,
            positions,
            out_ids,
            window,
            entries: Vec::with_capacity(2),
            indexer: None,
        };
        for mixer in mixers() {
            let ratio = mixer.compress_ratio;
            let known = inputs.entries.iter().any(|(own, _)| *own == ratio);
            if ratio > 0 && !known {
                let own = self.compressor_inputs(entries_of(mixer, mixer.head_dim), false);
                inputs.entries.push((ratio, own));
            }
            if let (Some(indexer), None) = (mixer.indexer, inputs.indexer) {
                let own = entries_of(mixer, indexer.index_head_dim);
                inputs.indexer = Some(self.compressor_inputs(own, true));
            }
        }
        inputs
    }

    fn compressed_block(&mut self, block: &Block, inputs: &Inputs, streams: Id) -> Id {
        let Some(own) = compressed(block) else {
            return streams;
        };
        self.graph.stage(Part::Attention, Some(block.place));
        let mixed = self.mix_streams(block, Site::ATTENTION, streams);
        let normed = self.rms_norm(block, "attn_norm.weight", mixed.input);
        let out = self.compressed_attention(block, own, inputs, normed);
        let streams = self.spread(block, out, mixed);
        self.graph.stage(Part::FeedForward, Some(block.place));
        let mixed = self.mix_streams(block, Site::FEED_FORWARD, streams);
        for id in [mixed.residual, mixed.post, mixed.comb] {
            self.graph.expand(id);
        }
        let normed = self.rms_norm(block, "ffn_norm.weight", mixed.input);
        let out = self.hashed_experts(block, inputs.tokens, normed);
        let streams = self.spread(block, out, mixed);
        // "l_last" is bound to its block as norms are (`graph_get_cb`).
        self.pin_norm(block, streams);
        streams
    }

    /// Experts chosen by score, or by token in the first blocks, and the one that all tokens use.
    fn hashed_experts(&mut self, block: &Block, tokens: Id, a: Id) -> Id {
        let FeedForward::Experts(experts) = &block.layer.feed_forward else {
            return a;
        };
        self.graph.stage(Part::Experts, Some(block.place));
        let activation = self.activation();
        let table = self.weight(block, "ffn_gate_tid2eid.weight");
        let chosen = table.map(|table| self.graph.get_rows(table, tokens));
        let routing = Routing::of(experts, activation);
        let routed = self.routed(block, experts, routing, a, None, chosen);
        let shared = self.feed_forward(block, Names::SHARED, activation, false, a);
        self.graph.add(routed, shared)
    }

    fn compressed_attention(
        &mut self,
        block: &Block,
        own: &CompressedAttention,
        inputs: &Inputs,
        a: Id,
    ) -> Id {
        let (tokens, heads, width) = (self.batch.tokens, own.num_attention_heads, own.head_dim);
        let low = self.project(block, "attn_q_a.weight", a);
        let low = self.rms_norm(block, "attn_q_a_norm.weight", low);
        let q = self.project(block, "attn_q_b.weight", low);
        let q = self.graph.reshape(q, [width, heads, tokens, 1]);
        let q = self.graph.map(Op::RmsNorm, q);
        let q = self.graph.rope(q, inputs.positions, None);
        let kv = self.project(block, "attn_kv.weight", a);
        let kv = self.rms_norm(block, "attn_kv_a_norm.weight", kv);
        let kv = self.graph.reshape(kv, [width, 1, tokens, 1]);
        let kv = self.graph.rope(kv, inputs.positions, None);
        let mut entries = inputs.entries.iter();
        let entries = entries.find(|(ratio, _)| *ratio == own.compress_ratio);
        let entries = entries.map(|(_, entries)| {
            let cache = self.key_cache(block, width, entries.entries);
            let names = compressor::Names::ATTENTION;
            self.compress(block, names, entries_of(own, width), entries, cache, a);
            (*entries, cache)
        });
        let chosen = match (own.indexer, &inputs.indexer) {
            (Some(indexer), Some(index)) => {
                Some(self.choose_entries(block, own, indexer, (index, inputs.positions), (low, a)))
            }
            _ => None,
        };
        let mixed = self.attend_entries(block, &inputs.window, (q, kv), entries, chosen);
        let mixed = self.graph.reshape(mixed, [width, heads, tokens, 1]);
        // Rotated back: the values carry the positions of the keys.
        let mixed = self.graph.rope(mixed, inputs.positions, None);
        self.grouped_output(block, own, mixed)
    }

    /// The entries that score best (`build_lid_top_k`), after the indexer's own are made.
    fn choose_entries(
        &mut self,
        block: &Block,
        own: &CompressedAttention,
        indexer: Indexer,
        (inputs, positions): (&CompressorInputs, Id),
        (low, a): (Id, Id),
    ) -> Id {
        self.graph.stage(Part::Indexer, Some(block.place));
        let (tokens, width) = (self.batch.tokens, indexer.index_head_dim);
        let cache = self.key_cache(block, width, inputs.entries);
        let names = compressor::Names::INDEXER;
        self.compress(block, names, entries_of(own, width), inputs, cache, a);
        let q = self.project(block, "indexer.attn_q_b.weight", low);
        let q = self
            .graph
            .reshape(q, [width, indexer.index_n_heads, tokens, 1]);
        let q = self.graph.rope(q, positions, None);
        let q = match inputs.rotation {
            Some(rotation) => self.rotate(q, rotation),
            None => q,
        };
        let weights = self.project(block, "indexer.proj.weight", a);
        let weights = self.graph.scale(weights);
        let k = self.cached_entries(cache, inputs.entries);
        let (q, weights) = self.per_stream(q, k, weights);
        let scores = self.score_node(q, k, weights, inputs.mask);
        let [cells, ..] = self.graph.at(scores).ne;
        let best = self.graph.top_k(scores, indexer.index_topk.min(cells));
        let best = self.graph.cont(best);
        self.graph.stage(Part::Attention, Some(block.place));
        best
    }

    /// Attention over the window and the entries, of which only chosen ones where there is a choice
    /// (`build_raw_attention`, `build_hca_attention`, `build_csa_lid_attention`).
    fn attend_entries(
        &mut self,
        block: &Block,
        window: &CacheInputs,
        (q, kv): (Id, Id),
        entries: Option<(CompressorInputs, Id)>,
        chosen: Option<Id>,
    ) -> Id {
        let [width, ..] = self.graph.at(kv).ne;
        let (q, kv) = match window.k_rotation {
            Some(rotation) => (self.rotate(q, rotation), self.rotate(kv, rotation)),
            None => (q, kv),
        };
        self.graph.expand(q);
        self.graph.expand(kv);
        let cache = self.key_cache(block, width, window.cells);
        let stored = self.store_keys(cache, kv, window.k_cells);
        self.graph.expand(stored);
        let mut k = self.cached_keys(cache, single_head(width), window.cells);
        let mut mask = window.mask;
        if let Some((inputs, cache)) = entries {
            let more = self.cached_entries(cache, inputs.entries);
            k = self.graph.concat(k, more, 2);
            let visible = match chosen {
                Some(chosen) => {
                    let zeros = self.graph.at(inputs.mask).dtype;
                    self.open_chosen(inputs.mask, chosen, zeros)
                }
                None => inputs.mask,
            };
            mask = self.graph.concat(mask, visible, 0);
        }
        let softmax = Softmax {
            sinks: self.weight(block, "attn_sinks.weight"),
            ..Softmax::default()
        };
        let mixed = self.mix(block, q, k, k, mask, softmax);
        match window.k_rotation {
            Some(rotation) => self.rotate(mixed, rotation),
            None => mixed,
        }
    }

    /// The output projection in two steps, the first of a matrix per group of heads.
    fn grouped_output(&mut self, block: &Block, own: &CompressedAttention, a: Id) -> Id {
        let (tokens, groups, rank) = (self.batch.tokens, own.o_groups.max(1), own.o_lora_rank);
        let [width, heads, ..] = self.graph.at(a).ne;
        let group = (heads / groups).saturating_mul(width);
        let a = self.graph.reshape(a, [group, groups, tokens, 1]);
        let a = self.graph.permute(a, [0, 2, 1, 3]);
        let low = match self.weight_as(block, "attn_output_a.weight", [group, rank, groups, 1]) {
            Some(matrices) => self.graph.mul_mat(matrices, a),
            None => a,
        };
        let low = self.graph.permute(low, [0, 2, 1, 3]);
        let flat = flatten(self.graph.at(low).ne);
        let low = self.graph.cont_as(low, flat);
        self.project(block, "attn_output_b.weight", low)
    }
}

/// The compressed attention of a block.
fn compressed(block: &Block) -> Option<&CompressedAttention> {
    match &block.layer.mixer {
        Mixer::Compressed(own) => Some(own),
        _ => None,
    }
}

/// The compressor of an attention to entries of this width.
fn entries_of(own: &CompressedAttention, width: u64) -> Compressor {
    Compressor {
        ratio: own.compress_ratio,
        width,
        overlaps: own.overlaps(),
    }
}

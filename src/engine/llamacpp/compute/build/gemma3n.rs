//! Gemma 3n (`src/models/gemma3n.cpp` 0.6.0-dev): several residual streams of which each block computes one and predicts
//! the others, a low-rank residual, inputs per layer, shared caches.

use super::Builder;
use super::attention::{Qkv, Softmax};
use super::gemma::Inputs;
use super::transformer::heads;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::Mixer;
use crate::model::mixer::{Attention, Cache};

/// Blocks whose activations are made sparse (`n_layer_sparsity`, `src/models/models.h`).
const SPARSE_BLOCKS: usize = 10;

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn gemma3n(&mut self) -> Id {
        let plan = self.plan;
        let (stream, inputs) = self.gemma_inputs();
        let mut streams = self.further_streams(stream);
        for block in &plan.blocks {
            streams = self.gemma3n_block(block, &inputs, streams);
        }
        self.graph.stage(Part::Output, None);
        let merged = self.merge_streams_of(streams);
        let out_ids = self.output_ids();
        let rows = self.graph.get_rows(merged, out_ids);
        let logits = self.head(Op::RmsNorm, rows);
        self.cap(logits)
    }

    fn altup(&self) -> u64 {
        let streams = self.plan.trunk.alt_up;
        streams.map_or(1, |streams| streams.altup_num_inputs)
    }

    /// Length of each vector (`calc_magnitude`).
    fn magnitude(&mut self, a: Id) -> Id {
        let squares = self.graph.map(Op::Sqr, a);
        let sum = self.graph.sum_rows(squares);
        self.graph.map(Op::Sqrt, sum)
    }

    /// A product brought to the magnitude of another stream.
    fn with_magnitude(&mut self, a: Id, magnitude: Id) -> Id {
        let own = self.magnitude(a);
        let scaled = self.graph.mul(a, magnitude);
        self.graph.zip(Op::Div, scaled, own)
    }

    /// All streams from the embedding.
    fn further_streams(&mut self, stream: Id) -> Id {
        let (hidden, tokens, further) = (self.hidden_size(), self.batch.tokens, self.altup() - 1);
        let magnitude = self.magnitude(stream);
        let repeated = self.graph.repeat(stream, [hidden, tokens, further, 1]);
        let matrix = self.outside("altup_proj.weight");
        let added = matrix.map_or(repeated, |matrix| self.graph.mul_mat(matrix, repeated));
        let added = self.with_magnitude(added, magnitude);
        self.graph.concat(stream, added, 2)
    }

    /// All streams but the first.
    fn rest(&mut self, streams: Id) -> Id {
        let (hidden, tokens) = (self.hidden_size(), self.batch.tokens);
        let (row, further) = (4 * hidden, self.altup() - 1);
        let plane = row.saturating_mul(tokens);
        self.graph
            .view_3d(streams, [hidden, tokens, further], [row, plane], plane)
    }

    /// One stream of all.
    fn merge_streams_of(&mut self, streams: Id) -> Id {
        let active = self.slice(streams, 0);
        let magnitude = self.magnitude(active);
        let rest = self.rest(streams);
        let matrix = self.outside("altup_unembd_proj.weight");
        let rest = matrix.map_or(rest, |matrix| self.graph.mul_mat(matrix, rest));
        let rest = self.with_magnitude(rest, magnitude);
        let mut merged = self.slice(streams, 0);
        for index in 0..self.altup() - 1 {
            let other = self.slice(rest, index);
            merged = self.graph.add(merged, other);
        }
        self.graph.scale(merged)
    }

    fn gemma3n_block(&mut self, block: &Block, inputs: &Inputs, streams: Id) -> Id {
        self.graph.stage(Part::Attention, Some(block.place));
        let predictions = self.predict(block, streams);
        let active = self.slice(predictions, 0);
        let normed = self.rms_norm(block, "attn_norm.weight", active);
        let laurel = self.project(block, "laurel_l.weight", normed);
        let laurel = self.project(block, "laurel_r.weight", laurel);
        let laurel = self.rms_norm(block, "laurel_post_norm.weight", laurel);
        let laurel = self.graph.add(laurel, normed);
        let Mixer::Attention(attention) = &block.layer.mixer else {
            return streams;
        };
        let mixed = self.gemma3n_attention(block, attention, inputs, normed);
        let mixed = self.output_projection(block, mixed);
        let mixed = self.rms_norm(block, "post_attention_norm.weight", mixed);
        let attended = self.graph.add(mixed, active);
        let attended = self.graph.add(attended, laurel);
        let attended = self.graph.scale(attended);
        self.graph.stage(Part::FeedForward, Some(block.place));
        let normed = self.rms_norm(block, "ffn_norm.weight", attended);
        let out = self.gemma3n_network(block, normed);
        let out = self.unbound_norm(block, "post_ffw_norm.weight", out);
        let out = self.graph.add(out, attended);
        let corrected = self.correct(block, predictions, out);
        self.add_per_layer(block, inputs, corrected)
    }

    fn gemma3n_attention(
        &mut self,
        block: &Block,
        attention: &Attention,
        inputs: &Inputs,
        a: Id,
    ) -> Id {
        let (tokens, shape) = (self.batch.tokens, heads(attention));
        let cache = inputs.caches.of(attention);
        if let Cache::SharedWith(source) = attention.cache {
            let q = self.project(block, "attn_q.weight", a);
            let q = self.graph.reshape(q, [shape.k_width, shape.q, tokens, 1]);
            let q = self.rms_norm(block, "attn_q_norm.weight", q);
            let q = self.graph.rope(q, inputs.positions, None);
            return self.attend_shared(block, shape, &cache, source, q);
        }
        let Qkv { q, k, v } = self.qkv(block, shape, a);
        let q = self.rms_norm(block, "attn_q_norm.weight", q);
        let k = self.rms_norm(block, "attn_k_norm.weight", k);
        let v = self.graph.map(Op::RmsNorm, v);
        let q = self.graph.rope(q, inputs.positions, None);
        let k = self.graph.rope(k, inputs.positions, None);
        self.attend(block, shape, &cache, Qkv { q, k, v }, Softmax::default())
    }

    /// A gated network whose gate keeps only outliers in the first blocks (`gaussian_topk`).
    fn gemma3n_network(&mut self, block: &Block, a: Id) -> Id {
        let up = self.project(block, "ffn_up.weight", a);
        let mut gate = self.project(block, "ffn_gate.weight", a);
        if block.index < SPARSE_BLOCKS {
            let mean = self.graph.mean(gate);
            let centred = self.graph.zip(Op::Sub, gate, mean);
            let squares = self.graph.map(Op::Sqr, centred);
            let sum = self.graph.sum_rows(squares);
            let variance = self.graph.scale(sum);
            let deviation = self.graph.map(Op::Sqrt, variance);
            let deviation = self.graph.scale(deviation);
            let cutoff = self.graph.add(mean, deviation);
            let above = self.graph.zip(Op::Sub, gate, cutoff);
            gate = self.graph.map(Op::Unary, above);
        }
        let gate = self.graph.map(Op::Unary, gate);
        let inner = self.graph.mul(up, gate);
        self.project(block, "ffn_down.weight", inner)
    }

    /// Mixing weights of a stream (`altup_compute_router_modalities`).
    fn modalities(&mut self, block: &Block, a: Id) -> Id {
        let normed = self.rms_norm(block, "altup_router_norm.weight", a);
        let scaled = self.graph.scale(normed);
        let routed = self.project(block, "altup_router.weight", scaled);
        self.graph.map(Op::Unary, routed)
    }

    /// All streams after the block, before it has run (`altup_predict`).
    fn predict(&mut self, block: &Block, streams: Id) -> Id {
        let (count, tokens) = (self.altup(), self.batch.tokens);
        let active = self.slice(streams, 0);
        let modalities = self.modalities(block, active);
        let all = self.project(block, "altup_predict_coef.weight", modalities);
        let all = self.graph.reshape(all, [count, count, tokens, 1]);
        let turned = self.graph.permute(streams, [1, 2, 0, 3]);
        let turned = self.graph.cont(turned);
        let predicted = self.graph.mul_mat(turned, all);
        let predicted = self.graph.permute(predicted, [0, 2, 1, 3]);
        let predicted = self.graph.cont(predicted);
        self.graph.add(predicted, streams)
    }

    /// All streams, corrected by what the block made of one (`altup_correct`).
    fn correct(&mut self, block: &Block, predictions: Id, activated: Id) -> Id {
        let (count, tokens) = (self.altup(), self.batch.tokens);
        let modalities = self.modalities(block, activated);
        let active = self.slice(predictions, 0);
        let innovation = self.graph.zip(Op::Sub, activated, active);
        let all = self.project(block, "altup_correct_coef.weight", modalities);
        let all = self.graph.scale(all);
        let all = self.graph.transpose(all);
        let all = self.graph.cont_as(all, [1, tokens, count, 1]);
        let hidden = self.hidden_size();
        let innovation = self.graph.repeat(innovation, [hidden, tokens, count, 1]);
        let corrected = self.graph.mul(innovation, all);
        self.graph.add(corrected, predictions)
    }

    /// Adds what the layer's own input says to all streams but the first.
    fn add_per_layer(&mut self, block: &Block, inputs: &Inputs, corrected: Id) -> Id {
        let mut first = self.slice(corrected, 0);
        if let Some(scale) = self.weight(block, "altup_correct_scale.weight") {
            first = self.graph.mul(first, scale);
        }
        let low = self.project(block, "inp_gate.weight", first);
        let mut low = self.graph.map(Op::Unary, low);
        if let Some(per_layer) = inputs.per_layer {
            let own = self.slice(per_layer, block.index as u64);
            low = self.graph.mul(low, own);
        }
        let wide = self.project(block, "proj.weight", low);
        let wide = self.rms_norm(block, "post_norm.weight", wide);
        let first = self.slice(corrected, 0);
        let rest = self.rest(corrected);
        let rest = self.graph.add(rest, wide);
        self.graph.concat(first, rest, 2)
    }
}

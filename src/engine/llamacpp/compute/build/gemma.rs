//! Gemma 4 (`src/models/gemma4.cpp` 0.6.0-dev): heads by reach, shared caches, inputs per layer, experts beside a dense
//! network.

use super::Builder;
use super::attention::{Heads, Qkv, Softmax};
use super::experts::Routing;
use super::feed_forward::Names;
use super::input::{CacheInputs, Caches};
use super::transformer::{SOFTMAX_NORMALIZED, heads};
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::mixer::{Attention, Cache, Reach};
use crate::model::{Activation, FeedForward, Mixer, PerLayerInputs};
use crate::quant::Type;

/// What every block reads.
pub(super) struct Inputs {
    pub(super) positions: Id,
    pub(super) caches: Caches,
    pub(super) per_layer: Option<Id>,
}

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn gemma4(&mut self) -> Id {
        let plan = self.plan;
        let (mut stream, inputs) = self.gemma_inputs();
        let out_ids = self.output_ids();
        for block in &plan.blocks {
            stream = self.gemma4_block(block, &inputs, stream);
        }
        self.graph.stage(Part::Output, None);
        let normed = self.outside_norm(Op::RmsNorm, "output_norm.weight", stream);
        self.graph.set_output(normed);
        let rows = self.graph.get_rows(normed, out_ids);
        self.graph.set_output(rows);
        let logits = self.logits(rows);
        if plan.trunk.capped_logits {
            self.cap(logits)
        } else {
            logits
        }
    }

    /// The scaled embeddings, and what blocks read beside them.
    pub(super) fn gemma_inputs(&mut self) -> (Id, Inputs) {
        let stream = self.embeddings(self.hidden_size(), true);
        let scales = self.row_scales();
        let stream = self.graph.mul(stream, scales);
        self.graph.expand(stream);
        let positions = self.positions(1);
        let caches = self.attention_caches(true);
        let per_layer = self.plan.trunk.per_layer_inputs;
        let per_layer = per_layer.map(|inputs| self.per_layer_inputs(inputs, stream));
        let inputs = Inputs {
            positions,
            caches,
            per_layer,
        };
        (stream, inputs)
    }

    /// A small vector per token and layer, from a table and from the embeddings.
    fn per_layer_inputs(&mut self, inputs: PerLayerInputs, stream: Id) -> Id {
        let (tokens, layers) = (self.batch.tokens, self.plan.trunk.blocks);
        let width = inputs.hidden_size_per_layer_input;
        let deep = [width, layers, tokens, 1];
        let ids = self.graph.input(Type::I32, [tokens, 1, 1, 1]);
        let table = self.outside("per_layer_token_embd.weight");
        let rows = table.map_or(ids, |table| self.graph.get_rows(table, ids));
        let rows = self.graph.reshape(rows, deep);
        let rows = self.graph.scale(rows);
        self.graph.expand(rows);
        let matrix = self.outside("per_layer_model_proj.weight");
        let projected = matrix.map_or(stream, |matrix| self.graph.mul_mat(matrix, stream));
        let projected = self.graph.scale(projected);
        let projected = self.graph.reshape(projected, deep);
        let projected = self.outside_norm(Op::RmsNorm, "per_layer_proj_norm.weight", projected);
        let both = self.graph.add(projected, rows);
        let both = self.graph.scale(both);
        let both = self.graph.permute(both, [0, 2, 1, 3]);
        self.graph.cont(both)
    }

    /// One layer of a tensor of matrices.
    pub(super) fn slice(&mut self, a: Id, index: u64) -> Id {
        let [ne0, ne1, ..] = self.graph.at(a).ne;
        let row = 4 * ne0;
        let offset = index.saturating_mul(row).saturating_mul(ne1);
        self.graph.view_2d(a, ne0, ne1, row, offset)
    }

    fn gemma4_block(&mut self, block: &Block, inputs: &Inputs, input: Id) -> Id {
        self.graph.stage(Part::Attention, Some(block.place));
        let normed = self.rms_norm(block, "attn_norm.weight", input);
        let Mixer::Attention(attention) = &block.layer.mixer else {
            return input;
        };
        let mixed = self.gemma4_attention(block, attention, inputs, normed);
        let mixed = self.output_projection(block, mixed);
        let mixed = self.rms_norm(block, "post_attention_norm.weight", mixed);
        let attended = self.graph.add(mixed, input);
        self.graph.stage(Part::FeedForward, Some(block.place));
        let out = self.gemma4_network(block, attended);
        let out = self.unbound_norm(block, "post_ffw_norm.weight", out);
        let mut stream = self.graph.add(out, attended);
        if let Some(per_layer) = inputs.per_layer {
            let own = self.slice(per_layer, block.index as u64);
            let low = self.project(block, "inp_gate.weight", stream);
            let low = self.graph.map(Op::Unary, low);
            let low = self.graph.mul(low, own);
            let wide = self.project(block, "proj.weight", low);
            let wide = self.rms_norm(block, "post_norm.weight", wide);
            stream = self.graph.add(stream, wide);
        }
        match self.weight(block, "layer_output_scale.weight") {
            Some(scale) => self.graph.mul(stream, scale),
            None => stream,
        }
    }

    fn gemma4_attention(
        &mut self,
        block: &Block,
        attention: &Attention,
        inputs: &Inputs,
        a: Id,
    ) -> Id {
        let (tokens, shape) = (self.batch.tokens, heads(attention));
        let full = attention.reach == Reach::Full;
        let factors = if full { self.rope_factors(block) } else { None };
        let q = self.project(block, "attn_q.weight", a);
        let q = self.graph.reshape(q, [shape.k_width, shape.q, tokens, 1]);
        let q = self.rms_norm(block, "attn_q_norm.weight", q);
        let q = self.graph.rope(q, inputs.positions, factors);
        let cache = inputs.caches.of(attention);
        if let Cache::SharedWith(source) = attention.cache {
            return self.attend_shared(block, shape, &cache, source, q);
        }
        let k = self.project(block, "attn_k.weight", a);
        let v = match self.weight(block, "attn_v.weight") {
            Some(matrix) => self.graph.mul_mat(matrix, a),
            None => k,
        };
        let k = self.graph.reshape(k, [shape.k_width, shape.kv, tokens, 1]);
        let v = self.graph.reshape(v, [shape.v_width, shape.kv, tokens, 1]);
        let k = self.rms_norm(block, "attn_k_norm.weight", k);
        let v = self.graph.map(Op::RmsNorm, v);
        let k = self.graph.rope(k, inputs.positions, factors);
        self.attend(block, shape, &cache, Qkv { q, k, v }, Softmax::default())
    }

    /// Attention over the cache of an earlier layer.
    pub(super) fn attend_shared(
        &mut self,
        block: &Block,
        shape: Heads,
        cache: &CacheInputs,
        source: usize,
        q: Id,
    ) -> Id {
        let q = match cache.k_rotation {
            Some(rotation) => self.rotate(q, rotation),
            None => q,
        };
        self.graph.expand(q);
        let (k_cache, v_cache) = self.caches_of(block, shape, cache.cells, source);
        let k = self.cached_keys(k_cache, shape, cache.cells);
        let v = self.cached_values(v_cache, shape, cache.cells);
        let mixed = self.mix(block, q, k, v, cache.mask, Softmax::default());
        match cache.v_rotation {
            Some(rotation) => self.rotate(mixed, rotation),
            None => mixed,
        }
    }

    fn gemma4_network(&mut self, block: &Block, attended: Id) -> Id {
        let normed = self.rms_norm(block, "ffn_norm.weight", attended);
        let dense = self.feed_forward(block, Names::DENSE, Activation::Gelu, false, normed);
        let FeedForward::Experts(experts) = &block.layer.feed_forward else {
            return dense;
        };
        let dense = self.rms_norm(block, "post_ffw_norm_1.weight", dense);
        self.graph.stage(Part::Experts, Some(block.place));
        let input = self.rms_norm(block, "pre_ffw_norm_2.weight", attended);
        let scores = self.graph.map(Op::RmsNorm, attended);
        let scores = self.graph.scale(scores);
        let scores = match self.weight(block, "ffn_gate_inp.scale") {
            Some(scale) => self.graph.mul(scores, scale),
            None => scores,
        };
        let scores = self.project(block, "ffn_gate_inp.weight", scores);
        let routing = Routing {
            activation: Activation::Gelu,
            ..SOFTMAX_NORMALIZED
        };
        let routed = self.routed(block, experts, routing, input, Some(scores), None);
        let routed = self.rms_norm(block, "post_ffw_norm_2.weight", routed);
        self.graph.add(dense, routed)
    }
}

//! Decoders that mix attention with recurrent layers: `src/models/{qwen3next,qwen35,qwen35moe,nemotron-h,falcon-h1,
//! granite-hybrid}.cpp` (0.6.0-dev).

use super::Builder;
use super::attention::{Qkv, Softmax};
use super::experts::Routing;
use super::feed_forward::Names;
use super::input::{CacheInputs, CacheShape};
use super::recurrent::StateInputs;
use super::transformer::heads;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::mixer::Attention;
use crate::model::{Experts, FeedForward, Mixer};

/// What an architecture does beyond what the model says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HybridStyle {
    /// Axes of positions.
    pub(super) axes: u64,
    /// Embedding, residuals and logits are scaled (Granite).
    pub(super) scaled: bool,
    /// All rows pass the last block and norm; rows of logits are chosen after.
    pub(super) rows_last: bool,
    /// Scores of experts are made before the rest of the router (Nemotron-H).
    pub(super) scores_first: bool,
    /// How experts are weighted, where the model does not decide.
    pub(super) routing: Option<Routing>,
}

/// Inputs of both kinds of layers.
#[derive(Clone, Copy)]
struct Inputs {
    positions: Id,
    cache: CacheInputs,
    states: StateInputs,
    out_ids: Id,
}

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn hybrid_decoder(&mut self, style: HybridStyle) -> Id {
        let plan = self.plan;
        let mut stream = self.embeddings(self.hidden_size(), true);
        if style.scaled {
            stream = self.graph.scale(stream);
        }
        self.graph.expand(stream);
        let attention = plan
            .blocks
            .iter()
            .find_map(|block| block.layer.mixer.attention());
        let inputs = Inputs {
            states: self.state_inputs(),
            positions: self.positions(style.axes.max(1)),
            cache: self.cache_inputs(CacheShape {
                cells: self.load.cells,
                head_k: attention.map_or(0, |attention| attention.head_dim),
                head_v: attention.map_or(0, |attention| attention.v_head_dim),
                v_width: plan.trunk.v_width,
            }),
            out_ids: self.output_ids(),
        };
        for block in &plan.blocks {
            stream = self.hybrid_block(block, style, &inputs, stream);
        }
        if !style.rows_last {
            let logits = self.head(Op::RmsNorm, stream);
            return if style.scaled {
                self.graph.scale(logits)
            } else {
                logits
            };
        }
        self.graph.stage(Part::Output, None);
        let normed = self.outside_norm(Op::RmsNorm, "output_norm.weight", stream);
        self.graph.set_output(normed);
        let rows = self.graph.get_rows(normed, inputs.out_ids);
        self.graph.set_output(rows);
        self.logits(rows)
    }

    /// A block whose input is given. All its rows are kept, but for Nemotron's, whose network takes those of logits.
    pub(super) fn predicting_hybrid(
        &mut self,
        block: &Block,
        style: HybridStyle,
        input: Id,
        out_ids: Id,
    ) -> Id {
        let Some(attention) = block.layer.mixer.attention() else {
            return input;
        };
        let inputs = Inputs {
            states: self.state_inputs(),
            positions: self.positions(style.axes.max(1)),
            cache: self.cache_inputs(CacheShape {
                cells: self.load.cells,
                head_k: attention.head_dim,
                head_v: attention.v_head_dim,
                v_width: self.plan.trunk.v_width,
            }),
            out_ids,
        };
        self.hybrid_block(block, style, &inputs, input)
    }

    fn hybrid_block(
        &mut self,
        block: &Block,
        style: HybridStyle,
        inputs: &Inputs,
        input: Id,
    ) -> Id {
        self.graph.stage(Part::Attention, Some(block.place));
        let normed = self.rms_norm(block, "attn_norm.weight", input);
        if style.axes > 0 && !self.plan.prediction {
            // Qwen's builders compute the norm before anything else of the layer.
            self.graph.expand(normed);
        }
        let mut residual = input;
        let mut stream = match &block.layer.mixer {
            Mixer::Attention(attention) => self.hybrid_attention(block, attention, inputs, normed),
            Mixer::Mamba2(mamba) => {
                self.graph.stage(Part::Recurrent, Some(block.place));
                self.mamba2(block, inputs.states, mamba, normed)
            }
            Mixer::GatedDelta(delta) => {
                self.graph.stage(Part::Recurrent, Some(block.place));
                self.gated_delta(block, inputs.states, delta, normed)
            }
            Mixer::AttentionAndMamba2(attention, mamba) => {
                let attended = self.hybrid_attention(block, attention, inputs, normed);
                self.graph.stage(Part::Recurrent, Some(block.place));
                let normed = self.rms_norm(block, "attn_norm.weight", input);
                let scanned = self.mamba2(block, inputs.states, mamba, normed);
                let both = self.graph.add(attended, scanned);
                return self.parallel_end(block, inputs, both, input);
            }
            _ => {
                // A layer of only a feed-forward network (Nemotron-H).
                let out = self.hybrid_network(block, style, normed);
                return self.graph.add(out, residual);
            }
        };
        if self.is_last(block) && !style.rows_last {
            (stream, residual) = self.last_rows(inputs.out_ids, stream, residual);
        }
        if style.scaled {
            stream = self.graph.scale(stream);
        }
        let mut mixed = self.graph.add(stream, residual);
        if self.plan.prediction && style.scores_first {
            mixed = self.graph.get_rows(mixed, inputs.out_ids);
        }
        if matches!(block.layer.feed_forward, FeedForward::None) {
            return mixed;
        }
        self.graph.stage(Part::FeedForward, Some(block.place));
        let name = if block.weights.get("ffn_norm.weight").is_some() {
            "ffn_norm.weight"
        } else {
            "post_attention_norm.weight"
        };
        let normed = self.rms_norm(block, name, mixed);
        let mut out = self.hybrid_network(block, style, normed);
        if style.scaled {
            out = self.graph.scale(out);
        }
        self.graph.add(out, mixed)
    }

    /// The rest of a block whose mixers run side by side (Falcon-H1).
    fn parallel_end(&mut self, block: &Block, inputs: &Inputs, both: Id, input: Id) -> Id {
        let mut residual = self.graph.add(both, input);
        if self.is_last(block) {
            residual = self.graph.get_rows(residual, inputs.out_ids);
        }
        self.graph.stage(Part::FeedForward, Some(block.place));
        // Its file names this norm without the ending.
        let normed = self.rms_norm(block, "ffn_norm", residual);
        let activation = self.activation();
        let out = self.feed_forward(block, Names::DENSE, activation, false, normed);
        self.graph.add(out, residual)
    }

    /// Attention with its output projection; the query projection may also yield a gate.
    fn hybrid_attention(
        &mut self,
        block: &Block,
        attention: &Attention,
        inputs: &Inputs,
        a: Id,
    ) -> Id {
        let shape = heads(attention);
        let (mut qkv, gate) = if attention.output_gate {
            self.gated_qkv(block, attention, a)
        } else {
            (self.qkv(block, shape, a), None)
        };
        if block.weights.get("attn_q_norm.weight").is_some() {
            qkv.q = self.rms_norm(block, "attn_q_norm.weight", qkv.q);
            qkv.k = self.rms_norm(block, "attn_k_norm.weight", qkv.k);
        }
        if attention.rotary_dim > 0 {
            let factors = self.rope_factors(block);
            qkv.q = self.graph.rope(qkv.q, inputs.positions, factors);
            qkv.k = self.graph.rope(qkv.k, inputs.positions, factors);
        }
        let mut mixed = self.attend(block, shape, &inputs.cache, qkv, Softmax::default());
        if let Some(gate) = gate {
            let open = self.graph.map(Op::Sigmoid, gate);
            mixed = self.graph.mul(mixed, open);
        }
        self.output_projection(block, mixed)
    }

    /// Queries with a gate beside each head.
    fn gated_qkv(&mut self, block: &Block, attention: &Attention, a: Id) -> (Qkv, Option<Id>) {
        let tokens = self.batch.tokens;
        let (width, count) = (attention.head_dim, attention.num_attention_heads);
        let both = self.project(block, "attn_q.weight", a);
        let k = self.project(block, "attn_k.weight", a);
        let v = self.project(block, "attn_v.weight", a);
        let head = 8 * width;
        let nb = [head, head.saturating_mul(count)];
        let q = self.graph.view_3d(both, [width, count, tokens], nb, 0);
        let gate = self
            .graph
            .view_3d(both, [width, count, tokens], nb, 4 * width);
        let flat = [width.saturating_mul(count), tokens, 1, 1];
        let gate = self.graph.cont_as(gate, flat);
        let kv = attention.num_key_value_heads;
        let k = self.graph.reshape(k, [width, kv, tokens, 1]);
        let v = self.graph.reshape(v, [attention.v_head_dim, kv, tokens, 1]);
        (Qkv { q, k, v }, Some(gate))
    }

    fn hybrid_network(&mut self, block: &Block, style: HybridStyle, a: Id) -> Id {
        let activation = self.activation();
        self.graph.stage(Part::FeedForward, Some(block.place));
        match &block.layer.feed_forward {
            FeedForward::None => a,
            FeedForward::Dense(_) => self.feed_forward(block, Names::DENSE, activation, false, a),
            FeedForward::Experts(experts) => {
                self.graph.stage(Part::Experts, Some(block.place));
                let routing = style
                    .routing
                    .unwrap_or_else(|| Routing::of(experts, activation));
                self.hybrid_experts(block, style, experts, routing, a)
            }
        }
    }

    fn hybrid_experts(
        &mut self,
        block: &Block,
        style: HybridStyle,
        experts: &Experts,
        routing: Routing,
        a: Id,
    ) -> Id {
        let low = self.project(block, "ffn_latent_down.weight", a);
        let scores = style
            .scores_first
            .then(|| self.project(block, "ffn_gate_inp.weight", a));
        let mut out = self.routed(block, experts, routing, low, scores, None);
        out = self.project(block, "ffn_latent_up.weight", out);
        if block.weights.get("ffn_up_shexp.weight").is_none() {
            return out;
        }
        let activation = self.activation();
        let mut shared = self.feed_forward(block, Names::SHARED, activation, false, a);
        if let Some(gate) = self.weight(block, "ffn_gate_inp_shexp.weight") {
            let gate = self.graph.mul_mat(gate, a);
            let gate = self.graph.map(Op::Sigmoid, gate);
            shared = self.graph.mul(shared, gate);
        }
        self.graph.add(out, shared)
    }
}

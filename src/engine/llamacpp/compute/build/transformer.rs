//! Decoders of attention and feed-forward blocks over one residual stream: `src/models/{llama,mistral3,qwen2,qwen3,
//! qwen2moe,qwen3moe,qwen3vl,phi3,gemma2,gemma3,openai-moe,glm4,glm4-moe,minimax-m2,olmo2,granite,smollm3,deci,
//! command-r,cohere2,llama4,exaone4,seed-oss,ernie4-5,ernie4-5-moe,hunyuan-vl,hunyuan-moe,olmoe,dots1}.cpp`
//! (0.6.0-dev). What the model and its weights say decides; an architecture adds only what they do not show.

use super::Builder;
use super::attention::{Heads, Qkv, Softmax};
use super::experts::Routing;
use super::feed_forward::Names;
use super::input::Caches;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::mixer::{Attention, QkNorm};
use crate::model::{Activation, Experts, FeedForward, Mixer, Norm, Scoring};

/// What an architecture's graph does beyond what the model says.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a node that a graph has or not"
)]
pub(super) struct Style {
    /// The embedding is scaled.
    pub(super) scaled_embedding: bool,
    /// Scaled rows by an input of their own, for tokens only (Gemma 3).
    pub(super) scaled_rows: bool,
    /// Queries are scaled by a node of their own instead of in the softmax.
    pub(super) scaled_queries: bool,
    /// Outputs of mixer and network are scaled before they are added.
    pub(super) scaled_residual: bool,
    /// Logits are scaled.
    pub(super) scaled_logits: bool,
    /// A tanh caps the logits.
    pub(super) capped_logits: bool,
    /// All rows go through the last block; rows of logits are chosen before the last norm (gpt-oss).
    pub(super) rows_after_blocks: bool,
    /// Weights of experts are normalized and scored as the architecture, not the model, says.
    pub(super) routing: Option<Routing>,
    /// Positions have this many axes.
    pub(super) axes: u64,
    /// Queries are scaled by position.
    pub(super) position_scales: PositionScales,
    /// Blocks with a window have a cache of their own (`swa_type`).
    pub(super) windows: bool,
    /// Weights of experts are normalized whatever the model says.
    pub(super) normalized_experts: bool,
    /// The last norm of a block is bound to it (GLM-4).
    pub(super) pinned_last_norm: bool,
    /// The residual is the first operand of the network's sum (Phi-3).
    pub(super) residual_first: bool,
    /// Queries and keys are normalized after their rotation (Hunyuan).
    pub(super) norms_after_rotation: bool,
    /// Intermediate images enter the first blocks (Qwen3-VL).
    pub(super) deepstack: u64,
}

/// Whose queries are scaled by position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PositionScales {
    /// Nobody's.
    #[default]
    None,
    /// Those of every block (Mistral 3).
    All,
    /// Those of blocks without rotation (Llama 4).
    Unrotated,
}

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn transformer(&mut self, style: Style) -> Id {
        let hidden = self.hidden_size();
        let width = hidden.saturating_mul(style.deepstack + 1);
        let input = self.embeddings(width, true);
        let mut stream = input;
        if style.deepstack > 0 {
            let (tokens, [_, row, ..]) = (self.batch.tokens, self.graph.at(input).nb);
            stream = self.graph.view_2d(input, hidden, tokens, row, 0);
        }
        if style.scaled_embedding {
            stream = self.graph.scale(stream);
        }
        if style.scaled_rows {
            let rows = self.row_scales();
            stream = self.graph.mul(stream, rows);
        }
        self.graph.expand(stream);
        let positions = self.positions(style.axes.max(1));
        let by_position =
            (style.position_scales != PositionScales::None).then(|| self.position_scales());
        let caches = self.attention_caches(style.windows);
        let out_ids = self.output_ids();
        let plan = self.plan;
        for block in &plan.blocks {
            stream = self.block(
                block,
                style,
                stream,
                positions,
                by_position,
                &caches,
                out_ids,
            );
            if (block.index as u64) < style.deepstack {
                let (tokens, [_, row, ..]) = (self.batch.tokens, self.graph.at(input).nb);
                let offset = hidden.saturating_mul(4 * (block.index as u64 + 1));
                let image = self.graph.view_2d(input, hidden, tokens, row, offset);
                stream = self.graph.add(stream, image);
            }
        }
        if style.rows_after_blocks {
            self.graph.set_output(stream);
            stream = self.graph.get_rows(stream, out_ids);
        }
        let kind = norm_op(self.final_norm());
        let mut logits = self.head(kind, stream);
        if style.scaled_logits {
            logits = self.graph.scale(logits);
        }
        if style.capped_logits {
            logits = self.cap(logits);
        }
        logits
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the inputs of a graph, each used once"
    )]
    pub(super) fn block(
        &mut self,
        block: &Block,
        style: Style,
        input: Id,
        positions: Id,
        by_position: Option<Id>,
        caches: &Caches,
        out_ids: Id,
    ) -> Id {
        self.graph.stage(Part::Attention, Some(block.place));
        let norms = block.layer.norms;
        let kind = norm_op(norms.kind);
        let mut residual = input;
        let normed = if norms.before_mixer {
            self.norm(block, kind, ("attn_norm.weight", "attn_norm.bias"), input)
        } else {
            input
        };
        let mut stream = match &block.layer.mixer {
            Mixer::Attention(attention) => {
                let mixed = self.self_attention(
                    block,
                    style,
                    attention,
                    normed,
                    positions,
                    by_position,
                    caches,
                );
                self.output_projection(block, mixed)
            }
            // A linear layer in place of attention, or nothing (pruned models).
            _ => self.project(block, "attn_output.weight", normed),
        };
        let mut parallel = normed;
        if self.is_last(block) && !style.rows_after_blocks {
            stream = self.graph.get_rows(stream, out_ids);
            residual = self.graph.get_rows(residual, out_ids);
            if !norms.before_feed_forward && !norms.after_feed_forward && norms.before_mixer {
                parallel = self.graph.get_rows(parallel, out_ids);
            }
        }
        let in_parallel =
            norms.before_mixer && !norms.before_feed_forward && !norms.after_feed_forward;
        if in_parallel {
            self.graph.stage(Part::FeedForward, Some(block.place));
            let out = self.network(block, style, parallel);
            let sum = self.graph.add(out, residual);
            return self.graph.add(sum, stream);
        }
        if norms.after_mixer {
            stream = self.rms_norm(block, "post_attention_norm.weight", stream);
        }
        if style.scaled_residual {
            stream = self.graph.scale(stream);
        }
        let attended = if matches!(block.layer.mixer, Mixer::None) && stream == input {
            stream
        } else {
            self.graph.add(stream, residual)
        };
        self.after_attention(block, style, attended)
    }

    fn after_attention(&mut self, block: &Block, style: Style, attended: Id) -> Id {
        self.graph.stage(Part::FeedForward, Some(block.place));
        if matches!(block.layer.feed_forward, FeedForward::None) {
            return attended;
        }
        let norms = block.layer.norms;
        let kind = norm_op(norms.kind);
        let normed = if !norms.before_feed_forward {
            attended
        } else if block.weights.get("ffn_norm.weight").is_some() {
            self.norm(block, kind, ("ffn_norm.weight", "ffn_norm.bias"), attended)
        } else {
            // Called by what it follows (gpt-oss, GLM-4.5).
            self.rms_norm(block, "post_attention_norm.weight", attended)
        };
        let mut out = self.network(block, style, normed);
        if norms.after_feed_forward {
            out = if style.pinned_last_norm {
                self.rms_norm(block, "post_ffw_norm.weight", out)
            } else {
                self.unbound_norm(block, "post_ffw_norm.weight", out)
            };
        }
        if style.scaled_residual {
            out = self.graph.scale(out);
        }
        if style.residual_first {
            self.graph.add(attended, out)
        } else {
            self.graph.add(out, attended)
        }
    }

    /// Dense network or experts.
    fn network(&mut self, block: &Block, style: Style, a: Id) -> Id {
        let activation = self.activation();
        match &block.layer.feed_forward {
            FeedForward::None => a,
            FeedForward::Dense(_) => {
                let joint = block.weights.get("ffn_gate.weight").is_none();
                let joint = joint && Self::is_joint(block);
                self.feed_forward(block, Names::DENSE, activation, joint, a)
            }
            FeedForward::Experts(experts) => {
                self.graph.stage(Part::Experts, Some(block.place));
                let mut routing = style
                    .routing
                    .unwrap_or_else(|| Routing::of(experts, activation));
                routing.normalized |= style.normalized_experts;
                self.experts_with_shared(block, experts, routing, a)
            }
        }
    }

    /// Routed experts and what runs beside them.
    pub(super) fn experts_with_shared(
        &mut self,
        block: &Block,
        experts: &Experts,
        routing: Routing,
        a: Id,
    ) -> Id {
        let routed = self.routed(block, experts, routing, a, None, None);
        if block.weights.get("ffn_up_shexp.weight").is_none() {
            return routed;
        }
        let activation = self.activation();
        let mut shared = self.feed_forward(block, Names::SHARED, activation, false, a);
        if let Some(gate) = self.weight(block, "ffn_gate_inp_shexp.weight") {
            // A sigmoid as the quotient of the gate's activation and the gate (`src/models/qwen2moe.cpp`).
            let gate = self.graph.mul_mat(gate, a);
            let active = self.graph.map(Op::Unary, gate);
            let open = self.graph.zip(Op::Div, active, gate);
            shared = self.graph.mul(shared, open);
        }
        self.graph.add(routed, shared)
    }

    /// The up matrix is twice as wide as down takes.
    fn is_joint(block: &Block) -> bool {
        let width = |name: &str, dimension: usize| {
            let weight = block.weights.get(name)?;
            weight.ne.get(dimension).copied()
        };
        width("ffn_up.weight", 1) > width("ffn_down.weight", 0)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the inputs of a graph, each used once"
    )]
    fn self_attention(
        &mut self,
        block: &Block,
        style: Style,
        attention: &Attention,
        a: Id,
        positions: Id,
        by_position: Option<Id>,
        caches: &Caches,
    ) -> Id {
        let heads = heads(attention);
        let whole = block
            .weights
            .get("attn_q_norm.weight")
            .is_some_and(|norm| norm.ne == [attention.q_width(), 1, 1, 1]);
        let whole = whole && attention.qk_norm == QkNorm::Full;
        let mut qkv = if whole {
            self.fully_normed(block, heads, a)
        } else {
            self.qkv(block, heads, a)
        };
        let kind = norm_op(block.layer.norms.kind);
        let normed = block.weights.get("attn_q_norm.weight").is_some() && !whole;
        if normed && !style.norms_after_rotation {
            qkv.q = self.norm(block, kind, ("attn_q_norm.weight", ""), qkv.q);
            qkv.k = self.norm(block, kind, ("attn_k_norm.weight", ""), qkv.k);
        }
        if attention.rotary_dim > 0 {
            let factors = self.rope_factors(block);
            qkv.q = self.graph.rope(qkv.q, positions, factors);
            qkv.k = self.graph.rope(qkv.k, positions, factors);
        }
        if normed && style.norms_after_rotation {
            qkv.q = self.norm(block, kind, ("attn_q_norm.weight", ""), qkv.q);
            qkv.k = self.norm(block, kind, ("attn_k_norm.weight", ""), qkv.k);
        }
        if attention.qk_norm == QkNorm::Weightless && attention.rotary_dim > 0 {
            qkv.q = self.graph.map(Op::RmsNorm, qkv.q);
            qkv.k = self.graph.map(Op::RmsNorm, qkv.k);
        }
        if style.scaled_queries {
            qkv.q = self.graph.scale(qkv.q);
        }
        let scaled = style.position_scales == PositionScales::All || attention.rotary_dim == 0;
        if let Some(scales) = by_position.filter(|_| scaled) {
            qkv.q = self.graph.mul(qkv.q, scales);
        }
        let cache = caches.of(attention);
        let softmax = Softmax {
            sinks: self.weight(block, "attn_sinks.weight"),
            v_up: None,
            capped: attention.logit_softcapping,
        };
        self.attend(block, heads, &cache, qkv, softmax)
    }

    /// Norms over whole projections, before they are cut into heads (OLMo 2, MiniMax-M2).
    fn fully_normed(&mut self, block: &Block, heads: Heads, a: Id) -> Qkv {
        let tokens = self.batch.tokens;
        let q = self.project(block, "attn_q.weight", a);
        let k = self.project(block, "attn_k.weight", a);
        let v = self.project(block, "attn_v.weight", a);
        let q = self.rms_norm(block, "attn_q_norm.weight", q);
        let k = self.rms_norm(block, "attn_k_norm.weight", k);
        Qkv {
            q: self.graph.reshape(q, [heads.k_width, heads.q, tokens, 1]),
            k: self.graph.reshape(k, [heads.k_width, heads.kv, tokens, 1]),
            v: self.graph.reshape(v, [heads.v_width, heads.kv, tokens, 1]),
        }
    }
}

/// The bare operation of a norm.
pub(super) fn norm_op(norm: Norm) -> Op {
    match norm {
        Norm::Rms => Op::RmsNorm,
        Norm::LayerNorm | Norm::LayerNormWithBias => Op::Norm,
    }
}

/// Shapes of an attention.
pub(super) fn heads(attention: &Attention) -> Heads {
    Heads {
        q: attention.num_attention_heads,
        kv: attention.num_key_value_heads,
        k_width: attention.head_dim,
        v_width: attention.v_head_dim,
    }
}

/// Experts scored by softmax, not normalized whatever the model says.
pub(super) const SOFTMAX: Routing = Routing {
    normalized: false,
    ..SOFTMAX_NORMALIZED
};

/// Experts scored by softmax, normalized.
pub(super) const SOFTMAX_NORMALIZED: Routing = Routing {
    scoring: Scoring::Softmax,
    normalized: true,
    scaled: false,
    weights_first: false,
    activation: Activation::Silu,
};

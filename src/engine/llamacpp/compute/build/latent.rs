//! Decoders with multi-head latent attention: `src/models/deepseek2.cpp`, `src/models/minicpm3.cpp` (0.6.0-dev).

use super::Builder;
use super::attention::{Heads, Qkv, Softmax};
use super::experts::Routing;
use super::feed_forward::Names;
use super::input::{CacheInputs, CacheShape};
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part, row_bytes};
use crate::model::mixer::LatentAttention;
use crate::model::{FeedForward, Mixer};
use crate::quant::Type;

/// How keys and values are made of the latent vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The latent vector itself is cached; queries are brought to its space.
    Absorbed,
    /// Keys and values of every head are cached.
    Expanded,
}

/// What an architecture adds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LatentStyle {
    /// Embedding, residuals and head input are scaled (MiniCPM3).
    pub(super) scaled: bool,
}

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn latent_decoder(&mut self, style: LatentStyle) -> Id {
        let plan = self.plan;
        let mut stream = self.embeddings(self.hidden_size(), true);
        self.graph.expand(stream);
        if style.scaled {
            stream = self.graph.scale(stream);
        }
        let positions = self.positions(1);
        let first = plan.blocks.iter().find_map(latent);
        let form = match plan.blocks.first() {
            Some(block) if block.weights.get("attn_k_b.weight").is_some() => Form::Absorbed,
            _ => Form::Expanded,
        };
        let cache = match (form, first) {
            (Form::Expanded, Some(latent)) => self.cache_inputs(CacheShape {
                cells: self.load.cells,
                head_k: latent.qk_head_dim(),
                head_v: latent.v_head_dim,
                v_width: latent.num_attention_heads.saturating_mul(latent.v_head_dim),
            }),
            _ => self.latent_cache(),
        };
        let out_ids = self.output_ids();
        for block in &plan.blocks {
            stream = self.latent_block(block, style, form, stream, positions, &cache, out_ids);
        }
        self.graph.stage(Part::Output, None);
        let normed = self.outside_norm(Op::RmsNorm, "output_norm.weight", stream);
        self.graph.set_output(normed);
        let normed = if style.scaled {
            self.graph.scale(normed)
        } else {
            normed
        };
        self.logits(normed)
    }

    /// A block whose input is given, all its rows kept.
    pub(super) fn predicting_latent(
        &mut self,
        block: &Block,
        style: LatentStyle,
        input: Id,
        out_ids: Id,
    ) -> Id {
        let positions = self.positions(1);
        let cache = self.latent_cache();
        let form = Form::Absorbed;
        self.latent_block(block, style, form, input, positions, &cache, out_ids)
    }

    /// Inputs of a cache of keys alone (`build_attn_inp_k`).
    pub(super) fn latent_cache(&mut self) -> CacheInputs {
        let tokens = self.batch.tokens;
        let k_cells = self.graph.input(Type::I64, [tokens, 1, 1, 1]);
        let mask = self.mask(self.load.cells);
        CacheInputs {
            k_cells,
            v_cells: k_cells,
            mask,
            k_rotation: None,
            v_rotation: None,
            cells: self.load.cells,
            keys_first: false,
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the inputs of a graph, each used once"
    )]
    fn latent_block(
        &mut self,
        block: &Block,
        style: LatentStyle,
        form: Form,
        input: Id,
        positions: Id,
        cache: &CacheInputs,
        out_ids: Id,
    ) -> Id {
        self.graph.stage(Part::Attention, Some(block.place));
        let normed = self.rms_norm(block, "attn_norm.weight", input);
        let Some(latent) = latent(block) else {
            return input;
        };
        let mixed = self.latent_attention(block, latent, form, normed, positions, cache);
        let (mut stream, mut residual) = (self.output_projection(block, mixed), input);
        if self.is_last(block) {
            (stream, residual) = self.last_rows(out_ids, stream, residual);
        }
        if style.scaled {
            stream = self.graph.scale(stream);
        }
        let attended = self.graph.add(stream, residual);
        self.graph.stage(Part::FeedForward, Some(block.place));
        let normed = self.rms_norm(block, "ffn_norm.weight", attended);
        let mut out = self.latent_network(block, normed);
        if style.scaled {
            out = self.graph.scale(out);
        }
        self.graph.add(out, attended)
    }

    /// Dense network, or experts with a shared one.
    pub(super) fn latent_network(&mut self, block: &Block, a: Id) -> Id {
        let activation = self.activation();
        match &block.layer.feed_forward {
            FeedForward::None => a,
            FeedForward::Dense(_) => self.feed_forward(block, Names::DENSE, activation, false, a),
            FeedForward::Experts(experts) => {
                self.graph.stage(Part::Experts, Some(block.place));
                self.experts_with_shared(block, experts, Routing::of(experts, activation), a)
            }
        }
    }

    /// Queries, by way of a low rank where the file has one.
    pub(super) fn latent_queries(&mut self, block: &Block, a: Id) -> Id {
        if block.weights.get("attn_q_a.weight").is_some() {
            let low = self.project(block, "attn_q_a.weight", a);
            let low = self.rms_norm(block, "attn_q_a_norm.weight", low);
            self.project(block, "attn_q_b.weight", low)
        } else {
            self.project(block, "attn_q.weight", a)
        }
    }

    /// The latent of keys and values, and the part of the keys that bears the position.
    pub(super) fn joint_latent(
        &mut self,
        block: &Block,
        latent: &LatentAttention,
        a: Id,
    ) -> (Id, Id) {
        let tokens = self.batch.tokens;
        let joint = self.project(block, "attn_kv_a_mqa.weight", a);
        let row = row_bytes(Type::F32, latent.latent_width());
        let low = self
            .graph
            .view_2d(joint, latent.kv_lora_rank, tokens, row, 0);
        let positioned = self.graph.view_3d(
            joint,
            [latent.qk_rope_head_dim, 1, tokens],
            [row, row],
            row_bytes(Type::F32, latent.kv_lora_rank),
        );
        (low, positioned)
    }

    /// Queries and the compressed vector with its rotated part.
    fn compressed(&mut self, block: &Block, latent: &LatentAttention, a: Id) -> (Id, Id, Id) {
        let tokens = self.batch.tokens;
        let q = self.latent_queries(block, a);
        let heads = latent.num_attention_heads;
        let q = self
            .graph
            .reshape(q, [latent.qk_head_dim(), heads, tokens, 1]);
        let (low, rotated) = self.joint_latent(block, latent, a);
        (q, low, rotated)
    }

    fn latent_attention(
        &mut self,
        block: &Block,
        latent: &LatentAttention,
        form: Form,
        a: Id,
        positions: Id,
        cache: &CacheInputs,
    ) -> Id {
        let (q, low, rotated) = self.compressed(block, latent, a);
        let factors = self.rope_factors(block);
        let rotated = self.graph.rope(rotated, positions, factors);
        let low = self.rms_norm(block, "attn_kv_a_norm.weight", low);
        match form {
            Form::Absorbed => {
                let (q, k, v) = self.absorb(block, latent, q, low, rotated, positions);
                self.attend_latent(block, latent, cache, [q, k, v], None)
            }
            Form::Expanded => {
                let qkv = self.expanded(block, latent, q, low, rotated, positions);
                let heads = Heads {
                    q: latent.num_attention_heads,
                    kv: latent.num_attention_heads,
                    k_width: latent.qk_head_dim(),
                    v_width: latent.v_head_dim,
                };
                self.attend(block, heads, cache, qkv, Softmax::default())
            }
        }
    }

    /// Queries in the space of the latent vector, and that vector as key and value.
    pub(super) fn absorb(
        &mut self,
        block: &Block,
        latent: &LatentAttention,
        q: Id,
        low: Id,
        rotated: Id,
        positions: Id,
    ) -> (Id, Id, Id) {
        let (tokens, heads) = (self.batch.tokens, latent.num_attention_heads);
        let [_, nb1, nb2, _] = self.graph.at(q).nb;
        let nope = latent.qk_nope_head_dim;
        let plain = self.graph.view_3d(q, [nope, heads, tokens], [nb1, nb2], 0);
        let turned = self.graph.view_3d(
            q,
            [latent.qk_rope_head_dim, heads, tokens],
            [nb1, nb2],
            row_bytes(Type::F32, nope),
        );
        let turned = self.graph.rope(turned, positions, None);
        let plain = self.graph.permute(plain, [0, 2, 1, 3]);
        let absorbed = self.project(block, "attn_k_b.weight", plain);
        let absorbed = self.graph.permute(absorbed, [0, 2, 1, 3]);
        let q = self.graph.concat(absorbed, turned, 0);
        let low = self.graph.reshape(low, [latent.kv_lora_rank, 1, tokens, 1]);
        let k = self.graph.concat(low, rotated, 0);
        (q, k, low)
    }

    /// Stores the latent vector and attends over it as key and value of one head, at the chosen positions where there
    /// is a choice.
    pub(super) fn attend_latent(
        &mut self,
        block: &Block,
        latent: &LatentAttention,
        cache: &CacheInputs,
        [q, k, v]: [Id; 3],
        chosen: Option<Id>,
    ) -> Id {
        for id in [q, v, k] {
            self.graph.expand(id);
        }
        let heads = Heads {
            q: latent.num_attention_heads,
            kv: 1,
            k_width: latent.latent_width(),
            v_width: latent.kv_lora_rank,
        };
        let (k_cache, _) = self.caches(block, heads, cache.cells);
        let stored = self.store_keys(k_cache, k, cache.k_cells);
        self.graph.expand(stored);
        let mask = match chosen {
            Some(chosen) => self.open_chosen(cache.mask, chosen, Type::F32),
            None => cache.mask,
        };
        let k = self.cached_keys(k_cache, heads, cache.cells);
        let ([_, ne1, ne2, ne3], [_, nb1, nb2, nb3]) = (self.graph.at(k).ne, self.graph.at(k).nb);
        let v = self
            .graph
            .view(k, [latent.kv_lora_rank, ne1, ne2, ne3], [nb1, nb2, nb3], 0);
        let softmax = Softmax {
            v_up: self.weight(block, "attn_v_b.weight"),
            ..Softmax::default()
        };
        self.mix(block, q, k, v, mask, softmax)
    }

    /// Keys and values of every head.
    fn expanded(
        &mut self,
        block: &Block,
        latent: &LatentAttention,
        q: Id,
        low: Id,
        rotated: Id,
        positions: Id,
    ) -> Qkv {
        let (tokens, heads) = (self.batch.tokens, latent.num_attention_heads);
        let both = self.project(block, "attn_kv_b.weight", low);
        let (nope, v_width) = (latent.qk_nope_head_dim, latent.v_head_dim);
        let head = row_bytes(Type::F32, nope.saturating_add(v_width));
        let row = head.saturating_mul(heads);
        let k_nope = self
            .graph
            .view_3d(both, [nope, heads, tokens], [head, row], 0);
        let v = self.graph.view_3d(
            both,
            [v_width, heads, tokens],
            [head, row],
            row_bytes(Type::F32, nope),
        );
        let v = self.graph.cont(v);
        let factors = self.rope_factors(block);
        let q = self.graph.rope(q, positions, factors);
        let rotated = self
            .graph
            .repeat(rotated, [latent.qk_rope_head_dim, heads, tokens, 1]);
        let k = self.graph.concat(k_nope, rotated, 0);
        Qkv { q, k, v }
    }
}

/// The latent attention of a block.
pub(super) fn latent(block: &Block) -> Option<&LatentAttention> {
    match &block.layer.mixer {
        Mixer::Latent(latent) => Some(latent),
        _ => None,
    }
}

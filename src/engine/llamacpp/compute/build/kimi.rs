//! Kimi K3 (`src/models/kimi-k3.cpp` 0.6.0-dev): delta attention with a decay per channel, latent attention without
//! positions in between, experts on a narrower stream, and attention over the residuals at the ends of earlier blocks.

use super::Builder;
use super::experts::Routing;
use super::feed_forward::Names;
use super::input::CacheInputs;
use super::recurrent::{F32, StateInputs, States};
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part, row_bytes};
use crate::model::mixer::{GatedDeltaNet, KimiDelta, LatentAttention};
use crate::model::{FeedForward, Mixer};
use crate::quant::Type;

/// Inputs of both kinds of layers.
#[derive(Clone, Copy)]
struct Inputs {
    cache: CacheInputs,
    states: StateInputs,
}

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn kimi_decoder(&mut self) -> Id {
        let plan = self.plan;
        let mut stream = self.embeddings(self.hidden_size(), true);
        self.graph.expand(stream);
        let inputs = Inputs {
            states: self.state_inputs(),
            cache: self.latent_cache(),
        };
        let out_ids = self.output_ids();
        let mut bank = None;
        for block in &plan.blocks {
            stream = self.kimi_block(block, inputs, &mut bank, stream);
        }
        self.graph.stage(Part::Output, None);
        let score = self.outside("output_res_score.weight");
        let mixed = self.mix_residuals(bank, score, stream);
        let rows = self.graph.get_rows(mixed, out_ids);
        self.head(Op::RmsNorm, rows)
    }

    fn kimi_block(
        &mut self,
        block: &Block,
        inputs: Inputs,
        bank: &mut Option<Id>,
        input: Id,
    ) -> Id {
        self.graph.stage(Part::Attention, Some(block.place));
        let score = self.weight(block, "attn_res_score.weight");
        let mixed = self.mix_residuals(*bank, score, input);
        let every = self.plan.trunk.residual_blocks;
        let banked = every > 0 && (block.index as u64).is_multiple_of(every);
        if banked {
            let (hidden, tokens) = (self.hidden_size(), self.batch.tokens);
            let entry = self.graph.reshape(input, [hidden, 1, tokens, 1]);
            *bank = Some(match *bank {
                Some(earlier) => self.graph.concat(earlier, entry, 1),
                None => entry,
            });
        }
        let normed = self.rms_norm(block, "attn_norm.weight", mixed);
        self.graph.expand(normed);
        let out = match &block.layer.mixer {
            Mixer::KimiDelta(delta) => {
                self.graph.stage(Part::Recurrent, Some(block.place));
                self.kimi_delta(block, inputs.states, delta, normed)
            }
            Mixer::Latent(latent) => self.kimi_latent(block, inputs.cache, latent, normed),
            _ => normed,
        };
        let attended = if banked {
            out
        } else {
            self.graph.add(input, out)
        };
        self.graph.stage(Part::FeedForward, Some(block.place));
        let score = self.weight(block, "ffn_res_score.weight");
        let mixed = self.mix_residuals(*bank, score, attended);
        let normed = self.rms_norm(block, "ffn_norm.weight", mixed);
        let out = self.kimi_network(block, normed);
        self.graph.add(attended, out)
    }

    /// Attention of the stream over what was banked (`res_mix`).
    fn mix_residuals(&mut self, bank: Option<Id>, score: Option<Id>, a: Id) -> Id {
        let (Some(bank), Some(score)) = (bank, score) else {
            return a;
        };
        let [hidden, entries, tokens, _] = self.graph.at(bank).ne;
        let rate = |builder: &mut Self, of: Id| {
            let normed = builder.graph.map(Op::RmsNorm, of);
            let weighted = builder.graph.mul(normed, score);
            builder.graph.sum_rows(weighted)
        };
        let banked = rate(self, bank);
        let banked = self.graph.reshape(banked, [entries, tokens, 1, 1]);
        let current = rate(self, a);
        let scores = self.graph.concat(banked, current, 0);
        let weights = self.graph.soft_max(scores, None, None);
        let [_, row, ..] = self.graph.at(weights).nb;
        let of_bank = self.graph.view_2d(weights, entries, tokens, row, 0);
        let of_bank = self.graph.cont(of_bank);
        let of_current = self.graph.view_2d(weights, 1, tokens, row, F32 * entries);
        let of_current = self.graph.cont(of_current);
        let ne = [hidden, tokens, 1, 1];
        let sum = self
            .graph
            .node(Op::HyperPre, Type::F32, ne, [bank, of_bank]);
        let current = self.graph.mul(a, of_current);
        self.graph.add(sum, current)
    }

    fn kimi_network(&mut self, block: &Block, a: Id) -> Id {
        let FeedForward::Experts(experts) = &block.layer.feed_forward else {
            return self.situ_network(block, Names::DENSE, a);
        };
        self.graph.stage(Part::Experts, Some(block.place));
        let low = self.project(block, "ffn_routed_down.weight", a);
        let scores = self.project(block, "ffn_gate_inp.weight", a);
        let routing = Routing::of(experts, self.activation());
        let mut out = self.routed(block, experts, routing, low, Some(scores), None);
        if block.weights.get("ffn_routed_norm.weight").is_some() {
            out = self.rms_norm(block, "ffn_routed_norm.weight", out);
        }
        out = self.project(block, "ffn_routed_up.weight", out);
        if block.weights.get("ffn_gate_shexp.weight").is_none() {
            return out;
        }
        let shared = self.situ_network(block, Names::SHARED, a);
        self.graph.add(out, shared)
    }

    fn situ_network(&mut self, block: &Block, names: Names, a: Id) -> Id {
        let gate = self.project(block, names.gate, a);
        let up = self.project(block, names.up, a);
        let inner = self.situ(gate, up);
        self.project(block, names.down, inner)
    }

    /// A bounded gate times a bounded value.
    pub(super) fn situ(&mut self, gate: Id, up: Id) -> Id {
        let bounded = self.cap(gate);
        let open = self.graph.map(Op::Sigmoid, gate);
        let gate = self.graph.mul(bounded, open);
        let up = self.cap(up);
        self.graph.mul(gate, up)
    }

    /// Latent attention without positions, under an output gate.
    fn kimi_latent(
        &mut self,
        block: &Block,
        cache: CacheInputs,
        latent: &LatentAttention,
        a: Id,
    ) -> Id {
        let (tokens, heads) = (self.batch.tokens, latent.num_attention_heads);
        let q = self.latent_queries(block, a);
        let (low, rest) = self.joint_latent(block, latent, a);
        let low = self.rms_norm(block, "attn_kv_a_norm.weight", low);
        let head = row_bytes(Type::F32, latent.qk_head_dim());
        let nb = [head, head.saturating_mul(heads)];
        let nope = latent.qk_nope_head_dim;
        let plain = self.graph.view_3d(q, [nope, heads, tokens], nb, 0);
        let other = self.graph.view_3d(
            q,
            [latent.qk_rope_head_dim, heads, tokens],
            nb,
            row_bytes(Type::F32, nope),
        );
        let plain = self.graph.permute(plain, [0, 2, 1, 3]);
        let absorbed = self.project(block, "attn_k_b.weight", plain);
        let absorbed = self.graph.permute(absorbed, [0, 2, 1, 3]);
        let q = self.graph.concat(absorbed, other, 0);
        let low = self.graph.reshape(low, [latent.kv_lora_rank, 1, tokens, 1]);
        let k = self.graph.concat(low, rest, 0);
        let mut out = self.attend_latent(block, latent, &cache, [q, k, low], None);
        if let Some(gate) = self.weight(block, "attn_gate.weight") {
            let gate = self.graph.mul_mat(gate, a);
            let gate = self.graph.map(Op::Sigmoid, gate);
            out = self.graph.mul(out, gate);
        }
        self.project(block, "attn_output.weight", out)
    }

    /// One layer of delta attention (`build_kda_layer`).
    fn kimi_delta(&mut self, block: &Block, inputs: StateInputs, delta: &KimiDelta, a: Id) -> Id {
        let (steps, sequences, tokens) = (self.steps(), self.batch.sequences, self.batch.tokens);
        let (heads, width) = (delta.num_heads, delta.head_dim);
        let conv_states = self.states(block, delta.conv_state());
        let conv = self.gather(inputs, conv_states, None);
        let names = [
            ("attn_q.weight", "ssm_conv1d_q.weight"),
            ("attn_k.weight", "ssm_conv1d_k.weight"),
            ("attn_v.weight", "ssm_conv1d_v.weight"),
        ];
        let parts = [0, 1, 2]
            .into_iter()
            .zip(names)
            .map(|(part, names)| self.kimi_conv(block, delta, (conv_states, conv), part, names, a));
        let parts: Vec<Id> = parts.collect();
        let [q, k, v] = parts.try_into().unwrap_or([a; 3]);
        let gate = self.kimi_decay(block, delta, a);
        let beta = self.project(block, "ssm_beta.weight", a);
        let beta = self.graph.reshape(beta, [1, heads, steps, sequences]);
        let beta = self.graph.map(Op::Sigmoid, beta);
        let [hidden, ..] = self.graph.at(a).ne;
        let by_sequence = self.graph.reshape(a, [hidden, steps, sequences, 1]);
        let states = self.states(block, delta.matrix_state());
        let state = self.gather(inputs, states, None);
        let state = self.graph.reshape(state, [width, width, heads, sequences]);
        let [q, k] = [q, k].map(|part| {
            let normed = self.graph.map(Op::RmsNorm, part);
            self.graph.scale(normed)
        });
        let net = GatedDeltaNet {
            linear_num_key_heads: heads,
            linear_num_value_heads: heads,
            linear_key_head_dim: width,
            linear_value_head_dim: width,
            linear_conv_kernel_dim: delta.short_conv_kernel_size,
        };
        let out = self.delta_rule(&net, states, [q, k, v, gate, beta, state]);
        let out = self.graph.cont(out);
        let flat = self.graph.reshape(by_sequence, [hidden, tokens, 1, 1]);
        let shut = self.project(block, "ssm_g.weight", flat);
        let shut = self.graph.reshape(shut, [width, heads, tokens, 1]);
        let out = self.graph.reshape(out, [width, heads, tokens, 1]);
        let normed = self.rms_norm(block, "ssm_norm.weight", out);
        let open = self.graph.map(Op::Sigmoid, shut);
        let gated = self.graph.mul(normed, open);
        let gated = self.graph.cont_as(gated, [delta.width(), tokens, 1, 1]);
        self.project(block, "attn_output.weight", gated)
    }

    /// Decay per channel.
    fn kimi_decay(&mut self, block: &Block, delta: &KimiDelta, a: Id) -> Id {
        let (steps, sequences, tokens) = (self.steps(), self.batch.sequences, self.batch.tokens);
        let (heads, width) = (delta.num_heads, delta.head_dim);
        let low = self.project(block, "ssm_f_a.weight", a);
        let gate = self.project(block, "ssm_f_b.weight", low);
        let gate = self.bias(block, "ssm_dt.bias", gate);
        let gate = self.graph.reshape(gate, [width, heads, tokens, 1]);
        let gate = match self.weight(block, "ssm_a") {
            Some(rate) => {
                let rate = self.graph.reshape(rate, [1, heads, 1, 1]);
                self.graph.mul(gate, rate)
            }
            None => gate,
        };
        let gate = self.graph.scale(gate);
        let gate = self.graph.map(Op::Sigmoid, gate);
        let gate = self.graph.scale(gate);
        self.graph.reshape(gate, [width, heads, steps, sequences])
    }

    /// The convolution of queries, keys or values, with a third of the state (`kimi_k3_conv1d`).
    fn kimi_conv(
        &mut self,
        block: &Block,
        delta: &KimiDelta,
        (states, conv): (States, Id),
        part: u64,
        (matrix, taps_name): (&'static str, &'static str),
        a: Id,
    ) -> Id {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let taps = delta.short_conv_kernel_size.saturating_sub(1);
        let inner = delta.width();
        let (line, row) = (F32 * taps, F32.saturating_mul(delta.conv_state()));
        let own = part.saturating_mul(line).saturating_mul(inner);
        let before = self
            .graph
            .view_3d(conv, [taps, inner, sequences], [line, row], own);
        let new = self.project(block, matrix, a);
        let new = self.graph.reshape(new, [inner, steps, sequences, 1]);
        let new = self.graph.transpose(new);
        let joined = self.graph.concat(before, new, 0);
        let [_, nb1, nb2, _] = self.graph.at(joined).nb;
        let slots = row.saturating_mul(self.load.sequences.max(1));
        for slot in 0..=self.load.rollback_states {
            let from = F32.saturating_mul(steps.saturating_sub(slot));
            let last = self
                .graph
                .view_3d(joined, [taps, inner, sequences], [nb1, nb2], from);
            let at = slot.saturating_mul(slots).saturating_add(own);
            let target =
                self.graph
                    .view_3d(states.cache, [taps, inner, sequences], [line, row], at);
            let stored = self.graph.copy(last, target);
            self.graph.expand(stored);
        }
        let mixed = match self.weight(block, taps_name) {
            Some(weight) => {
                let weight = self
                    .graph
                    .reshape(weight, [delta.short_conv_kernel_size, inner, 1, 1]);
                self.graph.ssm_conv(joined, weight)
            }
            None => joined,
        };
        let mixed = self.graph.reshape(mixed, [inner, self.batch.tokens, 1, 1]);
        let mixed = self.graph.map(Op::Unary, mixed);
        let ne = [delta.head_dim, delta.num_heads, steps, sequences];
        self.graph.reshape(mixed, ne)
    }
}

//! MiniMax-Text-01 and M1 (`src/models/minimax-01.cpp` 0.6.0-dev): lightning attention, a matrix state per head that
//! decays with distance, with softmax attention in between.

use super::Builder;
use super::attention::Softmax;
use super::input::Caches;
use super::recurrent::{F32, StateInputs};
use super::transformer::{SOFTMAX_NORMALIZED, heads};
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::mixer::LightningAttention;
use crate::model::{FeedForward, Mixer};
use crate::quant::Type;

/// What every block reads.
struct Inputs {
    positions: Id,
    caches: Caches,
    states: StateInputs,
    /// Decay per head.
    slopes: Id,
    /// Decay of queries, of keys, and between positions.
    decays: [Id; 3],
    out_ids: Id,
}

impl Builder<'_> {
    /// The graph from tokens to logits.
    pub(super) fn lightning_decoder(&mut self) -> Id {
        let plan = self.plan;
        let mut stream = self.embeddings(self.hidden_size(), true);
        self.graph.expand(stream);
        let lightning = plan.blocks.iter().find_map(|block| lightning(block));
        let count = lightning.map_or(1, |lightning| lightning.num_attention_heads);
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let per_step = [1, count, steps, sequences];
        let inputs = Inputs {
            states: self.state_inputs(),
            caches: self.attention_caches(false),
            positions: self.positions(1),
            out_ids: self.output_ids(),
            slopes: self.graph.input(Type::F32, [count, 1, 1, 1]),
            decays: [per_step, per_step, [steps, steps, count, sequences]]
                .map(|ne| self.graph.input(Type::F32, ne)),
        };
        for block in &plan.blocks {
            stream = self.lightning_block(block, &inputs, stream);
        }
        self.head(Op::RmsNorm, stream)
    }

    fn lightning_block(&mut self, block: &Block, inputs: &Inputs, input: Id) -> Id {
        self.graph.stage(Part::Attention, Some(block.place));
        let normed = self.rms_norm(block, "attn_norm.weight", input);
        let mut stream = match &block.layer.mixer {
            Mixer::Attention(attention) => {
                let shape = heads(attention);
                let mut qkv = self.qkv(block, shape, normed);
                qkv.q = self.graph.rope(qkv.q, inputs.positions, None);
                qkv.k = self.graph.rope(qkv.k, inputs.positions, None);
                let cache = inputs.caches.of(attention);
                let mixed = self.attend(block, shape, &cache, qkv, Softmax::default());
                self.output_projection(block, mixed)
            }
            Mixer::Lightning(lightning) => {
                self.graph.stage(Part::Recurrent, Some(block.place));
                self.lightning(block, inputs, lightning, normed)
            }
            _ => return input,
        };
        let mut residual = normed;
        if self.is_last(block) {
            (stream, residual) = self.last_rows(inputs.out_ids, stream, residual);
        }
        let residual = self.graph.scale(residual);
        let attended = self.graph.add(stream, residual);
        self.graph.stage(Part::Experts, Some(block.place));
        let normed = self.rms_norm(block, "ffn_norm.weight", attended);
        let FeedForward::Experts(experts) = &block.layer.feed_forward else {
            return normed;
        };
        let out = self.experts_with_shared(block, experts, SOFTMAX_NORMALIZED, normed);
        let residual = self.graph.scale(normed);
        self.graph.add(out, residual)
    }

    /// One layer of lightning attention.
    fn lightning(
        &mut self,
        block: &Block,
        inputs: &Inputs,
        lightning: &LightningAttention,
        a: Id,
    ) -> Id {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let (width, count) = (lightning.head_dim, lightning.num_attention_heads);
        // There is no convolution; its state is there, with no elements.
        let conv = self.states(block, 0);
        let conv = self.gather(inputs.states, conv, None);
        self.graph.expand(conv);
        let slope = self.graph.scale(inputs.slopes);
        let [hidden, ..] = self.graph.at(a).ne;
        let a = self.graph.reshape(a, [hidden, steps, 1, sequences]);
        let joint = self.project(block, "attn_qkv.weight", a);
        let joint = self.graph.map(Op::Unary, joint);
        let joint = self
            .graph
            .reshape(joint, [3 * width, count, steps, sequences]);
        let [_, nb1, nb2, nb3] = self.graph.at(joint).nb;
        let ne = [width, count, steps, sequences];
        let [q, k, v] = [0, 1, 2].map(|part| {
            self.graph
                .view(joint, ne, [nb1, nb2, nb3], part * F32 * width)
        });
        let states = self.states(block, lightning.matrix_state());
        let state = self.gather(inputs.states, states, None);
        let old = self.graph.reshape(state, [width, width, count, sequences]);
        let [q_decay, k_decay, between] = inputs.decays.map(|decay| {
            let scaled = self.graph.scale(decay);
            self.graph.map(Op::Unary, scaled)
        });
        let faded = self.graph.mul(q, q_decay);
        let faded = self.graph.permute(faded, [0, 2, 1, 3]);
        let from_state = self.graph.mul_mat(old, faded);
        let q = self.graph.permute(q, [0, 2, 1, 3]);
        let k_heads = self.graph.permute(k, [0, 2, 1, 3]);
        let scores = self.graph.mul_mat(k_heads, q);
        let scores = self.graph.mul(scores, between);
        let v = self.graph.permute(v, [1, 2, 0, 3]);
        let v = self.graph.cont(v);
        let from_batch = self.graph.mul_mat(v, scores);
        let mixed = self.graph.add(from_state, from_batch);
        self.graph.expand(mixed);
        let decay = self.graph.scale(slope);
        let decay = self.graph.map(Op::Unary, decay);
        let decay = self.graph.reshape(decay, [1, 1, count, 1]);
        let kept = self.graph.mul(old, decay);
        let k = self.graph.mul(k, k_decay);
        let k = self.graph.permute(k, [1, 2, 0, 3]);
        let k = self.graph.cont(k);
        let new = self.graph.mul_mat(k, v);
        let new = self.graph.add(kept, new);
        let all = lightning.matrix_state().saturating_mul(sequences);
        let target = self.graph.view_1d(states.cache, all, 0);
        let stored = self.graph.copy(new, target);
        self.graph.expand(stored);
        self.lightning_end(block, lightning, a, mixed)
    }

    /// Norm, gate and output projection.
    fn lightning_end(
        &mut self,
        block: &Block,
        lightning: &LightningAttention,
        a: Id,
        mixed: Id,
    ) -> Id {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let mixed = self.graph.permute(mixed, [0, 2, 1, 3]);
        let mixed = self.graph.cont(mixed);
        let mixed = self
            .graph
            .reshape(mixed, [lightning.width(), steps, 1, sequences]);
        let normed = self.rms_norm(block, "attn_norm_2.weight", mixed);
        let gate = self.project(block, "attn_gate.weight", a);
        let gate = self.graph.map(Op::Sigmoid, gate);
        let open = self.graph.mul(gate, normed);
        let out = self.project(block, "attn_output.weight", open);
        let [hidden, ..] = self.graph.at(out).ne;
        self.graph.reshape(out, [hidden, self.batch.tokens, 1, 1])
    }
}

fn lightning(block: &Block) -> Option<&LightningAttention> {
    match &block.layer.mixer {
        Mixer::Lightning(lightning) => Some(lightning),
        _ => None,
    }
}

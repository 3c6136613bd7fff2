//! States of fixed size (`build_rs`, `src/llama-graph.cpp`) and gated delta nets (`src/models/delta-net-base.cpp`,
//! 0.6.0-dev).

use super::Builder;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Home, Id, Op, row_bytes};
use crate::model::mixer::GatedDeltaNet;
use crate::quant::Type;

/// Bytes of a state element.
pub(super) const F32: u64 = 4;

/// Which state belongs to which sequence.
#[derive(Clone, Copy)]
pub(super) struct StateInputs {
    /// Of every sequence.
    copy: Id,
    /// Of the sequences of the batch.
    main: Id,
    /// Of all but the first.
    tail: Id,
}

/// How a layer reads its states itself: of all states and the rows of its sequences.
pub(super) type Read<'r, 'a> = Option<&'r dyn Fn(&mut Builder<'a>, Id, Id) -> Id>;

/// The states of a layer.
#[derive(Clone, Copy)]
pub(super) struct States {
    /// The cache tensor.
    pub(super) cache: Id,
    /// Elements per sequence.
    size: u64,
}

impl<'a> Builder<'a> {
    /// Inputs of a cache of states (`build_rs_inp_impl`).
    pub(super) fn state_inputs(&mut self) -> StateInputs {
        let sequences = self.load.sequences.max(1);
        let copy = self.graph.input(Type::I32, [sequences, 1, 1, 1]);
        let main = self.graph.view_1d(copy, self.batch.sequences, 0);
        let tail = self.graph.view_1d(copy, sequences - 1, F32);
        StateInputs { copy, main, tail }
    }

    /// Tokens of each sequence.
    pub(super) fn steps(&self) -> u64 {
        self.batch.tokens / self.batch.sequences.max(1)
    }

    pub(super) fn states(&mut self, block: &Block, size: u64) -> States {
        let snapshots = self.load.rollback_states.saturating_add(1);
        let rows = self.load.sequences.max(1).saturating_mul(snapshots);
        let home = Home {
            backend: block.cache,
            weight: false,
        };
        let cache = self.graph.existing(Type::F32, [size, rows, 1, 1], home);
        States { cache, size }
    }

    /// Clears new states, gathers those of the batch, keeps the others (`build_rs`). `read` takes the states and the
    /// sequences' rows where the layer reads them itself.
    pub(super) fn gather(&mut self, inputs: StateInputs, states: States, read: Read<'_, 'a>) -> Id {
        let States { cache, size } = states;
        let (sequences, all) = (self.batch.sequences, self.load.sequences.max(1));
        let [_, rows, ..] = self.graph.at(cache).ne;
        let row = size.saturating_mul(F32);
        let flat = self.graph.reshape(cache, [size, rows, 1, 1]);
        let first = self.graph.view_1d(flat, size, 0);
        let cleared = self.graph.scale_in_place(first);
        self.graph.expand(cleared);
        let ids = if read.is_some() {
            inputs.tail
        } else {
            inputs.copy
        };
        let gathered = self.graph.get_rows(flat, ids);
        let out = match read {
            Some(read) => read(self, flat, inputs.main),
            None => self.graph.view_2d(gathered, size, sequences, row, 0),
        };
        self.graph.expand(out);
        let others = all.saturating_sub(sequences);
        let skipped = if read.is_some() {
            sequences - 1
        } else {
            sequences
        };
        let offset = skipped.saturating_mul(row);
        let kept = self.graph.view_2d(gathered, size, others, row, offset);
        let offset = sequences.saturating_mul(row);
        let target = self.graph.view_2d(cache, size, others, row, offset);
        let kept = self.graph.copy(kept, target);
        self.graph.expand(kept);
        out
    }

    /// Writes the last taps of a convolution's input back, one snapshot per rollback state.
    pub(super) fn store_taps(
        &mut self,
        states: States,
        joined: Id,
        taps: u64,
        written: u64,
        from: u64,
    ) {
        let ([_, channels, sequences, _], [_, nb1, nb2, _]) =
            (self.graph.at(joined).ne, self.graph.at(joined).nb);
        let row = states.size.saturating_mul(F32);
        for slot in 0..written {
            let offset = from.saturating_sub(slot).saturating_mul(F32);
            let last = self
                .graph
                .view_3d(joined, [taps, channels, sequences], [nb1, nb2], offset);
            let at = slot.saturating_mul(self.load.sequences).saturating_mul(row);
            let target = self
                .graph
                .view_2d(states.cache, states.size, sequences, row, at);
            let stored = self.graph.copy(last, target);
            self.graph.expand(stored);
        }
    }

    pub(super) fn convolve(&mut self, block: &Block, joined: Id) -> Id {
        match self.weight(block, "ssm_conv1d.weight") {
            Some(taps) => self.graph.ssm_conv(joined, taps),
            None => joined,
        }
    }

    /// New states written back, newest first.
    pub(super) fn store_snapshots(&mut self, states: States, from: Id, written: u64, offset: u64) {
        let sequences = self.batch.sequences;
        let row = states.size.saturating_mul(F32);
        let ne = [states.size, sequences, written];
        let new = self
            .graph
            .view_3d(from, ne, [row, row.saturating_mul(sequences)], offset);
        let slots = row.saturating_mul(self.load.sequences.max(1));
        let target = self.graph.view_3d(states.cache, ne, [row, slots], 0);
        let stored = self.graph.copy(new, target);
        self.graph.expand(stored);
    }

    /// One gated delta net (`build_layer_attn_linear`).
    pub(super) fn gated_delta(
        &mut self,
        block: &Block,
        inputs: StateInputs,
        delta: &GatedDeltaNet,
        a: Id,
    ) -> Id {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let (heads, width) = (delta.linear_num_value_heads, delta.linear_value_head_dim);
        let mixed = self.project(block, "attn_qkv.weight", a);
        let mixed = self
            .graph
            .reshape(mixed, [delta.conv_width(), steps, sequences, 1]);
        let shut = self.project(block, "attn_gate.weight", a);
        let joint = block.weights.get("ssm_ba.weight").is_some();
        let (beta, gate) = if joint {
            self.joint_gates(block, delta, a)
        } else {
            self.separate_gates(block, delta, a)
        };
        let conv_states = self.states(block, delta.conv_state());
        let states = self.states(block, delta.matrix_state());
        let joined = self.conv_state(delta, inputs, conv_states, mixed);
        let state = self.gather(inputs, states, None);
        let state = self.graph.reshape(state, [width, width, heads, sequences]);
        let mixed = self.convolve(block, joined);
        let mixed = self.graph.map(Op::Unary, mixed);
        let [queries, keys, values] = self.delta_parts(delta, mixed, joint);
        let out = self.delta_rule(delta, states, [queries, keys, values, gate, beta, state]);
        let shut = self.graph.reshape(shut, [width, heads, steps, sequences]);
        let normed = self.rms_norm(block, "ssm_norm.weight", out);
        let open = self.graph.map(Op::Unary, shut);
        let out = self.graph.mul(normed, open);
        let all = width.saturating_mul(heads);
        let out = self.graph.reshape(out, [all, steps, sequences, 1]);
        let out = self.project(block, "ssm_out.weight", out);
        let [hidden, ..] = self.graph.at(out).ne;
        self.graph.reshape(out, [hidden, self.batch.tokens, 1, 1])
    }

    /// Write strength and decay from a matrix each (Qwen3.5).
    fn separate_gates(&mut self, block: &Block, delta: &GatedDeltaNet, a: Id) -> (Id, Id) {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let heads = delta.linear_num_value_heads;
        let beta = self.project(block, "ssm_beta.weight", a);
        let beta = self.graph.reshape(beta, [1, heads, steps, sequences]);
        let beta = self.graph.map(Op::Sigmoid, beta);
        let alpha = self.project(block, "ssm_alpha.weight", a);
        let alpha = self.graph.reshape(alpha, [heads, steps, sequences, 1]);
        (beta, self.decay(block, heads, alpha))
    }

    /// Both from one matrix, head by head (Qwen3-Next).
    fn joint_gates(&mut self, block: &Block, delta: &GatedDeltaNet, a: Id) -> (Id, Id) {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let (heads, keys) = (delta.linear_num_value_heads, delta.linear_num_key_heads);
        let each = heads / keys.max(1);
        let both = self.project(block, "ssm_ba.weight", a);
        let both = self.graph.reshape(both, [2 * each, keys, steps, sequences]);
        let [_, nb1, nb2, nb3] = self.graph.at(both).nb;
        let ne = [each, keys, steps, sequences];
        let beta = self.graph.view(both, ne, [nb1, nb2, nb3], 0);
        let alpha = self.graph.view(both, ne, [nb1, nb2, nb3], F32 * each);
        let beta = self.graph.cont(beta);
        let beta = self.graph.map(Op::Sigmoid, beta);
        let alpha = self.graph.cont_as(alpha, [heads, steps, sequences, 1]);
        let gate = self.decay(block, heads, alpha);
        let beta = self.graph.reshape(beta, [1, heads, steps, sequences]);
        (beta, gate)
    }

    fn decay(&mut self, block: &Block, heads: u64, alpha: Id) -> Id {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let alpha = self.bias(block, "ssm_dt.bias", alpha);
        let mut gate = self.graph.map(Op::Softplus, alpha);
        if let Some(rate) = self.weight(block, "ssm_a") {
            gate = self.graph.mul(gate, rate);
        }
        self.graph.reshape(gate, [1, heads, steps, sequences])
    }

    /// The convolution's input: its last taps before the new tokens (`build_conv_state`).
    fn conv_state(
        &mut self,
        delta: &GatedDeltaNet,
        inputs: StateInputs,
        states: States,
        mixed: Id,
    ) -> Id {
        let taps = delta.linear_conv_kernel_dim.saturating_sub(1);
        let conv = self.gather(inputs, states, None);
        let sequences = self.batch.sequences;
        let conv = self
            .graph
            .reshape(conv, [taps, delta.conv_width(), sequences, 1]);
        let mixed = self.graph.transpose(mixed);
        let joined = self.graph.concat(conv, mixed, 0);
        let [length, ..] = self.graph.at(joined).ne;
        let written = self.load.rollback_states.saturating_add(1);
        self.store_taps(states, joined, taps, written, length.saturating_sub(taps));
        joined
    }

    /// Normalized queries and keys, and values, of the convolution's output.
    fn delta_parts(&mut self, delta: &GatedDeltaNet, mixed: Id, repeated: bool) -> [Id; 3] {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let (pairs, key) = (delta.linear_num_key_heads, delta.linear_key_head_dim);
        let (heads, width) = (delta.linear_num_value_heads, delta.linear_value_head_dim);
        let row = row_bytes(Type::F32, delta.conv_width());
        let plane = row.saturating_mul(steps);
        let part = [key, pairs, steps, sequences];
        let strides = [F32 * key, row, plane];
        let half = F32 * delta.key_width();
        let q = self.graph.view(mixed, part, strides, 0);
        let k = self.graph.view(mixed, part, strides, half);
        let v = self.graph.view(
            mixed,
            [width, heads, steps, sequences],
            [F32 * width, row, plane],
            2 * half,
        );
        let [q, k] = [q, k].map(|part| {
            let normed = self.graph.map(Op::RmsNorm, part);
            let scaled = self.graph.scale(normed);
            if !repeated || pairs == heads {
                return scaled;
            }
            let each = heads / pairs.max(1);
            let tokens = steps.saturating_mul(sequences);
            let deep = self.graph.reshape(scaled, [key, 1, pairs, tokens]);
            let deep = self.graph.repeat(deep, [key, each, pairs, tokens]);
            self.graph.reshape(deep, [key, heads, steps, sequences])
        });
        [q, k, v]
    }

    /// The fused recurrence and its new states (`build_recurrent_attn`).
    pub(super) fn delta_rule(
        &mut self,
        delta: &GatedDeltaNet,
        states: States,
        sources: [Id; 6],
    ) -> Id {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let (heads, width) = (delta.linear_num_value_heads, delta.linear_value_head_dim);
        let snapshots = self.load.rollback_states.saturating_add(1);
        let tokens = steps.saturating_mul(sequences);
        let state_rows = snapshots.saturating_mul(width).saturating_mul(sequences);
        let row = heads.saturating_mul(width);
        let ne = [row, tokens.saturating_add(state_rows), 1, 1];
        let result = self.graph.node(Op::GatedDeltaNet, Type::F32, ne, sources);
        let line = F32 * row;
        let out = self.graph.view(
            result,
            [width, heads, steps, sequences],
            [F32 * width, line, line.saturating_mul(steps)],
            0,
        );
        let written = if snapshots > 1 {
            steps.min(snapshots)
        } else {
            1
        };
        self.store_snapshots(states, result, written, line.saturating_mul(tokens));
        out
    }
}

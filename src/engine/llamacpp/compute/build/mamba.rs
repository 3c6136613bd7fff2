//! Mamba-2 (`src/models/mamba-base.cpp` 0.6.0-dev).

use super::Builder;
use super::recurrent::{F32, StateInputs, States};
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op};
use crate::model::mixer::Mamba2;
use crate::quant::Type;

impl Builder<'_> {
    /// One Mamba-2 layer (`build_mamba2_layer`).
    pub(super) fn mamba2(
        &mut self,
        block: &Block,
        inputs: StateInputs,
        mamba: &Mamba2,
        a: Id,
    ) -> Id {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let conv_states = self.states(block, mamba.conv_state());
        let ssm_states = self.states(block, mamba.ssm_state());
        let taps = mamba.d_conv.saturating_sub(1);
        let conv = self.gather(inputs, conv_states, None);
        let conv = self
            .graph
            .reshape(conv, [taps, mamba.conv_width(), sequences, 1]);
        let joint = self.project(block, "ssm_in.weight", a);
        let joint = self
            .graph
            .reshape(joint, [mamba.in_width(), steps, sequences, 1]);
        let [_, nb1, nb2, _] = self.graph.at(joint).nb;
        let head = mamba.d_inner / mamba.num_heads.max(1);
        let per_head = [head, mamba.num_heads, steps, sequences];
        let z = self.graph.view(joint, per_head, [F32 * head, nb1, nb2], 0);
        let mixed = self.graph.view_3d(
            joint,
            [mamba.conv_width(), steps, sequences],
            [nb1, nb2],
            F32 * mamba.d_inner,
        );
        let dt = self.graph.view_3d(
            joint,
            [mamba.num_heads, steps, sequences],
            [nb1, nb2],
            F32 * mamba.d_inner.saturating_add(mamba.conv_width()),
        );
        let mixed = self.graph.transpose(mixed);
        let joined = self.graph.concat(conv, mixed, 0);
        let written = steps.min(self.load.rollback_states.saturating_add(1));
        self.store_taps(conv_states, joined, taps, written, steps);
        let mixed = self.convolve(block, joined);
        let mixed = self.bias(block, "ssm_conv1d.bias", mixed);
        let mixed = self.graph.map(Op::Unary, mixed);
        self.scan(block, inputs, mamba, ssm_states, mixed, dt, z)
    }

    #[expect(clippy::too_many_arguments, reason = "the inputs of one scan")]
    fn scan(
        &mut self,
        block: &Block,
        inputs: StateInputs,
        mamba: &Mamba2,
        states: States,
        mixed: Id,
        dt: Id,
        z: Id,
    ) -> Id {
        let (steps, sequences) = (self.steps(), self.batch.sequences);
        let [_, nb1, nb2, _] = self.graph.at(mixed).nb;
        let head = mamba.d_inner / mamba.num_heads.max(1);
        let per_head = [head, mamba.num_heads, steps, sequences];
        let per_group = [mamba.d_state, mamba.n_groups, steps, sequences];
        let groups = mamba.d_state.saturating_mul(mamba.n_groups);
        let group_nb = [F32 * mamba.d_state, nb1, nb2];
        let x = self.graph.view(mixed, per_head, [F32 * head, nb1, nb2], 0);
        let input = self
            .graph
            .view(mixed, per_group, group_nb, F32 * mamba.d_inner);
        let c_offset = F32 * mamba.d_inner.saturating_add(groups);
        let output = self.graph.view(mixed, per_group, group_nb, c_offset);
        let dt = self.graph.cont(dt);
        let dt = self.bias(block, "ssm_dt.bias", dt);
        let decay = self.weight(block, "ssm_a").unwrap_or(Id::NONE);
        let snapshots = self.load.rollback_states.saturating_add(1);
        let read = |builder: &mut Self, flat: Id, ids: Id| {
            let [_, rows, ..] = builder.graph.at(flat).ne;
            let shape = [mamba.d_state, head, mamba.num_heads, rows];
            let state = builder.graph.reshape(flat, shape);
            let kept = mamba.ssm_state().saturating_mul(sequences);
            let length = builder
                .graph
                .at(x)
                .elements()
                .saturating_add(snapshots.saturating_mul(kept));
            let sources = [state, x, dt, decay, input, output, ids];
            builder
                .graph
                .node(Op::SsmScan, Type::F32, [length, 1, 1, 1], sources)
        };
        let scanned = self.gather(inputs, states, Some(&read));
        let written = steps.min(snapshots);
        let offset = self.graph.at(x).elements().saturating_mul(F32);
        self.store_snapshots(states, scanned, written, offset);
        let row = F32 * head;
        let plane = row.saturating_mul(mamba.num_heads);
        let y_nb = [row, plane, plane.saturating_mul(steps)];
        let y = self.graph.view(scanned, per_head, y_nb, 0);
        let skip = match self.weight(block, "ssm_d") {
            Some(skip) => self.graph.mul(x, skip),
            None => x,
        };
        let y = self.graph.add(y, skip);
        let z = self.graph.cont(z);
        let mut y = self.graph.glu_split(z, y);
        if block.weights.get("ssm_norm.weight").is_some() {
            let group = mamba.d_inner / mamba.n_groups.max(1);
            y = self
                .graph
                .reshape(y, [group, mamba.n_groups, steps, sequences]);
            y = self.rms_norm(block, "ssm_norm.weight", y);
        }
        let tokens = self.batch.tokens;
        let y = self.graph.reshape(y, [mamba.d_inner, tokens, 1, 1]);
        self.project(block, "ssm_out.weight", y)
    }
}

//! Feed-forward networks (`build_ffn`).

use super::Builder;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op};
use crate::model::Activation;

/// Names of the matrices of one network, without the ending.
#[derive(Clone, Copy)]
pub(super) struct Names {
    pub(super) up: &'static str,
    pub(super) up_bias: &'static str,
    pub(super) gate: &'static str,
    pub(super) gate_bias: &'static str,
    pub(super) down: &'static str,
    pub(super) down_bias: &'static str,
}

impl Names {
    /// The network of a block.
    pub(super) const DENSE: Self = Self {
        up: "ffn_up.weight",
        up_bias: "ffn_up.bias",
        gate: "ffn_gate.weight",
        gate_bias: "ffn_gate.bias",
        down: "ffn_down.weight",
        down_bias: "ffn_down.bias",
    };

    /// The expert that every token uses.
    pub(super) const SHARED: Self = Self {
        up: "ffn_up_shexp.weight",
        up_bias: "",
        gate: "ffn_gate_shexp.weight",
        gate_bias: "",
        down: "ffn_down_shexp.weight",
        down_bias: "",
    };
}

impl Builder<'_> {
    /// One network; without a gate matrix, up may hold gate and up side by side (`joint`).
    pub(super) fn feed_forward(
        &mut self,
        block: &Block,
        names: Names,
        activation: Activation,
        joint: bool,
        a: Id,
    ) -> Id {
        let up = self.project(block, names.up, a);
        let up = self.bias(block, names.up_bias, up);
        let inner = match self.weight(block, names.gate) {
            Some(gate) => {
                let gate = self.graph.mul_mat(gate, a);
                let gate = self.bias(block, names.gate_bias, gate);
                self.graph.glu_split(gate, up)
            }
            None if joint => self.graph.glu(up),
            None => self.activate(activation, up),
        };
        let down = self.project(block, names.down, inner);
        self.bias(block, names.down_bias, down)
    }

    /// An activation without a gate.
    pub(super) fn activate(&mut self, activation: Activation, a: Id) -> Id {
        let active = self.graph.map(Op::Unary, a);
        match activation {
            Activation::Relu2 => self.graph.map(Op::Sqr, active),
            _ => active,
        }
    }
}

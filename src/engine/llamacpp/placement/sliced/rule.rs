//! Which tensors are split, along which dimension (`get_tensor_config`).

use crate::engine::llamacpp::tensors::{Architecture, Row};

/// The dimension that is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// Elements of a row.
    Inputs,
    /// Rows.
    Outputs,
}

/// How a tensor is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Along which dimension.
    pub(super) axis: Axis,
    /// The tensor of the block whose type decides how fine, the first that is there; empty: the tensor itself.
    pub(super) reference: &'static [&'static str],
}

/// What an architecture's own rules say.
enum Special {
    /// It is split so.
    Split(Rule),
    /// Every GPU holds it whole.
    Whole,
    /// Nothing.
    None,
}

const MIXER: &[&str] = &["attn_output.weight", "ssm_out.weight"];
const ATTENTION: &[&str] = &["attn_output.weight"];
const STATE: &[&str] = &["ssm_out.weight"];
const NETWORK: &[&str] = &["ffn_down.weight", "ffn_down_exps.weight"];
const GROUPS: &[&str] = &["attn_output_a.weight"];
const SHARED: &[&str] = &["ffn_down_shexp.weight"];

/// The name under which a tensor decides for others.
pub(super) fn reference(name: &str) -> Option<&'static str> {
    [
        "attn_output.weight",
        "ssm_out.weight",
        "ffn_down.weight",
        "ffn_down_exps.weight",
        "attn_output_a.weight",
        "ffn_down_shexp.weight",
    ]
    .into_iter()
    .find(|reference| *reference == name)
}

impl Rule {
    /// By the name within a block; `None`: every GPU holds the tensor whole.
    pub(super) fn of(name: &str, row: &Row, architecture: Architecture) -> Option<Self> {
        if architecture == Architecture::DeepSeek4 {
            match Self::compressed(name) {
                Special::Split(rule) => return Some(rule),
                Special::Whole => return None,
                Special::None => {}
            }
        }
        let (axis, reference): (Axis, &'static [&'static str]) = match name {
            "attn_q.weight" | "attn_k.weight" | "attn_v.weight" | "attn_qkv.weight"
            | "attn_gate.weight" => (Axis::Outputs, MIXER),
            "attn_q.bias" | "attn_k.bias" | "attn_v.bias" | "attn_qkv.bias" => {
                (Axis::Inputs, MIXER)
            }
            "attn_q_norm.weight" | "attn_k_norm.weight" if row.tensor.shape[1] > 1 => {
                (Axis::Outputs, ATTENTION)
            }
            "attn_sinks.weight" => (Axis::Inputs, ATTENTION),
            "attn_output.weight" | "ssm_out.weight" | "output.bias" => (Axis::Inputs, &[]),
            "ssm_dt.bias" | "ssm_a" => (Axis::Inputs, STATE),
            "ssm_alpha.weight" | "ssm_beta.weight" | "ssm_ba.weight" | "ssm_conv1d.weight" => {
                (Axis::Outputs, STATE)
            }
            "ffn_up.weight"
            | "ffn_up_exps.weight"
            | "ffn_gate.weight"
            | "ffn_gate_exps.weight"
            | "ffn_gate_up.weight"
            | "ffn_gate_up_exps.weight" => (Axis::Outputs, NETWORK),
            "ffn_up.bias" | "ffn_up_exps.bias" | "ffn_gate.bias" | "ffn_gate_exps.bias" => {
                (Axis::Inputs, NETWORK)
            }
            "ffn_down.weight" | "ffn_down_exps.weight" => (Axis::Inputs, NETWORK),
            "output.weight" => (Axis::Outputs, &[]),
            _ => return None,
        };
        Some(Self { axis, reference })
    }

    /// DeepSeek-V4's own rules: groups of heads, and shared experts, which others hold whole.
    fn compressed(name: &str) -> Special {
        let (axis, reference): (Axis, &'static [&'static str]) = match name {
            "attn_sinks.weight" => (Axis::Inputs, GROUPS),
            // The second has one matrix per group, one after the other in the file.
            "attn_q_b.weight" => (Axis::Outputs, GROUPS),
            "attn_output_a.weight" => (Axis::Outputs, &[]),
            "attn_output_b.weight" => (Axis::Inputs, &[]),
            "ffn_up_shexp.weight" | "ffn_gate_shexp.weight" => (Axis::Outputs, SHARED),
            "ffn_down_shexp.weight" => (Axis::Inputs, SHARED),
            "output.weight" => return Special::Whole,
            _ => return Special::None,
        };
        Special::Split(Self { axis, reference })
    }
}

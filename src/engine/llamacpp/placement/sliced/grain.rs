//! How finely a tensor can be split: whole blocks, whole heads, and parts of fused tensors each for itself
//! (`get_split_segments`, `get_split_granularity`).

use crate::engine::llamacpp::tensors::Architecture;
use crate::model::mixer::GatedDeltaNet;
use crate::model::{FeedForward, Mixer, Model, product};

/// Kernels like parts of this many elements.
const PREFERRED: u64 = 128;

/// A part of a tensor that is split for itself, several equal ones together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Its elements.
    pub(super) elements: u64,
    /// How many such follow each other.
    pub(super) repeats: u64,
    /// Parts are multiples of this, but for the last.
    pub(super) grain: u64,
}

/// What a layer's tensors are split by.
pub(super) struct Grain<'a> {
    mixer: &'a Mixer,
    feed_forward: &'a FeedForward,
    architecture: Architecture,
    /// Elements of a block of the type that decides.
    block: u64,
    gpus: u64,
}

impl<'a> Grain<'a> {
    pub(super) fn new(
        model: &'a Model,
        architecture: Architecture,
        layer: usize,
        block: u64,
        gpus: usize,
    ) -> Self {
        let found = model.layers.get(layer);
        Self {
            mixer: found.map_or(&Mixer::None, |layer| &layer.mixer),
            feed_forward: found.map_or(&FeedForward::None, |layer| &layer.feed_forward),
            architecture,
            block: block.max(1),
            gpus: gpus.max(1) as u64,
        }
    }

    /// The segments of a tensor of this name with so many elements along the split.
    pub(super) fn segments(&self, name: &str, elements: u64) -> Vec<Segment> {
        let network = name.starts_with("ffn_");
        match self.mixer {
            Mixer::GatedDelta(delta) if !network => self.recurrent(delta, name, elements),
            _ if network => self.network(name, elements),
            Mixer::Compressed(compressed) => {
                let heads = compressed.num_attention_heads / compressed.o_groups.max(1);
                let grain = match name {
                    "attn_sinks.weight" => heads,
                    "attn_q_b.weight" => product(&[heads, compressed.head_dim]),
                    // One matrix per group in the engine's eyes.
                    "attn_output_a.weight" | "attn_output_b.weight" => compressed.o_lora_rank,
                    _ => 1,
                };
                one(elements, grain)
            }
            _ => self.attention(name, elements),
        }
    }

    fn network(&self, name: &str, elements: u64) -> Vec<Segment> {
        let grain = lcm(self.block, PREFERRED);
        let fused = match (name, self.feed_forward) {
            ("ffn_gate_up_exps.weight" | "ffn_gate_up.weight", FeedForward::Experts(experts)) => {
                elements == product(&[2, experts.moe_intermediate_size])
            }
            // Phi-3 keeps gate and up in one matrix under the name of the second.
            ("ffn_up.weight" | "ffn_up.bias", FeedForward::Dense(dense)) => {
                elements == product(&[2, dense.intermediate_size])
            }
            _ => false,
        };
        if fused {
            vec![Segment {
                elements: elements / 2,
                repeats: 2,
                grain,
            }]
        } else {
            one(elements, grain)
        }
    }

    fn attention(&self, name: &str, elements: u64) -> Vec<Segment> {
        let Some(attention) = self.mixer.attention() else {
            return one(elements, 1);
        };
        let (width, values) = (attention.head_dim.max(1), attention.v_head_dim);
        let kv_heads = attention.num_key_value_heads.max(1);
        let grouped = (attention.num_attention_heads / kv_heads).max(1);
        let queries = product(&[grouped, width]);
        let mut preferred = self.block;
        while preferred < PREFERRED && preferred.saturating_mul(self.gpus) < queries {
            preferred *= 2;
        }
        let q = lcm(queries, preferred);
        let heads = q / width;
        let k = q / grouped;
        let v = product(&[k / width, values]);
        // Queries that come with a gate are twice as wide.
        let query = if self.fuses_gate() {
            lcm(product(&[2, queries]), preferred)
        } else {
            q
        };
        match name {
            "attn_q.weight" | "attn_q.bias" => one(elements, query),
            "attn_k.weight" | "attn_k.bias" | "cache_k" => one(elements, k),
            "attn_v.weight" | "attn_v.bias" | "cache_v" => one(elements, v),
            "attn_output.weight" => one(elements, product(&[heads, values])),
            "attn_sinks.weight" => one(elements, heads),
            "attn_gate.weight" if elements == attention.num_attention_heads => one(elements, heads),
            "attn_gate.weight" => one(elements, q),
            "attn_qkv.weight" | "attn_qkv.bias" => {
                let (keys, all_values) = (attention.k_width(), attention.v_width());
                let segment = |elements, grain| Segment {
                    elements,
                    repeats: 1,
                    grain,
                };
                vec![
                    segment(
                        elements.saturating_sub(keys.saturating_add(all_values)),
                        query,
                    ),
                    segment(keys, k),
                    segment(all_values, v),
                ]
            }
            _ => one(elements, 1),
        }
    }

    fn recurrent(&self, delta: &GatedDeltaNet, name: &str, elements: u64) -> Vec<Segment> {
        let head = delta.linear_key_head_dim.max(1);
        let (keys, values) = (
            delta.linear_num_key_heads.max(1),
            delta.linear_num_value_heads,
        );
        let (key, value) = (product(&[keys, head]), product(&[values, head]));
        let channels = lcm(lcm(self.block, PREFERRED), head);
        let taps = delta.linear_conv_kernel_dim.saturating_sub(1);
        let grain = match name {
            "attn_qkv.weight" | "attn_gate.weight" | "ssm_conv1d.weight" | "ssm_out.weight" => {
                channels
            }
            "ssm_dt.bias" | "ssm_a" | "ssm_alpha.weight" | "ssm_beta.weight" => channels / head,
            "ssm_ba.weight" => 2 * (channels / head),
            "cache_r" => product(&[channels, taps]),
            "cache_s" => product(&[channels, head]),
            _ => 1,
        };
        let segment = |elements, repeats| Segment {
            elements,
            repeats,
            grain,
        };
        // Qwen3-Next keeps the values of a key head together; later ones go through the key heads several times.
        let together = self.architecture == Architecture::Qwen3Next;
        let ratio = values / keys;
        match (name, together) {
            ("attn_qkv.weight" | "ssm_conv1d.weight", true) => {
                vec![segment(key, 2), segment(value, 1)]
            }
            ("cache_r", true) => vec![
                segment(product(&[key, taps]), 2),
                segment(product(&[value, taps]), 1),
            ],
            ("attn_qkv.weight" | "ssm_conv1d.weight", false) => vec![segment(key, 2 + ratio)],
            ("attn_gate.weight" | "ssm_out.weight", false) => vec![segment(key, ratio)],
            ("ssm_dt.bias" | "ssm_a" | "ssm_alpha.weight" | "ssm_beta.weight", false) => {
                vec![segment(keys, ratio)]
            }
            ("cache_r", false) => vec![segment(product(&[key, taps]), 2 + ratio)],
            ("cache_s", false) => vec![segment(product(&[keys, head, head]), ratio)],
            _ => vec![segment(elements, 1)],
        }
    }

    fn fuses_gate(&self) -> bool {
        matches!(
            self.architecture,
            Architecture::Qwen3Next | Architecture::Qwen35 | Architecture::Qwen35Moe
        )
    }
}

fn one(elements: u64, grain: u64) -> Vec<Segment> {
    vec![Segment {
        elements,
        repeats: 1,
        grain,
    }]
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a.checked_div(x).unwrap_or(0).saturating_mul(b)
}

//! Attention and recurrent layers.

use serde_json::{Value, json};

use super::Architecture;
use super::rule::{self, Rule};
use crate::source::gguf::facts::Facts;

pub(super) const ALL: &[Architecture] = &[
    Architecture {
        name: "qwen3next",
        model_type: Rule::Word("qwen3_next"),
        fields: DELTA,
    },
    Architecture {
        name: "qwen35",
        model_type: Rule::Word("qwen3_5_text"),
        fields: DELTA,
    },
    Architecture {
        name: "qwen35moe",
        model_type: Rule::Word("qwen3_5_moe_text"),
        fields: DELTA,
    },
    Architecture {
        name: "kimi-k3",
        model_type: Rule::Word("kimi_linear"),
        fields: &[
            ("q_lora_rank", Rule::Number("attention.q_lora_rank")),
            ("kv_lora_rank", Rule::Number("attention.kv_lora_rank")),
            ("qk_rope_head_dim", Rule::Number("rope.dimension_count")),
            ("qk_nope_head_dim", Rule::By(unrotated)),
            ("v_head_dim", Rule::Number("attention.value_length_mla")),
            ("num_key_value_heads", Rule::Number("attention.head_count")),
            ("mla_use_output_gate", Rule::Has("attn_gate.weight")),
            ("linear_attn_config", Rule::By(kimi_delta)),
            ("attn_res_block_size", Rule::Number("attn_res.block_size")),
            (
                "routed_expert_hidden_size",
                Rule::Number("expert_latent_length"),
            ),
            ("latent_moe_use_norm", Rule::Has("ffn_routed_norm.weight")),
            ("moe_renormalize", Rule::Value("expert_weights_norm")),
            ("hidden_act", Rule::Word("situ")),
        ],
    },
    Architecture {
        name: "granitehybrid",
        model_type: Rule::Word("granitemoehybrid"),
        fields: &[
            ("embedding_multiplier", Rule::Value("embedding_scale")),
            ("position_embedding_type", Rule::Of(granite_positions)),
            ("layer_types", Rule::By(attention_or_mamba)),
            ("shared_intermediate_size", Rule::By(granite_width)),
            ("intermediate_size", Rule::By(rule::any_width)),
            ("mamba_expand", Rule::By(expand)),
            ("mamba_n_heads", Rule::Number("ssm.time_step_rank")),
            ("mamba_d_state", Rule::Number("ssm.state_size")),
            ("mamba_n_groups", Rule::Number("ssm.group_count")),
            ("mamba_d_conv", Rule::Number("ssm.conv_kernel")),
            ("mamba_conv_bias", Rule::Has("ssm_conv1d.bias")),
            ("mamba_proj_bias", Rule::Has("ssm_in.bias")),
        ],
    },
    Architecture {
        name: "falcon-h1",
        model_type: Rule::Word("falcon_h1"),
        fields: &[
            ("mamba_d_ssm", Rule::Number("ssm.inner_size")),
            ("mamba_rms_norm", Rule::Has("ssm_norm.weight")),
            ("mamba_n_heads", Rule::Number("ssm.time_step_rank")),
            ("mamba_d_state", Rule::Number("ssm.state_size")),
            ("mamba_n_groups", Rule::Number("ssm.group_count")),
            ("mamba_d_conv", Rule::Number("ssm.conv_kernel")),
            ("mamba_conv_bias", Rule::Has("ssm_conv1d.bias")),
            ("mamba_proj_bias", Rule::Has("ssm_in.bias")),
        ],
    },
    Architecture {
        name: "nemotron_h",
        model_type: Rule::Word("nemotron_h"),
        fields: NEMOTRON,
    },
    Architecture {
        name: "nemotron_h_moe",
        model_type: Rule::Word("nemotron_h"),
        fields: NEMOTRON,
    },
    Architecture {
        name: "minimax-01",
        model_type: Rule::Word("minimax_m1"),
        fields: &[
            ("intermediate_size", Rule::By(rule::any_width)),
            ("attn_type_list", Rule::Of(lightning)),
        ],
    },
];

/// Qwen3-Next and Qwen3.5 (`src/models/qwen3next.cpp`: `ssm_dt_rank` are the value heads, `ssm_n_group` the key heads,
/// `ssm_d_state` the width of a key).
const DELTA: &[(&str, Rule)] = &[
    ("linear_num_key_heads", Rule::Number("ssm.group_count")),
    ("linear_num_value_heads", Rule::Number("ssm.time_step_rank")),
    ("linear_key_head_dim", Rule::Number("ssm.state_size")),
    ("linear_value_head_dim", Rule::By(mamba_head)),
    ("linear_conv_kernel_dim", Rule::Number("ssm.conv_kernel")),
    (
        "full_attention_interval",
        Rule::Number("full_attention_interval"),
    ),
    ("layer_types", Rule::By(full_or_linear)),
    (
        "shared_expert_intermediate_size",
        Rule::Number("expert_shared_feed_forward_length"),
    ),
    ("norm_topk_prob", Rule::Yes),
];

/// Nemotron-H and Nemotron 3.
const NEMOTRON: &[(&str, Rule)] = &[
    ("hybrid_override_pattern", Rule::By(letters)),
    ("mlp_hidden_act", Rule::Word("relu2")),
    ("attention_head_dim", Rule::Number("attention.key_length")),
    ("mamba_num_heads", Rule::Number("ssm.time_step_rank")),
    ("mamba_head_dim", Rule::By(mamba_head)),
    ("ssm_state_size", Rule::Number("ssm.state_size")),
    ("n_groups", Rule::Number("ssm.group_count")),
    ("conv_kernel", Rule::Number("ssm.conv_kernel")),
    ("use_conv_bias", Rule::Has("ssm_conv1d.bias")),
    ("mamba_proj_bias", Rule::Has("ssm_in.bias")),
    (
        "moe_shared_expert_intermediate_size",
        Rule::Number("expert_shared_feed_forward_length"),
    ),
    ("moe_latent_size", Rule::By(latent_experts)),
];

/// The width of one head of the inner size.
fn mamba_head(facts: &Facts<'_>) -> Option<Value> {
    let heads = facts.positive("ssm.time_step_rank")?;
    Some(Value::from(facts.positive("ssm.inner_size")? / heads))
}

fn unrotated(facts: &Facts<'_>) -> Option<Value> {
    let width = facts.positive("attention.key_length_mla")?;
    Some(Value::from(
        width.checked_sub(facts.positive("rope.dimension_count")?)?,
    ))
}

/// Whether a layer keeps a recurrent state, where the file lists it; else an interval tells.
fn full_or_linear(facts: &Facts<'_>) -> Option<Value> {
    let recurrent = facts.per_block("attention.recurrent_layers")?;
    let kind = |recurrent| match recurrent {
        0 => "full_attention",
        _ => "linear_attention",
    };
    Some(recurrent.into_iter().map(kind).collect())
}

/// Layers with no heads of keys are recurrent (`src/models/kimi-k3.cpp`); they are counted from one here.
fn kimi_delta(facts: &Facts<'_>) -> Option<Value> {
    let keys = facts.per_block("attention.head_count_kv")?;
    let full: Vec<u64> = (1..)
        .zip(keys)
        .filter(|(_, keys)| *keys > 0)
        .map(|(layer, _)| layer)
        .collect();
    Some(json!({
        "num_heads": facts.positive("attention.head_count")?,
        "head_dim": facts.positive("kda.head_dim")?,
        "short_conv_kernel_size": facts.positive("ssm.conv_kernel")?,
        "use_full_rank_gate": facts.some_block_has("ssm_g.weight"),
        "full_attn_layers": full,
    }))
}

/// No positions where the file says that none were trained (`src/models/granite-hybrid.cpp`).
fn granite_positions(facts: &Facts<'_>) -> Value {
    let rotated = facts.flag("rope.scaling.finetuned").unwrap_or(true);
    Value::from(if rotated { "rope" } else { "nope" })
}

fn attention_or_mamba(facts: &Facts<'_>) -> Option<Value> {
    let keys = facts.per_block("attention.head_count_kv")?;
    let kind = |keys| match keys {
        0 => "mamba",
        _ => "attention",
    };
    Some(keys.into_iter().map(kind).collect())
}

/// The network that is always on.
fn granite_width(facts: &Facts<'_>) -> Option<Value> {
    let shared = facts.positive("expert_shared_feed_forward_length");
    shared
        .or_else(|| facts.positive("feed_forward_length"))
        .map(Value::from)
}

fn expand(facts: &Facts<'_>) -> Option<Value> {
    let hidden = facts.positive("embedding_length")?;
    Some(Value::from(facts.positive("ssm.inner_size")? / hidden))
}

/// A letter per layer: no heads of keys and no network make a Mamba layer (`src/models/nemotron-h.cpp`).
fn letters(facts: &Facts<'_>) -> Option<Value> {
    let keys = facts.per_block("attention.head_count_kv")?;
    let widths = facts.per_block("feed_forward_length")?;
    let letter = |((block, keys), width): ((u64, u64), u64)| match (keys, width) {
        (0, 0) => 'M',
        (0, _) if facts.block_has(block, "ffn_gate_inp.weight") => 'E',
        (0, _) => '-',
        _ => '*',
    };
    let letters: String = (0..).zip(keys).zip(widths).map(letter).collect();
    Some(Value::from(letters))
}

/// The width that experts work on, under the converter's name or the loader's.
fn latent_experts(facts: &Facts<'_>) -> Option<Value> {
    let said = facts.positive("moe_latent_size");
    let width = said.or_else(|| facts.positive("expert_latent_length"));
    width
        .or_else(|| facts.block_extent("ffn_latent_down.weight", 1))
        .map(Value::from)
}

/// Lightning layers have queries, keys and values in one matrix (`src/models/minimax-01.cpp`).
fn lightning(facts: &Facts<'_>) -> Value {
    let kind = |block| u64::from(!facts.block_has(block, "attn_qkv.weight"));
    (0..facts.blocks()).map(kind).collect()
}

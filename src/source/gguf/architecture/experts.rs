//! Decoders with experts and ordinary attention.

use serde_json::{Value, json};

use super::Architecture;
use super::rule::{self, Rule};
use crate::source::gguf::facts::Facts;

pub(super) const ALL: &[Architecture] = &[
    Architecture {
        name: "qwen3moe",
        model_type: Rule::Word("qwen3_moe"),
        fields: QWEN,
    },
    Architecture {
        name: "qwen3vlmoe",
        model_type: Rule::Word("qwen3_vl_moe_text"),
        fields: QWEN,
    },
    Architecture {
        name: "qwen2moe",
        model_type: Rule::Word("qwen2_moe"),
        fields: &[
            ("qkv_bias", Rule::Of(rule::attention_bias)),
            ("mlp_only_layers", Rule::Of(layers_without_router)),
            ("moe_intermediate_size", Rule::By(qwen2_expert)),
            ("shared_expert_intermediate_size", Rule::By(shared_width)),
        ],
    },
    Architecture {
        name: "olmoe",
        model_type: Rule::Word("olmoe"),
        fields: &[("intermediate_size", Rule::By(rule::any_width))],
    },
    Architecture {
        name: "dots1",
        model_type: Rule::Word("dots1"),
        fields: &[],
    },
    Architecture {
        name: "bailingmoe2",
        model_type: Rule::Word("bailing_moe"),
        fields: &[
            ("use_qkv_bias", Rule::Of(rule::attention_bias)),
            ("use_bias", Rule::Has("attn_output.bias")),
            ("num_shared_experts", Rule::Number("expert_shared_count")),
            (
                "moe_shared_expert_intermediate_size",
                Rule::Number("expert_shared_feed_forward_length"),
            ),
            (
                "moe_router_enable_expert_bias",
                Rule::Has("exp_probs_b.bias"),
            ),
        ],
    },
    Architecture {
        name: "ernie4_5-moe",
        model_type: Rule::Word("ernie4_5_moe"),
        fields: &[
            ("use_bias", Rule::Of(rule::attention_bias)),
            ("moe_num_experts", Rule::Number("expert_count")),
            ("moe_k", Rule::Number("expert_used_count")),
            (
                "moe_layer_start_index",
                Rule::Number("leading_dense_block_count"),
            ),
            (
                "moe_layer_interval",
                Rule::Number("interleave_moe_layer_step"),
            ),
            ("moe_num_shared_experts", Rule::By(ernie_shared)),
            ("moe_use_aux_free", Rule::Has("exp_probs_b.bias")),
        ],
    },
    Architecture {
        name: "hunyuan-moe",
        model_type: Rule::Word("hunyuan_v1_moe"),
        fields: &[
            ("intermediate_size", Rule::By(shared_width)),
            ("moe_topk", Rule::Number("expert_used_count")),
            ("num_shared_expert", Rule::Of(one)),
        ],
    },
    Architecture {
        name: "phimoe",
        model_type: Rule::Word("phimoe"),
        fields: &[("intermediate_size", Rule::By(rule::any_width))],
    },
    Architecture {
        name: "gpt-oss",
        model_type: Rule::Word("gpt_oss"),
        fields: &[("intermediate_size", Rule::By(rule::any_width))],
    },
    Architecture {
        name: "glm4moe",
        model_type: Rule::Word("glm4_moe"),
        fields: &[],
    },
    Architecture {
        name: "minimax-m2",
        model_type: Rule::Word("minimax_m2"),
        fields: &[
            ("intermediate_size", Rule::By(rule::any_width)),
            ("use_routing_bias", Rule::Has("exp_probs_b.bias")),
            ("qk_norm_type", Rule::By(norm_of_queries)),
        ],
    },
    Architecture {
        name: "minimax-m3",
        model_type: Rule::Word("minimax_m3"),
        fields: &[
            (
                "dense_intermediate_size",
                Rule::Number("feed_forward_length"),
            ),
            ("use_routing_bias", Rule::Has("exp_probs_b.bias")),
            ("sparse_attention_config", Rule::By(sparse_blocks)),
        ],
    },
    Architecture {
        name: "llama4",
        model_type: Rule::Word("llama4_text"),
        fields: &[
            ("intermediate_size", Rule::By(rule::any_width)),
            ("intermediate_size_mlp", Rule::Number("feed_forward_length")),
            (
                "interleave_moe_layer_step",
                Rule::Number("interleave_moe_layer_step"),
            ),
            ("attention_chunk_size", Rule::By(chunk)),
            ("use_qk_norm", Rule::Of(llama4_norm)),
        ],
    },
];

/// The graph normalizes the weights of the chosen experts in every file (`src/models/qwen3moe.cpp`).
const QWEN: &[(&str, Rule)] = &[
    ("norm_topk_prob", Rule::Yes),
    ("mlp_only_layers", Rule::Of(layers_without_router)),
];

fn layers_without_router(facts: &Facts<'_>) -> Value {
    let lacks = |block: &u64| !facts.block_has(*block, "ffn_gate_inp.weight");
    (0..facts.blocks()).filter(lacks).collect()
}

/// Where the file says nothing, the used experts share the width of a network (`src/models/qwen2moe.cpp`).
fn qwen2_expert(facts: &Facts<'_>) -> Option<Value> {
    let used = facts.positive("expert_used_count");
    let shared = || Some(facts.positive("feed_forward_length")? / used?);
    rule::expert_width(facts).or_else(|| shared().map(Value::from))
}

/// Width of the shared expert as the file says it, or that of a network
/// (`src/models/{qwen2moe,hunyuan-moe}.cpp`).
fn shared_width(facts: &Facts<'_>) -> Option<Value> {
    let said = facts.positive("expert_shared_feed_forward_length");
    let width = said.or_else(|| facts.positive("feed_forward_length"));
    width.map(Value::from)
}

/// The loader takes all shared experts as one, whatever their number (`src/models/hunyuan-moe.cpp`).
fn one(_: &Facts<'_>) -> Value {
    Value::from(1)
}

/// The file says how wide all shared experts are together (`src/models/ernie4-5.cpp`).
fn ernie_shared(facts: &Facts<'_>) -> Option<Value> {
    let all = facts.positive("expert_shared_feed_forward_length")?;
    let one = facts.positive("expert_feed_forward_length")?;
    Some(Value::from(all / one))
}

/// By the length of the norm's weights.
fn norm_of_queries(facts: &Facts<'_>) -> Option<Value> {
    let length = facts.block_extent("attn_q_norm.weight", 0)?;
    let one_head = facts.positive("attention.key_length") == Some(length);
    Some(Value::from(if one_head { "per_head" } else { "per_layer" }))
}

/// MiniMax-M3 (`src/models/minimax-m3.cpp`); layers without an indexer of their own see everything.
fn sparse_blocks(facts: &Facts<'_>) -> Option<Value> {
    let owns = |block| u64::from(facts.block_has(block, "indexer.q_proj.weight"));
    let owned: Vec<u64> = (0..facts.blocks()).map(owns).collect();
    Some(json!({
        "sparse_num_index_heads": facts.positive("attention.indexer.head_count")?,
        "sparse_index_dim": facts.positive("attention.indexer.key_length")?,
        "sparse_block_size": facts.positive("attention.indexer.block_size")?,
        "sparse_topk_blocks": facts.positive("attention.indexer.top_k")?,
        "sparse_attention_freq": owned,
    }))
}

/// Chunks of 8192 where the file says nothing, none where it says 0 (`src/models/llama4.cpp`).
fn chunk(facts: &Facts<'_>) -> Option<Value> {
    match facts.number("attention.sliding_window") {
        Some(0) => None,
        _ => Some(Value::from(8192)),
    }
}

/// Every size but that of 128 experts (`use_kq_norm` in `src/models/llama4.cpp`).
fn llama4_norm(facts: &Facts<'_>) -> Value {
    Value::Bool(facts.number("expert_count") != Some(128))
}

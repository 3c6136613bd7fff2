//! Latent and compressed attention.

use serde_json::Value;

use super::Architecture;
use super::rule::Rule;
use crate::source::gguf::facts::Facts;

pub(super) const ALL: &[Architecture] = &[
    Architecture {
        name: "deepseek2",
        model_type: Rule::Of(deepseek2),
        fields: LATENT,
    },
    Architecture {
        name: "minicpm3",
        model_type: Rule::Word("minicpm3"),
        fields: LATENT,
    },
    Architecture {
        name: "deepseek32",
        model_type: Rule::Word("deepseek_v32"),
        fields: LATENT,
    },
    Architecture {
        name: "glm-dsa",
        model_type: Rule::Word("glm_moe_dsa"),
        fields: LATENT,
    },
    Architecture {
        name: "deepseek4",
        model_type: Rule::Word("deepseek_v4"),
        fields: &[
            ("q_lora_rank", Rule::Number("attention.q_lora_rank")),
            ("qk_rope_head_dim", Rule::Number("rope.dimension_count")),
            (
                "index_n_heads",
                Rule::Number("attention.indexer.head_count"),
            ),
            (
                "index_head_dim",
                Rule::Number("attention.indexer.key_length"),
            ),
            ("index_topk", Rule::Number("attention.indexer.top_k")),
            ("o_groups", Rule::Number("attention.output_group_count")),
            ("o_lora_rank", Rule::Number("attention.output_lora_rank")),
            ("compress_ratios", Rule::By(ratios)),
            ("num_hash_layers", Rule::Number("hash_layer_count")),
            ("hc_mult", Rule::Number("hyper_connection.count")),
        ],
    },
];

/// DeepSeek-V2 to V3.2, GLM-5, MiniCPM3. Heads of the expanded form have keys of their own since llama.cpp absorbs the
/// expansion (2025-04); files from before have them where others have the width of the cache.
pub(super) const LATENT: &[(&str, Rule)] = &[
    ("q_lora_rank", Rule::Number("attention.q_lora_rank")),
    ("kv_lora_rank", Rule::Number("attention.kv_lora_rank")),
    ("qk_rope_head_dim", Rule::Number("rope.dimension_count")),
    ("qk_nope_head_dim", Rule::By(unrotated)),
    ("v_head_dim", Rule::By(value_width)),
    ("num_key_value_heads", Rule::Number("attention.head_count")),
    (
        "index_n_heads",
        Rule::Number("attention.indexer.head_count"),
    ),
    (
        "index_head_dim",
        Rule::Number("attention.indexer.key_length"),
    ),
    ("index_topk", Rule::Number("attention.indexer.top_k")),
    ("indexer_types", Rule::By(owned_indexers)),
];

/// V3 scores by sigmoid, V2 by softmax; the number is that of `llama_expert_gating_func_type`
/// (`src/llama-hparams.h`). Files of V3 from before the key have its corrections.
fn deepseek2(facts: &Facts<'_>) -> Value {
    let sigmoid = match facts.number("expert_gating_func") {
        Some(function) => function == 2,
        None => facts.some_block_has("exp_probs_b.bias"),
    };
    Value::from(if sigmoid {
        "deepseek_v3"
    } else {
        "deepseek_v2"
    })
}

fn unrotated(facts: &Facts<'_>) -> Option<Value> {
    let said = facts.positive("attention.key_length_mla");
    let width = said.or_else(|| facts.positive("attention.key_length"))?;
    let rotated = facts.positive("rope.dimension_count")?;
    Some(Value::from(width.checked_sub(rotated)?))
}

/// The value heads; where no key has them (MiniCPM3), what the output projection takes of each head.
fn value_width(facts: &Facts<'_>) -> Option<Value> {
    let said = facts
        .positive("attention.value_length_mla")
        .or_else(|| facts.positive("attention.value_length"));
    let taken = || {
        let columns = facts.block_extent("attn_output.weight", 0)?;
        columns.checked_div(facts.positive("attention.head_count")?)
    };
    said.or_else(taken).map(Value::from)
}

/// Layers without an indexer use the selection of an earlier one (GLM-5).
fn owned_indexers(facts: &Facts<'_>) -> Option<Value> {
    facts.positive("attention.indexer.head_count")?;
    let kind = |block| {
        if facts.block_has(block, "indexer.attn_k.weight") {
            "full"
        } else {
            "shared"
        }
    };
    Some((0..facts.blocks()).map(kind).collect())
}

fn ratios(facts: &Facts<'_>) -> Option<Value> {
    let ratios = facts.per_block("attention.compress_ratios")?;
    Some(ratios.into_iter().collect())
}

//! Decoders with one feed-forward network per layer.

use serde_json::{Value, json};

use super::Architecture;
use super::rule::Rule;
use crate::source::gguf::facts::Facts;

pub(super) const ALL: &[Architecture] = &[
    Architecture {
        name: "llama",
        model_type: Rule::Of(llama),
        fields: &[
            // Where the biases of queries and output differ, the family of InternLM reads both.
            ("qkv_bias", Rule::Of(super::rule::attention_bias)),
            ("bias", Rule::Has("attn_output.bias")),
            // Experts are as wide as the field says that other models have their network by.
            ("intermediate_size", Rule::By(super::rule::any_width)),
        ],
    },
    Architecture {
        name: "mistral3",
        model_type: Rule::Of(mistral3),
        fields: &[("architectures", Rule::Of(mistral3_class))],
    },
    Architecture {
        name: "deci",
        model_type: Rule::Word("nemotron-nas"),
        fields: &[("block_configs", Rule::By(found_blocks))],
    },
    Architecture {
        name: "qwen2",
        model_type: Rule::Word("qwen2"),
        fields: &[],
    },
    Architecture {
        name: "qwen2vl",
        model_type: Rule::Word("qwen2_vl_text"),
        fields: &[],
    },
    Architecture {
        name: "qwen3",
        model_type: Rule::Word("qwen3"),
        fields: &[],
    },
    Architecture {
        name: "qwen3vl",
        model_type: Rule::Word("qwen3_vl_text"),
        fields: &[],
    },
    Architecture {
        name: "chatglm",
        model_type: Rule::Of(chatglm),
        fields: &[
            ("ffn_hidden_size", Rule::Number("feed_forward_length")),
            ("multi_query_attention", Rule::Yes),
            (
                "multi_query_group_num",
                Rule::Number("attention.head_count_kv"),
            ),
            ("add_qkv_bias", Rule::Of(super::rule::attention_bias)),
            ("add_bias_linear", Rule::Has("attn_output.bias")),
        ],
    },
    Architecture {
        name: "glm4",
        model_type: Rule::Word("glm4"),
        fields: &[],
    },
    Architecture {
        name: "phi3",
        model_type: Rule::Word("phi3"),
        fields: &[],
    },
    Architecture {
        name: "granite",
        model_type: Rule::Word("granite"),
        fields: &[("embedding_multiplier", Rule::Value("embedding_scale"))],
    },
    Architecture {
        name: "command-r",
        model_type: Rule::Word("cohere"),
        fields: &[],
    },
    Architecture {
        name: "cohere2",
        model_type: Rule::Word("cohere2"),
        fields: &[("layer_types", Rule::By(super::unknown::windows))],
    },
    Architecture {
        name: "exaone4",
        model_type: Rule::Word("exaone4"),
        fields: &[
            ("sliding_window", Rule::Of(exaone4_window)),
            ("layer_types", Rule::By(super::unknown::windows)),
        ],
    },
    Architecture {
        name: "seed_oss",
        model_type: Rule::Word("seed_oss"),
        fields: &[("attention_out_bias", Rule::Has("attn_output.bias"))],
    },
    Architecture {
        name: "ernie4_5",
        model_type: Rule::Word("ernie4_5"),
        fields: &[("use_bias", Rule::Of(super::rule::attention_bias))],
    },
    Architecture {
        name: "hunyuan-dense",
        model_type: Rule::Word("hunyuan_v1_dense"),
        fields: &[],
    },
    Architecture {
        name: "internlm2",
        model_type: Rule::Word("internlm2"),
        fields: &[
            ("qkv_bias", Rule::Of(super::rule::attention_bias)),
            ("bias", Rule::Has("attn_output.bias")),
        ],
    },
    Architecture {
        name: "baichuan",
        model_type: Rule::Word("baichuan"),
        fields: &[
            ("max_position_embeddings", Rule::By(baichuan_positions)),
            ("model_max_length", Rule::Number("context_length")),
        ],
    },
    Architecture {
        name: "olmo2",
        model_type: Rule::Word("olmo2"),
        fields: &[],
    },
    Architecture {
        name: "smollm3",
        model_type: Rule::Word("smollm3"),
        fields: &[],
    },
    Architecture {
        name: "starcoder2",
        model_type: Rule::Word("starcoder2"),
        fields: &[("use_bias", Rule::Of(super::rule::attention_bias))],
    },
    Architecture {
        name: "stablelm",
        model_type: Rule::Word("stablelm"),
        fields: &[
            ("use_qkv_bias", Rule::Has("attn_q.bias")),
            // The loader takes the second norm as it finds it (`src/models/stablelm.cpp`); the key is not read.
            ("use_parallel_residual", Rule::Lacks("ffn_norm.weight")),
        ],
    },
];

/// Llama, Mixtral and what else was converted to their architecture.
fn llama(facts: &Facts<'_>) -> Value {
    let biased = super::rule::attention_bias(facts) == Value::Bool(true);
    Value::from(if facts.positive("expert_count").is_some() {
        "mixtral"
    } else if biased == facts.some_block_has("attn_output.bias") {
        "llama"
    } else {
        "internlm3"
    })
}

/// Ministral 3 scales its queries; older models of Mistral's are converted to the same architecture without
/// (`conversion/mistral3.py` of llama.cpp, 2026-08).
fn mistral3(facts: &Facts<'_>) -> Value {
    let scale = facts.value("attention.temperature_scale");
    let scales = scale
        .and_then(Value::as_f64)
        .is_some_and(|scale| scale != 0.0);
    Value::from(if scales { "ministral3" } else { "mistral" })
}

fn mistral3_class(_: &Facts<'_>) -> Value {
    json!(["Mistral3ForConditionalGeneration"])
}

/// ChatGLM's own form has one matrix for queries, keys and values; its conversion for transformers, three.
fn chatglm(facts: &Facts<'_>) -> Value {
    let fused = facts.some_block_has("attn_qkv.weight");
    Value::from(if fused { "chatglm" } else { "glm" })
}

/// Only the model of 64 layers has windows, of 4096 tokens where the file says nothing (`src/models/exaone4.cpp`).
fn exaone4_window(facts: &Facts<'_>) -> Value {
    if facts.blocks() != 64 {
        return Value::Null;
    }
    let said = facts.positive("attention.sliding_window");
    Value::from(said.unwrap_or(4096))
}

/// The larger one has no positions: the engine, too, tells it by its 40 layers (`src/models/baichuan.cpp`).
fn baichuan_positions(facts: &Facts<'_>) -> Option<Value> {
    if facts.blocks() == 40 {
        return Some(Value::Null);
    }
    facts.positive("context_length").map(Value::from)
}

/// Nemotron Super: heads and widths of each layer; a layer has none of what is 0 (`src/models/deci.cpp`).
fn found_blocks(facts: &Facts<'_>) -> Option<Value> {
    let hidden = facts.positive("embedding_length")?;
    let heads = facts.per_block("attention.head_count")?;
    let keys = facts.per_block("attention.head_count_kv")?;
    let widths = facts.per_block("feed_forward_length")?;
    let block = |((heads, keys), width): ((&u64, &u64), &u64)| {
        let attention = match (heads, keys) {
            (0, _) => json!({ "no_op": true }),
            (_, 0) => json!({ "replace_with_linear": true }),
            (heads, keys) => json!({ "n_heads_in_group": heads / keys }),
        };
        let network = match width {
            0 => json!({ "no_op": true }),
            // The inverse of the family's rule: two thirds of so many times the model's width.
            width => json!({ "ffn_mult": 3.0 * *width as f64 / (2.0 * hidden as f64) }),
        };
        json!({ "attention": attention, "ffn": network })
    };
    Some(heads.iter().zip(&keys).zip(&widths).map(block).collect())
}

//! Gemma 2 to 4.

use serde_json::Value;

use super::Architecture;
use super::rule::Rule;
use crate::source::gguf::facts::Facts;

pub(super) const ALL: &[Architecture] = &[
    Architecture {
        name: "gemma2",
        model_type: Rule::Word("gemma2"),
        fields: &[GELU],
    },
    Architecture {
        name: "gemma3",
        model_type: Rule::Word("gemma3_text"),
        fields: &[GELU, ("sliding_window_pattern", Rule::By(period))],
    },
    Architecture {
        name: "gemma3n",
        model_type: Rule::Word("gemma3n_text"),
        fields: &[
            GELU,
            ("num_kv_shared_layers", Rule::Of(gemma3n_sharers)),
            (
                "hidden_size_per_layer_input",
                Rule::Number("embedding_length_per_layer_input"),
            ),
            ("vocab_size_per_layer_input", Rule::By(per_layer_rows)),
            ("altup_num_inputs", Rule::Number("altup.num_inputs")),
            ("laurel_rank", Rule::By(laurel_rank)),
        ],
    },
    Architecture {
        name: "gemma4",
        model_type: Rule::Word("gemma4_text"),
        fields: &[
            GELU,
            ("head_dim", Rule::Number("attention.key_length_swa")),
            ("rotary_dim", Rule::Number("rope.dimension_count_swa")),
            ("global_head_dim", Rule::Number("attention.key_length")),
            ("num_key_value_heads", Rule::By(windowed_keys)),
            ("num_global_key_value_heads", Rule::By(full_keys)),
            ("attention_k_eq_v", Rule::Of(shares_values)),
            (
                "num_kv_shared_layers",
                Rule::Number("attention.shared_kv_layers"),
            ),
            ("intermediate_size", Rule::By(narrowest)),
            ("use_double_wide_mlp", Rule::By(widths_differ)),
            ("enable_moe_block", Rule::Of(has_experts)),
            (
                "hidden_size_per_layer_input",
                Rule::Number("embedding_length_per_layer_input"),
            ),
            ("vocab_size_per_layer_input", Rule::By(per_layer_rows)),
        ],
    },
];

const GELU: (&str, Rule) = ("hidden_activation", Rule::Word("gelu_pytorch_tanh"));

/// The pattern as one number: every so manieth layer sees everything (`load_swa_pattern` in `src/llama-model.cpp`).
fn period(facts: &Facts<'_>) -> Option<Value> {
    let period = facts.value("attention.sliding_window_pattern")?.as_u64()?;
    (period > 0).then(|| Value::from(period))
}

/// The engine takes the first 20 layers to own a cache, whatever the file says (`n_layer_kv_from_start` in
/// `src/models/gemma3n.cpp`).
fn gemma3n_sharers(facts: &Facts<'_>) -> Value {
    Value::from(facts.blocks().saturating_sub(20))
}

fn per_layer_rows(facts: &Facts<'_>) -> Option<Value> {
    facts
        .extent("per_layer_token_embd.weight", 1)
        .map(Value::from)
}

fn laurel_rank(facts: &Facts<'_>) -> Option<Value> {
    facts.block_extent("laurel_l.weight", 1).map(Value::from)
}

/// Values per layer where the pattern says windowed, or does not.
fn where_windowed(facts: &Facts<'_>, key: &str, windowed: bool) -> Option<u64> {
    let values = facts.per_block(key)?;
    let pattern = facts.per_block("attention.sliding_window_pattern")?;
    let mut both = values.into_iter().zip(pattern);
    both.find(|(_, pattern)| (*pattern != 0) == windowed)
        .map(|(value, _)| value)
}

fn windowed_keys(facts: &Facts<'_>) -> Option<Value> {
    where_windowed(facts, "attention.head_count_kv", true).map(Value::from)
}

fn full_keys(facts: &Facts<'_>) -> Option<Value> {
    where_windowed(facts, "attention.head_count_kv", false).map(Value::from)
}

/// Full layers without a matrix for values take the keys for them.
fn shares_values(facts: &Facts<'_>) -> Value {
    let lacks = |block| !facts.block_has(block, "attn_v.weight");
    Value::Bool((0..facts.blocks()).any(lacks))
}

fn narrowest(facts: &Facts<'_>) -> Option<Value> {
    let widths = facts.list("feed_forward_length")?;
    widths.into_iter().min().map(Value::from)
}

fn widths_differ(facts: &Facts<'_>) -> Option<Value> {
    let widths = facts.list("feed_forward_length")?;
    let differ = widths.iter().max() != widths.iter().min();
    Some(Value::Bool(differ))
}

fn has_experts(facts: &Facts<'_>) -> Value {
    Value::Bool(facts.positive("expert_count").is_some())
}

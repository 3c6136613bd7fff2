//! Where a field of a configuration comes from.

use serde_json::{Map, Value, json};

use crate::source::gguf::facts::Facts;

/// A source of one field.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// A number other than zero at a key; of a list, the largest. Numbers with a fraction stay as they are.
    Number(&'static str),
    /// Any value at a key.
    Value(&'static str),
    /// Whether any block has a tensor.
    Has(&'static str),
    /// Whether no block has it.
    Lacks(&'static str),
    /// The same in all files of the architecture.
    Yes,
    /// The same in all files of the architecture.
    Word(&'static str),
    /// What can always be told.
    Of(fn(&Facts<'_>) -> Value),
    /// What takes more to find out, where it can be.
    By(fn(&Facts<'_>) -> Option<Value>),
}

/// Sets a field where its source has something to say, in place of what an earlier rule said.
pub(super) fn field(config: &mut Map<String, Value>, name: &str, rule: Rule, facts: &Facts<'_>) {
    let value = match rule {
        Rule::Number(key) => match facts.value(key) {
            Some(Value::Number(number)) if number.is_f64() => Some(Value::Number(number.clone())),
            _ => facts.positive(key).map(Value::from),
        },
        Rule::Value(key) => facts.value(key).cloned(),
        Rule::Has(tensor) => Some(Value::Bool(facts.some_block_has(tensor))),
        Rule::Lacks(tensor) => Some(Value::Bool(!facts.some_block_has(tensor))),
        Rule::Yes => Some(Value::Bool(true)),
        Rule::Word(word) => Some(Value::from(word)),
        Rule::Of(tell) => Some(tell(facts)),
        Rule::By(find) => find(facts),
    };
    if let Some(value) = value {
        config.insert(name.to_owned(), value);
    }
}

/// Layers of the main model.
pub(super) fn depth(facts: &Facts<'_>) -> Option<Value> {
    Some(facts.blocks())
        .filter(|blocks| *blocks > 0)
        .map(Value::from)
}

/// Width of the residual stream as the file says it, or as its embedding has it.
pub(super) fn width(facts: &Facts<'_>) -> Option<Value> {
    let said = facts.positive("embedding_length");
    let width = said.or_else(|| facts.extent("token_embd.weight", 0));
    width.map(Value::from)
}

/// Rows of the embedding, or tokens of the vocabulary.
pub(super) fn vocabulary(facts: &Facts<'_>) -> Option<Value> {
    let rows = facts.extent("token_embd.weight", 1);
    let said = || facts.positive("vocab_size");
    rows.or_else(said)
        .or_else(|| facts.tokens())
        .map(Value::from)
}

/// A file without a head uses the embedding (every loader in `src/models/*.cpp`).
pub(super) fn tied(facts: &Facts<'_>) -> Value {
    Value::Bool(!facts.has("output.weight"))
}

pub(super) fn head_bias(facts: &Facts<'_>) -> Value {
    Value::Bool(facts.has("output.bias"))
}

pub(super) fn attention_bias(facts: &Facts<'_>) -> Value {
    let biased = facts.some_block_has("attn_q.bias") || facts.some_block_has("attn_qkv.bias");
    Value::Bool(biased)
}

/// Tables of factors that come as tensors.
pub(super) fn rope(facts: &Facts<'_>) -> Option<Value> {
    if facts.has("rope_factors_long.weight") {
        return Some(json!({ "rope_type": "longrope" }));
    }
    facts
        .has("rope_freqs.weight")
        .then(|| json!({ "rope_type": "llama3" }))
}

/// Which layers see only a window, where the file lists them.
pub(super) fn windows(facts: &Facts<'_>) -> Option<Value> {
    let Value::Array(pattern) = facts.value("attention.sliding_window_pattern")? else {
        return None;
    };
    let kind = |windowed: &Value| match windowed {
        Value::Bool(true) => "sliding_attention",
        value if value.as_u64().is_some_and(|windowed| windowed != 0) => "sliding_attention",
        _ => "full_attention",
    };
    let blocks = facts.blocks() as usize;
    Some(pattern.get(..blocks)?.iter().map(kind).collect())
}

/// Width of an expert as the file says it, or as its matrices have it (files of Mixtral say nothing).
pub(super) fn expert_width(facts: &Facts<'_>) -> Option<Value> {
    let said = facts.positive("expert_feed_forward_length");
    let width = said.or_else(|| facts.block_extent("ffn_up_exps.weight", 1));
    width.map(Value::from)
}

/// The same, or the width of the network where there is no other.
pub(super) fn any_width(facts: &Facts<'_>) -> Option<Value> {
    let said = || facts.positive("feed_forward_length");
    let rows = || facts.block_extent("ffn_up.weight", 1);
    expert_width(facts).or_else(|| said().or_else(rows).map(Value::from))
}

/// Prediction blocks that the file holds.
pub(super) fn prediction(facts: &Facts<'_>) -> Value {
    Value::from(facts.prediction_blocks())
}

//! From the metadata of each architecture (`general.architecture`) to the fields of a Hugging Face configuration: the
//! way back from what llama.cpp's converters do (`conversion/*.py`) and its loader expects (`src/models/*.cpp`,
//! 0.6.0-dev). Where the metadata is silent, the tensors tell: biases, tied heads, norms.

mod dense;
mod experts;
mod gemma;
mod hybrid;
mod latent;
mod rule;
mod unknown;

use serde_json::{Map, Value};

use self::rule::{Rule, field};
use super::facts::Facts;

/// How the configuration of one architecture is made.
struct Architecture {
    /// Its name in files.
    name: &'static str,
    /// The family that reads the configuration.
    model_type: Rule,
    /// Fields beyond, or instead of, those of every architecture.
    fields: &'static [(&'static str, Rule)],
}

/// Every architecture whose family is known.
const GROUPS: [&[Architecture]; 5] = [
    dense::ALL,
    experts::ALL,
    latent::ALL,
    hybrid::ALL,
    gemma::ALL,
];

/// Fields that most architectures have.
const COMMON: &[(&str, Rule)] = &[
    ("hidden_size", Rule::Number("embedding_length")),
    ("num_hidden_layers", Rule::By(rule::depth)),
    ("vocab_size", Rule::By(rule::vocabulary)),
    ("max_position_embeddings", Rule::Number("context_length")),
    ("num_attention_heads", Rule::Number("attention.head_count")),
    (
        "num_key_value_heads",
        Rule::Number("attention.head_count_kv"),
    ),
    ("head_dim", Rule::Number("attention.key_length")),
    ("rotary_dim", Rule::Number("rope.dimension_count")),
    ("rope_scaling", Rule::By(rule::rope)),
    ("intermediate_size", Rule::Number("feed_forward_length")),
    ("tie_word_embeddings", Rule::Of(rule::tied)),
    ("attention_bias", Rule::Of(rule::attention_bias)),
    ("mlp_bias", Rule::Has("ffn_up.bias")),
    ("lm_head_bias", Rule::Of(rule::head_bias)),
    ("use_qk_norm", Rule::Has("attn_q_norm.weight")),
    ("sliding_window", Rule::Number("attention.sliding_window")),
    ("layer_types", Rule::By(rule::windows)),
    (
        "attn_logit_softcapping",
        Rule::Value("attn_logit_softcapping"),
    ),
    (
        "final_logit_softcapping",
        Rule::Value("final_logit_softcapping"),
    ),
    ("num_experts", Rule::Number("expert_count")),
    ("num_local_experts", Rule::Number("expert_count")),
    ("n_routed_experts", Rule::Number("expert_count")),
    ("num_experts_per_tok", Rule::Number("expert_used_count")),
    ("moe_intermediate_size", Rule::By(rule::expert_width)),
    ("n_shared_experts", Rule::Number("expert_shared_count")),
    ("n_group", Rule::Number("expert_group_count")),
    ("topk_group", Rule::Number("expert_group_used_count")),
    ("norm_topk_prob", Rule::Value("expert_weights_norm")),
    (
        "routed_scaling_factor",
        Rule::Number("expert_weights_scale"),
    ),
    (
        "first_k_dense_replace",
        Rule::Number("leading_dense_block_count"),
    ),
    ("num_nextn_predict_layers", Rule::Of(rule::prediction)),
    ("mtp_num_hidden_layers", Rule::Of(rule::prediction)),
];

/// The configuration of a file of a known architecture; `None` for others.
pub(super) fn known(facts: &Facts<'_>) -> Option<Map<String, Value>> {
    let mut all = GROUPS.into_iter().flatten();
    let known = all.find(|known| known.name == facts.architecture)?;
    let mut config = Map::new();
    let model_type = ("model_type", known.model_type);
    for (name, rule) in COMMON.iter().chain(known.fields).chain([&model_type]) {
        field(&mut config, name, *rule, facts);
    }
    Some(config)
}

/// Keys behind the fields that are not simply a key's value.
const BEHIND: [(&str, &str); 13] = [
    ("num_hidden_layers", "block_count"),
    ("hidden_size", "embedding_length"),
    ("vocab_size", "vocab_size"),
    ("num_attention_heads", "attention.head_count"),
    ("num_key_value_heads", "attention.head_count_kv"),
    ("intermediate_size", "feed_forward_length"),
    ("moe_intermediate_size", "expert_feed_forward_length"),
    ("layer_types", "attention.sliding_window_pattern"),
    ("v_head_dim", "attention.value_length"),
    ("qk_nope_head_dim", "attention.key_length"),
    ("qk_rope_head_dim", "rope.dimension_count"),
    ("sliding_window_pattern", "attention.sliding_window_pattern"),
    ("num_nextn_predict_layers", "nextn_predict_layers"),
];

/// The key that a field of the configuration is read from.
pub(super) fn key_of(facts: &Facts<'_>, field: &str) -> Option<&'static str> {
    let mut all = GROUPS.into_iter().flatten();
    let known = all.find(|known| known.name == facts.architecture);
    let own = known.map_or(unknown::FIELDS, |known| known.fields);
    let mut rules = own.iter().chain(COMMON);
    let read = rules.find_map(|(name, rule)| match rule {
        Rule::Number(key) | Rule::Value(key) if *name == field => Some(*key),
        _ => None,
    });
    let mut behind = BEHIND.iter();
    read.or_else(|| behind.find(|(name, _)| *name == field).map(|(_, key)| *key))
}

/// The configuration that the standard keys make, for any architecture.
pub(super) fn any(facts: &Facts<'_>) -> Map<String, Value> {
    unknown::config(facts)
}

//! Architectures whose family is not known: the standard keys (`docs/gguf.md` of ggml, `LLM_KV_NAMES` in
//! `src/llama-arch.cpp`, 0.6.0-dev) under the usual names of configurations.

use serde_json::{Map, Value, json};

use super::COMMON;
use super::rule::{self, Rule, field};
use crate::source::gguf::facts::Facts;

/// Fields instead of, or beyond, those that most architectures have.
pub(super) const FIELDS: &[(&str, Rule)] = &[
    ("hidden_size", Rule::By(rule::width)),
    ("is_gated_act", Rule::By(gated)),
    ("num_attention_heads", Rule::By(heads)),
    (
        "num_key_value_heads",
        Rule::Value("attention.head_count_kv"),
    ),
    ("intermediate_size", Rule::By(rule::any_width)),
    ("v_head_dim", Rule::By(value_width)),
    ("sliding_window_pattern", Rule::By(period)),
    ("attention_chunk_size", Rule::Number("attention.chunk_size")),
    ("q_lora_rank", Rule::Number("attention.q_lora_rank")),
    ("kv_lora_rank", Rule::Number("attention.kv_lora_rank")),
    ("qk_rope_head_dim", Rule::By(rotated)),
    ("qk_nope_head_dim", Rule::By(unrotated)),
    (
        "index_n_heads",
        Rule::Number("attention.indexer.head_count"),
    ),
    (
        "index_head_dim",
        Rule::Number("attention.indexer.key_length"),
    ),
    ("index_topk", Rule::Number("attention.indexer.top_k")),
    (
        "num_kv_shared_layers",
        Rule::Number("attention.shared_kv_layers"),
    ),
    (
        "full_attention_interval",
        Rule::Number("full_attention_interval"),
    ),
    (
        "shared_expert_intermediate_size",
        Rule::Number("expert_shared_feed_forward_length"),
    ),
    ("mlp_only_layers", Rule::By(without_router)),
    ("mamba_d_state", Rule::Number("ssm.state_size")),
    ("mamba_d_ssm", Rule::Number("ssm.inner_size")),
    ("mamba_n_heads", Rule::Number("ssm.time_step_rank")),
    ("mamba_n_groups", Rule::Number("ssm.group_count")),
    ("mamba_d_conv", Rule::Number("ssm.conv_kernel")),
    ("conv_L_cache", Rule::Number("shortconv.l_cache")),
    ("wkv_head_size", Rule::Number("wkv.head_size")),
    ("layer_types", Rule::By(layers)),
];

/// The configuration that the standard keys make.
pub(super) fn config(facts: &Facts<'_>) -> Map<String, Value> {
    let mut config = Map::new();
    config.insert("model_type".to_owned(), json!(facts.architecture));
    for (name, rule) in COMMON.iter().chain(FIELDS) {
        field(&mut config, name, *rule, facts);
    }
    config
}

/// Heads of all layers, or of each. None at all is for models without attention; with it, that is no number of heads.
fn heads(facts: &Facts<'_>) -> Option<Value> {
    const QUERIES: [&str; 4] = [
        "attn_q.weight",
        "attn_qkv.weight",
        "attn_q_a.weight",
        "attn_q_b.weight",
    ];
    let said = facts.value("attention.head_count")?;
    let attends = || QUERIES.iter().any(|queries| facts.some_block_has(queries));
    let can_be = said.is_array() || facts.positive("attention.head_count").is_some() || !attends();
    can_be.then(|| said.clone())
}

/// Whether networks have a gate beside the matrix on the way in, by itself or joined to it.
fn gated(facts: &Facts<'_>) -> Option<Value> {
    const GATES: [&str; 3] = [
        "ffn_gate.weight",
        "ffn_gate_exps.weight",
        "ffn_gate_up_exps.weight",
    ];
    if GATES.iter().any(|gate| facts.some_block_has(gate)) {
        return Some(Value::Bool(true));
    }
    let rows = facts.block_extent("ffn_up.weight", 1)?;
    let joined = facts
        .positive("feed_forward_length")
        .is_some_and(|width| rows == width.saturating_mul(2));
    Some(Value::Bool(joined))
}

fn is_latent(facts: &Facts<'_>) -> bool {
    facts.positive("attention.kv_lora_rank").is_some()
}

fn value_width(facts: &Facts<'_>) -> Option<Value> {
    let latent = facts.positive("attention.value_length_mla");
    latent
        .or_else(|| facts.positive("attention.value_length"))
        .map(Value::from)
}

fn rotated(facts: &Facts<'_>) -> Option<Value> {
    let rotated = facts.positive("rope.dimension_count")?;
    is_latent(facts).then(|| Value::from(rotated))
}

fn unrotated(facts: &Facts<'_>) -> Option<Value> {
    let width = facts
        .positive("attention.key_length_mla")
        .or_else(|| facts.positive("attention.key_length"))?;
    let rest = width.checked_sub(facts.positive("rope.dimension_count")?)?;
    is_latent(facts).then(|| Value::from(rest))
}

/// The pattern as one number; lists say the layers' kinds.
fn period(facts: &Facts<'_>) -> Option<Value> {
    let period = facts.value("attention.sliding_window_pattern")?.as_u64()?;
    (period > 0).then(|| Value::from(period))
}

fn without_router(facts: &Facts<'_>) -> Option<Value> {
    facts.positive("expert_count")?;
    let lacks = |block: &u64| !facts.block_has(*block, "ffn_gate_inp.weight");
    Some((0..facts.blocks()).filter(lacks).collect())
}

/// Which layers the engine gives a window though no file lists them: one in so many sees the whole context, the last of
/// each group or the first (`load_swa_pattern` in `src/models/{afmoe,cohere2,cohere2moe,exaone4,exaone-moe,laguna,mellum,
/// muse-glimmer,plamo3,smallthinker}.cpp`, 0.6.0-dev).
const PATTERNS: &[(&str, u64, Whole)] = &[
    ("afmoe", 4, Whole::Last),
    ("cohere2", 4, Whole::Last),
    ("cohere2moe", 4, Whole::First),
    ("exaone4", 4, Whole::Last),
    ("exaone-moe", 4, Whole::Last),
    ("laguna", 4, Whole::First),
    ("mellum", 4, Whole::Last),
    ("muse-glimmer", 4, Whole::Last),
    ("plamo3", 8, Whole::Last),
    ("smallthinker", 4, Whole::First),
];

/// The layer of a group that sees the whole context.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    First,
    Last,
}

fn built_in(facts: &Facts<'_>) -> Option<Value> {
    let (name, group, whole) = PATTERNS
        .iter()
        .find(|(name, ..)| *name == facts.architecture)?;
    facts.positive("attention.sliding_window")?;
    // Of EXAONE 4 only the model of 64 layers has windows (`src/models/exaone4.cpp`).
    let none = *name == "exaone4" && facts.blocks() != 64;
    let group = facts
        .positive("attention.sliding_window_pattern")
        .unwrap_or(*group);
    let sees_all = |block: u64| match whole {
        Whole::First => block.is_multiple_of(group),
        Whole::Last => (block + 1).is_multiple_of(group),
    };
    let kind = |block| {
        if none || sees_all(block) {
            "full_attention"
        } else {
            "sliding_attention"
        }
    };
    Some((0..facts.blocks()).map(kind).collect())
}

/// Which layers see only a window: where the file lists them, or as the engine has it.
pub(super) fn windows(facts: &Facts<'_>) -> Option<Value> {
    rule::windows(facts).or_else(|| built_in(facts))
}

/// Kinds of layers by what their blocks hold, where some are recurrent; else by the windows that the file lists.
fn layers(facts: &Facts<'_>) -> Option<Value> {
    const RECURRENT: [&str; 4] = [
        "ssm_conv1d.weight",
        "ssm_in.weight",
        "shortconv.conv.weight",
        "time_mix_key.weight",
    ];
    const ATTENTION: [&str; 5] = [
        "attn_k.weight",
        "attn_qkv.weight",
        "attn_kv_a_mqa.weight",
        "attn_q.weight",
        "attn_q_a.weight",
    ];
    let holds = |block, names: &[&str]| names.iter().any(|name| facts.block_has(block, name));
    let recurrent = |block: u64| holds(block, &RECURRENT);
    let windows = windows(facts);
    if !(0..facts.blocks()).any(recurrent) {
        return windows;
    }
    let window = |block: u64| {
        let kind = windows.as_ref()?.get(usize::try_from(block).ok()?)?;
        kind.as_str()
    };
    // Files of Qwen3-Next's kind fuse the inputs of their recurrent layers under the name of an attention's.
    let attends = |block: u64| {
        holds(block, &ATTENTION) && !(recurrent(block) && facts.block_has(block, "attn_qkv.weight"))
    };
    let kind = |block: u64| match (recurrent(block), attends(block)) {
        (true, true) => "hybrid",
        (true, false) => "linear_attention",
        (false, true) => window(block).unwrap_or("full_attention"),
        (false, false) => "none",
    };
    Some((0..facts.blocks()).map(kind).collect())
}

//! `params.json`, the configuration of Mistral's and Meta's own files, under the names of Hugging Face's.

use serde_json::{Map, Value, json};

/// Names that differ (vLLM 0.33 `transformers_utils/configs/mistral.py`).
const NAMES: [(&str, &str); 8] = [
    ("dim", "hidden_size"),
    ("norm_eps", "rms_norm_eps"),
    ("n_kv_heads", "num_key_value_heads"),
    ("n_layers", "num_hidden_layers"),
    ("n_heads", "num_attention_heads"),
    ("hidden_dim", "intermediate_size"),
    ("tied_embeddings", "tie_word_embeddings"),
    ("max_seq_len", "max_position_embeddings"),
];

/// Names of experts that differ; the same file.
const EXPERTS: [(&str, &str); 6] = [
    ("num_experts", "n_routed_experts"),
    ("expert_hidden_dim", "moe_intermediate_size"),
    ("num_shared_experts", "n_shared_experts"),
    ("num_expert_groups", "n_group"),
    ("num_expert_groups_per_tok", "topk_group"),
    ("routed_scale", "routed_scaling_factor"),
];

/// The configuration that such a file describes.
pub(super) fn translate(params: &Map<String, Value>) -> Value {
    let mut config = params.clone();
    rename(&mut config, &NAMES);
    if let Some(Value::Object(mut experts)) = config.remove("moe") {
        rename(&mut experts, &EXPERTS);
        config.append(&mut experts);
    }
    let has = |config: &Map<String, Value>, field: &str| {
        config.get(field).is_some_and(|value| !value.is_null())
    };
    let latent = has(&config, "kv_lora_rank");
    if let Some(experts) = config.get("n_routed_experts").cloned().filter(|_| !latent) {
        config.insert("num_local_experts".to_owned(), experts);
    }
    let kind = match (latent, has(&config, "n_routed_experts")) {
        (true, _) => "deepseek_v3",
        (false, true) => "mixtral",
        (false, false) => "mistral",
    };
    config.insert("model_type".to_owned(), json!(kind));
    if !has(&config, "intermediate_size")
        && let Some(width) = meta_width(&config)
    {
        config.insert("intermediate_size".to_owned(), json!(width));
    }
    if let Some(format) = config
        .get("quantization")
        .and_then(|all| all.get("qformat_weight"))
        && format.as_str() == Some("fp8_e4m3")
    {
        let method = json!({"quant_method": "fp8", "activation_scheme": "static"});
        config.insert("quantization_config".to_owned(), method);
    }
    Value::Object(config)
}

fn rename(fields: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (theirs, ours) in names {
        if let Some(value) = fields.remove(*theirs) {
            fields.entry(*ours).or_insert(value);
        }
    }
}

/// Width of the feed-forward network where Meta's files leave it to their code (meta-llama/llama-models
/// `models/llama3/model.py`, `FeedForward`): two thirds of four times the width, times a factor, rounded up.
fn meta_width(config: &Map<String, Value>) -> Option<u64> {
    let hidden = config
        .get("hidden_size")?
        .as_u64()
        .filter(|width| *width <= 1 << 26)?;
    let multiple = config
        .get("multiple_of")?
        .as_u64()
        .filter(|of| (1..=1 << 26).contains(of))?;
    let factor = config
        .get("ffn_dim_multiplier")
        .and_then(Value::as_f64)
        .unwrap_or(1.0);
    let width = (2 * 4 * hidden / 3) as f64 * factor.clamp(0.0, 64.0);
    Some((width as u64).next_multiple_of(multiple))
}

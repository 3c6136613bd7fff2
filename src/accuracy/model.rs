//! Models of rows that no preset describes, from the hyper-parameters they were measured with.

use serde_json::{Map, Value as Json, json};

use crate::model::{Model, from_config};

/// The model of a row: only the architecture whose parameters rows carry whole.
pub(super) fn from_hparams(row: &Json) -> Option<Model> {
    let hparams = row.get("hparams")?;
    let of = |name: &str| hparams.get(name).and_then(Json::as_u64);
    let architecture = row.get("arch").and_then(Json::as_str)?;
    if architecture != "minicpm3" {
        return None;
    }
    let rotated = of("n_rot")?;
    let config = json!({
        "model_type": architecture,
        "hidden_size": of("n_embd")?,
        "num_hidden_layers": of("n_layer")?,
        "num_attention_heads": of("n_head")?,
        "num_key_value_heads": of("n_head_kv")?,
        "intermediate_size": of("n_ff")?,
        "vocab_size": of("n_vocab")?,
        "max_position_embeddings": of("n_ctx_train")?,
        "q_lora_rank": of("q_lora_rank")?,
        "kv_lora_rank": of("kv_lora_rank")?,
        "qk_rope_head_dim": rotated,
        "qk_nope_head_dim": of("head_dim_k")?.checked_sub(rotated)?,
        "v_head_dim": of("head_dim_v")?,
        "tie_word_embeddings": false,
        "hidden_act": "silu",
    });
    let name = row.get("model").and_then(Json::as_str)?;
    from_config(name, &config, &Map::new()).ok()
}

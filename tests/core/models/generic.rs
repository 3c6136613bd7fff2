//! Models of unknown families: never refused where the usual fields are there, and every assumption is said.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::model::mixer::Attention;
use plimsoll::model::{Error, FeedForward, Mixer, Model, from_config};
use serde_json::{Map, Value, json};

fn read(config: &Value) -> Result<Model, Error> {
    from_config("m", config, &Map::new())
}

/// A configuration of a known family under a type that nobody knows.
fn renamed(config: &Value) -> Value {
    let mut config = config.clone();
    let mut rename = |pointer: &str| {
        if let Some(kind) = config.pointer_mut(pointer) {
            *kind = json!("zyxw");
        }
    };
    rename("/model_type");
    rename("/text_config/model_type");
    rename("/llm_config/model_type");
    rename("/language_config/model_type");
    config
}

/// What a layer adds to its cache per token, and the fixed state it keeps.
fn cache(mixer: &Mixer) -> (u64, u64) {
    match mixer {
        Mixer::Attention(attention) => (attention.k_width() + attention.v_width(), 0),
        Mixer::Latent(latent) => (latent.latent_width(), 0),
        Mixer::GatedDelta(delta) => (0, delta.conv_state() + delta.matrix_state()),
        Mixer::Mamba2(mamba) => (0, mamba.conv_state() + mamba.ssm_state()),
        Mixer::AttentionAndMamba2(attention, mamba) => (
            attention.k_width() + attention.v_width(),
            mamba.conv_state() + mamba.ssm_state(),
        ),
        _ => (0, 0),
    }
}

/// Families whose caches follow rules that no field tells, and why.
const UNTOLD: [&str; 7] = [
    "gemma4_text",  // full layers have heads of their own width
    "nemotron-nas", // `block_configs` in place of layers
    "nemotron_h",   // a pattern of letters
    "deepseek_v4",  // compressed entries
    "kimi_linear",  // a nested object for linear layers
    "minimax_m1",   // linear attention of its own kind
    "minimax_m3",   // an indexer of blocks
];

/// What a layer's router chooses from.
fn experts(network: &FeedForward) -> (u64, u64, u64) {
    match network {
        FeedForward::Experts(experts) => (
            experts.num_experts,
            experts.num_experts_per_tok,
            experts.moe_intermediate_size,
        ),
        _ => (0, 0, 0),
    }
}

/// What differs between a model read by its family and by its fields alone.
fn difference(known: &Model, config: &Value) -> Option<String> {
    let generic = match read(&renamed(config)) {
        Ok(generic) => generic,
        Err(error) => return Some(error.to_string()),
    };
    let said = "Nothing is known of models of type `zyxw`:";
    if !generic.assumptions[0].starts_with(said) {
        return Some(generic.assumptions.join("; "));
    }
    if generic.layers.len() != known.layers.len() {
        return Some(format!("{} layers", generic.layers.len()));
    }
    let layers = generic.layers.iter().zip(&known.layers).enumerate();
    let untold = UNTOLD.contains(&known.model_type.as_str());
    layers.filter(|_| !untold).find_map(|(index, (own, told))| {
        let own = (cache(&own.mixer), experts(&own.feed_forward));
        let told = (cache(&told.mixer), experts(&told.feed_forward));
        (own != told).then(|| format!("layer {index}: {own:?} instead of {told:?}"))
    })
}

#[test]
fn known_models_under_unknown_types_have_the_same_caches() {
    let catalog = ModelCatalog::embedded();
    let mut differences = Vec::new();
    for id in catalog.ids() {
        let preset = catalog.find(id).unwrap();
        let known = preset.model(&Map::new()).unwrap();
        if known.layers.is_empty() {
            continue;
        }
        let config = serde_json::from_str(&preset.config().to_string()).unwrap();
        if let Some(difference) = difference(&known, &config) {
            differences.push(format!("{id} ({}): {difference}", known.model_type));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn attention(model: &Model, layer: usize) -> Attention {
    match &model.layers[layer].mixer {
        Mixer::Attention(attention) => *attention,
        other => panic!("{other:?}"),
    }
}

#[test]
fn old_spellings_are_read() {
    let model = read(&json!({
        "model_type": "gpt9", "n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 100, "n_positions": 1024,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "multi_query": true,
    }))
    .unwrap();
    assert_eq!(
        (model.hidden_size, model.layers.len(), model.context_length),
        (64, 3, 1024)
    );
    assert_eq!(
        (
            attention(&model, 0).head_dim,
            attention(&model, 0).num_key_value_heads
        ),
        (16, 1)
    );
    let FeedForward::Dense(network) = model.layers[0].feed_forward else {
        panic!("{:?}", model.layers[0]);
    };
    assert_eq!((network.intermediate_size, network.gated), (256, false));
    let said = model.assumptions.join("\n");
    for part in [
        "four times the hidden size",
        "two are assumed",
        "is the embedding",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn near_misses_are_suggested_and_names_cannot_move_the_cursor() {
    let config = |model_type: &str| json!({"model_type": model_type, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4});
    let first = |model_type| read(&config(model_type)).unwrap().assumptions[0].clone();
    assert!(
        first("qwen33").contains("(the nearest known type is `qwen3`)"),
        "{}",
        first("qwen33")
    );
    assert!(
        first("a\u{1b}[2Jb\0").contains("`a\\u{1b}[2Jb\\u{0}`"),
        "{}",
        first("a\u{1b}[2Jb\0")
    );
    for missing in ["hidden_size", "num_hidden_layers", "num_attention_heads"] {
        let mut config = config("lama");
        config.as_object_mut().unwrap().remove(missing);
        assert_eq!(
            read(&config).unwrap_err().to_string(),
            format!(
                "models of type `lama` are not known (did you mean `llama`?), and there is no `{missing}` to go by"
            )
        );
    }
}

#[test]
fn layers_may_differ() {
    let base = json!({
        "model_type": "zyxw", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": [4, 8, 4, 4],
        "num_key_value_heads": [2, 4, 0, 1], "intermediate_size": [10, 0, 30, 40], "vocab_size": 9, "head_dim": 8,
        "sliding_window": 32, "sliding_window_pattern": [true, false, false, true], "max_position_embeddings": 99,
    });
    let model = read(&base).unwrap();
    let heads: Vec<_> = [0, 1, 3]
        .map(|layer| attention(&model, layer).num_key_value_heads)
        .into();
    assert_eq!(heads, [2, 4, 1]);
    assert_eq!(model.layers[2].mixer, Mixer::None);
    assert_eq!(model.layers[1].feed_forward, FeedForward::None);

    let mut hybrid = base.clone();
    hybrid["mamba_d_state"] = json!(16);
    let model = read(&hybrid).unwrap();
    let Mixer::Mamba2(mamba) = &model.layers[2].mixer else {
        panic!("{:?}", model.layers[2]);
    };
    assert_eq!((mamba.conv_state(), mamba.ssm_state()), (3 * 128, 128 * 16));

    let mut named = base;
    named["num_key_value_heads"] = json!(2);
    named["layer_types"] = json!(["sliding_attention", "linear_attention", "conv", "quantum"]);
    let model = read(&named).unwrap();
    assert!(
        matches!(model.layers[1].mixer, Mixer::Lightning(_)),
        "{:?}",
        model.layers[1]
    );
    let said = model.assumptions.join("\n");
    assert!(
        said.contains("a square matrix per head") && said.contains("`quantum`"),
        "{said}"
    );
}

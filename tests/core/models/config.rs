//! What is read from configurations, and overrides.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::model::mixer::{Cache, Mixer, QkNorm, Reach};
use plimsoll::model::{Error, FeedForward, Model, Positions, RopeFactors, from_config};
use plimsoll::plan::{ModelRef, Value as Written};
use plimsoll::source;
use serde_json::{Map, Value, json};

use super::preset;

fn overridden(id: &str, overrides: &Value) -> Result<Model, String> {
    let overrides = overrides.as_object().cloned().unwrap_or_default();
    let preset = ModelCatalog::embedded().find(id).unwrap();
    preset.model(&overrides).map_err(|error| error.to_string())
}

/// How many layers keep a cache that grows without bound, one that is windowed, one of another layer, a state.
fn caches(model: &Model) -> [usize; 4] {
    let mut counts = [0; 4];
    for layer in &model.layers {
        match &layer.mixer {
            Mixer::Attention(attention) => match (attention.cache, attention.reach) {
                (Cache::SharedWith(_), _) => counts[2] += 1,
                (_, Reach::Full) => counts[0] += 1,
                _ => counts[1] += 1,
            },
            Mixer::Latent(_) => counts[0] += 1,
            Mixer::Compressed(_) => counts[1] += 1,
            Mixer::AttentionAndMamba2(..) => {
                counts[0] += 1;
                counts[3] += 1;
            }
            Mixer::None => {}
            _ => counts[3] += 1,
        }
    }
    counts
}

#[test]
fn layers_differ_where_models_say_so() {
    let cases = [
        ("Llama-3.1-8B-Instruct", [32, 0, 0, 0]),
        ("gemma-2-9b-it", [21, 21, 0, 0]),
        ("gemma-3-27b-it", [10, 52, 0, 0]),
        ("gemma-3n-E4B-it", [4, 16, 15, 0]),
        ("gemma-4-E2B-it", [3, 12, 20, 0]),
        ("gpt-oss-20b", [12, 12, 0, 0]),
        ("Llama-4-Scout-17B-16E-Instruct", [12, 36, 0, 0]),
        ("Olmo-3-7B-Instruct", [8, 24, 0, 0]),
        ("Phi-3-mini-128k-instruct", [32, 0, 0, 0]),
        ("Qwen2.5-7B-Instruct", [28, 0, 0, 0]),
        ("Qwen3.5-27B", [16, 0, 0, 48]),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B", [6, 0, 0, 23]),
        ("NVIDIA-Nemotron-3-Ultra-550B-A55B", [12, 0, 0, 48]),
        ("Falcon-H1-7B-Instruct", [44, 0, 0, 44]),
        ("granite-4.0-h-small", [4, 0, 0, 36]),
        ("MiniMax-M1-80k", [10, 0, 0, 70]),
        ("Kimi-K3", [24, 0, 0, 69]),
        ("Llama-3_3-Nemotron-Super-49B-v1", [49, 0, 0, 0]),
        ("DeepSeek-V4-Flash", [0, 43, 0, 0]),
    ];
    for (id, expected) in cases {
        assert_eq!(caches(&preset(id)), expected, "{id}");
    }
}

#[test]
fn special_parts_are_found() {
    let glm = preset("GLM-5.2");
    let owned = |layer: &&plimsoll::model::Layer| matches!(&layer.mixer, Mixer::Latent(latent) if latent.sparse.is_some_and(|indexer| indexer.owned));
    assert_eq!(glm.layers.iter().filter(owned).count(), 21);

    let one = Positions::RotaryWithFactors(RopeFactors::One { length: 64 });
    assert_eq!(preset("Llama-3.1-8B-Instruct").positions, one);
    let two = Positions::RotaryWithFactors(RopeFactors::LongAndShort { length: 48 });
    assert_eq!(preset("Phi-3-mini-128k-instruct").positions, two);
    assert_eq!(preset("Phi-4-mini-instruct").positions, two);
    assert_eq!(preset("Baichuan2-13B-Chat").positions, Positions::Alibi);

    assert_eq!(preset("Qwen3-VL-8B-Instruct").vision.unwrap().deepstack, 3);
    assert_eq!(
        preset("Mistral-Small-3.1-24B-Instruct-2503")
            .wrapper_type
            .unwrap(),
        "mistral3"
    );
    assert!(preset("Qwen3-0.6B").stores_tied_head);
    assert!(!preset("Qwen3-Coder-Next").mtp.unwrap().stored);
    assert!(!preset("GLM-4.6").mtp.unwrap().copies_embedding);
    assert!(preset("GLM-4.5").mtp.unwrap().copies_embedding);

    let gemma = preset("gemma-4-31B-it");
    let full = gemma.layers[5].mixer.attention().unwrap();
    assert_eq!(
        (full.num_key_value_heads, full.head_dim, full.k_eq_v),
        (4, 512, true)
    );
    let sliding = gemma.layers[4].mixer.attention().unwrap();
    assert_eq!((sliding.num_key_value_heads, sliding.head_dim), (16, 256));

    let shared = preset("gemma-3n-E4B-it");
    let cache = |layer: usize| shared.layers[layer].mixer.attention().unwrap().cache;
    assert_eq!(
        (cache(34), cache(33)),
        (Cache::SharedWith(19), Cache::SharedWith(18))
    );

    let norm = |id: &str| preset(id).layers[0].mixer.attention().unwrap().qk_norm;
    assert_eq!(norm("Qwen3-8B"), QkNorm::PerHead);
    assert_eq!(norm("OLMo-2-1124-7B-Instruct"), QkNorm::Full);
    assert_eq!(norm("GLM-4.5-Air"), QkNorm::None);
}

#[test]
fn overrides_shorten_models_and_their_lists() {
    for id in [
        "DeepSeek-R1",
        "DeepSeek-V4-Flash",
        "gemma-4-E2B-it",
        "gpt-oss-120b",
        "GLM-5.2",
        "Llama-3_3-Nemotron-Super-49B-v1",
        "NVIDIA-Nemotron-3-Super-120B-A12B",
        "NVIDIA-Nemotron-3-Ultra-550B-A55B",
        "Qwen3.5-27B",
        "MiniMax-M1-80k",
        "MiniMax-M3",
        "granite-4.0-h-small",
        "Kimi-K3",
    ] {
        let whole = preset(id);
        let cut = overridden(id, &json!({"num_hidden_layers": 4})).unwrap();
        assert_eq!(cut.layers.len(), 4, "{id}");
        assert_ne!(cut.fingerprint, whole.fingerprint, "{id}");
        let kind = |layer: &plimsoll::model::Layer| std::mem::discriminant(&layer.mixer);
        let kinds = |model: &Model| model.layers.iter().take(4).map(kind).collect::<Vec<_>>();
        assert_eq!(kinds(&cut), kinds(&whole), "{id}");
    }
}

#[test]
fn overrides_reach_the_language_model_by_name() {
    let model = overridden("Qwen3-VL-8B-Instruct", &json!({"num_key_value_heads": 4})).unwrap();
    assert_eq!(
        model.layers[0]
            .mixer
            .attention()
            .unwrap()
            .num_key_value_heads,
        4
    );
    let model = overridden("DeepSeek-R1", &json!({"n_routed_experts": 64})).unwrap();
    let FeedForward::Experts(experts) = &model.layers[3].feed_forward else {
        panic!("layer 3 of DeepSeek-R1 has experts");
    };
    assert_eq!(experts.num_experts, 64);
    assert_eq!(
        overridden("Qwen3-8B", &json!({"num_hidden_layer": 4})),
        Err("`num_hidden_layer` is no known field (did you mean `num_hidden_layers`?) in the model Qwen3-8B".to_owned())
    );
    let longer = overridden("gpt-oss-20b", &json!({"num_hidden_layers": 25}));
    assert_eq!(
        longer,
        Err("`layer_types` has 24 entries for 25 layers in the model gpt-oss-20b".to_owned())
    );
}

#[test]
fn plans_name_a_preset_or_a_folder() {
    let catalog = ModelCatalog::embedded();
    let mut reference = ModelRef {
        preset: Some("qwen3-8b".to_owned()),
        ..ModelRef::default()
    };
    reference
        .overrides
        .insert("num_hidden_layers".to_owned(), Written::Integer(2));
    assert_eq!(source::model(&reference, &catalog).unwrap().layers.len(), 2);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("My Model");
    std::fs::create_dir(&path).unwrap();
    reference.path = Some(path.display().to_string());
    let error = |reference: &ModelRef| source::model(reference, &catalog).unwrap_err().to_string();
    assert!(error(&reference).contains("keep one"));
    reference.preset = None;
    assert!(error(&reference).starts_with("there is no config.json in the folder"));

    let config = catalog.find("Qwen3-8B").unwrap().config().to_string();
    std::fs::write(path.join("config.json"), config).unwrap();
    let model = source::model(&reference, &catalog).unwrap();
    assert_eq!((model.name.as_str(), model.layers.len()), ("My Model", 2));

    std::fs::write(path.join("config.json"), "{\"model_type\": ").unwrap();
    assert!(error(&reference).contains("EOF"));
    std::fs::write(path.join("config.json"), vec![b' '; (16 << 20) + 1]).unwrap();
    assert!(error(&reference).starts_with("this file is larger than"));
    std::fs::write(path.join("x.GGUF"), "anything").unwrap();
    reference.path = Some(path.join("x.GGUF").display().to_string());
    assert!(error(&reference).starts_with("this is no GGUF file"));
    assert!(error(&ModelRef::default()).starts_with("the plan has no model"));
}

#[test]
fn equal_configurations_have_equal_fingerprints() {
    let config = json!({
        "model_type": "llama", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 512,
    });
    let read = |config: &Value| from_config("m", config, &Map::new()).unwrap();
    let model = read(&config);
    assert_eq!(model, read(&config));
    let mut other = config.clone();
    other["vocab_size"] = json!(101);
    assert_ne!(model.fingerprint, read(&other).fingerprint);
    assert_eq!(
        from_config("m", &json!({"model_type": "lama"}), &Map::new()),
        Err(Error::Family {
            model_type: "lama".to_owned(),
            nearest: Some("llama".to_owned()),
            missing: "hidden_size",
        })
    );
}

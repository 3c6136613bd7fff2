//! Architectures that nobody here knows.

use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::llamacpp::tensors::TensorTable;
use plimsoll::model::Mixer;
use plimsoll::source::gguf;
use serde_json::{Map, Value};

use super::file::{Folder, Writer};
use super::round_trip::{preset, rows};

/// The keys of a preset's file under the name of another architecture.
fn renamed(id: &str) -> Map<String, Value> {
    let row = rows("metadata.jsonl")
        .into_iter()
        .find(|row| row.preset == id);
    let kv = row.expect(id).kv;
    let old = kv["general.architecture"]
        .as_str()
        .expect("a name")
        .to_owned();
    let rename = |(key, value): (String, Value)| match key.strip_prefix(&format!("{old}.")) {
        Some(rest) => (format!("of-tomorrow.{rest}"), value),
        None => (key, value),
    };
    let mut kv: Map<String, Value> = kv.into_iter().map(rename).collect();
    kv.insert("general.architecture".to_owned(), "of-tomorrow".into());
    kv
}

/// Elements that one token adds to the caches, and elements of recurrent state.
fn caches(mixer: &Mixer) -> (u64, u64) {
    match mixer {
        Mixer::Attention(attention) => (attention.k_width() + attention.v_width(), 0),
        Mixer::Latent(latent) => (latent.latent_width(), 0),
        Mixer::Mamba2(mamba) => (0, mamba.conv_state() + mamba.ssm_state()),
        Mixer::AttentionAndMamba2(attention, mamba) => (
            attention.k_width() + attention.v_width(),
            mamba.conv_state() + mamba.ssm_state(),
        ),
        Mixer::None => (0, 0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn caches_follow_from_standard_keys() {
    for id in [
        "Llama-3.1-8B-Instruct",
        "Qwen2.5-7B-Instruct",
        "Qwen3-30B-A3B",
        "gemma-2-9b-it",
        "Olmo-3-7B-Instruct",
        "GLM-4.5-Air",
        "DeepSeek-V2-Lite",
        "DeepSeek-V3",
        "granite-4.0-h-small",
        "Falcon-H1-0.5B-Instruct",
        "NVIDIA-Nemotron-3-Nano-30B-A3B",
    ] {
        let published = preset(id);
        let table = TensorTable::new(&published, FileType::Q4_K_M, false).expect("a table");
        let mut writer = Writer::with(&renamed(id));
        let folder = Folder::of("m.gguf", writer.table(&table).file());
        let file = gguf::read(&folder, "m.gguf").expect("a file");
        let model = file.model(&Map::new()).expect(id);
        assert_eq!(model.model_type, "of-tomorrow");
        let said = model.assumptions.join(" ");
        assert!(said.contains("`of-tomorrow` is not known"), "{said}");
        let checkpoint = model.checkpoint.as_ref().expect("the tensors");
        assert_eq!(checkpoint.bytes, table.file_bytes());
        let of = |model: &plimsoll::model::Model| {
            let layers = model.layers.iter();
            layers.map(|layer| caches(&layer.mixer)).collect::<Vec<_>>()
        };
        assert_eq!(of(&model), of(&published), "{id}");
        assert_eq!(model.vocab_size, published.vocab_size);
        assert_eq!(model.tie_word_embeddings, published.tie_word_embeddings);
    }
}

#[test]
fn a_known_name_with_other_contents_is_read_by_the_standard_keys() {
    let mut kv = renamed("Llama-3.1-8B-Instruct");
    // A file of DeepSeek's architecture without latent attention and without experts.
    let keys: Vec<String> = kv.keys().cloned().collect();
    for key in keys {
        if let Some(rest) = key.strip_prefix("of-tomorrow.") {
            let value = kv.remove(&key).expect("a value");
            kv.insert(format!("deepseek2.{rest}"), value);
        }
    }
    kv.insert("general.architecture".to_owned(), "deepseek2".into());
    let published = preset("Llama-3.1-8B-Instruct");
    let table = TensorTable::new(&published, FileType::Q4_K_M, false).expect("a table");
    let mut writer = Writer::with(&kv);
    let folder = Folder::of("m.gguf", writer.table(&table).file());
    let file = gguf::read(&folder, "m.gguf").expect("a file");
    let model = file.model(&Map::new()).expect("a model");
    assert_eq!(model.layers.len(), 32);
    let said = model.assumptions.join(" ");
    assert!(
        said.contains("not as others of the architecture `deepseek2`"),
        "{said}"
    );
}

/// What says neither its layers nor its heads has weights all the same; an architecture that is known lacks what it needs.
#[test]
fn too_little_metadata_leaves_the_weights() {
    let published = preset("Llama-3.1-8B-Instruct");
    let table = TensorTable::new(&published, FileType::Q4_K_M, false).expect("a table");
    let read = |kv: &Map<String, Value>, overrides: &Map<String, Value>| {
        let folder = Folder::of("m.gguf", Writer::with(kv).table(&table).file());
        let file = gguf::read(&folder, "m.gguf").expect("a file");
        file.model(overrides)
    };
    let without = |missing: &str| {
        let mut kv = renamed("Llama-3.1-8B-Instruct");
        kv.retain(|key, _| !key.contains(missing));
        kv
    };
    for (missing, words) in [
        ("of-tomorrow.", "`of-tomorrow.block_count` is missing"),
        ("head_count", "num_attention_heads"),
        ("embedding_length", "hidden_size"),
    ] {
        let model = read(&without(missing), &Map::new()).expect("a model");
        assert!(model.layers.is_empty(), "{missing}");
        assert_eq!(model.model_type, "of-tomorrow");
        let weights = model.only_weights().expect("weights");
        assert_eq!(weights.bytes, table.file_bytes());
        assert_eq!(model.blocks(), 32);
        let said = model.assumptions.join(" ");
        assert!(said.contains(words), "{said}");
    }
    // Whoever says what is missing is answered.
    let told = Map::from_iter([("num_hidden_layers".to_owned(), Value::from(3))]);
    assert!(read(&without("head_count"), &told).is_err());
    let mut known = without("head_count");
    known.insert("general.architecture".to_owned(), "llama".into());
    assert!(read(&known, &Map::new()).is_err());
}

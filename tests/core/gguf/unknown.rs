//! Architectures that nobody here knows.

use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::llamacpp::tensors::TensorTable;
use plimsoll::inspect::{Certainty, Inspection};
use plimsoll::model::mixer::{Mixer, Reach};
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

/// Files of some architectures say how wide a window is and leave to the engine which layers have it.
#[test]
fn windows_are_where_the_engine_has_them() {
    let published = preset("Llama-3.1-8B-Instruct");
    let table = TensorTable::new(&published, FileType::Q4_K_M, false).expect("a table");
    let windowed = |name: &str| {
        let mut kv = Map::new();
        for (key, value) in renamed("Llama-3.1-8B-Instruct") {
            let key = match key.strip_prefix("of-tomorrow.") {
                Some(rest) => format!("{name}.{rest}"),
                None => key,
            };
            kv.insert(key, value);
        }
        kv.insert("general.architecture".to_owned(), name.into());
        kv.insert(format!("{name}.attention.sliding_window"), 4096.into());
        let folder = Folder::of("m.gguf", Writer::with(&kv).table(&table).file());
        let file = gguf::read(&folder, "m.gguf").expect("a file");
        let model = file.model(&Map::new()).expect("a model");
        let reach = model.layers.iter().map(|layer| match &layer.mixer {
            Mixer::Attention(attention) => attention.reach != Reach::Full,
            other => panic!("{other:?}"),
        });
        reach.collect::<Vec<bool>>()
    };
    let last_sees_all: Vec<bool> = (0..32).map(|layer| layer % 4 != 3).collect();
    let first_sees_all: Vec<bool> = (0..32).map(|layer| layer % 4 != 0).collect();
    assert_eq!(windowed("cohere2"), last_sees_all);
    assert_eq!(windowed("cohere2moe"), first_sees_all);
    assert_eq!(
        windowed("plamo3")
            .iter()
            .filter(|windowed| !**windowed)
            .count(),
        4
    );
    // Only the model of 64 layers has them.
    assert_eq!(windowed("exaone4"), vec![false; 32]);
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
        (
            "of-tomorrow.",
            "`of-tomorrow.attention.head_count` is missing",
        ),
        (
            "head_count",
            "`of-tomorrow.attention.head_count` is missing",
        ),
    ] {
        let model = read(&without(missing), &Map::new()).expect("a model");
        assert!(model.layers.is_empty(), "{missing}");
        assert_eq!(model.model_type, "of-tomorrow");
        let weights = model.only_weights().expect("weights");
        assert_eq!(weights.bytes, table.file_bytes());
        assert_eq!(model.blocks(), 32);
        let said = model.assumptions.join(" ");
        assert!(said.contains(words), "{said}");
        assert!(
            !said.contains("num_") && !said.contains("hidden_size"),
            "{said}"
        );
    }
    // What the tensors tell need not be said.
    let model = read(&without("embedding_length"), &Map::new()).expect("a model");
    assert_eq!((model.layers.len(), model.hidden_size), (32, 4096));
    // Whoever says what is missing is answered.
    let told = Map::from_iter([("num_hidden_layers".to_owned(), Value::from(3))]);
    assert!(read(&without("head_count"), &told).is_err());
    let mut known = without("head_count");
    known.insert("general.architecture".to_owned(), "llama".into());
    assert!(read(&known, &Map::new()).is_err());
}

/// What is there and cannot be is told by its key and value, not as missing.
#[test]
fn invalid_keys_are_told_as_they_are() {
    let published = preset("Llama-3.1-8B-Instruct");
    let table = TensorTable::new(&published, FileType::Q4_K_M, false).expect("a table");
    let read = |architecture: &str, key: &str, value: Value| {
        let mut kv = renamed("Llama-3.1-8B-Instruct");
        kv.insert(format!("of-tomorrow.{key}"), value);
        let kv = kv.into_iter();
        let kv = kv.map(|(key, value)| (key.replace("of-tomorrow", architecture), value));
        let mut kv: Map<String, Value> = kv.collect();
        kv.insert("general.architecture".to_owned(), architecture.into());
        let folder = Folder::of("m.gguf", Writer::with(&kv).table(&table).file());
        let file = gguf::read(&folder, "m.gguf").expect("a file");
        file.model(&Map::new()).map_err(|error| error.to_string())
    };
    for (key, value, shown) in [
        ("block_count", Value::from("many"), "`many`"),
        ("block_count", Value::from(0), "0"),
        ("attention.head_count", Value::from("x"), "`x`"),
        ("attention.head_count", Value::from(0), "0"),
    ] {
        let words = |architecture: &str| {
            format!(
                "`{architecture}.{key}` is there, but its value {shown} is not a positive number"
            )
        };
        let error = read("llama", key, value.clone()).expect_err("a reason");
        assert!(error.contains(&words("llama")), "{error}");
        let model = read("of-tomorrow", key, value).expect("a model");
        let said = model.assumptions.join(" ");
        assert!(said.contains(&words("of-tomorrow")), "{said}");
    }
    // What is of no use for the layers is left out of account, and that is said.
    let model = read("llama", "context_length", Value::from("long")).expect("a model");
    let said = model.assumptions.join(" ");
    assert!(said.contains("`llama.context_length` is there"), "{said}");
}

/// A number of blocks that the tensors do not bear out.
#[test]
fn blocks_that_are_not_there_are_told() {
    let published = preset("Llama-3.1-8B-Instruct");
    let table = TensorTable::new(&published, FileType::Q4_K_M, false).expect("a table");
    for (claimed, words) in [
        (1000, "is 1000, but the file has tensors for 32 blocks"),
        (2, "is 2, but the file has tensors for 32 blocks"),
        (u32::MAX, "is 4294967295, more than any model has"),
    ] {
        let mut kv = renamed("Llama-3.1-8B-Instruct");
        kv.insert("of-tomorrow.block_count".to_owned(), claimed.into());
        let folder = Folder::of("m.gguf", Writer::with(&kv).table(&table).file());
        let file = gguf::read(&folder, "m.gguf").expect("a file");
        let model = file.model(&Map::new()).expect("a model");
        let said = model.assumptions.join(" ");
        assert!(said.contains(words), "{said}");
        let told = Inspection::new(&model, Vec::new());
        assert_eq!(told.certainty, Certainty::Assumed);
        // Where there is no figure there is a reason.
        assert_ne!(told.cache.is_some(), told.cache_unknown.is_some());
    }
}

/// Networks are as the tensors show them, and the architecture is told of once.
#[test]
fn nothing_is_assumed_that_the_tensors_tell() {
    let published = preset("Llama-3.1-8B-Instruct");
    let table = TensorTable::new(&published, FileType::Q4_K_M, false).expect("a table");
    let kv = renamed("Llama-3.1-8B-Instruct");
    let folder = Folder::of("UD-Q4_K_XL.gguf", Writer::with(&kv).table(&table).file());
    let file = gguf::read(&folder, "UD-Q4_K_XL.gguf").expect("a file");
    let model = file.model(&Map::new()).expect("a model");
    assert_eq!(model.assumptions.len(), 1, "{:?}", model.assumptions);
    // One name for the form of the weights, wherever it is told.
    assert_eq!(file.checkpoint.label.as_deref(), Some("UD-Q4_K_XL"));
}

/// A key that is there and says no number is told of once.
#[test]
fn an_invalid_key_is_told_of_once() {
    let published = preset("Llama-3.1-8B-Instruct");
    let table = TensorTable::new(&published, FileType::Q4_K_M, false).expect("a table");
    for (key, value) in [
        ("head_count", Value::from("four")),
        ("head_count_kv", Value::from("two")),
    ] {
        let mut kv = renamed("Llama-3.1-8B-Instruct");
        let key = format!("of-tomorrow.attention.{key}");
        kv.insert(key.clone(), value);
        let folder = Folder::of("m.gguf", Writer::with(&kv).table(&table).file());
        let file = gguf::read(&folder, "m.gguf").expect("a file");
        let model = file.model(&Map::new()).expect("a model");
        let said = model.assumptions.join(" ");
        assert_eq!(said.matches(&format!("`{key}`")).count(), 1, "{said}");
        assert!(!said.contains("is missing"), "{said}");
    }
}

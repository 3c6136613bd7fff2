//! Files that are no models.

use plimsoll::source::gguf::{self, Kind};
use serde_json::{Map, Value, json};

use super::file::{Folder, Writer};

fn kind(keys: &Value, tensors: bool) -> (Kind, String) {
    let mut writer = Writer::with(keys.as_object().expect("keys"));
    if tensors {
        writer.tensor("a", &[8], 0, 32);
    }
    let folder = Folder::of("m.gguf", writer.file());
    let file = gguf::read(&folder, "m.gguf").expect("a file");
    let error = file.model(&Map::new()).expect_err("no model");
    (file.kind, error.to_string())
}

#[test]
fn files_say_what_they_are_for() {
    for (keys, tensors, expected, words) in [
        (
            json!({"general.architecture": "clip"}),
            true,
            Kind::Projector,
            "`mmproj`",
        ),
        (
            json!({"general.architecture": "clip", "general.type": "mmproj"}),
            true,
            Kind::Projector,
            "projector",
        ),
        (
            json!({"general.architecture": "llama", "general.type": "adapter"}),
            true,
            Kind::Adapter,
            "LoRA",
        ),
        (
            json!({"general.architecture": "llama", "adapter.type": "lora"}),
            true,
            Kind::Adapter,
            "LoRA",
        ),
        (
            json!({"general.architecture": "controlvector"}),
            true,
            Kind::ControlVector,
            "control vector",
        ),
        (
            json!({"general.type": "imatrix"}),
            true,
            Kind::ImportanceMatrix,
            "importance matrix",
        ),
        (
            json!({"general.architecture": "llama", "tokenizer.ggml.tokens": ["a"]}),
            false,
            Kind::Vocabulary,
            "vocabulary",
        ),
        (json!({}), true, Kind::Other, "does not say what it is"),
        (
            json!({"general.architecture": "llama"}),
            true,
            Kind::Model,
            "`llama.block_count` is missing",
        ),
    ] {
        let (kind, said) = kind(&keys, tensors);
        assert_eq!(kind, expected, "{keys}");
        assert!(said.contains(words), "{said}");
    }
}

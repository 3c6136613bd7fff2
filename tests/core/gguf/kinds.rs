//! Files that are no models.

use plimsoll::source::gguf::{self, Kind};
use serde_json::{Map, Value, json};

use super::file::{Folder, Writer};
use super::round_trip::{Written, preset, rows};

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
            "`mmproj_path`",
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

#[test]
fn projectors_have_the_towers_of_their_presets() {
    let mut wrong = Vec::new();
    for Written { preset: id, kv, .. } in rows("projectors.jsonl") {
        let published = preset(&id);
        let Some(expected) = published.vision else {
            continue;
        };
        let mut writer = Writer::with(&kv);
        let width = expected.encoder.hidden_size;
        writer
            .tensor(
                "v.patch_embd.weight",
                &[14, 14, 3, width],
                0,
                4 * 588 * width,
            )
            .tensor(
                "v.blk.0.attn_q.weight",
                &[width, width],
                1,
                2 * width * width,
            )
            .tensor("v.blk.0.ln1.weight", &[width], 0, 4 * width)
            .tensor("mm.a.fc.weight", &[width], 0, 4 * width);
        let folder = Folder::of("m.gguf", writer.file());
        let file = gguf::read(&folder, "m.gguf").expect("a file");
        assert_eq!(file.kind, Kind::Projector);
        let mut found = file.towers().expect("towers").vision.expect("a tower");
        let shares = found.tower.shares;
        assert_eq!(
            (shares.patches, shares.matrices, shares.vectors),
            (588 * width, width * width, width)
        );
        assert_eq!(found.encoder.parameters, shares.total());
        // The tensors here are a few only.
        found.tower.shares = expected.tower.shares;
        found.encoder.parameters = expected.encoder.parameters;
        if found != expected {
            wrong.push(format!("{id}: {found:?} not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_model_is_no_projector() {
    let mut writer = Writer::with(
        json!({"general.architecture": "llama"})
            .as_object()
            .unwrap(),
    );
    writer.tensor("a", &[8], 0, 32);
    let file = gguf::read(&Folder::of("m.gguf", writer.file()), "m.gguf").expect("a file");
    let error = file.towers().expect_err("none").to_string();
    assert!(error.contains("this is a model, no projector"), "{error}");
}

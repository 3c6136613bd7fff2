//! What is read of a folder by the name of a file, and of files that say more or less than this build knows.

use plimsoll::inspect::{Certainty, Inspection};
use plimsoll::source::checkpoint;
use serde_json::{Map, json};

use super::folders::{config, open, tensors};
use super::synthetic::{Folder, Tensor, framed, safetensors, tensor};

fn start() -> Folder {
    Folder::default().with_json("config.json", &config())
}

/// A type that this build does not know takes the bytes that the file gives it, and everything else stays exact.
#[test]
fn a_type_newer_than_this_build_loses_nothing() {
    let folder = |dtype: &str| {
        let header = json!({
            "a.weight": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
            "b.weight": {"dtype": dtype, "shape": [3, 8], "data_offsets": [8, 17]},
            "c.weight": {"dtype": "F32", "shape": [2], "data_offsets": [17, 25]},
        });
        let file = framed(header.to_string().as_bytes(), 25);
        start().with("model.safetensors", file)
    };
    let model = open(&folder("F3_E1M1"));
    let checkpoint = model.checkpoint.as_ref().unwrap();
    assert_eq!((checkpoint.bytes.get(), checkpoint.parameters()), (25, 30));
    let newer = &checkpoint.tensors[1];
    assert_eq!(
        (newer.bytes.get(), newer.type_name.as_ref(), newer.kind),
        (9, "F3_E1M1", None)
    );
    let [said] = model.assumptions.as_slice() else {
        panic!("{:?}", model.assumptions)
    };
    assert!(said.contains("newer than this build (`F3_E1M1`)"), "{said}");
    let inspection = Inspection::new(&model, Vec::new());
    assert_eq!(inspection.certainty, Certainty::Assumed);
    // Names are of strangers.
    let said = open(&folder(&format!("\u{1b}[2J{}", "X".repeat(100)))).assumptions;
    assert!(
        said[0].contains("\\u{1b}[2JXX") && said[0].contains("XX…`"),
        "{said:?}"
    );
}

#[test]
fn a_file_of_weights_stands_for_its_copy_or_for_itself() {
    let other = [tensor("x.weight", "F32", &[10])];
    let folder = start()
        .with("model.safetensors", safetensors(&tensors()))
        .with("consolidated.safetensors", safetensors(&other))
        .with("extra.safetensors", safetensors(&other));
    let of = |file: &str| checkpoint::model_of_file(&folder, file, "m", &Map::new()).unwrap();
    let names = |file: Option<&str>| -> Vec<String> {
        let files = checkpoint::files(&folder, file).unwrap();
        files.into_iter().map(|file| file.name).collect()
    };
    assert_eq!(of("model.safetensors"), open(&folder));
    let copy = of("consolidated.safetensors");
    assert_eq!((copy.name.as_str(), copy.layers.len()), ("m", 1));
    assert_eq!(copy.checkpoint.unwrap().bytes.get(), 40);
    let alone = of("extra.safetensors");
    assert_eq!((alone.name.as_str(), alone.layers.len()), ("extra", 0));
    assert!(
        alone.assumptions[0].contains("none of the files that the configuration beside it"),
        "{:?}",
        alone.assumptions
    );
    assert_eq!(names(None), ["config.json", "model.safetensors"]);
    assert_eq!(names(Some("model.safetensors")), names(None));
    assert_eq!(
        names(Some("consolidated.safetensors")),
        ["config.json", "consolidated.safetensors"]
    );
    assert_eq!(names(Some("extra.safetensors")), ["extra.safetensors"]);
    assert_eq!(names(Some("config.json")), names(None));

    let bare = Folder::default()
        .with("a.safetensors", safetensors(&other))
        .with("b.safetensors", safetensors(&tensors()));
    let files = checkpoint::files(&bare, Some("a.safetensors")).unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    let model = checkpoint::undescribed(&bare, Some("a.safetensors"), "a").unwrap();
    assert_eq!(model.unwrap().checkpoint.unwrap().bytes.get(), 40);
}

/// Whatever a configuration leaves out, the weights beside it are counted.
#[test]
fn configurations_that_say_too_little_leave_the_weights_exact() {
    let bytes: u64 = tensors().iter().map(Tensor::bytes).sum();
    for config in [
        json!({}),
        json!({"model_type": "brandnew"}),
        json!({"model_type": "brandnew", "hidden_size": 64}),
        json!({"model_type": "brandnew", "hidden_size": 64, "num_hidden_layers": 1}),
        json!({"model_type": "llama"}),
        json!({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1}),
    ] {
        let folder = Folder::default()
            .with_json("config.json", &config)
            .with("model.safetensors", safetensors(&tensors()));
        let model = open(&folder);
        let checkpoint = model.checkpoint.as_ref().unwrap();
        assert_eq!(checkpoint.bytes.get(), bytes, "{config}");
        assert!(
            model.assumptions[0].starts_with("Nothing but the weights is counted:"),
            "{:?}",
            model.assumptions
        );
    }
}

/// Whose packing nothing describes is not counted by its elements.
#[test]
fn packed_weights_without_a_description_are_counted_by_the_configuration() {
    let mut tensors = tensors();
    tensors[1] = tensor("model.layers.0.self_attn.q_proj.qweight", "I32", &[8, 64]);
    let model = open(&start().with("model.safetensors", safetensors(&tensors)));
    let total = model.parameters().total();
    let inspection = Inspection::new(&model, Vec::new());
    assert_eq!(inspection.params_total, total);
    // A buffer of whole numbers is none.
    tensors[1] = tensor("model.layers.0.self_attn.position_ids", "I64", &[1, 64]);
    let model = open(&start().with("model.safetensors", safetensors(&tensors)));
    assert!(!model.checkpoint.unwrap().is_opaque());
}

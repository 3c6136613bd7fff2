//! What the list calls usable can be opened; what cannot is listed with the reason.

use std::fs;
use std::path::Path;

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::plan::ModelRef;
use plimsoll::source::{self, library::Role};

use super::{Computer, config, content, tensors};

/// Opens a path as `plimsoll inspect` does.
fn opens(path: &Path) -> Result<(), String> {
    match source::part(path) {
        Ok(Some(_)) => return Ok(()),
        Ok(None) => {}
        Err(error) => return Err(error.to_string()),
    }
    let reference = ModelRef {
        path: Some(path.display().to_string()),
        ..ModelRef::default()
    };
    let model = source::model(&reference, &ModelCatalog::default());
    model.map(|_| ()).map_err(|error| error.to_string())
}

/// A GGUF file of another type than models.
fn gguf_of_type(kind: &str) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(2_u64.to_le_bytes());
    for (key, value) in [("general.architecture", "llama"), ("general.type", kind)] {
        bytes.extend(text(key));
        bytes.extend(8_u32.to_le_bytes());
        bytes.extend(text(value));
    }
    bytes
}

/// A folder of everything that goes wrong.
fn odd() -> Computer {
    let mut computer = Computer::linux();
    computer.add("m");
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 1].to_vec();
    for (name, config, weights) in [
        ("sound", config(""), tensors("a")),
        ("cut", config(""), cut(tensors("a"))),
        ("page", config(""), b"<html>".to_vec()),
        ("torn", "[".to_owned(), tensors("a")),
        (
            "wrong",
            config("\"num_key_value_heads\": \"x\""),
            tensors("a"),
        ),
        (
            "new",
            "{\"model_type\": \"brandnew\"}".to_owned(),
            tensors("a"),
        ),
    ] {
        computer.write(&format!("m/{name}/config.json"), config);
        computer.write(&format!("m/{name}/model.safetensors"), weights);
    }
    // A shard that is there and shorter than its header says; one that the index names and nobody fetched.
    for (name, second) in [("short", Some(cut(tensors("b")))), ("half", None)] {
        let index = r#"{"weight_map": {"a": "model-00001-of-00002.safetensors",
            "b": "model-00002-of-00002.safetensors"}}"#;
        computer.write(&format!("m/{name}/config.json"), config(""));
        computer.write(&format!("m/{name}/model.safetensors.index.json"), index);
        let part = |number: u32| format!("m/{name}/model-0000{number}-of-00002.safetensors");
        computer.write(&part(1), tensors("a"));
        if let Some(second) = second {
            computer.write(&part(2), second);
        }
    }
    computer.write("m/four.gguf", "GGUF");
    computer.write("m/whole.gguf", content("whole"));
    computer.write("m/cut.gguf", cut(content("cut")));
    computer.write("m/lora.gguf", gguf_of_type("adapter"));
    computer.write("m/matrix.gguf", gguf_of_type("imatrix"));
    computer.write(
        "m/peft/adapter_config.json",
        r#"{"peft_type": "LORA", "r": 8}"#,
    );
    computer.write(
        "m/peft/adapter_model.safetensors",
        tensors("a.lora_A.weight"),
    );
    computer.write("m/peft cut/adapter_config.json", "{}");
    computer.write("m/peft cut/adapter_model.safetensors", cut(tensors("a")));
    computer
}

#[test]
fn what_the_list_calls_usable_opens_and_nothing_else_is_called_so() {
    let computer = odd();
    let library = computer.scan();
    let mut usable: Vec<(String, Role)> = library
        .models
        .iter()
        .map(|model| (computer.short(&model.path), model.role))
        .collect();
    usable.sort();
    let expected = [
        ("m/lora.gguf", Role::Adapter),
        ("m/new", Role::Model),
        ("m/peft", Role::Adapter),
        ("m/sound", Role::Model),
        ("m/whole.gguf", Role::Model),
    ];
    assert_eq!(usable, expected.map(|(path, role)| (path.to_owned(), role)));
    for model in &library.models {
        assert_eq!(opens(&model.path), Ok(()), "{:?}", model.path);
    }
    let mut reasons = computer.complaints();
    reasons.sort();
    let expected = [
        ("m/cut.gguf: ", "cut short"),
        ("m/cut: ", "`model.safetensors` holds"),
        ("m/four.gguf: ", ""),
        ("m/half: ", "`model-00002-of-00002.safetensors` is missing"),
        ("m/page: ", "`model.safetensors` is no safetensors file"),
        ("m/peft cut: ", "`adapter_model.safetensors` holds"),
        ("m/short: ", "`model-00002-of-00002.safetensors` holds"),
        ("m/torn: ", "`config.json` is not sound JSON"),
        ("m/wrong: ", "`num_key_value_heads` must be"),
    ];
    assert_eq!(reasons.len(), expected.len(), "{reasons:#?}");
    for ((path, words), said) in expected.iter().zip(&reasons) {
        assert!(said.starts_with(path), "{path}: {said}");
        if *words != "cut short" {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(
            !said.contains(&computer.folder.path().display().to_string()),
            "{said}"
        );
    }
    // What `inspect` refuses is among them.
    for path in ["m/torn", "m/wrong", "m/four.gguf", "m/cut.gguf"] {
        assert!(opens(&computer.path(path)).is_err(), "{path}");
    }
}

/// The copy that can be used is shown, wherever the other one stands.
#[test]
fn of_two_copies_the_sound_one_is_shown() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let mut computer = Computer::linux();
        computer.add("m");
        for name in [first, second] {
            computer.write(&format!("m/{name}/model.safetensors"), tensors("x"));
        }
        computer.write(&format!("m/{first}/config.json"), "{");
        computer.write(&format!("m/{second}/config.json"), config(""));
        let library = computer.scan();
        let [model] = library.models.as_slice() else {
            panic!("{library:?}")
        };
        assert_eq!(computer.short(&model.path), format!("m/{second}"));
        assert_eq!(model.places.len(), 1);
        let [complaint] = &computer.complaints()[..] else {
            panic!("{library:?}")
        };
        assert!(
            complaint.starts_with(&format!("m/{first}: ")),
            "{complaint}"
        );
    }
}

/// Two files that one digest names and that differ: which is damaged cannot be told without reading all of both.
#[cfg(unix)]
#[test]
fn copies_that_differ_under_one_digest_are_told() {
    let computer = Computer::linux();
    let sha = "1".repeat(64);
    let mut bytes = content("x");
    let ollama = "home/.ollama/models";
    computer.write(&format!("{ollama}/blobs/sha256-{sha}"), &bytes);
    computer.write(
        &format!("{ollama}/manifests/registry.ollama.ai/library/m/x"),
        format!(r#"{{"layers": [{{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:{sha}"}}]}}"#),
    );
    *bytes.last_mut().unwrap() = 7;
    let cache = "home/.cache/huggingface/hub/models--a--b";
    computer.write(&format!("{cache}/blobs/{sha}"), &bytes);
    computer.link(
        &format!("../../blobs/{sha}"),
        &format!("{cache}/snapshots/c/m.gguf"),
    );
    let library = computer.scan();
    assert_eq!(library.models.len(), 2, "{library:?}");
    let said = &library.broken[0].reason;
    assert!(said.contains("one of the two is damaged"), "{said}");
}

#[cfg(unix)]
#[test]
fn links_are_told_as_what_they_are() {
    let mut computer = Computer::linux();
    computer.add("m");
    computer.link("self.gguf", "m/self.gguf");
    computer.link("two.gguf", "m/one.gguf");
    computer.link("one.gguf", "m/two.gguf");
    computer.link("gone\u{1b}[31m.gguf", "m/away.gguf");
    computer.link("ring", "m/ring");
    computer.link("sub", "m/sub");
    computer.link("part.safetensors", "m/model/part.safetensors");
    computer.write("m/model/config.json", config(""));
    computer.folders.push(computer.path("m/ring"));
    let circle = "it is a link that leads back to itself";
    assert_eq!(
        computer.complaints(),
        [
            "m/away.gguf: it is a link to gone\\u{1b}[31m.gguf, which is not there".to_owned(),
            format!("m/one.gguf: {circle}"),
            format!("m/self.gguf: {circle}"),
            format!("m/two.gguf: {circle}"),
            format!("m/model/part.safetensors: {circle}"),
            format!("m/model: its file part.safetensors cannot be used: {circle}"),
            format!("m/ring: {circle}"),
        ]
    );
    let said = opens(&computer.path("m/self.gguf")).unwrap_err();
    assert!(said.contains("a link that leads back to itself"), "{said}");
    fs::remove_file(computer.path("m/model/config.json")).unwrap();
    computer.link("config.json", "m/model/config.json");
    let said = opens(&computer.path("m/model")).unwrap_err();
    assert!(said.contains("a link that leads back to itself"), "{said}");
}

/// Names come from strangers; five thousand files are no long wait, headers only.
#[cfg(unix)]
#[test]
fn a_folder_of_five_thousand_models_with_odd_names_is_listed_soon() {
    let mut computer = Computer::linux();
    computer.add("m");
    for number in 0..5_000 {
        let name = format!("m/{}\n\u{1b}]0;x\u{7}{number}.gguf", number / 500);
        computer.write(&name, content(&number.to_string()));
    }
    let started = std::time::Instant::now();
    let library = computer.scan();
    assert_eq!(library.models.len(), 5_000);
    assert_eq!(library.broken, []);
    // Two seconds on a machine with other work to do.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

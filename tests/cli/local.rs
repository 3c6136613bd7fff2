//! Models on this computer, and presets of the user.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::process::{code, command, err, folder, out};

/// Runs with a home of its own.
fn at_home(home: &Path, arguments: &[&str]) -> Output {
    let mut command = command(arguments);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["HF_", "XDG_", "LLAMA_", "OLLAMA_", "JAN_", "HUGGING"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            command.env_remove(name.as_ref());
        }
    }
    command.env("HOME", home).output().expect("the binary runs")
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 512}"#;

/// A GGUF file of something unknown with one tensor of eight zeros.
#[cfg(target_os = "linux")]
fn tiny() -> String {
    let mut tiny = String::from("GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0");
    tiny += "\x14\0\0\0\0\0\0\0general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llamo";
    tiny += "\x01\0\0\0\0\0\0\0x\x01\0\0\0\x08\0\0\0\0\0\0\0";
    tiny += &"\0".repeat(160 - tiny.len());
    tiny
}

#[cfg(target_os = "linux")]
#[test]
fn models_of_this_computer_are_listed() {
    let home = folder();
    let folders = folder();
    write(
        home.path(),
        ".lmstudio/models/o/r/Tiny-Q4_K_M.gguf",
        &tiny(),
    );
    write(folders.path(), "checkpoint/config.json", CONFIG);
    let header = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#;
    let length = char::from(u8::try_from(header.len()).expect("short"));
    let tensors = format!("{length}\0\0\0\0\0\0\0{header}\0\0\0\0");
    let size = tensors.len();
    write(folders.path(), "checkpoint/model.safetensors", &tensors);
    write(folders.path(), "lora/adapter_config.json", r#"{"r": 8}"#);
    write(folders.path(), "lora/adapter_model.safetensors", &tensors);
    write(folders.path(), "cut/config.json", CONFIG);
    write(
        folders.path(),
        "cut/model.safetensors",
        &tensors[..size - 1],
    );
    write(folders.path(), "late\u{1b}[31m.gguf.part", "GGUF");
    let added = folders.path().to_str().expect("a text");
    let arguments = ["models", "--local", "--folder", added];

    let text = at_home(home.path(), &arguments);
    assert_eq!(code(&text), 0, "{}", err(&text));
    assert!(out(&text).contains("Tiny-Q4_K_M"), "{}", out(&text));
    assert!(err(&text).contains("not finished"), "{}", err(&text));
    assert!(!err(&text).contains('\u{1b}'));

    let list = at_home(home.path(), &[&arguments[..], &["--json"]].concat());
    let list: Value = serde_json::from_str(&out(&list)).expect("JSON");
    assert_eq!(list["complete"], true);
    let rows: Vec<_> = list["local"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|model| {
            (
                &model["title"],
                &model["kind"],
                &model["bytes"],
                &model["places"][0]["library"],
            )
        })
        .map(|(title, kind, bytes, library)| format!("{title} {kind} {bytes} {library}"))
        .collect();
    assert_eq!(
        rows,
        [
            format!(r#""checkpoint" "safetensors" {size} "Folder""#),
            format!(r#""lora" "safetensors" {size} "Folder""#),
            r#""Tiny-Q4_K_M" "GGUF" 160 "LM Studio""#.to_owned(),
        ]
    );
    assert_eq!(list["local"][1]["what"], "adapter");
    assert_eq!(list["broken"].as_array().map(Vec::len), Some(2));
    let found = at_home(home.path(), &["models", "--local", "tiny", "--json"]);
    assert_eq!(out(&found).matches("\"kind\"").count(), 1);
}

/// The program that keeps a model counts as a word of it, and that no row has the words is not that there are none.
#[cfg(target_os = "linux")]
#[test]
fn models_are_found_by_the_program_that_keeps_them() {
    let home = folder();
    write(
        home.path(),
        ".lmstudio/models/o/r/Tiny-Q4_K_M.gguf",
        &tiny(),
    );
    let kept = at_home(home.path(), &["models", "--local", "lm", "studio"]);
    assert!(out(&kept).contains("Tiny-Q4_K_M"), "{}", out(&kept));
    let none = at_home(home.path(), &["models", "--local", "absent"]);
    assert!(
        out(&none).contains("has not all of these words"),
        "{}",
        out(&none)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn models_become_presets_and_broken_presets_are_told() {
    let home = folder();
    write(home.path(), "model/config.json", CONFIG);
    let model = home.path().join("model");
    let model = model.to_str().expect("a text");
    let presets = home.path().join(".local/share/plimsoll/presets");

    let refused = at_home(home.path(), &["models", "save", model, "--id", "../x"]);
    assert_eq!(code(&refused), 2);
    let unknown = at_home(
        home.path(),
        &["models", "save", "no such thing", "--id", "x"],
    );
    assert_eq!(code(&unknown), 2);
    assert!(
        !presets.exists(),
        "nothing is made before something is saved"
    );

    let saved = at_home(home.path(), &["models", "save", model, "--id", "mine"]);
    assert_eq!(code(&saved), 0, "{}", err(&saved));
    assert!(presets.join("mine.toml").is_file());
    let again = at_home(home.path(), &["models", "save", model, "--id", "mine"]);
    assert_eq!(code(&again), 2);
    assert!(err(&again).contains("--force"), "{}", err(&again));
    let forced = at_home(
        home.path(),
        &["models", "save", model, "--id", "mine", "--force"],
    );
    assert_eq!(code(&forced), 0, "{}", err(&forced));

    write(&presets, "bad.toml", "title = ");
    let list = at_home(home.path(), &["models", "mine"]);
    assert_eq!(code(&list), 0, "{}", err(&list));
    assert!(out(&list).contains("My models"), "{}", out(&list));
    assert!(err(&list).contains("bad.toml"), "{}", err(&list));
    let list = at_home(home.path(), &["models", "mine", "--json"]);
    let list: Value = serde_json::from_str(&out(&list)).expect("JSON");
    assert_eq!(list["models"][0]["id"], "mine");
    let path = list["broken"][0]["path"].as_str().expect("a text");
    assert!(path.ends_with("bad.toml"), "{list}");
}

/// Where a model's file is known, every target names it: of a preset that was saved from it, and of a blob without an
/// ending.
#[cfg(target_os = "linux")]
#[test]
fn launches_name_the_file_that_is_known() {
    let home = folder();
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gguf/tiny.gguf");
    let file = home.path().join("own.gguf");
    let blob = home.path().join("sha256-0123");
    fs::copy(tiny, &file).expect("copied");
    fs::copy(tiny, &blob).expect("copied");
    let (file, blob) = (file.to_str().expect("text"), blob.to_str().expect("text"));
    let saved = at_home(home.path(), &["models", "save", file, "--id", "mine"]);
    assert_eq!(code(&saved), 0, "{}", err(&saved));
    let plan = home.path().join("plan.toml");
    for (model, path) in [
        ("preset = \"mine\"".to_owned(), file),
        (format!("path = \"{blob}\""), blob),
    ] {
        for engine in ["llama.cpp", "ollama"] {
            let text = format!(
                "schema = 1\nengine = \"{engine}\"\n[model]\n{model}\n[machine]\nram_mib = 65536\n\
                 gpus = [ {{ name = \"NVIDIA GeForce RTX 4090\" }} ]\n"
            );
            fs::write(&plan, text).expect("written");
            // A unit of the server alone is told of no model.
            for exporter in plimsoll::export::for_engine(engine).filter(|own| own.id() != "systemd")
            {
                let plan = plan.to_str().expect("text");
                let arguments = ["export", plan, "--target", exporter.id()];
                let output = at_home(home.path(), &arguments);
                let text = out(&output);
                assert_eq!(code(&output), 0, "{}", err(&output));
                assert!(!text.contains("MODEL:?"), "{text}");
                let named = text.contains(path) || exporter.id() == "plan";
                assert!(
                    named,
                    "{engine} {}: {path} is not in\n{text}",
                    exporter.id()
                );
            }
        }
    }
}

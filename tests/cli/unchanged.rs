//! Nothing is written outside the program's own folders, and what it opens stays as it is.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::json;

use super::hub::{Files, World, checkpoint, in_parts, model, shard, two_models};
use crate::process::{PLAN, code, command, err, folder, out};

const SHA: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const COMMIT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// What a file, folder or link is: its kind and rights, size, last change to the nanosecond, and contents or target.
#[derive(Debug, PartialEq)]
struct State {
    mode: u32,
    size: u64,
    changed: (i64, i64),
    content: Vec<u8>,
}

/// Everything below a folder, by its path there.
fn states(folder: &Path) -> BTreeMap<PathBuf, State> {
    let mut states = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let content = if metadata.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            target.to_str().expect("a text").as_bytes().to_vec()
        } else if metadata.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
            Vec::new()
        } else {
            fs::read(&path).expect("a file")
        };
        let state = State {
            mode: metadata.mode(),
            size: metadata.size(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
            content,
        };
        let name = path.strip_prefix(folder).expect("below it").to_owned();
        states.insert(name, state);
    }
    states
}

/// The files below a folder.
fn files(folder: &Path) -> BTreeSet<String> {
    let states = states(folder);
    let files = states
        .iter()
        .filter(|(name, _)| folder.join(name).is_file());
    files
        .map(|(name, _)| name.to_str().expect("a text").to_owned())
        .collect()
}

/// Every kind of source in one tree, what is broken too.
fn tree() -> tempfile::TempDir {
    let tree = folder();
    let write = |path: &str, content: &[u8]| {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, content).expect("written");
    };
    let all = |folder: &str, files: Files| {
        for (name, content) in files {
            write(&format!("{folder}/{name}"), &content);
        }
    };
    write("gguf/m-F16.gguf", &model());
    all("parts", in_parts());
    all("checkpoint", checkpoint());
    let config = checkpoint().remove("config.json").expect("there");
    write("config/config.json", &config);
    write("archive/config.json", &config);
    write("archive/pytorch_model.bin", b"PK\x03\x04");
    let adapter = json!({"peft_type": "LORA", "r": 4, "target_modules": ["q_proj"]});
    write(
        "adapter/adapter_config.json",
        adapter.to_string().as_bytes(),
    );
    let pair: [(&str, &[u64]); 1] = [("base_model.model.layers.0.q_proj.lora_A.weight", &[4, 64])];
    write("adapter/adapter_model.safetensors", &shard(&pair));
    let params = json!({"dim": 64, "n_layers": 1, "n_heads": 4, "n_kv_heads": 2, "head_dim": 16, "hidden_dim": 128,
        "vocab_size": 1000, "norm_eps": 1e-5});
    write("mistral/params.json", params.to_string().as_bytes());
    let words: [(&str, &[u64]); 1] = [("tok_embeddings.weight", &[1000, 64])];
    write("mistral/consolidated.safetensors", &shard(&words));
    write("hf/hub/models--o--r/refs/main", COMMIT.as_bytes());
    write(&format!("hf/hub/models--o--r/blobs/{SHA}"), &model());
    let snapshot = format!("hf/hub/models--o--r/snapshots/{COMMIT}");
    fs::create_dir_all(tree.path().join(&snapshot)).expect("made");
    let link = tree.path().join(format!("{snapshot}/r-F16.gguf"));
    symlink(format!("../../blobs/{SHA}"), link).expect("linked");
    let digest = format!("sha256:{SHA}");
    let layer =
        json!({"mediaType": "application/vnd.ollama.image.model", "digest": digest, "size": 1});
    let manifest = json!({"schemaVersion": 2, "layers": [layer]}).to_string();
    write(
        "ollama/manifests/registry.ollama.ai/library/m/latest",
        manifest.as_bytes(),
    );
    write(&format!("ollama/blobs/sha256-{SHA}"), &model());
    write("llama/o_r_m.gguf", &model());
    write("broken/cut.gguf", model().get(..200).expect("longer"));
    write("broken/late.gguf.part", b"GGUF");
    symlink("nowhere", tree.path().join("broken/gone.gguf")).expect("linked");
    let plan = PLAN.replace(
        "preset = \"DeepSeek-R1-Distill-Qwen-32B\"",
        "path = \"gguf/m-F16.gguf\"",
    );
    write(
        "plan.toml",
        plan.replace("weights = \"Q4_K_M\"", "weights = \"native\"")
            .as_bytes(),
    );
    tree
}

/// Takes the right to write from everything in a folder, or gives it back.
fn may_write(folder: &Path, yes: bool) {
    for (name, state) in states(folder) {
        let path = folder.join(name);
        if path.is_symlink() {
            continue;
        }
        let mode = if yes {
            state.mode | 0o200
        } else {
            state.mode & !0o222
        };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }
}

/// Where everything goes that is written.
struct Elsewhere {
    home: tempfile::TempDir,
    work: tempfile::TempDir,
    temporary: tempfile::TempDir,
}

impl Elsewhere {
    fn run(&self, tree: &Path, arguments: &[&str]) -> Output {
        let mut command = command(arguments);
        for (name, folder) in [
            ("XDG_DATA_HOME", "data"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
        ] {
            command.env(name, self.home.path().join(folder));
        }
        for (name, folder) in [
            ("HF_HOME", "hf"),
            ("OLLAMA_MODELS", "ollama"),
            ("LLAMA_CACHE", "llama"),
        ] {
            command.env(name, tree.join(folder));
        }
        command
            .env_remove("HF_HUB_CACHE")
            .env_remove("HUGGINGFACE_HUB_CACHE")
            .env("HOME", self.home.path())
            .env("TMPDIR", self.temporary.path())
            .current_dir(self.work.path())
            .output()
            .expect("the binary runs")
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one kind of source after the other")]
fn every_kind_of_source_stays_as_it_is() {
    let tree = tree();
    may_write(tree.path(), false);
    let before = states(tree.path());
    let elsewhere = Elsewhere {
        home: folder(),
        work: folder(),
        temporary: folder(),
    };
    let at = |path: &str| {
        let path = tree.path().join(path);
        path.to_str().expect("a text").to_owned()
    };
    let run = |arguments: &[&str]| elsewhere.run(tree.path(), arguments);
    let parts = "parts/F16/r-F16-00002-of-00002.gguf";
    let snapshot = format!("hf/hub/models--o--r/snapshots/{COMMIT}/r-F16.gguf");
    let blob = format!("ollama/blobs/sha256-{SHA}");
    for source in [
        "gguf/m-F16.gguf",
        parts,
        "checkpoint",
        "checkpoint/config.json",
        "checkpoint/model-00001-of-00002.safetensors",
        "config",
        "archive",
        "adapter",
        "mistral",
        &snapshot,
        &blob,
        "llama/o_r_m.gguf",
    ] {
        for more in [None, Some("--json")] {
            let path = at(source);
            let arguments: Vec<&str> = ["inspect", &path].into_iter().chain(more).collect();
            let output = run(&arguments);
            assert_eq!(code(&output), 0, "{source}: {}", err(&output));
        }
    }
    for broken in ["broken/cut.gguf", "broken/gone.gguf", "broken"] {
        assert_ne!(code(&run(&["inspect", &at(broken)])), 0, "{broken}");
    }
    let list = run(&["models", "--local", "--folder", &at("")]);
    assert_eq!(code(&list), 0, "{}", err(&list));
    for library in ["Hugging Face", "Ollama"] {
        assert!(out(&list).contains(library), "{library}: {}", out(&list));
    }
    let plan = at("plan.toml");
    for arguments in [
        &["project", &plan, "--why"][..],
        &["fit", &plan],
        &["export", &plan, "--target", "sh"],
    ] {
        let output = run(arguments);
        assert!(code(&output) < 2, "{arguments:?}: {}", err(&output));
    }
    let nothing: [&str; 0] = [];
    assert!(files(elsewhere.home.path()).iter().eq(nothing.iter()));
    // What is asked for is written, and nothing else.
    let saved = run(&["models", "save", &at("gguf/m-F16.gguf"), "--id", "mine"]);
    assert_eq!(code(&saved), 0, "{}", err(&saved));
    assert_eq!(code(&run(&["models", "mine"])), 0);

    let written = files(elsewhere.home.path());
    println!("written: {written:?}");
    assert!(
        written
            .iter()
            .eq(["data/plimsoll/presets/mine.toml"].iter()),
        "{written:?}"
    );
    for folder in [&elsewhere.work, &elsewhere.temporary] {
        assert!(
            files(folder.path()).is_empty(),
            "{:?}",
            files(folder.path())
        );
    }
    let after = states(tree.path());
    let names = |states: &BTreeMap<PathBuf, State>| states.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    for (name, state) in &before {
        assert!(
            after.get(name) == Some(state),
            "{} was changed",
            name.display()
        );
    }
    may_write(tree.path(), true);
}

#[test]
fn of_repositories_only_the_cache_is_written() {
    let world = World::of(two_models());
    let output = world.run(&[], &["inspect", "o/r:Q4_0"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let written = files(world.home());
    assert!(!written.is_empty());
    for file in written {
        assert!(file.starts_with("plimsoll/"), "{file}");
    }
}

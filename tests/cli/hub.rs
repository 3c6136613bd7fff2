//! Repositories by name: read when the user asks, and from what was kept ever after.

use std::path::Path;
use std::process::Output;

use plimsoll::source::access::RandomAccess as _;
use serde_json::{Map, Value, json};

use crate::process::{code, command, err, folder, out};

#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "written for the core's tests, which use more of it"
)]
#[path = "../core/gguf/file.rs"]
mod file;
#[expect(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "written for the core's tests, which use more of it"
)]
#[path = "../core/hub/server.rs"]
mod server;

use file::Writer;
use server::{Asked, Reply, Server};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A small Llama, its weights in F16.
fn model() -> Vec<u8> {
    let keys = json!({
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.context_length": 2048,
        "llama.embedding_length": 64,
        "llama.feed_forward_length": 128,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.vocab_size": 1000,
    });
    let keys: Map<String, Value> = serde_json::from_value(keys).expect("keys");
    let mut writer = Writer::with(&keys);
    // F16 and F32, as ggml numbers them.
    let (half, whole) = (1, 0);
    for (name, shape) in [
        ("token_embd.weight", [64, 1000]),
        ("blk.0.attn_q.weight", [64, 64]),
        ("blk.0.attn_k.weight", [64, 32]),
        ("blk.0.attn_v.weight", [64, 32]),
        ("blk.0.attn_output.weight", [64, 64]),
        ("blk.0.ffn_gate.weight", [64, 128]),
        ("blk.0.ffn_up.weight", [64, 128]),
        ("blk.0.ffn_down.weight", [128, 64]),
    ] {
        let [width, height] = shape;
        writer.tensor(name, &shape, half, width * height * 2);
    }
    for name in [
        "blk.0.attn_norm.weight",
        "blk.0.ffn_norm.weight",
        "output_norm.weight",
    ] {
        writer.tensor(name, &[64], whole, 256);
    }
    let file = writer.file();
    let mut bytes = vec![0; usize::try_from(file.size()).expect("a small file")];
    file.read_at(0, &mut bytes).expect("all of it");
    bytes
}

/// Bytes of its tensors.
const TENSORS: u64 = 2 * (64_000 + 2 * 4096 + 2 * 2048 + 3 * 8192) + 3 * 256;

/// `o/r` with two models.
fn answer(asked: &Asked, model: &[u8]) -> Reply {
    let names = ["r-Q8_0.gguf", "r-Q4_0.gguf"];
    if asked.path.starts_with("/api/models/o/r/revision/") {
        let size = model.len();
        let siblings = names.map(|name| json!({"rfilename": name, "size": size}));
        return Reply::new(
            200,
            json!({"sha": COMMIT, "siblings": siblings}).to_string(),
        );
    }
    let paths = names.map(|name| format!("/o/r/resolve/{COMMIT}/{name}"));
    if paths.contains(&asked.path) {
        Reply::part(asked, model)
    } else {
        Reply::new(404, "")
    }
}

/// A server, and a home of its own for the program.
struct World {
    server: Server,
    home: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let model = model();
        Self {
            server: Server::start(move |asked| answer(asked, &model)),
            home: folder(),
        }
    }

    fn run(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        let mut command = command(arguments);
        for name in ["XDG_CACHE_HOME", "HF_HOME", "HOME", "LOCALAPPDATA"] {
            command.env(name, self.home.path());
        }
        for name in [
            "HF_TOKEN",
            "HUGGING_FACE_HUB_TOKEN",
            "HF_TOKEN_PATH",
            "HF_HUB_OFFLINE",
            "TRANSFORMERS_OFFLINE",
        ] {
            command.env_remove(name);
        }
        command
            .env("HF_ENDPOINT", self.server.url())
            .env("NO_PROXY", "127.0.0.1")
            .envs(variables.iter().copied())
            .output()
            .expect("the binary runs")
    }

    fn plan(&self, model: &str) -> String {
        let path = self.home.path().join("plan.toml");
        let plan = format!(
            "schema = 1\nengine = \"llama.cpp\"\n{model}[machine]\nram_mib = 32768\n\
             gpus = [ {{ name = \"NVIDIA GeForce RTX 4090\" }} ]\n[settings]\nctx_size = 2048\nparallel = 1\n"
        );
        std::fs::write(&path, plan).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    }
}

/// The lines for a plan that an inspection ends with.
fn reference(text: &str) -> &str {
    text.split_once("[model]\n").expect("lines for a plan").1
}

#[test]
fn a_repository_is_read_once_and_then_from_what_was_kept() {
    let world = World::new();
    let output = world.run(&[], &["inspect", "o/r"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    for part in [
        COMMIT,
        "Q4_0",
        "Q8_0",
        "r-Q8_0.gguf",
        "plimsoll inspect o/r:Q4_0",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let output = world.run(&[], &["inspect", "o/r", "--json"]);
    let value: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(value["revision"], COMMIT);
    assert_eq!(value["choices"][0]["label"], "Q4_0");
    assert_eq!(value["choices"][1]["files"], json!(["r-Q8_0.gguf"]));

    let output = world.run(&[], &["inspect", "o/r:q4_0"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("llama"), "{text}");
    assert_eq!(
        reference(&text),
        format!("repo = \"o/r\"\nfile = \"r-Q4_0.gguf\"\nrevision = \"{COMMIT}\"\n")
    );

    let before = world.server.connections();
    let plan = world.plan(&format!("[model]\n{}", reference(&text)));
    let output = world.run(&[], &["project", &plan, "--json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let report: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(report["derived"]["file_bytes"], TENSORS);
    let output = world.run(&[], &["fit", &plan]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let output = world.run(&[], &["export", &plan, "--target", "sh"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let launch = out(&output);
    assert!(launch.contains("--hf-repo o/r"), "{launch}");
    assert!(launch.contains("--hf-file r-Q4_0.gguf"), "{launch}");
    assert_eq!(world.server.connections(), before);
    // The other file was not read.
    let other = world.plan("[model]\nrepo = \"o/r\"\nfile = \"r-Q8_0.gguf\"\n");
    let output = world.run(&[], &["project", &other]);
    assert_eq!(code(&output), 2);
    assert!(
        err(&output).contains("r-Q8_0.gguf of o/r is not in the cache"),
        "{}",
        err(&output)
    );
    assert_eq!(world.server.connections(), before);
}

#[test]
fn nothing_is_read_over_the_network_unasked() {
    let world = World::new();
    let plan = world.plan("[model]\nrepo = \"o/r\"\n");
    for arguments in [["project", &plan], ["fit", &plan]] {
        let output = world.run(&[], &arguments);
        assert_eq!(code(&output), 2, "{}", out(&output));
        let reason = err(&output);
        assert!(reason.contains("plimsoll inspect o/r"), "{reason}");
    }
    let output = world.run(&[("HF_HUB_OFFLINE", "1")], &["inspect", "o/r"]);
    assert_eq!(code(&output), 2, "{}", out(&output));
    assert!(err(&output).contains("HF_HUB_OFFLINE"), "{}", err(&output));
    // What looks like a file is looked for on this computer alone.
    std::fs::create_dir(world.home.path().join("models")).expect("a folder");
    let missing = world.home.path().join("models/missing");
    for name in ["o/r.gguf", missing.to_str().expect("UTF-8"), "./o/r"] {
        let output = world.run(&[], &["inspect", name]);
        assert_eq!(code(&output), 3, "{name}: {}", out(&output));
    }
    assert_eq!(world.server.connections(), 0);
    assert!(
        !Path::new(&world.home.path().join("plimsoll")).exists(),
        "nothing is written"
    );
}

#[test]
fn refusals_of_a_server_are_told() {
    let world = World::new();
    let output = world.run(&[], &["inspect", "o/other"]);
    assert_eq!(code(&output), 3);
    assert!(
        err(&output).contains("has no repository o/other"),
        "{}",
        err(&output)
    );
    let output = world.run(&[], &["inspect", "o/r:Q5_K_M"]);
    assert_eq!(code(&output), 2);
    assert!(
        err(&output).contains("it has Q4_0, Q8_0"),
        "{}",
        err(&output)
    );
}

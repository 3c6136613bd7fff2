//! Repositories by name: read when the user asks, and from what was kept ever after.

use std::collections::BTreeMap;
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
pub(super) mod server;

use file::Writer;
use server::{Asked, Reply, Server};

pub(super) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A small Llama, its weights in F16.
pub(super) fn model() -> Vec<u8> {
    let mut writer = Writer::with(&keys());
    tensors(&mut writer, |_| true);
    written(&writer)
}

/// The same in two parts, in a folder as publishers have one for each quantization.
pub(super) fn in_parts() -> Files {
    let mut parts = [Writer::with(&keys()), Writer::new()];
    let names = [
        "F16/r-F16-00001-of-00002.gguf",
        "F16/r-F16-00002-of-00002.gguf",
    ];
    for (number, writer) in parts.iter_mut().enumerate() {
        writer
            .key("split.no", &json!(number))
            .key("split.count", &json!(2))
            .key("split.tensors.count", &json!(11));
        tensors(writer, |name| name.starts_with("blk") == (number == 1));
    }
    names.into_iter().zip(parts.iter().map(written)).collect()
}

fn keys() -> Map<String, Value> {
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
    serde_json::from_value(keys).expect("keys")
}

fn tensors(writer: &mut Writer, wanted: impl Fn(&str) -> bool) {
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
        if wanted(name) {
            writer.tensor(name, &shape, half, width * height * 2);
        }
    }
    for name in [
        "blk.0.attn_norm.weight",
        "blk.0.ffn_norm.weight",
        "output_norm.weight",
    ] {
        if wanted(name) {
            writer.tensor(name, &[64], whole, 256);
        }
    }
}

fn written(writer: &Writer) -> Vec<u8> {
    let file = writer.file();
    let mut bytes = vec![0; usize::try_from(file.size()).expect("a small file")];
    file.read_at(0, &mut bytes).expect("all of it");
    bytes
}

const TENSORS: u64 = 2 * (64_000 + 2 * 4096 + 2 * 2048 + 3 * 8192) + 3 * 256;

/// Files by name.
pub(super) type Files = BTreeMap<&'static str, Vec<u8>>;

/// Two files of the same model.
pub(super) fn two_models() -> Files {
    ["r-Q8_0.gguf", "r-Q4_0.gguf"]
        .map(|name| (name, model()))
        .into()
}

/// A file of safetensors whose tensors hold nothing but zeros.
pub(super) fn shard(tensors: &[(&str, &[u64])]) -> Vec<u8> {
    let mut end = 0;
    let mut header = Map::new();
    for (name, shape) in tensors {
        let start = end;
        end += 2 * shape.iter().product::<u64>();
        let tensor = json!({"dtype": "BF16", "shape": shape, "data_offsets": [start, end]});
        header.insert((*name).to_owned(), tensor);
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + usize::try_from(end).expect("a small file"), 0);
    bytes
}

/// The same small Llama as it is published, in two files, with a copy that nobody counts.
pub(super) fn checkpoint() -> Files {
    let config = json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "max_position_embeddings": 2048,
        "num_attention_heads": 4,
        "num_hidden_layers": 1,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": true,
        "torch_dtype": "bfloat16",
        "vocab_size": 1000,
    });
    let first: [(&str, &[u64]); 1] = [("model.embed_tokens.weight", &[1000, 64])];
    let second: [(&str, &[u64]); 10] = [
        ("model.layers.0.self_attn.q_proj.weight", &[64, 64]),
        ("model.layers.0.self_attn.k_proj.weight", &[32, 64]),
        ("model.layers.0.self_attn.v_proj.weight", &[32, 64]),
        ("model.layers.0.self_attn.o_proj.weight", &[64, 64]),
        ("model.layers.0.mlp.gate_proj.weight", &[128, 64]),
        ("model.layers.0.mlp.up_proj.weight", &[128, 64]),
        ("model.layers.0.mlp.down_proj.weight", &[64, 128]),
        ("model.layers.0.input_layernorm.weight", &[64]),
        ("model.layers.0.post_attention_layernorm.weight", &[64]),
        ("model.norm.weight", &[64]),
    ];
    let names = [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    let [one, two] = names;
    let places = first.iter().map(|tensor| (tensor.0, one));
    let places: BTreeMap<&str, &str> = places
        .chain(second.iter().map(|tensor| (tensor.0, two)))
        .collect();
    let index = json!({"metadata": {}, "weight_map": places});
    Files::from([
        ("config.json", config.to_string().into_bytes()),
        (
            "model.safetensors.index.json",
            index.to_string().into_bytes(),
        ),
        (one, shard(&first)),
        (two, shard(&second)),
        ("original/model.safetensors", shard(&first)),
    ])
}

const PUBLISHED: u64 = 2 * (64_000 + 2 * 4096 + 2 * 2048 + 3 * 8192 + 3 * 64);

/// A hub with one repository, `o/r`.
fn answer(asked: &Asked, files: &Files) -> Reply {
    if asked.path.starts_with("/api/models/o/r/revision/") {
        let sibling =
            |(name, file): (&&str, &Vec<u8>)| json!({"rfilename": name, "size": file.len()});
        let siblings: Vec<Value> = files.iter().map(sibling).collect();
        return Reply::new(
            200,
            json!({"sha": COMMIT, "siblings": siblings}).to_string(),
        );
    }
    let name = asked.path.strip_prefix(&format!("/o/r/resolve/{COMMIT}/"));
    match name.and_then(|name| files.get(name)) {
        Some(file) => Reply::part(asked, file),
        None => Reply::new(404, ""),
    }
}

/// A server, and a home of its own for the program.
pub(super) struct World {
    server: Server,
    home: tempfile::TempDir,
}

impl World {
    pub(super) fn of(files: Files) -> Self {
        Self {
            server: Server::start(move |asked| answer(asked, &files)),
            home: folder(),
        }
    }

    pub(super) fn run(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
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

    /// The folder where everything is that it may write.
    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(super) fn plan(&self, model: &str) -> String {
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
    let world = World::of(two_models());
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
    // Whoever stays offline still sees what is here.
    let output = world.run(&[("HF_HUB_OFFLINE", "1")], &["inspect", "o/r:Q4_0"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
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
fn parts_in_a_folder_are_one_model() {
    let world = World::of(in_parts());
    let output = world.run(&[], &["inspect", "o/r", "--json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let value: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(value["name"], "r-F16");
    assert_eq!(value["tensor_bytes"], TENSORS);
    let before = world.server.connections();
    let first = "F16/r-F16-00001-of-00002.gguf";
    let plan = world.plan(&format!("[model]\nrepo = \"o/r\"\nfile = \"{first}\"\n"));
    let output = world.run(&[], &["export", &plan, "--target", "sh"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(out(&output).contains(&format!("--hf-file {first}")));
    assert_eq!(world.server.connections(), before);
}

#[test]
fn a_checkpoint_is_read_by_its_headers() {
    let world = World::of(checkpoint());
    let output = world.run(&[], &["inspect", "o/r", "--json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let value: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(value["name"], "r");
    assert_eq!(value["container"], "safetensors");
    assert_eq!(value["tensor_bytes"], PUBLISHED);
    assert_eq!(value["files"].as_array().map(Vec::len), Some(2));
    let before = world.server.connections();
    let plan = world.plan(&format!(
        "[model]\nrepo = \"o/r\"\nrevision = \"{COMMIT}\"\n"
    ));
    let output = world.run(&[], &["project", &plan, "--json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(world.server.connections(), before);
}

#[test]
fn nothing_is_read_over_the_network_unasked() {
    let world = World::of(two_models());
    let plan = world.plan("[model]\nrepo = \"o/r\"\n");
    for arguments in [["project", &plan], ["fit", &plan]] {
        let output = world.run(&[], &arguments);
        assert_eq!(code(&output), 2, "{}", out(&output));
        let reason = err(&output);
        assert!(reason.contains("plimsoll inspect o/r"), "{reason}");
    }
    let offline = [("HF_HUB_OFFLINE", "1")];
    let output = world.run(&offline, &["inspect", "o/r"]);
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
    let world = World::of(two_models());
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

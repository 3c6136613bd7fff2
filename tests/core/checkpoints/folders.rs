//! Which files of a folder are the model, and what is said where some are not there.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::model::{Container, Model};
use plimsoll::plan::ModelRef;
use plimsoll::source::{self, checkpoint};
use serde_json::{Map, Value, json};

use super::synthetic::{Folder, Sparse, Tensor, safetensors, tensor};

pub(super) fn config() -> Value {
    json!({
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128, "max_position_embeddings": 512,
    })
}

/// The tensors of that model.
pub(super) fn tensors() -> Vec<Tensor> {
    let layer =
        |name: &str, shape: &[u64]| tensor(format!("model.layers.0.{name}.weight"), "BF16", shape);
    vec![
        tensor("model.embed_tokens.weight", "BF16", &[100, 64]),
        layer("self_attn.q_proj", &[64, 64]),
        layer("self_attn.k_proj", &[64, 64]),
        layer("self_attn.v_proj", &[64, 64]),
        layer("self_attn.o_proj", &[64, 64]),
        layer("mlp.gate_proj", &[128, 64]),
        layer("mlp.up_proj", &[128, 64]),
        layer("mlp.down_proj", &[64, 128]),
        layer("input_layernorm", &[64]),
        layer("post_attention_layernorm", &[64]),
        tensor("model.norm.weight", "BF16", &[64]),
        tensor("lm_head.weight", "BF16", &[100, 64]),
    ]
}

pub(super) fn open(folder: &Folder) -> Model {
    checkpoint::model(folder, "m", &Map::new()).unwrap()
}

fn start() -> Folder {
    Folder::default().with_json("config.json", &config())
}

fn index(files: &[(&str, &[Tensor])]) -> Value {
    let mut map = Map::new();
    for (file, tensors) in files {
        for tensor in *tensors {
            map.insert(tensor.name.clone(), json!(file));
        }
    }
    json!({"metadata": {"total_size": 1}, "weight_map": map})
}

#[test]
fn one_file_is_enough() {
    let model = open(&start().with("model.safetensors", safetensors(&tensors())));
    let checkpoint = model.checkpoint.as_ref().unwrap();
    assert_eq!(checkpoint.container, Container::Safetensors);
    assert_eq!(checkpoint.label.as_deref(), Some("BF16"));
    assert_eq!(checkpoint.parameters(), model.parameters().total());
    assert_eq!(checkpoint.bytes.get(), 2 * model.parameters().total());
    let down = checkpoint
        .tensors
        .iter()
        .find(|tensor| tensor.name.ends_with("down_proj.weight"))
        .unwrap();
    assert_eq!(down.shape, [128, 64, 1, 1]);
    assert_eq!(down.kind, Some(plimsoll::quant::Type::BF16));
    let alone = open(&start());
    assert!(alone.checkpoint.is_none() && alone.assumptions.is_empty());
    assert_ne!(alone.fingerprint, model.fingerprint);
}

#[test]
fn a_second_copy_is_not_counted() {
    let tensors = tensors();
    let bytes: u64 = tensors.iter().map(Tensor::bytes).sum();
    let (one, two) = tensors.split_at(5);
    let shards = [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    let twice = start()
        .with_json(
            "model.safetensors.index.json",
            &index(&[(shards[0], one), (shards[1], two)]),
        )
        .with(shards[0], safetensors(one))
        .with(shards[1], safetensors(two))
        .with("consolidated.safetensors", safetensors(&tensors))
        .with("original/model.safetensors", safetensors(&tensors))
        .with(
            "metal/model.bin",
            Sparse {
                first: Vec::new(),
                size: 1 << 40,
            },
        )
        .with(
            "pytorch_model.bin",
            Sparse {
                first: Vec::new(),
                size: 1 << 40,
            },
        )
        .with("adapter_model.safetensors", safetensors(&tensors));
    assert_eq!(open(&twice).checkpoint.unwrap().bytes.get(), bytes);
    let config = config();
    let files = checkpoint::weights(&twice, &config).unwrap().unwrap().files;
    assert_eq!(
        files
            .iter()
            .map(|file| file.name.as_str())
            .collect::<Vec<_>>(),
        shards
    );

    // Without an index, numbered files are a set; where some are gone, another copy will do.
    let numbered = start()
        .with(shards[0], safetensors(one))
        .with(shards[1], safetensors(two));
    assert_eq!(open(&numbered).checkpoint.unwrap().bytes.get(), bytes);
    let half = start()
        .with(shards[0], safetensors(one))
        .with("consolidated.safetensors", safetensors(&tensors));
    assert_eq!(open(&half).checkpoint.unwrap().bytes.get(), bytes);
}

#[test]
fn archives_are_known_by_their_sizes() {
    let archive = |size| Sparse {
        first: b"PK\x03\x04".to_vec(),
        size,
    };
    let model = open(&start().with("pytorch_model.bin", archive(1000)));
    let checkpoint = model.checkpoint.unwrap();
    assert_eq!(
        (checkpoint.container, checkpoint.bytes.get()),
        (Container::PyTorch, 1000)
    );
    let files = [
        "pytorch_model-00001-of-00002.bin",
        "pytorch_model-00002-of-00002.bin",
    ];
    let map =
        json!({"metadata": {"total_size": 900}, "weight_map": {"a": files[0], "b": files[1]}});
    let model = open(
        &start()
            .with_json("pytorch_model.bin.index.json", &map)
            .with(files[0], archive(600))
            .with(files[1], archive(400)),
    );
    let checkpoint = model.checkpoint.unwrap();
    assert_eq!(
        (
            checkpoint.tensors.len(),
            checkpoint.bytes.get(),
            checkpoint.parameters()
        ),
        (2, 900, 0)
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn what_is_not_there_is_said() {
    let tensors = tensors();
    let whole = safetensors(&tensors);
    let (one, two) = tensors.split_at(5);
    let shards = [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    let map = index(&[(shards[0], one), (shards[1], two)]);
    let said = |folder: Folder| {
        let model = open(&folder);
        assert!(model.checkpoint.is_none());
        let [sentence] = model.assumptions.as_slice() else {
            panic!("{:?}", model.assumptions);
        };
        let reason = sentence.strip_prefix("The files of weights cannot be used, so that weights are counted from the configuration: ");
        reason.unwrap_or_else(|| panic!("{sentence}")).to_owned()
    };
    let missing = start()
        .with_json("model.safetensors.index.json", &map)
        .with(shards[0], safetensors(one));
    assert_eq!(
        said(missing),
        "`model-00002-of-00002.safetensors` is missing: the download is not complete."
    );
    let bare = start().with_json("model.safetensors.index.json", &map);
    assert_eq!(
        said(bare),
        "`model-00001-of-00002.safetensors` is missing: the download is not complete."
    );
    let numbered = start().with(shards[1], safetensors(two));
    assert_eq!(
        said(numbered),
        "`model-00001-of-00002.safetensors` is missing: the download is not complete."
    );
    let size = whole.size;
    let cut = Sparse {
        size: size - 10,
        ..whole.clone()
    };
    assert_eq!(
        said(start().with("model.safetensors", cut)),
        format!(
            "`model.safetensors` holds {} of {size} bytes: the download is not complete.",
            size - 10
        )
    );
    let mut cut = whole;
    cut.first.truncate(100);
    cut.size = 100;
    let claimed = safetensors(&tensors).first.len();
    assert_eq!(
        said(start().with("model.safetensors", cut)),
        format!("`model.safetensors` holds 100 of {claimed} bytes: the download is not complete.")
    );
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    assert_eq!(
        said(start().with_text("model.safetensors", pointer)),
        "`model.safetensors` is a Git LFS pointer, not the file: `git lfs pull` fetches it."
    );
    assert_eq!(
        said(start().with_text("model.safetensors", "<html>not found</html>")),
        "`model.safetensors` is no safetensors file."
    );
}

#[test]
fn makers_own_files_are_read() {
    let params = json!({
        "dim": 64, "n_layers": 1, "head_dim": 16, "hidden_dim": 128, "n_heads": 4, "n_kv_heads": 4, "norm_eps": 1e-5,
        "vocab_size": 100, "rope_theta": 1e6, "max_seq_len": 512,
    });
    let folder = Folder::default()
        .with_json("params.json", &params)
        .with("consolidated.safetensors", safetensors(&tensors()));
    let model = open(&folder);
    assert_eq!(
        (
            model.model_type.as_str(),
            model.layers.len(),
            model.context_length
        ),
        ("mistral", 1, 512)
    );
    assert_eq!(
        model.checkpoint.unwrap().parameters(),
        2 * 100 * 64 + 4 * 64 * 64 + 3 * 128 * 64 + 3 * 64
    );
    // Meta-Llama-3-8B `original/params.json`, where the width follows from a factor.
    let llama = json!({
        "dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 128_256, "multiple_of": 1024,
        "ffn_dim_multiplier": 1.3, "norm_eps": 1e-5, "rope_theta": 500_000.0,
    });
    let model = open(&Folder::default().with_json("params.json", &llama));
    assert_eq!(model.parameters().total(), 8_030_261_248);
}

#[test]
fn optimizers_file_beside_counts() {
    let beside = json!({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}});
    let quantization = open(&start().with_json("hf_quant_config.json", &beside))
        .quantization
        .unwrap();
    assert_eq!(quantization.label(), "FP8 (W8A8)");
    assert_eq!(quantization.skipped, ["lm_head"]);
    assert_eq!(quantization.kv_cache.unwrap().bits, 8);
}

#[test]
fn a_plan_names_the_folder_or_any_file_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let revision = folder
        .path()
        .join("models--someone--Some-Model")
        .join("snapshots")
        .join("0123abcd");
    std::fs::create_dir_all(&revision).unwrap();
    std::fs::write(revision.join("config.json"), config().to_string()).unwrap();
    let file = safetensors(&tensors());
    let mut bytes = file.first.clone();
    bytes.resize(file.size as usize, 0);
    std::fs::write(revision.join("model.safetensors"), bytes).unwrap();
    let read = |path: &std::path::Path, overrides: &str| {
        let reference = ModelRef {
            path: Some(path.display().to_string()),
            overrides: toml::from_str(overrides).unwrap(),
            ..ModelRef::default()
        };
        source::model(&reference, &ModelCatalog::default()).unwrap()
    };
    let model = read(&revision, "");
    assert_eq!(model.name, "Some-Model");
    assert!(model.checkpoint.is_some());
    for name in ["config.json", "model.safetensors"] {
        assert_eq!(read(&revision.join(name), ""), model, "{name}");
    }
    // Another depth is another model than that of the files.
    let deeper = read(&revision, "num_hidden_layers = 3");
    assert!(deeper.checkpoint.is_none() && deeper.layers.len() == 3);
    std::fs::rename(revision.join("config.json"), revision.join("other.json")).unwrap();
    assert!(read(&revision.join("other.json"), "").checkpoint.is_none());
}

#[test]
fn folders_of_other_things_say_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let error = || {
        let reference = ModelRef {
            path: Some(folder.path().display().to_string()),
            ..ModelRef::default()
        };
        source::model(&reference, &ModelCatalog::default())
            .unwrap_err()
            .to_string()
    };
    assert!(
        error().starts_with("there is no config.json in the folder"),
        "{}",
        error()
    );
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("a-Q4_K_M.gguf", "GGUF");
    write("b-Q8_0.gguf", "GGUF");
    assert!(
        error().starts_with(
            "there is no config.json but several GGUF files: open one of a-Q4_K_M.gguf, b-Q8_0.gguf in "
        ),
        "{}",
        error()
    );
    write(
        "adapter_config.json",
        r#"{"peft_type": "LORA", "r": 16, "base_model_name_or_path": "Qwen/Qwen3-8B"}"#,
    );
    assert!(
        error().starts_with("this is a LoRA adapter for `Qwen/Qwen3-8B`, not a model:"),
        "{}",
        error()
    );
}

#[test]
fn weights_that_nothing_describes_are_counted() {
    let small = json!({"normalize": true, "embedding_dtype": "int8"});
    let tensors = [
        tensor("mapping", "I64", &[10]),
        tensor("embeddings", "I8", &[10, 64]),
    ];
    let described = Folder::default().with_json("config.json", &small);
    let folder = described.with("model.safetensors", safetensors(&tensors));
    let model = open(&folder);
    assert_eq!(model.checkpoint.as_ref().unwrap().bytes.get(), 10 * 8 + 640);
    assert_eq!(model.parameters().total(), 650);
    assert_eq!(
        model.assumptions,
        ["Nothing but the weights is counted: `model_type` is missing."]
    );
    let typed = json!({"model_type": "model2vec", "hidden_dim": 64});
    let model = open(
        &Folder::default()
            .with_json("config.json", &typed)
            .with("model.safetensors", safetensors(&tensors)),
    );
    assert!(
        model.assumptions[0].contains("models of type `model2vec` are not known"),
        "{:?}",
        model.assumptions
    );
    let alone = Folder::default().with_json("config.json", &typed);
    assert!(checkpoint::model(&alone, "m", &Map::new()).is_err());

    let several = Folder::default()
        .with("a.safetensors", safetensors(&tensors))
        .with("b.safetensors", safetensors(&tensors));
    let one = checkpoint::undescribed(&several, Some("b.safetensors"), "b")
        .unwrap()
        .unwrap();
    assert_eq!((one.name.as_str(), one.parameters().total()), ("b", 650));
    assert!(checkpoint::undescribed(&several, None, "all").is_err());
}

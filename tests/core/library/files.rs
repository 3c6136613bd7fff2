//! Which files belong together.

use super::{Computer, config, tensors};

#[test]
fn parts_of_a_split_model_are_one_and_missing_parts_are_named() {
    let mut computer = Computer::linux();
    computer.add("models");
    for part in ["3", "1", "2"] {
        computer.gguf(&format!("models/big-Q2_K-0000{part}-of-00003.gguf"));
    }
    computer.gguf("models/half-00002-of-00003.gguf");
    let library = computer.scan();
    let [big] = library.models.as_slice() else {
        panic!("{library:?}")
    };
    assert_eq!(
        computer.row(big),
        "big-Q2_K Q2_K Folder models/big-Q2_K-00001-of-00003.gguf"
    );
    let files: Vec<_> = big.files.iter().map(|file| computer.short(file)).collect();
    assert_eq!(
        files,
        [1, 2, 3].map(|part| format!("models/big-Q2_K-0000{part}-of-00003.gguf"))
    );
    assert_eq!(
        computer.complaints(),
        ["models/half-00002-of-00003.gguf: part 1 of 3 and 1 more are not there"]
    );
}

#[test]
fn a_projector_goes_with_the_model_of_its_name_or_of_its_folder() {
    let mut computer = Computer::linux();
    computer.add("models");
    for file in [
        "mixed/mmproj-Qwen2.5-VL-7B-Instruct-f16.gguf",
        "mixed/Qwen2.5-VL-7B-Instruct-Q4_K_M.gguf",
        "mixed/Llama-3.1-8B-Q4_K_M.gguf",
        "alone/mmproj-F32.gguf",
        "alone/mmproj-F16.gguf",
        "alone/gemma-3-4b-it-Q4_K_M.gguf",
        "alone/gemma-3-4b-it-Q8_0.gguf",
        "alone/imatrix_unsloth.gguf",
        "stray/mmproj-F16.gguf",
        "stray/inner/other-Q8_0.gguf",
    ] {
        computer.gguf(&format!("models/{file}"));
    }
    let library = computer.scan();
    let pairs: Vec<_> = library
        .models
        .iter()
        .map(|model| {
            let projector = model.projector.as_ref();
            (
                model.title.as_str(),
                projector.map(|path| path.file_name().unwrap().to_str().unwrap()),
            )
        })
        .collect();
    assert_eq!(
        pairs,
        [
            ("gemma-3-4b-it-Q4_K_M", Some("mmproj-F16.gguf")),
            ("gemma-3-4b-it-Q8_0", Some("mmproj-F16.gguf")),
            ("Llama-3.1-8B-Q4_K_M", None),
            (
                "Qwen2.5-VL-7B-Instruct-Q4_K_M",
                Some("mmproj-Qwen2.5-VL-7B-Instruct-f16.gguf")
            ),
            ("other-Q8_0", None),
        ]
    );
}

#[test]
fn folders_of_a_repository_share_its_projector() {
    let computer = Computer::linux();
    let repository = "home/.lmstudio/models/unsloth/big-GGUF";
    computer.gguf(&format!("{repository}/mmproj-BF16.gguf"));
    computer.gguf(&format!(
        "{repository}/Q4_K_M/big-Q4_K_M-00001-of-00001.gguf"
    ));
    let library = computer.scan();
    assert!(library.models[0].projector.is_some(), "{library:?}");
}

#[test]
fn checkpoints_say_how_they_are_stored() {
    let mut computer = Computer::linux();
    computer.add("models");
    let cases = [
        (
            "awq",
            r#"{"quantization_config": {"quant_method": "awq", "bits": 4}}"#,
            "AWQ 4-bit",
        ),
        (
            "fp8",
            r#"{"quantization_config": {"quant_method": "fp8"}, "torch_dtype": "bfloat16"}"#,
            "FP8",
        ),
        (
            "mlx",
            r#"{"quantization": {"group_size": 64, "bits": 8}}"#,
            "8-bit",
        ),
        // The tensors tell better.
        ("nested", r#"{"text_config": {"dtype": "float16"}}"#, "F32"),
        ("plain", "{}", "F32"),
    ];
    for (name, fields, _) in cases {
        let fields = fields.trim_start_matches('{');
        let fields = fields.strip_suffix('}').unwrap();
        computer.write(&format!("models/{name}/config.json"), config(fields));
        computer.write(&format!("models/{name}/model.safetensors"), tensors(name));
    }
    let expect: Vec<_> = cases
        .iter()
        .map(|(name, _, form)| format!("{name} {form} Folder models/{name}"))
        .collect();
    assert_eq!(computer.titles(), expect);
}

#[test]
fn of_several_sets_of_weights_one_is_counted_and_what_is_no_model_is_left_out() {
    let mut computer = Computer::linux();
    computer.add("models");
    for file in [
        "mistral/params.json",
        "mistral/config.json",
        "mistral/consolidated.safetensors",
        "mistral/model-00001-of-00001.safetensors",
        "old/config.json",
        "old/pytorch_model.bin",
        "lora/adapter_config.json",
        "lora/adapter_model.safetensors",
        "pictures/model_index.json",
        "pictures/unet/config.json",
        "pictures/unet/diffusion_pytorch_model.safetensors",
        "config only/config.json",
        "notes/readme.md",
        ".hidden/x.gguf",
    ] {
        let content = match file.rsplit_once('.') {
            Some((_, "safetensors")) => tensors(file),
            Some((_, "json")) => config("").into_bytes(),
            _ => b"PK\x03\x04".to_vec(),
        };
        computer.write(&format!("models/{file}"), content);
    }
    let params =
        r#"{"dim": 64, "n_layers": 1, "n_heads": 4, "hidden_dim": 128, "vocab_size": 100}"#;
    computer.write("models/mistral/params.json", params);
    let library = computer.scan();
    let rows: Vec<_> = library
        .models
        .iter()
        .map(|model| {
            let what = (model.role.name(), model.kind.name());
            (model.title.as_str(), what, model.files.len())
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("lora", ("adapter", "safetensors"), 1),
            ("mistral", ("model", "safetensors"), 1),
            ("old", ("model", "PyTorch"), 1)
        ]
    );
    assert_eq!(library.broken, []);
}

#[test]
fn files_that_are_no_models_are_explained() {
    let mut computer = Computer::linux();
    computer.add("models");
    computer.add("nowhere");
    computer.write("models/a.gguf", "");
    computer.write(
        "models/b.gguf",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    );
    computer.write("models/c.gguf", "PK\x03\x04");
    computer.gguf("models/d.gguf.part");
    computer.gguf("models/downloading_e.gguf.part");
    computer.gguf("models/f.gguf.downloadInProgress");
    assert_eq!(
        computer.complaints(),
        [
            "models/d.gguf.part: its download is not finished (224 B so far)",
            "models/downloading_e.gguf.part: its download is not finished (224 B so far)",
            "models/f.gguf.downloadInProgress: its download is not finished (224 B so far)",
            "models/a.gguf: it is empty",
            "models/b.gguf: it is only Git's pointer to a large file; run `git lfs pull`",
            "models/c.gguf: this is a ZIP or PyTorch archive, not a GGUF file",
            "nowhere: there is no such folder",
        ]
    );
}

#[test]
fn folders_of_programs_are_recognised_wherever_they_are() {
    let mut computer = Computer::linux();
    computer.add("disk");
    computer.gguf("disk/hub/models--a--b/snapshots/c/m.gguf");
    let sha = "0".repeat(64);
    computer.gguf(&format!("disk/ollama/blobs/sha256-{sha}"));
    computer.write(
        "disk/ollama/manifests/registry.ollama.ai/library/x/y",
        format!(r#"{{"layers": [{{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:{sha}"}}]}}"#),
    );
    let library = computer.scan();
    let titles: Vec<_> = library
        .models
        .iter()
        .map(|model| model.title.as_str())
        .collect();
    assert_eq!(titles, ["m", "x:y"]);
    assert_eq!(library.models[0].repository.as_deref(), Some("a/b"));
}

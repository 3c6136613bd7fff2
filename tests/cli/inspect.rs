//! What a model is, on the command line.

use crate::process::{code, err, folder, out, plimsoll};

#[test]
fn a_preset_is_told_as_text_and_as_json() {
    let output = plimsoll(&["inspect", "qwen3-8b"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    for words in [
        "8.19 B parameters",
        "num_key_value_heads",
        "144.0 KiB per token of context",
        "feed-forward  5,435,817,984",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let output = plimsoll(&["inspect", "Qwen3-8B", "--json", "--full"]);
    let value: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(value["hyper_parameters"]["num_hidden_layers"], 36);
    assert_eq!(value["certainty"], "configuration");
    assert_eq!(value["tensors"], serde_json::json!([]));
}

/// A folder may be called anything, and its configuration may say anything.
#[cfg(unix)]
#[test]
fn names_from_files_do_not_steer_the_terminal() {
    let folder = folder();
    let model = folder.path().join("a\u{1b}]0;owned\u{7}b\nc");
    std::fs::create_dir(&model).expect("a folder");
    let config = r#"{"architectures": ["Qwen3\u001b[2JForCausalLM"], "model_type": "qwen3", "hidden_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 2048}"#;
    std::fs::write(model.join("config.json"), config).expect("written");
    let path = model.to_str().expect("UTF-8");
    let output = plimsoll(&["inspect", path]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    assert!(text.contains("config.json"), "{text}");
    let output = plimsoll(&["inspect", path, "--json"]);
    assert!(!out(&output).contains(['\u{1b}', '\u{7}']));

    let output = plimsoll(&["inspect", "no/such\u{1b}[31m/model"]);
    assert_eq!(code(&output), 3);
    assert!(!err(&output).contains('\u{1b}'), "{:?}", err(&output));
}

#[test]
fn what_is_not_there_is_told() {
    let output = plimsoll(&["inspect", "qwen3-8c"]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("Qwen3-8B"), "{}", err(&output));
    let output = plimsoll(&["inspect", "no-such-file.gguf"]);
    assert_eq!(code(&output), 3);
}

/// The header of a GGUF file without tensors (version 3, `docs/gguf.md` of ggml): texts by key.
fn header(keys: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend((keys.len() as u64).to_le_bytes());
    for (key, value) in keys {
        bytes.extend((key.len() as u64).to_le_bytes());
        bytes.extend(key.as_bytes());
        bytes.extend(8_u32.to_le_bytes());
        bytes.extend((value.len() as u64).to_le_bytes());
        bytes.extend(value.as_bytes());
    }
    bytes
}

#[test]
fn a_file_that_is_no_model_is_told_as_what_it_is() {
    let folder = folder();
    for (kind, what) in [
        ("adapter", "adapter"),
        ("imatrix", "importance matrix"),
        ("mmproj", "projector"),
        ("vocab", "vocabulary"),
    ] {
        let path = folder.path().join(format!("{kind}.gguf"));
        let keys = [
            ("general.architecture", "x"),
            ("general.type", kind),
            ("general.author", "A\u{9b}31mB"),
        ];
        std::fs::write(&path, header(&keys)).expect("written");
        let path = path.to_str().expect("UTF-8");
        let output = plimsoll(&["inspect", path]);
        assert_eq!(code(&output), 0, "{kind}: {}", err(&output));
        let text = out(&output);
        assert!(text.contains(&format!("no model but: {what}")), "{text}");
        assert!(!text.contains('\u{9b}'), "{text:?}");
        let output = plimsoll(&["inspect", path, "--json"]);
        let value: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
        assert_eq!(value["what"], what);
        assert_eq!(value["container"], "GGUF");
        assert!(!out(&output).contains('\u{9b}'));
    }
}

/// A safetensors file with one tensor of so many numbers (its length, its header, its bytes).
fn safetensors(name: &str, count: usize) -> Vec<u8> {
    let end = 4 * count;
    let header =
        format!(r#"{{"{name}":{{"dtype":"F32","shape":[{count}],"data_offsets":[0,{end}]}}}}"#);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + end, 0);
    bytes
}

#[test]
fn an_adapter_is_told_by_its_folder_and_by_its_files() {
    let folder = folder();
    let adapter = folder.path().join("my-lora");
    std::fs::create_dir(&adapter).expect("a folder");
    let config = r#"{"peft_type": "LORA", "r": 16, "target_modules": ["q_proj", "v_proj"],
        "base_model_name_or_path": "Qwen/Qwen3-8B\u001b[31m"}"#;
    std::fs::write(adapter.join("adapter_config.json"), config).expect("written");
    let weights = safetensors("base.layers.0.q_proj.lora_A.weight", 64);
    std::fs::write(adapter.join("adapter_model.safetensors"), weights).expect("written");
    for path in [
        adapter.clone(),
        adapter.join("adapter_config.json"),
        adapter.join("adapter_model.safetensors"),
    ] {
        let path = path.to_str().expect("UTF-8");
        let output = plimsoll(&["inspect", path]);
        assert_eq!(code(&output), 0, "{path}: {}", err(&output));
        let text = out(&output);
        for words in [
            "my-lora · LORA",
            "no model but: adapter, 64 elements",
            "Qwen/Qwen3-8B",
            "q_proj, v_proj",
            "adapter_model.safetensors",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let output = plimsoll(&["inspect", path, "--json", "--full"]);
        let value: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
        assert_eq!(value["what"], "adapter");
        assert_eq!(value["hyper_parameters"]["r"], 16);
        assert_eq!(value["tensor_bytes"], 256);
        assert_eq!(value["tensors"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn a_file_of_weights_is_told_alone_and_without_an_empty_type() {
    let folder = folder();
    for (name, count) in [("a", 10), ("b", 20)] {
        let path = folder.path().join(format!("{name}.safetensors"));
        std::fs::write(path, safetensors("x.weight", count)).expect("written");
    }
    let path = folder.path().join("a.safetensors");
    let output = plimsoll(&["inspect", path.to_str().expect("UTF-8"), "--full"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    assert_eq!(text.lines().next(), Some("a"));
    assert!(
        text.contains("x.weight") && !text.contains("b.safetensors"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_back_to_itself_is_told_as_one() {
    let folder = folder();
    for name in ["a.gguf", "b.safetensors", "c"] {
        let path = folder.path().join(name);
        std::os::unix::fs::symlink(&path, &path).expect("a link");
        let output = plimsoll(&["inspect", path.to_str().expect("UTF-8")]);
        assert_eq!(code(&output), 3, "{}", err(&output));
        let said = err(&output);
        assert!(said.contains("a link that leads back to itself"), "{said}");
    }
}

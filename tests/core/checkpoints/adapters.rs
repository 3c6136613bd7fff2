use plimsoll::source::access::Collection as _;
use plimsoll::source::checkpoint::{adapter, is_adapter, is_model};
use serde_json::json;

use super::synthetic::{Folder, safetensors, tensor};

#[test]
fn adapters_say_their_rank_base_and_bytes() {
    let config = json!({
        "peft_type": "LORA", "r": 16, "lora_alpha": 32, "target_modules": ["q_proj", "v_proj"],
        "rank_pattern": {"layers.0.self_attn.q_proj": 64}, "modules_to_save": ["lm_head"],
        "base_model_name_or_path": "Qwen/Qwen3-8B",
    });
    let name =
        |part: &str| format!("base_model.model.model.layers.0.self_attn.q_proj.lora_{part}.weight");
    let tensors = [
        tensor(name("A"), "F32", &[16, 4096]),
        tensor(name("B"), "F32", &[4096, 16]),
    ];
    let folder = Folder::default()
        .with_json("adapter_config.json", &config)
        .with("adapter_model.safetensors", safetensors(&tensors));
    let entries = folder.entries().unwrap();
    assert!(is_adapter(&entries) && !is_model(&entries));
    let read = adapter(&folder).unwrap();
    assert_eq!((read.kind.as_str(), read.rank), ("LORA", Some(64)));
    assert_eq!(read.targets, ["q_proj", "v_proj"]);
    assert_eq!(read.saved_modules, ["lm_head"]);
    assert_eq!(read.base.as_deref(), Some("Qwen/Qwen3-8B"));
    let checkpoint = read.checkpoint.unwrap();
    assert_eq!(
        (checkpoint.elements(), checkpoint.bytes.get()),
        (2 * 16 * 4096, 8 * 16 * 4096)
    );
}

#[test]
fn odd_adapters_are_read_as_far_as_they_go() {
    let read = |text: &str| adapter(&Folder::default().with_text("adapter_config.json", text));
    let bare = read("{}").unwrap();
    assert_eq!((bare.rank, bare.base, bare.targets.len()), (None, None, 0));
    assert_eq!(
        read(r#"{"target_modules": "all-linear", "r": -1}"#)
            .unwrap()
            .targets,
        ["all-linear"]
    );
    assert_eq!(
        read("[]").unwrap_err().to_string(),
        "`adapter_config.json` is not an object"
    );
    let cut = Folder::default()
        .with_text("adapter_config.json", "{}")
        .with_text("adapter_model.safetensors", "");
    let said = adapter(&cut).unwrap().assumptions;
    assert_eq!(
        said,
        [
            "The adapter's weights cannot be used: `adapter_model.safetensors` holds 0 of 8 bytes: the download is not complete."
        ]
    );
}

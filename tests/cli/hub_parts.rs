//! What repositories have beside one model: several forms of it, and adapters.

use serde_json::{Value, json};

use super::hub::{COMMIT, Files, World, shard, two_models};
use crate::process::{code, err, out};

/// Every form that is listed can be named, planned with, and is told exactly.
#[test]
fn every_choice_of_a_repository_leads_to_a_plan_with_a_verdict() {
    let world = World::of(two_models());
    let output = world.run(&[], &["inspect", "o/r", "--json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let list: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let choices = list["choices"].as_array().expect("a list");
    assert_eq!(choices.len(), 2, "{list}");
    for choice in choices {
        let label = choice["label"].as_str().expect("a text");
        let file = choice["files"][0].as_str().expect("a text");
        assert!(file.contains(label));
        let output = world.run(&[], &["inspect", &format!("o/r:{label}"), "--json"]);
        assert_eq!(code(&output), 0, "{}", err(&output));
        let told: Value = serde_json::from_str(&out(&output)).expect("JSON");
        assert_eq!(told["certainty"], "exact");
        assert_eq!(told["files"][0]["name"], file);
        let plan = world.plan(&format!(
            "[model]\nrepo = \"o/r\"\nfile = \"{file}\"\nrevision = \"{COMMIT}\"\n"
        ));
        let output = world.run(&[], &["project", &plan, "--json"]);
        assert_eq!(code(&output), 0, "{}", err(&output));
        let report: Value = serde_json::from_str(&out(&output)).expect("JSON");
        assert_eq!(report["verdict"], "fits", "{label}");
        assert_eq!(report["derived"]["params_total"], told["params_total"]);
    }
}

#[test]
fn a_repository_with_an_adapter_is_told_as_one() {
    let config = json!({"peft_type": "LORA", "r": 4, "target_modules": ["q_proj"],
        "base_model_name_or_path": "o/base"});
    let weights: [(&str, &[u64]); 2] = [
        ("base_model.model.layers.0.q_proj.lora_A.weight", &[4, 64]),
        ("base_model.model.layers.0.q_proj.lora_B.weight", &[64, 4]),
    ];
    let world = World::of(Files::from([
        ("adapter_config.json", config.to_string().into_bytes()),
        ("adapter_model.safetensors", shard(&weights)),
        ("README.md", b"hello".to_vec()),
    ]));
    let output = world.run(&[], &["inspect", "o/r"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    for words in ["no model but: adapter, 512 elements", "o/base", "r · LORA"] {
        assert!(out(&output).contains(words), "{words}: {}", out(&output));
    }
    let output = world.run(&[], &["inspect", "o/r", "--json"]);
    let told: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(told["tensor_bytes"], 1024);
    assert_eq!(told["files"].as_array().map(Vec::len), Some(2));
}

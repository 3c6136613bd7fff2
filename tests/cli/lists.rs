//! What can be chosen from.

use crate::process::{code, err, out, plimsoll};

#[test]
fn lists_answer_yes_or_no() {
    for arguments in [
        ["models", "deepseek"].as_slice(),
        &["gpus", "4090"],
        &["machines", "a100"],
        &["settings"],
        &["settings", "ollama"],
        &["settings", "--engine", "Ollama", "--json"],
        &["detect"],
        &["models", "--json"],
        &["gpus", "--json"],
        &["machines", "--json"],
        &["settings", "--json"],
        &["detect", "--json"],
        &["completion", "bash"],
        &["--help"],
        &["project", "--help"],
    ] {
        let output = plimsoll(arguments);
        assert_eq!(code(&output), 0, "{arguments:?}: {}", err(&output));
        let text = out(&output);
        assert!(!text.is_empty());
        if arguments.contains(&"--json") {
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(&text);
            assert!(parsed.is_ok(), "{arguments:?}: {text}");
        }
    }
    assert_eq!(code(&plimsoll(&["models", "no such model at all"])), 1);
    assert_eq!(code(&plimsoll(&["frobnicate"])), 2);
    assert_eq!(code(&plimsoll(&["-v", "models", "deepseek"])), 0);
    assert_eq!(code(&plimsoll(&["plan.toml", "models"])), 2);
}

#[test]
fn models_are_listed_by_family_and_size() {
    let output = plimsoll(&["models", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let keys: Vec<(String, u64)> = list["models"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|model| {
            let family = model["family"].as_str().expect("a text").to_lowercase();
            (family, model["params_total"].as_u64().expect("a number"))
        })
        .collect();
    assert!(keys.len() > 50 && keys.is_sorted());
}

#[test]
fn a_machine_of_several_nodes_is_listed_with_all_its_cards() {
    let text = out(&plimsoll(&["machines", "2-nodes-8x-h100"]));
    let row = text.lines().nth(1).expect("a row");
    let words: Vec<&str> = row.split_whitespace().rev().take(4).collect();
    assert_eq!(words[3], "2", "{text}");
    assert_eq!(words[2], "16", "{text}");
    assert_eq!(words[0], "4096", "{text}");
}

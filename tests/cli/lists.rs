//! What can be chosen from.

use crate::process::{PLAN, code, err, out, plimsoll, with_plan};

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

#[test]
fn words_of_choices_are_listed() {
    let text = out(&plimsoll(&["settings"]));
    for words in [
        "one of layer, none, row, tensor",
        "Q4_K_M, ",
        "draft-simple",
    ] {
        let listed = words.split(", ").all(|word| text.contains(word));
        assert!(listed, "{words} in {text}");
    }
    let output = plimsoll(&["settings", "ollama", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let settings = list["settings"].as_array().expect("a list");
    let values = |name: &str| {
        let mut settings = settings.iter();
        let setting = settings.find(|setting| setting["name"] == name);
        setting.expect(name)["values"].clone()
    };
    let cache = values("kv_cache_type");
    assert!(
        cache.as_array().expect("words").contains(&"q8_0".into()),
        "{cache}"
    );
    assert_eq!(values("num_ctx").as_array().map(Vec::len), Some(0));
}

#[test]
fn help_keeps_the_engines_apart() {
    let text = out(&plimsoll(&["project", "--help"]));
    let (llama, ollama) = text
        .split_once("`plimsoll settings ollama`")
        .expect("two lists");
    assert!(llama.contains("`plimsoll settings llama.cpp`") && llama.contains("ctx_size"));
    assert!(
        ollama.contains("num_ctx") && !ollama.contains("ctx_size"),
        "{ollama}"
    );
}

#[test]
fn a_version_may_look_like_a_number() {
    for version in ["0.10", "99"] {
        let set = format!("engine_version={version}");
        let output = with_plan(PLAN, &["project", "-", "--json", "--set", &set]);
        let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
        assert_eq!(
            report["settings"]["engine_version"],
            version,
            "{}",
            err(&output)
        );
    }
}

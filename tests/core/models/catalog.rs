//! The catalogue of models: presets, search, the user's own.

use std::collections::BTreeSet;

use plimsoll::catalog::models::{Error, ModelCatalog, Origin};
use serde_json::Map;

#[test]
fn every_preset_is_a_model_and_says_its_size() {
    let catalog = ModelCatalog::embedded();
    let entries = catalog.list();
    assert_eq!(catalog.broken(), &[]);
    assert_eq!(entries.len(), 175);
    let mut titles = BTreeSet::new();
    for entry in entries {
        let preset = catalog.find(&entry.id).unwrap();
        assert_eq!(&preset.entry, entry, "{}", entry.id);
        let model = preset.model(&Map::new()).unwrap();
        let parameters = model.parameters();
        assert_eq!(entry.total_parameters, parameters.total(), "{}", entry.id);
        assert_eq!(entry.active_parameters, parameters.active(), "{}", entry.id);
        assert_eq!(
            entry.context_length.unwrap_or(0),
            model.context_length,
            "{}",
            entry.id
        );
        assert!(
            !model.layers.is_empty() || model.other.is_some(),
            "{}",
            entry.id
        );
        assert!(
            titles.insert(entry.title.clone()),
            "two are called {}",
            entry.title
        );
        assert!(
            entry.publisher.is_some() && entry.hf_repo.is_some(),
            "{}",
            entry.id
        );
        assert!(
            entry
                .source
                .as_ref()
                .is_some_and(|source| !source.is_empty() && !source.starts_with('/')),
            "{}",
            entry.id
        );
    }
}

#[test]
fn the_listing_goes_by_family_and_size() {
    let catalog = ModelCatalog::embedded();
    let ids: Vec<&str> = catalog
        .list()
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    let at = |id: &str| ids.iter().position(|other| *other == id).unwrap();
    assert!(at("Qwen2.5-7B-Instruct") < at("Qwen2.5-32B-Instruct"));
    assert!(at("Qwen2.5-0.5B-Instruct") < at("Qwen2.5-3B-Instruct"));
    assert!(at("gemma-2-2b-it") < at("gemma-4-31B-it"));
    assert!(at("DeepSeek-R1") < at("Qwen3-8B"));
}

/// Whether a search finds a model, and among how few of the first.
fn check(query: &str, id: &str, within: usize) {
    let catalog = ModelCatalog::embedded();
    let found: Vec<&str> = catalog
        .search(query)
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    let at = found.iter().position(|other| *other == id);
    assert!(at.is_some_and(|at| at < within), "{query}: {found:?}");
}

#[test]
fn search_forgives() {
    check("DeepSeek-R1", "DeepSeek-R1", 1);
    check("deepseek r1", "DeepSeek-R1", 1);
    check("r1 distill 32b", "DeepSeek-R1-Distill-Qwen-32B", 1);
    check("qwen 32b distill", "DeepSeek-R1-Distill-Qwen-32B", 1);
    check("deepseek 671b", "DeepSeek-R1", 8);
    check("llama3.3", "Llama-3.3-70B-Instruct", 2);
    check("llama 70", "Llama-3.3-70B-Instruct", 6);
    check("gptoss 20", "gpt-oss-20b", 1);
    check("gemma3 27", "gemma-3-27b-it", 1);
    check("kimi", "Kimi-K2-Instruct", 3);
    check("moonshot", "Kimi-K2-Instruct", 3);
    check("mistral nemo", "Mistral-Nemo-Instruct-2407", 1);
    check("deepsek v3", "DeepSeek-V3", 2);
    check("qwen3 30b a3b", "Qwen3-30B-A3B", 1);
    check("glm air", "GLM-4.5-Air", 1);
    let catalog = ModelCatalog::embedded();
    assert!(catalog.search("no such model anywhere").is_empty());
    assert_eq!(catalog.search("  ").len(), catalog.list().len());
}

#[test]
fn a_wrong_id_gets_suggestions() {
    let catalog = ModelCatalog::embedded();
    let nearest = |id: &str| match catalog.find(id) {
        Err(Error::Unknown { nearest, .. }) => nearest,
        other => panic!("{id}: {other:?}"),
    };
    assert_eq!(nearest("Qwen3-8").first().unwrap(), "Qwen3-8B");
    assert_eq!(
        nearest("Deepseek R1 distil Qwen 32B").first().unwrap(),
        "DeepSeek-R1-Distill-Qwen-32B"
    );
    assert!(nearest("gptoss").iter().any(|id| id == "gpt-oss-20b"));
    assert_eq!(nearest("zzzzzzzzzzzzzzzz"), Vec::<String>::new());
    assert_eq!(catalog.find("deepseek-r1").unwrap().entry.id, "DeepSeek-R1");
}

const OWN: &str = r#"
title = "My Llama"
[config]
model_type = "llama"
hidden_size = 64
vocab_size = 100
num_hidden_layers = 2
num_attention_heads = 4
intermediate_size = 128
max_position_embeddings = 512
"#;

#[test]
fn presets_of_the_user_join_and_broken_ones_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("own/My-Llama.toml", OWN);
    write("Qwen3-8B.toml", OWN);
    write("broken.toml", "title = ");
    write("nothing.toml", "title = \"Nothing\"");
    write("slip.toml", "tittle = \"x\"");
    write("huge.toml", &"#".repeat((1 << 20) + 1));
    write("notes.txt", "not a preset");
    let mut catalog = ModelCatalog::embedded();
    catalog.add_folder(folder.path());
    catalog.add_folder(&folder.path().join("not there"));

    assert_eq!(catalog.list().len(), 176);
    let broken: Vec<String> = catalog
        .broken()
        .iter()
        .map(|broken| broken.error.to_string())
        .collect();
    assert_eq!(broken.len(), 4, "{broken:?}");
    assert!(
        broken.iter().any(|error| error.contains("tittle")),
        "{broken:?}"
    );
    assert!(
        broken.iter().any(|error| error.contains("larger than")),
        "{broken:?}"
    );
    assert!(
        broken
            .iter()
            .any(|error| error.contains("`model_type` is missing")),
        "{broken:?}"
    );

    let own = catalog.search("my llama");
    assert_eq!(own[0].total_parameters, 95_040);
    assert!(matches!(own[0].origin, Origin::User(_)));
    let replaced = catalog.find("Qwen3-8B").unwrap();
    assert_eq!(replaced.entry.title, "My Llama");
}

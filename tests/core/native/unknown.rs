//! Architectures that nobody described here.

use plimsoll::engine::Memo;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::ollama::Ollama;
use plimsoll::model::{self, Model};
use plimsoll::projection::{Category, Severity};
use plimsoll::units::Bytes;
use serde_json::{Map, json};

use super::{codes, opened, predicted, projected, projected_by, settings, terms};
use crate::modelled::preset_with;

const PLAN: &str = "n_gpu_layers = \"all\"\nctx_size = 8192\nparallel = 1";

/// Llama 3.1 8B under a name that nobody knows.
fn renamed(name: &str) -> Model {
    let model = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    let tensors = predicted(&model, FileType::Q4_K_M, false);
    let renamed = Model {
        model_type: name.to_owned(),
        assumptions: vec!["Heads are as wide as hidden_size / num_attention_heads.".to_owned()],
        ..model
    };
    opened(&renamed, Some("Q4_K_M"), tensors)
}

#[test]
fn weights_and_caches_are_exact_and_compute_is_a_range() {
    let model = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    let known = opened(&model, None, predicted(&model, FileType::Q4_K_M, false));
    let cards = [Bytes::from_gib(24)];
    let expected = projected(&known, &cards, PLAN);
    for (name, words) in [
        // llama.cpp has it, and its graph is not here.
        ("arcee", "does not know"),
        ("nobody-knows-this", "has no architecture"),
    ] {
        let found = projected(&renamed(name), &cards, PLAN);
        assert!(!found.refused, "{:?}", found.notes);
        for (own, other) in terms(&found).into_iter().zip(terms(&expected)) {
            assert_eq!((own.0, own.1, own.2), (other.0, other.1, other.2));
            if own.2 == Category::Compute {
                assert!(own.5.0 < own.4 && own.4 < own.5.1, "{own:?}");
            } else {
                assert_eq!(own, other, "{name}");
            }
        }
        let unknown = found
            .notes
            .iter()
            .find(|note| note.code == "architecture-unknown");
        let unknown = unknown.expect("a note");
        assert_eq!(unknown.severity, Severity::Warning);
        assert!(
            unknown.message.contains(words) && unknown.message.contains(name),
            "{}",
            unknown.message
        );
        assert!(codes(&found).contains(&"compute-is-approximate"));
        let assumed = found.notes.iter().find(|note| note.code == "model-assumed");
        assert!(assumed.expect("a note").message.starts_with("Heads are"));
        assert!(found.derived.max_context_tokens.is_some());
        assert!(found.traffic.is_some());
    }
}

#[test]
fn ollama_refuses_no_name_either() {
    let cards = [Bytes::from_gib(24)];
    let found = projected_by(
        &Ollama,
        &renamed("nobody-knows-this"),
        &cards,
        &settings("num_ctx = 8192"),
        &Memo::default(),
    );
    assert!(!found.refused, "{:?}", found.notes);
    assert!(codes(&found).contains(&"architecture-unknown"));
    assert!(found.derived.file_bytes > Bytes::from_gib(4));
}

/// A configuration alone, of a family without a reader: there is no converter, and so it says.
#[test]
fn configurations_of_unknown_families_are_projected() {
    let config = json!({
        "model_type": "nobody_knows_this", "architectures": ["NobodyForCausalLM"], "hidden_size": 2048,
        "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 32000, "max_position_embeddings": 8192, "tie_word_embeddings": false,
    });
    let model = model::from_config("Nobody-1B", &config, &Map::new()).expect("a plain decoder");
    let found = projected(&model, &[Bytes::from_gib(24)], PLAN);
    assert!(!found.refused, "{:?}", found.notes);
    let unknown = found
        .notes
        .iter()
        .find(|note| note.code == "architecture-unknown");
    assert!(unknown.expect("a note").message.starts_with("No converter"));
    assert!(found.derived.file_bytes > Bytes::from_mib(400));
}

/// DeepSeek-VL2 has no converter, and a model that is known by its size alone no tensors: those are refused still.
#[test]
fn refusals_with_a_reason_stay() {
    let base = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    let vision = Model {
        wrapper_type: Some("deepseek_vl_v2".to_owned()),
        ..base.clone()
    };
    let empty = Model {
        layers: Vec::new(),
        ..base
    };
    for model in [vision.sealed(), empty.sealed()] {
        let found = projected(&model, &[], "ctx_size = 512");
        assert!(found.refused);
        assert!(codes(&found).contains(&"unsupported-model"));
    }
}

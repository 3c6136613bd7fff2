use plimsoll::projection::{Category, Part};
use plimsoll::report::Verdict;

use super::{bytes, has_note, project, projected};

const PLAN: &str = "weights = \"Q4_K_M\"\nctx_size = 16384\nparallel = 2\nn_gpu_layers = \"all\"\n";

/// A draft is a model like any other, with a context as long as the first's and a row of logits per slot.
#[test]
fn a_draft_takes_what_it_takes_alone() {
    let both = project("Qwen3-32B", Some("Qwen3-0.6B"), "1x-h100", PLAN);
    let alone = project("Qwen3-0.6B", None, "1x-h100", PLAN);
    let target = project("Qwen3-32B", None, "1x-h100", PLAN);
    for category in [Category::Weights, Category::KvCache, Category::Compute] {
        for device in ["gpu0", "host"] {
            assert_eq!(
                bytes(&both, device, category, Part::Draft),
                bytes(&alone, device, category, Part::Model),
                "{category:?} on {device}"
            );
        }
        assert!(
            bytes(&both, "gpu0", category, Part::Model)
                >= bytes(&target, "gpu0", category, Part::Model)
        );
    }
    // Two slots check three drafted tokens each, and one more.
    assert_eq!(
        both.settings["n_outputs_max"],
        plimsoll::plan::Value::Integer(8)
    );
    assert!(both.derived.kv_bytes_per_token > target.derived.kv_bytes_per_token);
    assert!(both.derived.max_context_tokens <= target.derived.max_context_tokens);
}

#[test]
fn a_draft_has_settings_of_its_own() {
    let plain = project("Qwen3-32B", Some("Qwen3-0.6B"), "2x-rtx-4090", PLAN);
    let moved = format!("{PLAN}device_draft = \"CUDA1\"\ncache_type_k_draft = \"q8_0\"\n");
    let moved = project("Qwen3-32B", Some("Qwen3-0.6B"), "2x-rtx-4090", &moved);
    assert!(bytes(&plain, "gpu0", Category::Weights, Part::Draft) > 0);
    assert_eq!(bytes(&moved, "gpu0", Category::Weights, Part::Draft), 0);
    assert!(
        bytes(&moved, "gpu1", Category::KvCache, Part::Draft)
            < bytes(&plain, "gpu0", Category::KvCache, Part::Draft)
                + bytes(&plain, "gpu1", Category::KvCache, Part::Draft)
    );
    let on_host = format!("{PLAN}n_gpu_layers_draft = 0\n");
    let on_host = project("Qwen3-32B", Some("Qwen3-0.6B"), "2x-rtx-4090", &on_host);
    assert_eq!(bytes(&on_host, "gpu0", Category::KvCache, Part::Draft), 0);
    assert!(bytes(&on_host, "host", Category::KvCache, Part::Draft) > 0);
}

#[test]
fn drafts_that_cannot_be_are_refused() {
    for (draft, settings, code) in [
        (Some("Llama-3.2-1B-Instruct"), "", "draft-vocabulary"),
        (None, "spec_type = \"draft-simple\"", "draft-missing"),
        (None, "spec_type = \"draft-mtp\"", "no-prediction-blocks"),
        (
            Some("Qwen3-0.6B"),
            "device_draft = \"CUDA7\"",
            "unknown-device",
        ),
    ] {
        let report = project(
            "Qwen3-32B",
            draft,
            "1x-h100",
            &format!("{PLAN}{settings}\n"),
        );
        assert!(has_note(&report, code), "{code}: {:?}", report.notes);
        assert_eq!(report.verdict, Verdict::Refused, "{code}");
    }
    let unused = format!("{PLAN}spec_type = \"none\"\n");
    let unused = project("Qwen3-32B", Some("Qwen3-0.6B"), "1x-h100", &unused);
    assert!(has_note(&unused, "draft-unused"));
}

/// Prediction blocks: weights of one block more, one layer of cache, states to go back to, hidden states handed over.
#[test]
fn prediction_blocks_have_a_context_of_their_own() {
    let plan = "weights = \"Q8_0\"\nctx_size = 32768\nparallel = 1\nn_gpu_layers = \"all\"\n";
    let without = project("Qwen3.6-27B", None, "1x-h100", plan);
    let with = format!("{plan}spec_type = \"draft-mtp\"\nspec_draft_n_max = 2\n");
    let with = project("Qwen3.6-27B", None, "1x-h100", &with);
    let of = |report, category, part| bytes(report, "gpu0", category, part);
    // One of 16 layers with attention, each of 32,768 cells × (4 × 256 keys + 4 × 256 values) × 2 bytes.
    let layer = 32_768 * 2 * 4 * 256 * 2;
    assert_eq!(of(&with, Category::KvCache, Part::Draft), layer);
    assert_eq!(of(&with, Category::KvCache, Part::Model), 16 * layer);
    assert_eq!(
        of(&with, Category::RecurrentState, Part::Model),
        3 * of(&without, Category::RecurrentState, Part::Model)
    );
    let block =
        of(&with, Category::Weights, Part::Model) - of(&without, Category::Weights, Part::Model);
    // 425 million parameters in the block, 34 bytes per 32 of them.
    assert!((400_000_000..500_000_000).contains(&block), "{block}");
    assert!(of(&with, Category::Compute, Part::Draft) > 0);
    // 2,048 tokens of a batch × 5,120 values.
    assert!(bytes(&with, "host", Category::Output, Part::Draft) > 2048 * 5120 * 4);
    assert!(has_note(&with, "file-with-prediction-blocks"));
}

/// A small model of Qwen3.5's architecture with one prediction block, as `llama-server` b10434 reported it on a
/// processor (a file of these shapes, `--spec-type draft-mtp -c 16384 -np 2`): weights 295.44 MiB, caches 32.00 and
/// 32.00, states 25.12, and a compute buffer of 28.0176 MiB for the prediction context.
#[test]
fn a_prediction_context_is_the_servers() {
    let config = serde_json::json!({
        "model_type": "qwen3_5_text", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 256, "intermediate_size": 3072, "vocab_size": 32000,
        "max_position_embeddings": 65536, "tie_word_embeddings": false, "attn_output_gate": true,
        "full_attention_interval": 4, "linear_num_key_heads": 8, "linear_num_value_heads": 16,
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
        "mtp_num_hidden_layers": 1, "partial_rotary_factor": 0.25,
    });
    let model = plimsoll::model::from_config("small", &config, &serde_json::Map::new()).unwrap();
    let plan = "weights = \"F16\"\nctx_size = 16384\nparallel = 2\nspec_type = \"draft-mtp\"\n";
    let report = projected(&model, None, "cpu-only-32gb", plan);
    for (category, part, mib) in [
        (Category::Weights, Part::Model, 295.44),
        (Category::KvCache, Part::Model, 32.0),
        (Category::KvCache, Part::Draft, 32.0),
        (Category::RecurrentState, Part::Model, 25.12),
        (Category::Compute, Part::Draft, 28.0176),
    ] {
        let found = bytes(&report, "host", category, part) as f64 / f64::from(1_u32 << 20);
        assert!((found - mib).abs() < 0.01, "{category:?} {part:?}: {found}");
    }
}

//! The same tensors, the same bytes, whoever says what they are.

use std::collections::BTreeSet;

use plimsoll::engine::Memo;
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::ollama::Ollama;
use plimsoll::quant::Type;
use plimsoll::units::Bytes;

use super::{codes, opened, predicted, projected, projected_by, settings, terms, text};
use crate::modelled::preset_with;

/// Models and file types of the oracle of memory.
fn measured() -> BTreeSet<(String, FileType)> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/oracle/llamacpp_mem.jsonl"
    );
    let text = std::fs::read_to_string(path).expect("the oracle");
    let rows = text
        .lines()
        .map(|line| -> serde_json::Value { serde_json::from_str(line).expect("a row") });
    rows.filter_map(|row| {
        let word = |name: &str| row.get(name)?.as_str().map(str::to_owned);
        let types = match word("types")?.as_str() {
            "MXFP4-native" => FileType::MXFP4_MOE,
            types => types.parse().ok()?,
        };
        Some((word("preset")?, types))
    })
    .collect()
}

/// Every model that was measured, in every file type, on cards, beside them and without.
#[test]
fn a_file_as_predicted_is_projected_as_predicted() {
    let big = Bytes::from_gib(1 << 20);
    let plans: [(&[Bytes], &str); 4] = [
        (
            &[big],
            "n_gpu_layers = \"all\"\nctx_size = 8192\nparallel = 1",
        ),
        (
            &[big, big],
            "n_gpu_layers = 9\nctx_size = 4096\nparallel = 2\ntensor_split = [2, 1]",
        ),
        (
            &[big],
            "n_gpu_layers = \"all\"\nn_cpu_moe = 3\nctx_size = 4096\ncache_type_k = \"q8_0\"\ncache_type_v = \"q8_0\"",
        ),
        (&[], "ctx_size = 2048\nubatch_size = 256"),
    ];
    let measured = measured();
    assert!(measured.len() > 60, "{}", measured.len());
    let memo = Memo::default();
    for (number, (id, file_type)) in measured.iter().enumerate() {
        let Some(model) = preset_with(id, None) else {
            continue;
        };
        let own = opened(&model, None, predicted(&model, *file_type, false));
        // Each plan for a quarter of the models is each kind of plan for every architecture.
        for (cards, written) in plans.iter().skip(number % 2).step_by(2) {
            let mut plan = settings(written);
            let found = projected_by(&LlamaCpp, &own, cards, &plan, &memo);
            plan.insert("weights".to_owned(), text(file_type.name()));
            let expected = projected_by(&LlamaCpp, &model, cards, &plan, &memo);
            let label = format!("{id} {} {written:?}", file_type.name());
            assert_eq!(
                found.refused, expected.refused,
                "{label}: {:?}",
                found.notes
            );
            assert_eq!(terms(&found), terms(&expected), "{label}");
            assert_eq!(
                found.derived.file_bytes, expected.derived.file_bytes,
                "{label}"
            );
            assert_eq!(
                found.resolved.get("weights"),
                Some(&text("native")),
                "{label}"
            );
            assert!(found.traffic == expected.traffic, "{label}");
        }
    }
}

/// Another type for the down projections of four layers costs exactly what it costs, where those layers are.
#[test]
fn a_mixture_by_hand_changes_its_own_bytes_alone() {
    let model = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    let usual = predicted(&model, FileType::Q4_K_M, false);
    let mut mixed = usual.clone();
    let mut more = 0;
    for tensor in &mut mixed {
        let first = ["blk.0.", "blk.1.", "blk.30.", "blk.31."];
        let is_one = first.iter().any(|block| tensor.name.starts_with(block));
        if is_one && tensor.name.ends_with("ffn_down.weight") {
            let bytes = Type::Q8_0.shape_bytes(&tensor.shape).expect("whole blocks");
            more += bytes.get() - tensor.bytes.get();
            (tensor.kind, tensor.bytes, tensor.type_name) =
                (Some(Type::Q8_0), bytes, "q8_0".into());
        }
    }
    assert_eq!(more, 4 * (62_390_272 - 48_168_960));
    let plan = "n_gpu_layers = \"all\"\nctx_size = 8192\nparallel = 1";
    let cards = [Bytes::from_gib(24)];
    let before = projected(&opened(&model, None, usual), &cards, plan);
    let after = projected(&opened(&model, Some("UD-Q4_K_XL"), mixed), &cards, plan);
    let bytes = |outcome: &plimsoll::engine::Outcome| outcome.derived.file_bytes.get();
    assert_eq!(bytes(&after) - bytes(&before), more);
    let differing: Vec<i64> = terms(&before)
        .into_iter()
        .zip(terms(&after))
        .map(|(before, after)| after.4.signed_sub(before.4))
        .filter(|difference| *difference != 0)
        .collect();
    // At loading and running.
    assert_eq!(differing, [more.cast_signed(); 2]);
    let weights = &after.projection.moments[0].devices[0].terms[0];
    assert!(
        weights
            .why
            .text()
            .starts_with("as in the file (UD-Q4_K_XL): "),
        "{}",
        weights.why.text()
    );
}

#[test]
fn ollama_has_the_same_file() {
    let model = preset_with("Qwen2.5-7B-Instruct", None).expect("a preset");
    let own = opened(
        &model,
        Some("Q5_K_M"),
        predicted(&model, FileType::Q5_K_M, false),
    );
    let cards = [Bytes::from_gib(24)];
    let memo = Memo::default();
    let found = projected_by(&Ollama, &own, &cards, &settings(""), &memo);
    let plan = settings("weights = \"Q5_K_M\"");
    let expected = projected_by(&Ollama, &model, &cards, &plan, &memo);
    assert_eq!(terms(&found), terms(&expected));
    assert_eq!(found.resolved.get("weights"), Some(&text("native")));
}

/// What is open can be planned as another file, made anew from the model.
#[test]
fn another_file_of_an_open_model_is_predicted() {
    let model = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    let own = opened(&model, None, predicted(&model, FileType::Q4_K_M, false));
    let cards = [Bytes::from_gib(24)];
    let plan = "weights = \"Q6_K\"\nctx_size = 8192\nparallel = 1";
    let (found, expected) = (
        projected(&own, &cards, plan),
        projected(&model, &cards, plan),
    );
    assert_eq!(terms(&found), terms(&expected));
    assert_eq!(found.derived.file_bytes, expected.derived.file_bytes);
}

#[test]
fn native_needs_a_file() {
    let model = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    let found = projected(&model, &[], "weights = \"native\"");
    assert!(found.refused);
    assert!(codes(&found).contains(&"unknown-file-type"));
}

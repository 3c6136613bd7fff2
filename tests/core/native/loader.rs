//! Files that are not as the converter writes them: what the engine's loader makes of them.

use plimsoll::engine::Outcome;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::model::{FileTensor, Model};
use plimsoll::projection::{Category, Note, Severity};
use plimsoll::quant::Type;
use plimsoll::units::Bytes;

use super::{codes, opened, predicted, projected, terms};
use crate::modelled::preset_with;

const PLAN: &str = "n_gpu_layers = \"all\"\nctx_size = 4096\nparallel = 1";

fn preset(id: &str) -> Model {
    preset_with(id, None).expect("a preset")
}

/// Projects a file that `change` made of the predicted one.
fn changed(model: &Model, change: impl Fn(&mut Vec<FileTensor>)) -> Outcome {
    let mut tensors = predicted(model, FileType::Q4_K_M, false);
    change(&mut tensors);
    let outcome = projected(
        &opened(model, None, tensors),
        &[Bytes::from_gib(1 << 20)],
        PLAN,
    );
    let text = format!("{outcome:?}");
    assert!(!text.contains("NaN"));
    outcome
}

fn as_it_is(model: &Model) -> Outcome {
    changed(model, |_| {})
}

fn note<'a>(outcome: &'a Outcome, code: &str) -> &'a Note {
    let found = outcome.notes.iter().find(|note| note.code == code);
    found.unwrap_or_else(|| panic!("{code} in {:?}", outcome.notes))
}

fn tensor(name: &str, shape: [u64; 4], kind: Type) -> FileTensor {
    FileTensor {
        name: name.to_owned(),
        shape,
        kind: Some(kind),
        type_name: kind.name().into(),
        bytes: kind.shape_bytes(&shape).expect("whole blocks"),
        role: plimsoll::model::TensorRole::Parameters,
    }
}

/// Bytes of a category on the card when it runs.
fn on_card(outcome: &Outcome, category: Category) -> u64 {
    let all = terms(outcome).into_iter();
    let here = all.filter(|term| (term.0, term.1, term.2) == (1, 0, category));
    here.map(|term| term.4.get()).sum()
}

/// Joins tensors of every block by adding up their rows, in the type of the first.
fn join(tensors: &mut Vec<FileTensor>, parts: &[&str], whole: &str) {
    let mut joined: Vec<FileTensor> = Vec::new();
    tensors.retain(|tensor| {
        let Some((block, tail)) = tensor.name.rsplit_once('.').and_then(|(name, _)| {
            let (block, tail) = name.rsplit_once('.')?;
            Some((block.to_owned(), tail.to_owned()))
        }) else {
            return true;
        };
        if !parts.contains(&tail.as_str()) || !tensor.name.ends_with(".weight") {
            return true;
        }
        let name = format!("{block}.{whole}.weight");
        match joined.iter_mut().find(|own| own.name == name) {
            Some(own) => {
                own.shape[1] += tensor.shape[1];
                let kind = own.kind.expect("known");
                own.bytes = kind.shape_bytes(&own.shape).expect("whole blocks");
            }
            None => joined.push(FileTensor {
                name,
                ..tensor.clone()
            }),
        }
        false
    });
    tensors.extend(joined);
}

#[test]
fn what_is_missing_is_named_and_refused() {
    let model = preset("Llama-3.1-8B-Instruct");
    let outcome = changed(&model, |tensors| {
        tensors.retain(|tensor| {
            !tensor.name.ends_with("ffn_down.weight") && tensor.name != "output_norm.weight"
        });
    });
    assert!(outcome.refused);
    let note = note(&outcome, "tensors-missing");
    assert_eq!(note.severity, Severity::Error);
    let expected = "output_norm.weight, blk.0.ffn_down.weight, blk.1.ffn_down.weight, \
                    blk.2.ffn_down.weight and 29 more";
    assert!(note.message.contains(expected), "{}", note.message);
}

/// What the loader asks for only where it is there.
#[test]
fn what_may_be_missing_is_not_missed() {
    let model = preset("Llama-3.1-8B-Instruct");
    let without = changed(&model, |tensors| {
        tensors.retain(|tensor| tensor.name != "rope_freqs.weight");
    });
    assert!(!without.refused, "{:?}", without.notes);
    // A head that is the embedding: it is held a second time on the card.
    let tied = changed(&model, |tensors| {
        tensors.retain(|tensor| tensor.name != "output.weight");
    });
    assert!(!tied.refused, "{:?}", tied.notes);
    let embedding = Type::Q4_K.shape_bytes(&[4096, 128_256]).expect("blocks");
    let head = Type::Q6_K.shape_bytes(&[4096, 128_256]).expect("blocks");
    assert_eq!(
        on_card(&as_it_is(&model), Category::Weights) - on_card(&tied, Category::Weights),
        head.get() - embedding.get()
    );
}

#[test]
fn what_nobody_asks_for_is_refused() {
    let model = preset("Llama-3.1-8B-Instruct");
    let sinks = tensor("blk.7.attn_sinks.weight", [32, 1, 1, 1], Type::F32);
    let outcome = changed(&model, |tensors| tensors.push(sinks.clone()));
    assert!(outcome.refused);
    let found = note(&outcome, "tensors-unread");
    assert!(found.message.contains("blk.7.attn_sinks.weight"));
    // It is in the file, and nowhere else.
    let plain = as_it_is(&model);
    assert_eq!(
        outcome.derived.file_bytes,
        plain.derived.file_bytes + Bytes::new(128)
    );
    assert_eq!(terms(&outcome).len(), terms(&plain).len());
}

/// Biases that a model of the family may have, and scales beside matrices.
#[test]
fn what_may_be_there_is_loaded() {
    let model = preset("Llama-3.1-8B-Instruct");
    let bias = tensor("blk.0.attn_q.bias", [4096, 1, 1, 1], Type::F32);
    let scale = tensor("blk.0.ffn_up.scale", [1, 1, 1, 1], Type::F32);
    let outcome = changed(&model, |tensors| {
        tensors.extend([bias.clone(), scale.clone()]);
    });
    assert!(!outcome.refused, "{:?}", outcome.notes);
    let more = on_card(&outcome, Category::Weights) - on_card(&as_it_is(&model), Category::Weights);
    // The scale fills a place of 128 bytes.
    assert_eq!(more, 4 * 4096 + 128);
}

/// One matrix for queries, keys and values, or for gates and ups, as some converters write them.
#[test]
fn joined_matrices_stand_for_their_parts() {
    let model = preset("Qwen3-30B-A3B");
    let parts = ["attn_q", "attn_k", "attn_v"];
    for (parts, whole) in [
        (&parts[..], "attn_qkv"),
        (&["ffn_gate_exps", "ffn_up_exps"], "ffn_gate_up_exps"),
    ] {
        let outcome = changed(&model, |tensors| join(tensors, parts, whole));
        if whole == "attn_qkv" {
            assert!(!outcome.refused, "{:?}", outcome.notes);
            assert_eq!(
                on_card(&outcome, Category::KvCache),
                on_card(&as_it_is(&model), Category::KvCache)
            );
        } else {
            // This architecture's loader has no such matrix.
            assert!(
                codes(&outcome).contains(&"tensors-unread"),
                "{:?}",
                outcome.notes
            );
        }
    }
    let both = changed(&model, |tensors| {
        let q: Vec<FileTensor> = tensors
            .iter()
            .filter(|own| own.name.ends_with("attn_q.weight"))
            .cloned()
            .collect();
        join(tensors, &parts, "attn_qkv");
        tensors.extend(q);
    });
    assert!(both.refused);
    assert!(codes(&both).contains(&"tensors-unread"));
}

/// Files of DeepSeek-V2 from before its keys and values were kept apart: every head's are cached.
#[test]
fn old_latent_files_cache_every_head() {
    let model = preset("DeepSeek-V2-Lite");
    let old = changed(&model, |tensors| {
        for block in 0..model.layers.len() {
            let prefix = format!("blk.{block}.attn_");
            tensors.retain(|own| {
                own.name != format!("{prefix}k_b.weight")
                    && own.name != format!("{prefix}v_b.weight")
            });
            // 16 heads of 128 values for keys and 128 for values, from a latent vector of 512.
            tensors.push(tensor(
                &format!("{prefix}kv_b.weight"),
                [512, 4096, 1, 1],
                Type::Q4_K,
            ));
        }
    });
    assert!(!old.refused, "{:?}", old.notes);
    let cells = 4096;
    // Keys of 128 + 64 values and values of 128, in 16 bits.
    assert_eq!(
        on_card(&old, Category::KvCache),
        cells * 27 * 16 * (192 + 128) * 2
    );
    assert_eq!(
        on_card(&as_it_is(&model), Category::KvCache),
        cells * 27 * 576 * 2
    );
    assert!(codes(&old).contains(&"compute-is-approximate"));
    // Files of ik_llama.cpp hold both forms; llama.cpp reads one.
    let both = changed(&model, |tensors| {
        tensors.push(tensor(
            "blk.0.attn_kv_b.weight",
            [512, 4096, 1, 1],
            Type::Q4_K,
        ));
    });
    assert!(
        note(&both, "tensors-unread")
            .message
            .contains("blk.0.attn_kv_b.weight")
    );
    assert!(both.refused);
}

#[test]
fn unknown_types_are_sized_by_the_file() {
    let model = preset("Llama-3.1-8B-Instruct");
    let outcome = changed(&model, |tensors| {
        for own in tensors
            .iter_mut()
            .filter(|own| own.name.ends_with("ffn_up.weight"))
        {
            (own.kind, own.type_name) = (None, "137".into());
            own.bytes = Bytes::new(own.bytes.get() + 4096);
        }
    });
    assert!(!outcome.refused, "{:?}", outcome.notes);
    let note = note(&outcome, "tensor-type-unknown");
    assert_eq!(note.severity, Severity::Warning);
    assert!(note.message.contains("(137)"), "{}", note.message);
    let plain = as_it_is(&model);
    assert_eq!(
        on_card(&outcome, Category::Weights) - on_card(&plain, Category::Weights),
        32 * 4096
    );
}

#[test]
fn another_shape_than_the_metadata_says_is_noted() {
    let model = preset("Llama-3.1-8B-Instruct");
    let outcome = changed(&model, |tensors| {
        for own in tensors
            .iter_mut()
            .filter(|own| own.name == "token_embd.weight")
        {
            own.shape[1] += 256;
            own.bytes = Type::Q4_K.shape_bytes(&own.shape).expect("whole blocks");
        }
    });
    assert!(
        note(&outcome, "tensors-misshapen")
            .message
            .contains("token_embd.weight")
    );
}

/// Prediction blocks are in the file, and loaded where they draft.
#[test]
fn prediction_blocks_are_skipped_unless_they_draft() {
    let model = preset("GLM-4.5-Air");
    let outcome = as_it_is(&model);
    let (total, active) = {
        let parameters = model.parameters();
        (parameters.text(), parameters.active())
    };
    assert_eq!(outcome.derived.params_total, total);
    assert_eq!(outcome.derived.params_active, active);
    assert!(outcome.derived.weights_bytes < outcome.derived.file_bytes);
}

#[test]
fn parameters_are_counted_from_the_file() {
    for id in [
        "Llama-3.1-8B-Instruct",
        "Qwen3-30B-A3B",
        "gemma-3-12b-it",
        "DeepSeek-R1",
    ] {
        let Some(model) = preset_with(id, None) else {
            panic!("{id}");
        };
        let outcome = as_it_is(&model);
        let parameters = model.parameters();
        assert_eq!(outcome.derived.params_total, parameters.text(), "{id}");
        assert_eq!(outcome.derived.params_active, parameters.active(), "{id}");
    }
}

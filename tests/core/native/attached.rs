//! Projectors and adapters from files of their own.

use std::sync::Arc;

use plimsoll::engine::Memo;
use plimsoll::engine::Outcome;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::ollama::Ollama;
use plimsoll::model::{Attached, Checkpoint, Container, FileTensor, Model};
use plimsoll::plan::LaunchOptions;
use plimsoll::projection::{Category, Part};
use plimsoll::quant::Type;
use plimsoll::units::Bytes;

use super::{codes, opened, predicted, projected, projected_by, settings, terms};
use crate::modelled::preset_with;

const PLAN: &str = "n_gpu_layers = \"all\"\nctx_size = 4096\nparallel = 1";

fn tensor(name: &str, shape: [u64; 4], kind: Type) -> FileTensor {
    FileTensor {
        name: name.to_owned(),
        shape,
        kind: Some(kind),
        type_name: kind.name().into(),
        bytes: kind.shape_bytes(&shape).expect("whole blocks"),
    }
}

fn file(tensors: Vec<FileTensor>) -> Arc<Checkpoint> {
    Arc::new(Checkpoint::new(Container::Gguf, None, tensors))
}

fn with(model: &Model, attached: Attached) -> Model {
    Model {
        attached,
        ..model.clone()
    }
    .sealed()
}

/// Bytes of a part on a device when it runs.
fn part(outcome: &Outcome, device: usize, category: Category, part: Part) -> u64 {
    let all = terms(outcome).into_iter();
    let here = all.filter(|term| (term.0, term.1, term.2, term.3) == (1, device, category, part));
    here.map(|term| term.4.get()).sum()
}

fn llama() -> Model {
    let model = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    let tensors = predicted(&model, FileType::Q4_K_M, false);
    opened(&model, None, tensors)
}

/// Two factors for the queries of two blocks, of ranks 16 and 64, where those blocks are.
fn adapter() -> Arc<Checkpoint> {
    let pair = |block: u64, rank: u64| {
        let name = format!("blk.{block}.attn_q.weight");
        [
            tensor(&format!("{name}.lora_a"), [4096, rank, 1, 1], Type::F16),
            tensor(&format!("{name}.lora_b"), [rank, 4096, 1, 1], Type::F32),
        ]
    };
    file(pair(3, 16).into_iter().chain(pair(31, 64)).collect())
}

#[test]
fn an_adapter_lies_with_what_it_changes() {
    let attached = Attached {
        adapters: vec![Some(adapter())],
        ..Attached::default()
    };
    let model = with(&llama(), attached);
    let cards = [Bytes::from_gib(24)];
    let (small, large) = (16 * 4096 * 6, 64 * 4096 * 6);
    let all = projected(&model, &cards, PLAN);
    assert!(!all.refused, "{:?}", all.notes);
    assert_eq!(
        part(&all, 0, Category::Weights, Part::Adapter),
        small + large
    );
    let half = projected(
        &model,
        &cards,
        "n_gpu_layers = 17\nctx_size = 4096\nparallel = 1",
    );
    assert_eq!(part(&half, 0, Category::Weights, Part::Adapter), large);
    assert_eq!(part(&half, 1, Category::Weights, Part::Adapter), small);
    // What the plan says of it in words gives way to the file; of a second one it still counts.
    let plan = format!("{PLAN}\nlora = [\"rank=32\"]");
    let worded = projected(&model, &cards, &plan);
    assert_eq!(terms(&worded), terms(&all));
    let plan = format!("{PLAN}\nlora = [\"rank=32\", \"rank=16 targets=all-linear\"]");
    let two = projected(&model, &cards, &plan);
    assert_eq!(
        part(&two, 0, Category::Weights, Part::Adapter),
        small + large + 2 * 41_943_040
    );
}

#[test]
fn an_adapter_of_another_model_is_refused() {
    let strange = tensor("blk.40.attn_q.weight.lora_a", [4096, 16, 1, 1], Type::F16);
    let attached = Attached {
        adapters: vec![Some(file(vec![strange]))],
        ..Attached::default()
    };
    let found = projected(&with(&llama(), attached), &[], "ctx_size = 512");
    assert!(found.refused);
    assert!(codes(&found).contains(&"lora-target-unknown"));
}

/// A projector beside a file that does not say what the tower computes.
#[test]
fn a_projector_has_the_bytes_of_its_file() {
    let tower = file(vec![
        tensor("v.patch_embd.weight", [14, 14, 3, 1152], Type::F32),
        tensor("v.blk.0.attn_q.weight", [1152, 1152, 1, 1], Type::F16),
        tensor("v.blk.0.ffn_up.weight", [1152, 4304, 1, 1], Type::Q8_0),
    ]);
    let attached = Attached {
        projector: Some(Arc::clone(&tower)),
        ..Attached::default()
    };
    let model = with(&llama(), attached);
    let cards = [Bytes::from_gib(24)];
    let off = projected(&model, &cards, PLAN);
    assert_eq!(part(&off, 0, Category::Weights, Part::Projector), 0);
    let on = projected(&model, &cards, &format!("{PLAN}\nmmproj = true"));
    assert!(!on.refused, "{:?}", on.notes);
    assert!(codes(&on).contains(&"projector-buffer-unknown"));
    // The rows of 1,152 elements in q8_0 end with room for 384 more, in 12 blocks of 34 bytes.
    let expected = (tower.bytes.get() + 12 * 34).next_multiple_of(128);
    assert_eq!(part(&on, 0, Category::Weights, Part::Projector), expected);
    let beside = projected(
        &model,
        &cards,
        &format!("{PLAN}\nmmproj = true\nmmproj_offload = false"),
    );
    assert_eq!(
        part(&beside, 1, Category::Weights, Part::Projector),
        tower.bytes.get()
    );
}

/// Ollama is not told of files beside a model, and says so in its launch.
#[test]
fn ollama_counts_none_of_it() {
    let attached = Attached {
        adapters: vec![Some(adapter())],
        ..Attached::default()
    };
    let cards = [Bytes::from_gib(24)];
    let plan = settings("num_ctx = 4096");
    let memo = Memo::default();
    let found = projected_by(&Ollama, &with(&llama(), attached), &cards, &plan, &memo);
    let alone = projected_by(&Ollama, &llama(), &cards, &plan, &memo);
    assert_eq!(terms(&found), terms(&alone));
}

/// Files that are elsewhere may be where the launch runs; what is here and is something else is said.
#[test]
fn files_beside_a_model_are_read_where_they_are() {
    let elsewhere = LaunchOptions {
        mmproj_path: Some("/nowhere/mmproj.gguf".to_owned()),
        lora_paths: vec!["/nowhere/lora.gguf".to_owned()],
        ..LaunchOptions::default()
    };
    let model = llama();
    let fingerprint = model.fingerprint;
    let same = plimsoll::source::attached(model.clone(), &elsewhere);
    assert_eq!(same.fingerprint, fingerprint);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lora.gguf");
    std::fs::write(&path, b"not at all").expect("a file");
    let here = LaunchOptions {
        lora_paths: vec![path.display().to_string()],
        ..LaunchOptions::default()
    };
    let said = plimsoll::source::attached(model, &here);
    assert_eq!(said.assumptions.len(), 1);
    let assumption = &said.assumptions[0];
    assert!(
        assumption.starts_with("What the adapter takes is estimated"),
        "{assumption}"
    );
    assert_eq!(said.attached.adapters, [None]);
    // A language model is no projector.
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gguf/tiny.gguf");
    let other = LaunchOptions {
        mmproj_path: Some(tiny.to_owned()),
        ..LaunchOptions::default()
    };
    let said = plimsoll::source::attached(llama(), &other);
    assert!(
        said.assumptions[0].contains("is a model"),
        "{:?}",
        said.assumptions
    );
    assert_eq!(said.attached.projector, None);
}

//! Models of which nothing is known but their weights: those are exact, and nothing is promised.

use std::sync::Arc;

use plimsoll::accuracy::modelled;
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::ollama::Ollama;
use plimsoll::engine::setting::{Kind, Scope, find};
use plimsoll::engine::{Engine, Memo};
use plimsoll::model::{Checkpoint, Container, Encoder, FileTensor, Model};
use plimsoll::plan::{FitOptions, LaunchOptions, Settings};
use plimsoll::projection::{Category, Part};
use plimsoll::quant::Type;
use plimsoll::report::{FitError, Report, Request, Verdict, fit, report, with_users};
use plimsoll::units::Bytes;

use super::{predicted, settings};
use crate::modelled::preset_with;

const PLAN: &str = "n_gpu_layers = \"all\"\nctx_size = 8192\nparallel = 1";

/// A model of a type that nobody knows, from a file of these tensors.
fn model(container: Container, tensors: Vec<FileTensor>) -> Model {
    let file = Checkpoint::new(container, Some("Q4_K_M".to_owned()), tensors);
    Model {
        name: "Nobody".to_owned(),
        model_type: "nobody-knows-this".to_owned(),
        other: Some(Encoder {
            parameters: file.parameters(),
            ..Encoder::default()
        }),
        checkpoint: Some(Arc::new(file)),
        ..Model::default()
    }
    .sealed()
}

/// Llama 3.1 8B, as a stranger sees its file.
fn gguf() -> (Model, Vec<FileTensor>) {
    let known = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    let tensors = predicted(&known, FileType::Q4_K_M, false);
    (model(Container::Gguf, tensors.clone()), tensors)
}

fn ask<T>(
    engine: &'static dyn Engine,
    model: &Model,
    cards: &[Bytes],
    written: &Settings,
    ask: impl FnOnce(&Request<'_>) -> T,
) -> T {
    ask(&Request {
        engine,
        model,
        draft: None,
        beside: &[],
        machine: &modelled(cards, (8, 9)),
        settings: written,
        fit: &FitOptions::default(),
        launch: &LaunchOptions::default(),
    })
}

fn told(model: &Model, cards: &[u64], written: &str) -> Report {
    let cards: Vec<Bytes> = cards.iter().copied().map(Bytes::from_gib).collect();
    ask(&LlamaCpp, model, &cards, &settings(written), |request| {
        report(request, &Memo::default()).expect("settings")
    })
}

fn weights(report: &Report, device: usize) -> u64 {
    let terms = report.devices[device].terms.terms.iter();
    let own = terms.filter(|term| (term.category, term.part) == (Category::Weights, Part::Model));
    own.map(|term| term.bytes.get()).sum()
}

fn bytes_of(tensors: &[FileTensor], meant: impl Fn(&FileTensor) -> bool) -> u64 {
    let meant = tensors.iter().filter(|tensor| meant(tensor));
    // Whole rows of 512 in this model, so that only the alignment of main memory could add anything.
    meant.map(|tensor| tensor.bytes.get()).sum()
}

#[test]
fn weights_lie_by_the_layers_that_names_tell() {
    let (model, tensors) = gguf();
    let is_input = |tensor: &FileTensor| tensor.name == "token_embd.weight";
    let is_copied = |tensor: &FileTensor| tensor.name == "rope_freqs.weight";
    let all = told(&model, &[24], PLAN);
    let input = bytes_of(&tensors, is_input);
    assert_eq!(weights(&all, 1), input);
    assert_eq!(weights(&all, 0), bytes_of(&tensors, |own| !is_input(own)));
    assert_eq!(all.derived.file_bytes.get(), bytes_of(&tensors, |_| true));
    // The last twelve of 32 layers and what follows them.
    let some = told(&model, &[24], "n_gpu_layers = 13\nctx_size = 8192");
    let late = |own: &FileTensor| {
        own.name.starts_with("output") || own.block().is_some_and(|block| block >= 20)
    };
    let copies = bytes_of(&tensors, is_copied);
    assert_eq!(weights(&some, 0), bytes_of(&tensors, late) + copies);
    assert_eq!(weights(&some, 1), bytes_of(&tensors, |own| !late(own)));
    // Two cards hold it all, once.
    let two = told(&model, &[24, 24], PLAN);
    assert!(weights(&two, 0) > 0 && weights(&two, 1) > 0);
    let once = weights(&two, 0) + weights(&two, 1) + weights(&two, 2);
    assert_eq!(once, bytes_of(&tensors, |_| true) + copies);
}

#[test]
fn nothing_is_promised() {
    let (model, _) = gguf();
    let report = told(&model, &[24], PLAN);
    assert!(report.lower_bound);
    assert_eq!(report.verdict, Verdict::Tight);
    let sentence = report.sentence();
    assert!(sentence.starts_with("At least 4."), "{sentence}");
    assert_eq!(report.derived.max_context_tokens, None);
    let counted = ask(
        &LlamaCpp,
        &model,
        &[Bytes::from_gib(24)],
        &settings(PLAN),
        |request| with_users(request, &Memo::default()).expect("settings"),
    );
    assert_eq!(counted.derived.max_batch, None);
    assert!(report.speed.is_none());
    let note = report
        .notes
        .iter()
        .find(|note| note.code == "only-weights-counted")
        .expect("a note");
    for words in ["at least", "32 layers", "does not know the architecture"] {
        assert!(note.message.contains(words), "{words}: {}", note.message);
    }
    // Nobody is told that there is room for more.
    assert!(
        report.notes.iter().all(|note| note.fix.is_none()),
        "{:?}",
        report.notes
    );
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!(json["lower_bound"], true);
    // What is known is said to be known.
    let known = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    assert!(!told(&known, &[24], PLAN).lower_bound);
}

/// Keys and values of plain attention would take as much as for the model that it is, and nothing is counted of it.
#[test]
fn a_cache_is_a_range_from_nothing() {
    let (model, _) = gguf();
    let report = told(&model, &[24], PLAN);
    let terms = report.devices[0].terms.terms.iter();
    let cache: Vec<_> = terms
        .filter(|term| term.category == Category::KvCache)
        .map(|term| (term.bytes, term.range))
        .collect();
    assert_eq!(cache, [(Bytes::ZERO, (Bytes::ZERO, Bytes::from_gib(1)))]);
}

#[test]
fn what_is_too_large_by_its_weights_is_too_large() {
    let (model, _) = gguf();
    let report = told(&model, &[4], PLAN);
    assert_eq!(report.verdict, Verdict::Exceeds);
    assert!(
        report.sentence().contains("at least"),
        "{}",
        report.sentence()
    );
    assert!(report.notes.iter().all(|note| note.fix.is_none()));
}

#[test]
fn there_is_nothing_to_search() {
    let (model, _) = gguf();
    let cards = [Bytes::from_gib(24)];
    for (engine, written) in [
        (&LlamaCpp as &'static dyn Engine, PLAN),
        (&Ollama, "num_ctx = 8192"),
    ] {
        let found = ask(engine, &model, &cards, &settings(written), |request| {
            fit(request, None, &Memo::default())
        });
        assert_eq!(found.expect_err("no fit"), FitError::OnlyWeights);
    }
}

#[test]
fn ollama_promises_no_more() {
    let (model, tensors) = gguf();
    let cards = [Bytes::from_gib(24)];
    let plan = settings("num_ctx = 8192\nnum_gpu = 33");
    let report = ask(&Ollama, &model, &cards, &plan, |request| {
        report(request, &Memo::default()).expect("settings")
    });
    assert!(report.lower_bound);
    assert_eq!(report.verdict, Verdict::Tight);
    let all = weights(&report, 0) + weights(&report, 1);
    assert_eq!(all, bytes_of(&tensors, |_| true));
}

/// Files of a folder: as they are published, by their own names, and whole where those say nothing.
#[test]
fn checkpoints_count_as_they_are_published() {
    let tensor = |name: &str, shape: [u64; 4]| FileTensor {
        name: name.to_owned(),
        shape,
        kind: Some(Type::BF16),
        type_name: "BF16".into(),
        bytes: Type::BF16.shape_bytes(&shape).expect("bytes"),
        role: plimsoll::model::TensorRole::Parameters,
    };
    let mut tensors = vec![
        tensor("model.embed_tokens.weight", [1024, 32_000, 1, 1]),
        tensor("lm_head.weight", [1024, 32_000, 1, 1]),
    ];
    for layer in 0..4 {
        tensors.push(tensor(
            &format!("model.layers.{layer}.mlp.up_proj.weight"),
            [1024, 4096, 1, 1],
        ));
    }
    let model = model(Container::Safetensors, tensors.clone());
    assert_eq!(model.blocks(), 4);
    let report = told(&model, &[24], "n_gpu_layers = 3\nctx_size = 512");
    let matrix = 2 * 1024 * 4096;
    let head = 2 * 1024 * 32_000;
    assert_eq!(weights(&report, 0), 2 * matrix + head);
    assert_eq!(weights(&report, 1), 2 * matrix + head);
    let note = report
        .notes
        .iter()
        .find(|note| note.code == "only-weights-counted");
    assert!(note.expect("a note").message.contains("No converter"));
    // PyTorch archives are sizes without names.
    let archive = FileTensor {
        name: "pytorch_model.bin".to_owned(),
        shape: [0, 1, 1, 1],
        kind: None,
        type_name: "archive".into(),
        bytes: Bytes::from_gib(3),
        role: plimsoll::model::TensorRole::Opaque,
    };
    let whole = self::model(Container::PyTorch, vec![archive]);
    let report = told(&whole, &[24], PLAN);
    assert_eq!(weights(&report, 0), Bytes::from_gib(3).get());
}

/// There is one form of it, and the layers that the file has.
#[test]
fn settings_offer_what_there_is() {
    let (model, _) = gguf();
    let written = Settings::new();
    let machine = modelled(&[Bytes::from_gib(24)], (8, 9));
    let scope = Scope {
        model: &model,
        draft: None,
        machine: &machine,
        settings: &written,
    };
    let Some(Kind::Choice { options }) = find(&LlamaCpp, "weights").map(|own| own.kind) else {
        panic!("a choice");
    };
    let words: Vec<(&str, String)> = options(&scope)
        .iter()
        .map(|own| (own.word, own.shown().to_owned()))
        .collect();
    assert_eq!(words, [("native", "as in the file (Q4_K_M)".to_owned())]);
    let Some(Kind::Integer { bounds, .. }) = find(&LlamaCpp, "n_gpu_layers").map(|own| own.kind)
    else {
        panic!("a number");
    };
    assert_eq!(bounds(&scope), (0, 33));
    // On a card that is too small for all of it, a new plan starts with as many layers as there is room for.
    let started = LlamaCpp.starting_settings(&plimsoll::engine::Inputs {
        model: &model,
        draft: None,
        machine: &modelled(&[Bytes::from_gib(4)], (8, 9)),
        settings: &written,
        margin: plimsoll::engine::Margin::DEFAULT,
        memo: &Memo::default(),
    });
    let layers = started.get("n_gpu_layers").and_then(|value| match value {
        plimsoll::plan::Value::Integer(layers) => Some(*layers),
        _ => None,
    });
    assert!(
        layers.is_some_and(|layers| (1..33).contains(&layers)),
        "{started:?}"
    );
}

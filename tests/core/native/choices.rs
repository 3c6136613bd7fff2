//! Searching, mending and starting with a file that there is.

use std::sync::Arc;

use plimsoll::accuracy::modelled;
use plimsoll::advisor::Objective;
use plimsoll::engine::launch::{LaunchInputs, ModelSource, Word, opened as opened_path};
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::ollama::Ollama;
use plimsoll::engine::setting::{Kind, Scope, find};
use plimsoll::engine::{Engine, Inputs, Margin, Memo};
use plimsoll::model::{Checkpoint, Model};
use plimsoll::plan::{FitOptions, LaunchOptions, ModelRef, Settings};
use plimsoll::report::{Report, Request, fit, report};
use plimsoll::units::Bytes;

use super::{opened, predicted, settings, terms, text};
use crate::modelled::preset_with;

/// DeepSeek-R1-Distill-Qwen-32B in a file of its own: 18.5 GiB.
fn distilled(label: Option<&str>) -> Model {
    let model = preset_with("DeepSeek-R1-Distill-Qwen-32B", None).expect("a preset");
    let tensors = predicted(&model, FileType::Q4_K_M, false);
    opened(&model, label, tensors)
}

struct Case {
    model: Model,
    cards: Vec<Bytes>,
    settings: Settings,
}

impl Case {
    fn ask<T>(&self, engine: &'static dyn Engine, ask: impl FnOnce(&Request<'_>) -> T) -> T {
        ask(&Request {
            engine,
            model: &self.model,
            draft: None,
            beside: &[],
            machine: &modelled(&self.cards, (8, 9)),
            settings: &self.settings,
            fit: &FitOptions::default(),
            launch: &LaunchOptions {
                // Its name says another type than the plan: that is no reason to doubt the file.
                model_path: Some("/models/other-Q8_0.gguf".to_owned()),
                ..LaunchOptions::default()
            },
        })
    }

    fn report(&self) -> Report {
        self.ask(&LlamaCpp, |request| {
            report(request, &Memo::default()).expect("settings")
        })
    }
}

fn case(model: Model, card: u64, written: &str) -> Case {
    Case {
        model,
        cards: vec![Bytes::from_gib(card)],
        settings: settings(written),
    }
}

/// What is on the disk is what there is to fit: layers and context change, the file does not.
#[test]
fn a_fit_keeps_the_file() {
    for (engine, card) in [
        (&LlamaCpp as &'static dyn Engine, 24),
        (&LlamaCpp, 16),
        (&Ollama, 24),
    ] {
        for objective in Objective::ALL {
            let case = case(distilled(None), card, "weights = \"native\"");
            let fitted = case.ask(engine, |request| {
                fit(request, Some(objective), &Memo::default())
            });
            let fitted = fitted.expect("it fits somewhere");
            for choice in std::iter::once(&fitted.best).chain(&fitted.others) {
                let weights = choice.set.get("weights");
                assert!(
                    weights.is_none_or(|word| *word == text("native")),
                    "{objective:?}: {weights:?}"
                );
                assert_eq!(choice.figures.weights, "native");
            }
        }
    }
}

#[test]
fn a_new_plan_starts_with_the_file() {
    let model = distilled(None);
    let machine = modelled(&[Bytes::from_gib(24)], (8, 9));
    let none = Settings::new();
    let inputs = Inputs {
        model: &model,
        draft: None,
        machine: &machine,
        settings: &none,
        margin: Margin::DEFAULT,
        memo: &Memo::default(),
    };
    for engine in [&LlamaCpp as &dyn Engine, &Ollama] {
        let start = engine.starting_settings(&inputs);
        assert_eq!(
            start.get("weights"),
            Some(&text("native")),
            "{}",
            engine.id()
        );
    }
}

#[test]
fn the_file_comes_first_among_the_choices() {
    let model = distilled(Some("UD-Q4_K_XL"));
    let machine = modelled(&[], (8, 9));
    let scope = Scope {
        model: &model,
        draft: None,
        machine: &machine,
        settings: &Settings::new(),
    };
    for engine in [&LlamaCpp as &dyn Engine, &Ollama] {
        let setting = find(engine, "weights").expect("a setting");
        let Kind::Choice { options } = setting.kind else {
            panic!("a choice");
        };
        let choices = options(&scope);
        assert_eq!(choices[0].word, "native");
        assert_eq!(choices[0].shown(), "as in the file (UD-Q4_K_XL)");
        assert_eq!(choices.len(), FileType::ALL.len() + 1);
        assert_eq!((setting.default)(&scope), text("native"));
    }
}

/// A smaller file is offered where this one does not fit, never a larger one.
#[test]
fn smaller_files_are_offered() {
    let case = case(
        distilled(None),
        12,
        "n_gpu_layers = \"all\"\nctx_size = 4096\nparallel = 1",
    );
    let report = case.report();
    let offered = |report: &Report| -> Vec<String> {
        let fixes = report.notes.iter().filter_map(|note| note.fix.as_ref());
        let words = fixes.filter_map(|fix| fix.set.get("weights"));
        words.map(|word| format!("{word:?}")).collect()
    };
    let words = offered(&report);
    assert!(
        words
            .iter()
            .all(|word| ["Q2_K", "Q3_K", "IQ3", "IQ2", "IQ1"]
                .iter()
                .any(|smaller| word.contains(smaller))),
        "{words:?}"
    );
    assert!(
        !report
            .notes
            .iter()
            .any(|note| note.code == "other-file-named")
    );
}

#[test]
fn quality_is_by_label_or_by_bits() {
    let plan = "ctx_size = 4096\nparallel = 1";
    for (label, format, by_bits) in [
        (Some("Q4_K_M"), "Q4_K_M", false),
        (Some("UD-Q4_K_XL"), "Q4_K_M", true),
        (None, "Q4_K_M", true),
    ] {
        let quality = case(distilled(label), 24, plan).report().quality;
        assert_eq!(
            quality.weights.map(|row| row.format.as_str()),
            Some(format),
            "{label:?}"
        );
        assert_eq!(quality.weights_by_bits, by_bits, "{label:?}");
    }
}

/// The model as read from a file of this path.
fn lying_at(mut model: Model, path: &str) -> Model {
    let mut file = Checkpoint::clone(model.checkpoint.as_deref().expect("a file"));
    file.file = Some(path.to_owned());
    model.checkpoint = Some(Arc::new(file));
    model
}

/// A plan's own path leads, which may count from its folder; a folder with one file is that file, and a preset knows
/// where its file lies.
#[test]
fn the_file_that_was_opened_is_known() {
    let blob = "/ollama/blobs/sha256-0123";
    for (reference, file, expected) in [
        (Some("own.gguf"), "/plans/own.gguf", "own.gguf"),
        (Some(blob), blob, blob),
        (Some("models"), "/plans/models/own.gguf", "models/own.gguf"),
        (None, "/models/own.gguf", "/models/own.gguf"),
    ] {
        let model = lying_at(distilled(Some("Q4_K_M")), file);
        let reference = ModelRef {
            path: reference.map(str::to_owned),
            ..ModelRef::default()
        };
        let opened = opened_path(&reference, &model);
        let slashes = opened.map(|path| path.replace('\\', "/"));
        assert_eq!(slashes.as_deref(), Some(expected), "{file}");
    }
}

/// The launch loads what was opened, by its first part.
#[test]
fn a_launch_loads_the_file() {
    let model = lying_at(
        distilled(Some("Q4_K_M")),
        "/models/R1-Q4_K_M-00002-of-00003.gguf",
    );
    let machine = modelled(&[Bytes::from_gib(24)], (8, 9));
    let reference = ModelRef {
        path: Some("/models/R1-Q4_K_M-00002-of-00003.gguf".to_owned()),
        ..ModelRef::default()
    };
    let launch = |engine: &dyn Engine, written: &str| {
        let settings = settings(written);
        engine.launch(&LaunchInputs {
            model: &model,
            draft: None,
            machine: &machine,
            settings: &settings,
            resolved: &settings,
            options: &LaunchOptions::default(),
            margin: Margin::DEFAULT,
            repository: None,
            file: None,
            opened: opened_path(&reference, &model).as_deref(),
            revision: None,
            opened_draft: None,
        })
    };
    let own = ModelSource::Path("/models/R1-Q4_K_M-00001-of-00003.gguf".to_owned());
    for engine in [&LlamaCpp as &dyn Engine, &Ollama] {
        assert_eq!(launch(engine, "weights = \"native\"").model_source, own);
        // Another type is another file, which nobody has named.
        assert_eq!(
            launch(engine, "weights = \"Q6_K\"").model_source,
            ModelSource::Asked
        );
    }
}

/// A draft from a file of its own is as in that file, whatever the model is planned as, and so is its launch.
#[test]
fn a_draft_has_a_file_of_its_own() {
    let model = preset_with("Qwen3-32B", None).expect("a preset");
    let small = preset_with("Qwen3-0.6B", None).expect("a preset");
    let draft = opened(&small, None, predicted(&small, FileType::Q8_0, false));
    let machine = modelled(&[Bytes::from_gib(80)], (8, 9));
    let memo = Memo::default();
    let project = |draft: &Model, written: &str| {
        LlamaCpp.project(&Inputs {
            model: &model,
            draft: Some(draft),
            machine: &machine,
            settings: &settings(written),
            margin: Margin::DEFAULT,
            memo: &memo,
        })
    };
    let plan = "weights = \"Q4_K_M\"\nctx_size = 4096\nparallel = 1\nspec_type = \"draft-simple\"";
    let own = project(&draft, plan);
    assert!(!own.refused, "{:?}", own.notes);
    let same = project(&small, &format!("{plan}\ndraft_weights = \"Q8_0\""));
    assert_eq!(terms(&own), terms(&same));
    assert_eq!(own.resolved.get("draft_weights"), Some(&text("native")));
    // Of a model that is open the draft cannot have the file.
    let native = opened(&model, None, predicted(&model, FileType::Q4_K_M, false));
    let beside = LlamaCpp.project(&Inputs {
        model: &native,
        draft: Some(&small),
        machine: &machine,
        settings: &settings("weights = \"native\"\nctx_size = 4096\nspec_type = \"draft-simple\""),
        margin: Margin::DEFAULT,
        memo: &memo,
    });
    assert_eq!(beside.resolved.get("draft_weights"), Some(&text("Q4_K_M")));
    let draft = lying_at(draft, "/models/draft.gguf");
    let reference = ModelRef {
        path: Some("/models/draft.gguf".to_owned()),
        ..ModelRef::default()
    };
    let launch = LlamaCpp.launch(&LaunchInputs {
        model: &model,
        draft: Some(&draft),
        machine: &machine,
        settings: &settings(plan),
        resolved: &own.resolved,
        options: &LaunchOptions::default(),
        margin: Margin::DEFAULT,
        repository: None,
        file: None,
        opened: None,
        revision: None,
        opened_draft: opened_path(&reference, &draft).as_deref(),
    });
    let arguments = &launch.steps[0].arguments;
    let path = Word::Literal("/models/draft.gguf".to_owned());
    assert!(
        arguments
            .iter()
            .any(|argument| argument.words.contains(&path))
    );
}

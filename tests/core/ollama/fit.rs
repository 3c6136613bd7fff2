//! The advisor finds settings of Ollama as it does for any engine.

use plimsoll::advisor::Objective;
use plimsoll::engine::ollama::Ollama;
use plimsoll::engine::{Engine as _, Memo};
use plimsoll::plan::{FitOptions, LaunchOptions, Settings, Value};
use plimsoll::report::{Request, Verdict, fit};

use super::{cards, model, number_of, report, settings};

#[test]
fn what_is_found_fits_and_keeps_pins() {
    for (id, gpus, ram, written) in [
        ("Qwen3-8B", &[12][..], 32, ""),
        (
            "DeepSeek-R1-Distill-Qwen-32B",
            &[24, 24],
            64,
            "kv_cache_type = \"f16\"",
        ),
        ("Qwen3-30B-A3B", &[16], 64, "num_ctx = 32768"),
        ("Qwen3.5-27B", &[24], 64, "num_parallel = 1"),
        ("Llama-3.1-8B-Instruct", &[], 32, ""),
    ] {
        let (model, machine) = (model(id), cards(gpus, ram));
        let pinned = settings(written);
        let options = FitOptions {
            pinned: pinned.keys().cloned().collect(),
            ..FitOptions::default()
        };
        let request = Request {
            engine: &Ollama,
            model: &model,
            draft: None,
            beside: &[],
            machine: &machine,
            settings: &pinned,
            fit: &options,
            launch: &LaunchOptions::default(),
        };
        for objective in Objective::ALL {
            let found = fit(&request, Some(objective), &Memo::default());
            let found = found.unwrap_or_else(|error| panic!("{id} {objective}: {error}"));
            for choice in std::iter::once(&found.best).chain(&found.others) {
                let mut plan: Settings = pinned.clone();
                choice.apply(&Ollama, &mut plan);
                for (name, value) in &pinned {
                    assert_eq!(plan.get(name), Some(value), "{id} {objective}");
                }
                let own = |name: &String| Ollama.settings().iter().any(|known| known.name == name);
                assert!(plan.keys().all(own), "{plan:?}");
                let report = report(&model, &machine, &plan);
                let good = report.verdict == Verdict::Fits
                    || report.verdict == Verdict::Tight && report.margin_kept_by_engine();
                assert!(good, "{id} {objective} {plan:?}: {:?}", report.verdict);
                assert_eq!(
                    number_of(&report.settings, "num_ctx"),
                    i64::try_from(choice.figures.context_per_slot).unwrap()
                );
            }
        }
    }
}

/// Architectures that serve one request at a time are offered no more.
#[test]
fn nobody_is_promised_requests_that_are_not_served() {
    let (model, machine) = (model("Qwen3.5-27B"), cards(&[80], 128));
    let empty = Settings::new();
    let request = Request {
        engine: &Ollama,
        model: &model,
        draft: None,
        beside: &[],
        machine: &machine,
        settings: &empty,
        fit: &FitOptions::default(),
        launch: &LaunchOptions::default(),
    };
    let found = fit(&request, Some(Objective::Batch), &Memo::default()).unwrap();
    assert_eq!(found.best.figures.slots, 1);
    assert_eq!(found.best.set.get("num_parallel"), Some(&Value::Integer(1)));
}

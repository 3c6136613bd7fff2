//! What is pinned stays; what cannot be is told.

use plimsoll::advisor::Objective;
use plimsoll::engine::Memo;
use plimsoll::plan::{Settings, Value};
use plimsoll::projection::Gain;
use plimsoll::report::{self, Verdict};
use plimsoll::units::Bytes;

use super::{Case, fitted, integer, names, preset, report_of, request, with};
use crate::report::machine;

const CARD: &str = "ram_mib = 65536\ngpus = [{ name = \"RTX 4090\", in_use_mib = 600 }]";
const UNEVEN: &str =
    "ram_mib = 131072\ngpus = [{ name = \"RTX 4090\" }, { name = \"RTX 3060 12GB\" }]";

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn settings(settings: &[(&str, Value)]) -> Settings {
    settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

#[test]
fn pinned_settings_are_never_changed() {
    let (model, machine) = (preset("DeepSeek-R1-Distill-Qwen-32B"), machine(CARD));
    let settings = settings(&[
        ("weights", text("Q5_K_M")),
        ("ctx_size", Value::Integer(12_288)),
        ("cache_type_k", text("q8_0")),
    ]);
    let pinned = names(&["weights", "ctx_size", "cache_type_k", "parallel"]);
    for objective in Objective::ALL {
        let case = Case {
            model: &model,
            machine: &machine,
            settings: &settings,
            pinned: &pinned,
        };
        let fitted = case.fit(objective, &Memo::default()).unwrap();
        for choice in std::iter::once(&fitted.best).chain(&fitted.others) {
            for name in &pinned {
                assert!(!choice.set.contains_key(name), "{objective} sets {name}");
                assert!(!choice.unset.contains(name), "{objective} unsets {name}");
            }
            let report = report_of(&case, &with(&settings, choice));
            assert_eq!(
                report.verdict,
                Verdict::Fits,
                "{objective}: {}",
                report.sentence()
            );
        }
    }
}

/// Model, machine, what is set by hand, what is pinned.
type ByHand = (
    &'static str,
    &'static str,
    Vec<(&'static str, Value)>,
    &'static [&'static str],
);

/// llama.cpp's own fit gives up where layers, split or overrides are given by hand (`common/fit.cpp`, 0.6.0-dev).
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_flag_set_by_hand_does_not_stop_it() {
    let cases: [ByHand; 5] = [
        (
            "Qwen3-30B-A3B",
            "ram_mib = 65536\ngpus = [{ name = \"RTX 3060 12GB\" }]",
            vec![
                ("n_cpu_moe", Value::Integer(8)),
                ("ctx_size", Value::Integer(16_384)),
            ],
            &["ctx_size", "weights"],
        ),
        (
            "Llama-3.1-70B-Instruct",
            UNEVEN,
            vec![
                (
                    "tensor_split",
                    Value::List(vec![Value::Integer(2), Value::Integer(1)]),
                ),
                ("ctx_size", Value::Integer(8192)),
            ],
            &["tensor_split", "ctx_size", "weights"],
        ),
        (
            "gpt-oss-120b",
            UNEVEN,
            vec![
                (
                    "tensor_split",
                    Value::List(vec![Value::Integer(3), Value::Integer(1)]),
                ),
                ("ctx_size", Value::Integer(16_384)),
            ],
            &["tensor_split", "ctx_size"],
        ),
        (
            "Qwen3-30B-A3B",
            "ram_mib = 65536\ngpus = [{ name = \"RTX 3060 12GB\" }]",
            vec![
                ("n_gpu_layers", text("all")),
                ("ctx_size", Value::Integer(16_384)),
            ],
            &["n_gpu_layers", "ctx_size", "weights"],
        ),
        (
            "DeepSeek-R1-Distill-Qwen-32B",
            CARD,
            vec![
                (
                    "override_tensor",
                    Value::List(vec![text(r"blk\.[0-3]\.ffn_.*=CPU")]),
                ),
                ("ctx_size", Value::Integer(65_536)),
            ],
            &[
                "override_tensor",
                "ctx_size",
                "weights",
                "cache_type_k",
                "cache_type_v",
            ],
        ),
    ];
    for (id, on, written, pinned) in cases {
        let (model, machine) = (preset(id), machine(on));
        let (settings, pinned) = (settings(&written), names(pinned));
        let case = Case {
            model: &model,
            machine: &machine,
            settings: &settings,
            pinned: &pinned,
        };
        let engines = report_of(&case, &settings);
        assert_eq!(
            engines.verdict,
            Verdict::Exceeds,
            "{id} is no case: {}",
            engines.sentence()
        );
        let best = fitted(&case, Objective::Speed);
        let report = report_of(&case, &with(&settings, &best));
        assert_eq!(report.verdict, Verdict::Fits, "{id}: {}", report.sentence());
    }
}

#[test]
fn the_pin_that_would_have_to_give_is_named() {
    let (model, machine) = (
        preset("DeepSeek-R1-Distill-Qwen-32B"),
        machine("ram_mib = 8192\ngpus = [{ name = \"RTX 4090\" }]"),
    );
    let settings = settings(&[
        ("weights", text("Q4_K_M")),
        ("ctx_size", Value::Integer(131_072)),
        ("cache_type_k", text("q8_0")),
        ("cache_type_v", text("q8_0")),
    ]);
    let pinned = names(&["weights", "ctx_size", "cache_type_k", "cache_type_v"]);
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &settings,
        pinned: &pinned,
    };
    let impossible = case.fit(Objective::Balanced, &Memo::default()).unwrap_err();
    assert_eq!(impossible.pin.as_deref(), Some("ctx_size"), "{impossible}");
    let context = integer(&impossible.set, "ctx_size").unwrap();
    assert_eq!(impossible.gain, Some(Gain::Tokens(context - 131_072)));
    assert!(
        impossible
            .message
            .starts_with("Nothing fits with `ctx_size` pinned to 131,072")
    );
    // It is the smallest relaxation: the next step does not fit any more.
    let mut relaxed = settings.clone();
    relaxed.extend(impossible.set.clone());
    let report = report_of(&case, &relaxed);
    assert_eq!(report.verdict, Verdict::Fits, "{}", report.sentence());
    relaxed.insert("ctx_size".to_owned(), Value::Integer(context + 256));
    let further = Case {
        settings: &relaxed,
        ..case
    };
    assert!(further.fit(Objective::Balanced, &Memo::default()).is_err());
}

#[test]
fn what_no_machine_can_hold_is_said() {
    let (model, machine) = (
        preset("DeepSeek-R1"),
        machine("ram_mib = 32768\ngpus = [{ name = \"RTX 4090\" }]"),
    );
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &Settings::new(),
        pinned: &[],
    };
    let impossible = case.fit(Objective::Balanced, &Memo::default()).unwrap_err();
    assert_eq!(impossible.pin, None);
    assert!(
        impossible.message.contains("lacks") && impossible.message.contains("main memory"),
        "{impossible}"
    );
}

/// What is lacking is what a report of the same says: the margin is none of it.
#[test]
fn what_is_lacking_is_what_a_report_says() {
    for (on, layers, experts, place) in [
        (
            "preset = \"cpu-only-32gb\"",
            Value::Integer(0),
            0,
            "in main memory",
        ),
        (
            "preset = \"macbook-air-m4-16gb\"",
            text("all"),
            59,
            "on unified",
        ),
    ] {
        let (model, machine) = (preset("DeepSeek-R1"), machine(on));
        let open = Settings::new();
        let case = Case {
            model: &model,
            machine: &machine,
            settings: &open,
            pinned: &[],
        };
        let request = request(&case, &open);
        let impossible = report::fit(&request, None, &Memo::default()).unwrap_err();
        let impossible = impossible.to_string();
        let least = settings(&[
            ("weights", text("IQ1_M")),
            ("imatrix", Value::Bool(true)),
            ("ctx_size", Value::Integer(4_096)),
            ("parallel", Value::Integer(1)),
            ("cache_type_k", text("q4_0")),
            ("cache_type_v", text("q4_0")),
            ("n_gpu_layers", layers),
            ("n_cpu_moe", Value::Integer(experts)),
        ]);
        let report = report_of(&case, &least);
        let lacks = Bytes::new(report.tightest().unwrap().free().unsigned_abs());
        let said = format!("even IQ1_M with 4,096 tokens of context lacks {lacks} {place}.");
        assert!(impossible.contains(&said), "{impossible}; {said}");
    }
}

/// What a number of layers would have to be is the most that any cache of next to no loss leaves on the GPU, and says which.
#[test]
fn layers_that_would_have_to_give_give_least() {
    let on = "ram_mib = 65536\ngpus = [{ name = \"RTX 4090\", in_use_mib = 600 }]";
    let (model, machine) = (preset("DeepSeek-R1-Distill-Qwen-32B"), machine(on));
    let word = |word: &str| Value::Text(word.to_owned());
    let written = Settings::from([
        ("weights".to_owned(), word("Q4_K_M")),
        ("n_gpu_layers".to_owned(), word("all")),
        ("ctx_size".to_owned(), Value::Integer(65_536)),
        ("parallel".to_owned(), Value::Integer(1)),
        ("cache_type_k".to_owned(), word("q8_0")),
        ("cache_type_v".to_owned(), word("q8_0")),
    ]);
    let pinned = names(&["weights", "parallel", "n_gpu_layers", "ctx_size"]);
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &written,
        pinned: &pinned,
    };
    let refused = case.fit(Objective::Context, &Memo::default()).unwrap_err();
    assert_eq!(refused.pin.as_deref(), Some("n_gpu_layers"));
    assert!(
        refused.message.contains("q8_0 cache"),
        "{}",
        refused.message
    );
    let layers = integer(&refused.set, "n_gpu_layers").unwrap();
    let at = |layers: i64| {
        let mut settings = written.clone();
        settings.insert("n_gpu_layers".to_owned(), Value::Integer(layers));
        report_of(&case, &settings).verdict
    };
    assert_eq!(at(layers), plimsoll::report::Verdict::Fits);
    assert_ne!(at(layers + 1), plimsoll::report::Verdict::Fits);
}

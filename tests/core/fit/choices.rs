//! What a fit chooses does not depend on what was chosen before, and keeps the rule that it names.

use plimsoll::advisor::{self, Choice, FitRequest, Objective};
use plimsoll::engine::{self, Inputs, Margin, Memo};
use plimsoll::plan::{Settings, Value};
use plimsoll::report::Verdict;

use super::{Case, fitted, integer, names, preset, report_of, with};
use crate::report::machine;

const SMALL: &str = "ram_mib = 65536\ngpus = [{ name = \"RTX 3060 12GB\" }]";
const LARGE: &str = "ram_mib = 131072\ngpus = [{ name = \"RTX 5090\" }]";
const R1: &str = "ram_mib = 65536\nram_bandwidth_gb_s = 89.6\ngpus = [{ name = \"RTX 4090\", in_use_mib = 600 }]";

pub(crate) fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

pub(crate) fn settings(changes: &[(&str, Value)]) -> Settings {
    let changes = changes.iter();
    changes
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

/// The best and the others of a plan with nothing pinned.
fn choices(id: &str, on: &str, written: &Settings, objective: Objective) -> (Choice, Vec<Choice>) {
    let (model, machine) = (preset(id), machine(on));
    let case = Case {
        model: &model,
        machine: &machine,
        settings: written,
        pinned: &[],
    };
    let fitted = case.fit(objective, &Memo::default()).unwrap();
    (fitted.best, fitted.others)
}

#[test]
fn who_pins_one_way_to_place_experts_pins_all() {
    let (model, machine) = (preset("Qwen3-30B-A3B"), machine(SMALL));
    let ways = [
        ("n_cpu_moe", Value::Integer(0)),
        ("cpu_moe", Value::Bool(false)),
        ("override_tensor", Value::List(Vec::new())),
    ];
    for (pin, value) in ways {
        let written = settings(&[("weights", text("Q4_K_M")), (pin, value)]);
        let pinned = names(&[pin]);
        let case = Case {
            model: &model,
            machine: &machine,
            settings: &written,
            pinned: &pinned,
        };
        let fitted = case.fit(Objective::Balanced, &Memo::default()).unwrap();
        for choice in std::iter::once(&fitted.best).chain(&fitted.others) {
            for other in ["n_cpu_moe", "cpu_moe", "override_tensor"] {
                assert!(!choice.set.contains_key(other), "{pin}: {choice:?}");
            }
        }
        let mut written = written.clone();
        written.insert("n_gpu_layers".to_owned(), text("all"));
        let fix = plimsoll::plan::FitOptions {
            pinned: pinned.clone(),
            ..Default::default()
        };
        let request = plimsoll::report::Request {
            engine: plimsoll::engine::find("llama.cpp").unwrap(),
            model: &model,
            draft: None,
            beside: &[],
            machine: &machine,
            settings: &written,
            fit: &fix,
            launch: &plimsoll::plan::LaunchOptions::default(),
        };
        let report = plimsoll::report::report(&request, &Memo::default()).unwrap();
        assert_eq!(report.verdict, Verdict::Exceeds, "{pin}");
        let fixes = report.notes.iter().filter_map(|note| note.fix.as_ref());
        assert!(!fixes.clone().any(|fix| fix.set.contains_key("n_cpu_moe")));
        assert!(fixes.count() > 0, "{pin}: nothing else is offered");
    }
}

#[test]
fn unpinned_values_change_nothing() {
    let plans: [(&str, &str); 3] = [
        ("Qwen3-30B-A3B", SMALL),
        ("DeepSeek-R1-Distill-Qwen-32B", R1),
        ("gpt-oss-20b", SMALL),
    ];
    for (id, on) in plans {
        let goals = settings(&[
            ("ctx_size", Value::Integer(16_384)),
            ("parallel", Value::Integer(1)),
        ]);
        let mut history = with(&goals, &choices(id, on, &goals, Objective::Quality).0);
        history.extend(goals.clone());
        let mut by_hand = goals.clone();
        by_hand.extend(settings(&[
            ("weights", text("Q8_0")),
            ("cache_type_k", text("q4_0")),
            ("cache_type_v", text("q4_0")),
            ("n_gpu_layers", Value::Integer(3)),
        ]));
        for objective in Objective::ALL {
            let expected = choices(id, on, &goals, objective).0.figures;
            for written in [&history, &by_hand] {
                let found = choices(id, on, written, objective).0.figures;
                assert_eq!(found, expected, "{id}: {objective} of {written:?}");
            }
        }
    }
}

#[test]
fn no_choice_has_more_bits_than_quality_unless_it_is_slow() {
    let written = settings(&[
        ("weights", text("Q8_0")),
        ("ctx_size", Value::Integer(131_072)),
    ]);
    let (best, others) = choices("gemma-4-26B-A4B-it", R1, &written, Objective::Quality);
    assert!(best.figures.bits_per_weight > 8.0, "{best:?}");
    let decode = best.figures.decode.expect("the machine is known");
    assert!(decode.likely >= 5.2, "{best:?}");
    for other in others {
        let fewer = other.figures.bits_per_weight <= best.figures.bits_per_weight;
        assert!(fewer, "{other:?}");
    }
}

#[test]
fn most_users_are_no_fewer_than_planned() {
    let written = settings(&[
        ("weights", text("Q8_0")),
        ("ctx_size", Value::Integer(163_840)),
        ("parallel", Value::Integer(4)),
    ]);
    let (best, others) = choices("Qwen3-30B-A3B", LARGE, &written, Objective::Batch);
    assert!(best.figures.slots >= 4, "{best:?}");
    assert!(best.figures.bits_per_weight > 4.0, "{best:?}");
    let whole = |choice: &Choice| choice.figures.expert_layers_in_ram == 0;
    assert!(best.good_for.contains("with everything on the GPU") == whole(&best));
    for other in others.iter().filter(|other| whole(other)) {
        assert!(other.figures.slots <= best.figures.slots, "{other:?}");
    }
}

#[test]
fn a_longest_context_is_no_shorter_than_planned() {
    // Longer than the model is meant for.
    let written = settings(&[("ctx_size", Value::Integer(131_072))]);
    let (best, _) = choices("Qwen3-30B-A3B", LARGE, &written, Objective::Context);
    assert!(best.figures.context_per_slot >= 131_072, "{best:?}");
    let written = settings(&[("ctx_size", Value::Integer(16_384))]);
    let id = "DeepSeek-R1-Distill-Qwen-32B";
    let (best, others) = choices(id, R1, &written, Objective::Context);
    assert!(best.good_for.contains("with everything on the GPU"));
    assert!(best.figures.context_per_slot >= 16_384);
    for other in others {
        let (on_gpus, all) = other.figures.gpu_layers;
        let longer = other.figures.context_per_slot > best.figures.context_per_slot;
        assert!(!longer || on_gpus < all, "{other:?}");
    }
}

#[test]
fn what_is_left_is_what_a_report_says() {
    let on = "ram_mib = 65536\nram_in_use_mib = 4096\ngpus = [{ name = \"RTX 4090\" }, { name = \"RTX 3060 12GB\", in_use_mib = 12500 }]";
    let (model, machine) = (preset("Qwen3-30B-A3B"), machine(on));
    let written = Settings::new();
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &written,
        pinned: &[],
    };
    let best = fitted(&case, Objective::Balanced);
    let report = report_of(&case, &with(&written, &best));
    let free: Vec<i64> = report
        .devices
        .iter()
        .map(plimsoll::report::DeviceReport::free)
        .collect();
    assert_eq!(best.figures.free, free);
    assert!(integer(&best.set, "ctx_size").is_some());
}

#[test]
fn what_the_engine_cannot_keep_free_is_no_fit() {
    let (model, machine) = (preset("Qwen3.5-35B-A3B"), machine(R1));
    let pinned = names(&["ctx_size", "n_gpu_layers", "weights", "parallel"]);
    let request = |memo: &Memo| {
        plimsoll::advisor::fit(&plimsoll::advisor::FitRequest {
            engine: plimsoll::engine::find("llama.cpp").unwrap(),
            inputs: plimsoll::engine::Inputs {
                model: &model,
                draft: None,
                machine: &machine,
                settings: &Settings::new(),
                margin: plimsoll::engine::Margin::Bytes(plimsoll::units::Bytes::from_mib(100_000)),
                memo,
            },
            pinned: &pinned,
            objective: Objective::Balanced,
        })
    };
    assert!(request(&Memo::default()).is_err());
}

/// A machine that holds nothing but the smallest files: they are taken.
#[test]
fn the_smallest_files_are_taken_where_nothing_else_fits() {
    let on = "ram_mib = 147456\ngpus = [{ name = \"RTX 4090\", in_use_mib = 600 }]";
    let (best, _) = choices("DeepSeek-R1", on, &Settings::new(), Objective::Balanced);
    assert_eq!(best.figures.weights, "IQ1_M");
    assert!(best.figures.free.iter().all(|free| *free >= 0), "{best:?}");
}

/// One user is enough where the whole context is pinned and nobody said how many there are.
#[test]
fn a_pinned_context_is_not_divided() {
    let (model, machine) = (preset("Qwen3-14B"), machine(SMALL));
    let written = settings(&[("ctx_size", Value::Integer(8192))]);
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &written,
        pinned: &names(&["ctx_size"]),
    };
    let figures = fitted(&case, Objective::Context).figures;
    assert_eq!((figures.context_per_slot, figures.slots), (8192, 1));
}

/// Users are counted to the one: one more would be too many.
#[test]
fn the_most_users_are_the_most() {
    let (model, machine) = (preset("Qwen2.5-1.5B-Instruct"), machine(SMALL));
    let written = settings(&[("ctx_size", Value::Integer(16_384))]);
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &written,
        pinned: &[],
    };
    let best = fitted(&case, Objective::Batch);
    let (users, each) = (best.figures.slots, best.figures.context_per_slot);
    assert!((33..256).contains(&users), "{users}");
    let mut more = with(&written, &best);
    let number = |number: u64| Value::Integer(i64::try_from(number).unwrap());
    more.insert("parallel".to_owned(), number(users + 1));
    more.insert("ctx_size".to_owned(), number((users + 1) * each));
    assert_ne!(report_of(&case, &more).verdict, Verdict::Fits);
}

/// The caches of a draft are chosen like the model's, in the same order of what they cost; pinned ones stay.
#[test]
fn caches_of_a_draft_are_chosen_too() {
    let on = "ram_mib = 65536\ngpus = [{ name = \"RTX 4090\", usable_mib = 11400 }]";
    let (model, draft, machine) = (preset("Qwen3-8B"), preset("Qwen3-0.6B"), machine(on));
    let memo = Memo::default();
    let fit = |cache: &str, further: &[(&str, &str)]| {
        let mut written = settings(&[
            ("weights", text("Q4_K_M")),
            ("ctx_size", Value::Integer(32_768)),
            ("parallel", Value::Integer(1)),
            ("n_gpu_layers", text("all")),
            ("n_gpu_layers_draft", text("all")),
        ]);
        if !cache.is_empty() {
            written.extend(settings(&[
                ("cache_type_k", text(cache)),
                ("cache_type_v", text(cache)),
            ]));
        }
        for (name, word) in further {
            written.insert((*name).to_owned(), text(word));
        }
        let pinned: Vec<String> = written.keys().cloned().collect();
        let request = FitRequest {
            engine: engine::find("llama.cpp").unwrap(),
            inputs: Inputs {
                model: &model,
                draft: Some(&draft),
                machine: &machine,
                settings: &written,
                margin: Margin::DEFAULT,
                memo: &memo,
            },
            pinned: &pinned,
            objective: Objective::Balanced,
        };
        advisor::fit(&request).map(|fitted| with(&written, &fitted.best))
    };
    let f16 = [("cache_type_k_draft", "f16"), ("cache_type_v_draft", "f16")];
    for cache in ["", "q8_0"] {
        let found = fit(cache, &[]).unwrap();
        for name in [
            "cache_type_k",
            "cache_type_v",
            "cache_type_k_draft",
            "cache_type_v_draft",
        ] {
            assert_eq!(found.get(name), Some(&text("q8_0")), "{cache}: {found:?}");
        }
    }
    // That is what makes it fit.
    assert!(fit("q8_0", &f16).is_err());
}

#[test]
fn the_least_that_was_tried_is_named() {
    let (model, machine) = (preset("DeepSeek-R1"), machine(R1));
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &Settings::new(),
        pinned: &[],
    };
    let impossible = case.fit(Objective::Balanced, &Memo::default()).unwrap_err();
    assert!(
        impossible.message.contains("even IQ1_M with 4,096 tokens"),
        "{impossible}"
    );
}

/// Whoever pins the formats of an alternative finds no more of what was asked for.
#[test]
fn others_are_the_best_of_their_kind() {
    for (id, on, objective, written) in [
        ("Qwen3-8B", SMALL, Objective::Context, &[][..]),
        (
            "Qwen3-8B",
            LARGE,
            Objective::Context,
            &[("ctx_size", 8192)][..],
        ),
        ("DeepSeek-R1-Distill-Qwen-32B", R1, Objective::Context, &[]),
    ] {
        let numbers = written.iter();
        let mut written: Settings = numbers
            .map(|(name, value)| ((*name).to_owned(), Value::Integer(*value)))
            .collect();
        written.insert("weights".to_owned(), text("Q4_K_M"));
        let (_, others) = choices(id, on, &written, objective);
        let (model, machine) = (preset(id), machine(on));
        assert!(!others.is_empty(), "{id}");
        for other in others {
            let mut settings = with(&written, &other);
            settings.retain(|name, _| {
                written.contains_key(name)
                    || ["cache_type_k", "cache_type_v", "weights", "parallel"]
                        .contains(&name.as_str())
            });
            settings.extend(
                written
                    .clone()
                    .into_iter()
                    .filter(|(name, _)| name != "weights"),
            );
            let pinned = names(&["weights", "cache_type_k", "cache_type_v", "parallel"]);
            let case = Case {
                model: &model,
                machine: &machine,
                settings: &settings,
                pinned: &pinned,
            };
            let best = fitted(&case, objective).figures;
            let other = other.figures;
            let of = |figures: &advisor::Figures| match objective {
                Objective::Context => figures.context_per_slot,
                _ => figures.slots,
            };
            assert!(
                of(&best) <= of(&other) || best.gpu_layers.0 < other.gpu_layers.0,
                "{id}: {best:?} instead of {other:?}"
            );
        }
    }
}

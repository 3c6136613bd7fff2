//! Fixes of plans that do not fit: each does what it says.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Memo};
use plimsoll::plan::{FitOptions, LaunchOptions, Settings, Value};
use plimsoll::projection::{Gain, Note};
use plimsoll::report::{ContextLimit, FIT_OVERFILLS, Report, Request, Verdict};
use plimsoll::units::Bytes;

use super::report::{check, machine};

const CARD: &str = "ram_mib = 65536\ngpus = [{ name = \"RTX 4090\", in_use_mib = 600 }]";
const PAIR: &str = "ram_mib = 262144\ngpus = [{ name = \"RTX 3090\", count = 2 }]";

fn over(model: &str, on: &str, settings: &[(&str, Value)]) -> (Report, Vec<Note>) {
    let report = check(model, &machine(on), settings, 1024);
    assert_eq!(report.verdict, Verdict::Exceeds, "{}", report.sentence());
    let fixes = report
        .notes
        .iter()
        .filter(|note| note.code == "would-help")
        .cloned()
        .collect();
    (report, fixes)
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

#[test]
fn every_fix_does_what_it_says() {
    let all = ("n_gpu_layers", text("all"));
    let context = |tokens| ("ctx_size", Value::Integer(tokens));
    let cases = [
        (
            "DeepSeek-R1-Distill-Qwen-32B",
            CARD,
            vec![all.clone(), context(32_768)],
        ),
        (
            "DeepSeek-R1-Distill-Qwen-32B",
            CARD,
            vec![all.clone(), ("weights", text("Q8_0")), context(8192)],
        ),
        (
            "Qwen3-30B-A3B",
            CARD,
            vec![all.clone(), ("weights", text("Q8_0")), context(8192)],
        ),
        (
            "gpt-oss-120b",
            PAIR,
            vec![all.clone(), ("weights", text("MXFP4_MOE")), context(8192)],
        ),
        ("Llama-3.1-70B-Instruct", PAIR, vec![all, context(65_536)]),
    ];
    for (model, on, settings) in cases {
        let (before, fixes) = over(model, on, &settings);
        assert!(!fixes.is_empty(), "{model}: nothing would help");
        let worst = (0..before.devices.len())
            .min_by_key(|index| before.devices[*index].free())
            .unwrap();
        for note in fixes {
            let fix = note.fix.expect("a change");
            let mut changed = settings.clone();
            changed.retain(|(name, _)| !fix.set.contains_key(*name));
            changed.extend(
                fix.set
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.clone())),
            );
            let after = check(model, &machine(on), &changed, 1024);
            let promised = match () {
                () if note.message.contains("the plan fits") => Verdict::Fits,
                () if note.message.contains("the plan is tight") => Verdict::Tight,
                () => Verdict::Exceeds,
            };
            let told = format!("{model}: {} ({})", note.message, after.sentence());
            assert_eq!(after.verdict, promised, "{told}");
            let saved = after.devices[worst].free() - before.devices[worst].free();
            assert_eq!(
                fix.gain,
                Some(Gain::Bytes(saved)),
                "{model}: {}",
                note.message
            );
        }
    }
}

#[test]
fn the_cheapest_change_comes_first() {
    let settings = [
        ("n_gpu_layers", text("all")),
        ("ctx_size", Value::Integer(20_480)),
    ];
    let (_, fixes) = over("DeepSeek-R1-Distill-Qwen-32B", CARD, &settings);
    assert_eq!(fixes[0].setting, Some("cache_type_k"), "{fixes:?}");
    assert!(fixes[0].message.contains("fits"), "{fixes:?}");
}

#[test]
fn windows_kept_whole_are_the_first_to_go() {
    let settings = [
        ("n_gpu_layers", text("all")),
        ("ctx_size", Value::Integer(131_072)),
        ("parallel", Value::Integer(1)),
        ("swa_full", Value::Bool(true)),
    ];
    let card = "ram_mib = 65536\ngpus = [{ name = \"RTX 4060 Ti 16GB\" }]";
    let (_, fixes) = over("gpt-oss-20b", card, &settings);
    let fix = fixes[0].fix.as_ref().expect("a change");
    assert_eq!(
        fix.set.get("swa_full"),
        Some(&Value::Bool(false)),
        "{fixes:?}"
    );
    assert!(fixes[0].message.contains("the plan fits"), "{fixes:?}");
}

/// Eight cards of four kinds.
const UNEVEN: &str = "ram_mib = 524288\ngpus = [{ name = \"RTX 5090\", count = 2 }, { name = \"RTX 4090\", count = 2 }, \
                      { name = \"RTX 3090\", count = 2 }, { name = \"RTX 3060\", count = 2 }]";

#[test]
fn what_the_engine_chooses_beyond_a_card_is_mended_by_what_costs_least() {
    let (report, fixes) = over("DeepSeek-R1", UNEVEN, &[]);
    let position = |setting: &str| {
        let mut fixes = fixes.iter();
        fixes.position(|note| note.setting == Some(setting))
    };
    // Another context moves a layer or two, all experts in main memory move everything.
    assert_eq!(position("ctx_size"), Some(0), "{fixes:?}");
    assert!(position("n_cpu_moe") > position("weights"), "{fixes:?}");
    let slower = &fixes[position("n_cpu_moe").unwrap()].message;
    assert!(slower.contains(" instead of "), "{slower}");
    // The limit is one for another plan than this, which does not fit.
    assert!(matches!(
        report.context_limit(),
        Some(ContextLimit::Written(_))
    ));
    let margin = report
        .notes
        .iter()
        .find(|note| note.code == "larger-margin");
    let told = &margin.expect("a larger margin helps").message;
    // By the engine's own count there is too much on the card already, and that is what is said.
    let overfills = report.notes.iter().find(|note| note.code == FIT_OVERFILLS);
    let said = &overfills
        .expect("the fit itself puts too much there")
        .message;
    assert!(said.contains(" on gpu7 "), "{said}");
    assert!(!told.contains("dry run"), "{told}");
    let mib = told.split("margin_mib = ").nth(1).unwrap();
    let mib = mib.split(' ').next().unwrap().parse().unwrap();
    let after = check("DeepSeek-R1", &machine(UNEVEN), &[], mib);
    assert_ne!(after.verdict, Verdict::Exceeds, "{}", after.sentence());
    // And by the first of the others.
    let set = &fixes[0].fix.as_ref().unwrap().set;
    let set: Vec<(&str, Value)> = set
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let after = check("DeepSeek-R1", &machine(UNEVEN), &set, 1024);
    assert_ne!(after.verdict, Verdict::Exceeds, "{}", after.sentence());
}

#[test]
fn of_one_memory_everything_says_the_same() {
    let mac = "preset = \"macbook-pro-m4-pro-48gb\"";
    let settings = [("weights", text("IQ4_NL")), ("parallel", Value::Integer(1))];
    let (before, fixes) = over("Qwen3.5-397B-A17B", mac, &settings);
    let lacks = Bytes::new(before.devices[0].free().unsigned_abs()).to_string();
    assert!(before.sentence().contains(&lacks), "{}", before.sentence());
    let warning = before
        .notes
        .iter()
        .find(|note| note.code.ends_with("beyond-memory"));
    let warning = &warning.expect("a warning").message;
    assert!(
        warning.contains(&format!("lacks {lacks}")),
        "{warning} {lacks}"
    );
    assert!(!warning.contains("so the server starts"), "{warning}");
    assert!(!fixes.is_empty());
    for note in fixes {
        let fix = note.fix.expect("a change");
        let mut changed = settings.to_vec();
        changed.retain(|(name, _)| !fix.set.contains_key(*name));
        changed.extend(
            fix.set
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        );
        let after = check("Qwen3.5-397B-A17B", &machine(mac), &changed, 1024);
        let saved = after.devices[0].free() - before.devices[0].free();
        assert_eq!(fix.gain, Some(Gain::Bytes(saved)), "{}", note.message);
        assert!(note.message.contains(" on unified"), "{}", note.message);
    }
}

#[test]
fn a_context_that_the_engine_cuts_is_no_limit_of_the_plan() {
    let cards = "ram_mib = 65536\ngpus = [{ name = \"RTX 4090\", in_use_mib = 600 }, { name = \"RTX 3060\" }]";
    let report = check("Llama-3.3-70B-Instruct", &machine(cards), &[], 1024);
    assert_eq!(report.settings["ctx_size"], Value::Integer(4096));
    let written = report.context_limit();
    assert!(
        matches!(written, Some(ContextLimit::Written(131_072))),
        "{written:?}"
    );
    let roomy = check(
        "Qwen3-8B",
        &machine(CARD),
        &[("ctx_size", Value::Integer(4096))],
        1024,
    );
    let fits = roomy.context_limit();
    assert!(matches!(fits, Some(ContextLimit::Fits(_))), "{fits:?}");
}

#[test]
fn a_fix_says_where_it_changes_what_is_pinned() {
    let model = ModelCatalog::embedded().find("Qwen3-8B").expect("a preset");
    let model = model.model(&serde_json::Map::default()).expect("a model");
    let settings = Settings::from([
        ("flash_attn".to_owned(), text("off")),
        ("cache_type_v".to_owned(), text("q8_0")),
    ]);
    let notes = |pinned: &[&str]| {
        let fit = FitOptions {
            pinned: pinned.iter().map(|name| (*name).to_owned()).collect(),
            ..FitOptions::default()
        };
        let request = Request {
            engine: engine::find("llama.cpp").expect("an engine"),
            model: &model,
            draft: None,
            beside: &[],
            machine: &machine(CARD),
            settings: &settings,
            fit: &fit,
            launch: &LaunchOptions::default(),
        };
        let report = plimsoll::report::report(&request, &Memo::default());
        report.expect("a report").notes
    };
    let says = |notes: &[Note]| {
        let mut fixes = notes.iter().filter(|note| {
            let fix = note.fix.as_ref();
            fix.is_some_and(|fix| fix.set.contains_key("flash_attn"))
        });
        let first = fixes.next().expect("a fix");
        first
            .message
            .ends_with("changes flash_attn, which is pinned.")
    };
    assert!(!says(&notes(&[])));
    assert!(says(&notes(&["fa"])));
}

#[test]
fn a_plan_that_fits_is_left_alone() {
    let settings = [
        ("n_gpu_layers", text("all")),
        ("ctx_size", Value::Integer(4096)),
    ];
    let report = check("Qwen3-8B", &machine(CARD), &settings, 1024);
    assert!(report.notes.iter().all(|note| note.code != "would-help"));
}

#[test]
fn what_would_fit_does() {
    let settings = [
        ("weights", text("Q4_K_M")),
        ("n_gpu_layers", text("all")),
        ("ctx_size", Value::Integer(4096)),
        ("parallel", Value::Integer(1)),
    ];
    let report = check("Qwen3-8B", &machine(CARD), &settings, 1024);
    let ideas: Vec<&Note> = report
        .notes
        .iter()
        .filter(|note| note.code == "would-fit")
        .collect();
    let about: Vec<_> = ideas.iter().map(|note| note.setting).collect();
    assert_eq!(about, [Some("weights"), Some("ctx_size")], "{ideas:?}");
    for note in ideas {
        let fix = note.fix.as_ref().expect("a change");
        let mut changed = settings.to_vec();
        changed.retain(|(name, _)| !fix.set.contains_key(*name));
        let set = fix.set.iter();
        changed.extend(set.map(|(name, value)| (name.as_str(), value.clone())));
        let after = check("Qwen3-8B", &machine(CARD), &changed, 1024);
        assert_eq!(after.verdict, Verdict::Fits, "{}", note.message);
        assert!(note.message.contains(", enough for "), "{}", note.message);
    }
}

//! Fixes of plans that do not fit: each does what it says.

use plimsoll::plan::Value;
use plimsoll::projection::{Gain, Note};
use plimsoll::report::{Report, Verdict};

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
            let fits = after.verdict != Verdict::Exceeds;
            assert_eq!(
                fits,
                note.message.contains("fits"),
                "{model}: {} ({})",
                note.message,
                after.sentence()
            );
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
    }
}

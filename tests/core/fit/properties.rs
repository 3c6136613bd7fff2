//! What holds of every fit, on plans drawn by chance.

use plimsoll::advisor::{Choice, Objective};
use plimsoll::engine::Memo;
use plimsoll::hardware::Machine;
use plimsoll::plan::{Settings, Value};
use plimsoll::report::{Report, Verdict};
use plimsoll::units::Bytes;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq};
use proptest::{collection, proptest, sample};

use super::{Case, cases, integer, preset, report_of, with};
use crate::modelled;

/// Dense, windows, latent with experts, experts with windows, recurrent.
const MODELS: [&str; 7] = [
    "Qwen2.5-0.5B-Instruct",
    "gemma-3-12b-it",
    "DeepSeek-V2-Lite",
    "gpt-oss-20b",
    "Qwen3-30B-A3B",
    "Qwen3.5-27B",
    "DeepSeek-R1-Distill-Qwen-32B",
];

fn cards(gib: &[u64], ram: u64) -> Machine {
    let sizes: Vec<Bytes> = gib.iter().map(|gib| Bytes::from_gib(*gib)).collect();
    let mut machine = modelled::machine(&sizes, (8, 9));
    machine.host.ram = Bytes::from_gib(ram);
    machine.host.bandwidth_gb_s = Some(80.0);
    for (gpu, gib) in machine.gpus.iter_mut().zip(gib) {
        gpu.bandwidth_gb_s = Some(if *gib >= 24 { 1008.0 } else { 360.0 });
    }
    machine
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

/// Settings with those of them that are pinned.
fn any_plan() -> impl Strategy<Value = (Settings, Vec<String>)> {
    let entries = vec![
        ("ctx_size", Value::Integer(8192)),
        ("ctx_size", Value::Integer(40_960)),
        ("weights", text("Q5_K_M")),
        ("weights", text("Q8_0")),
        ("cache_type_k", text("q8_0")),
        ("parallel", Value::Integer(1)),
        ("parallel", Value::Integer(3)),
        ("n_gpu_layers", text("all")),
        ("n_gpu_layers", Value::Integer(20)),
        ("n_cpu_moe", Value::Integer(6)),
        ("ubatch_size", Value::Integer(2048)),
        ("kv_offload", Value::Bool(false)),
    ];
    let chosen = collection::vec(
        (sample::select(entries), sample::select(vec![true, false])),
        0..4,
    );
    chosen.prop_map(|chosen| {
        let mut settings = Settings::new();
        let mut pinned = Vec::new();
        for ((name, value), pin) in chosen {
            if settings.insert(name.to_owned(), value).is_none() && pin {
                pinned.push(name.to_owned());
            }
        }
        (settings, pinned)
    })
}

fn any_cards() -> impl Strategy<Value = (Vec<u64>, u64)> {
    let cards = collection::vec(sample::select(vec![6, 8, 12, 24]), 0..4);
    (cards, sample::select(vec![16, 32, 64, 256]))
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn what_is_fitted_fits_and_no_pin_moves(
        id in sample::select(MODELS.to_vec()),
        (gib, ram) in any_cards(),
        (settings, pinned) in any_plan(),
        objective in sample::select(Objective::ALL.to_vec()),
    ) {
        let (model, machine) = (preset(id), cards(&gib, ram));
        let case = Case { model: &model, machine: &machine, settings: &settings, pinned: &pinned };
        let told = format!("{id} on {gib:?} with {ram} GiB, {settings:?}, pinned {pinned:?}, {objective}");
        match case.fit(objective, &Memo::default()) {
            Ok(fitted) => {
                for choice in std::iter::once(&fitted.best).chain(&fitted.others) {
                    let moved = pinned.iter().any(|pin| choice.set.contains_key(pin) || choice.unset.contains(pin));
                    prop_assert!(!moved, "{}: {:?}", told, choice);
                    let report = report_of(&case, &with(&settings, choice));
                    prop_assert_eq!(report.verdict, Verdict::Fits, "{}: {} {:?}", told, report.sentence(), choice);
                    prop_assert_eq!(figures(&report), figures_of(choice), "{}", told);
                }
            }
            Err(impossible) => {
                let report = report_of(&case, &settings);
                prop_assert!(!fits_well(&report), "{}: {}", told, impossible);
                if !impossible.set.is_empty() {
                    let mut relaxed = settings.clone();
                    relaxed.retain(|name, _| pinned.contains(name));
                    relaxed.extend(impossible.set.clone());
                    let report = report_of(&case, &relaxed);
                    prop_assert_eq!(report.verdict, Verdict::Fits, "{}: {} {}", told, impossible, report.sentence());
                }
            }
        }
    }

    #[test]
    fn the_best_is_not_beaten_by_a_step(
        id in sample::select(MODELS.to_vec()),
        (gib, ram) in any_cards(),
        objective in sample::select(Objective::ALL.to_vec()),
    ) {
        let (model, machine) = (preset(id), cards(&gib, ram));
        let case = Case { model: &model, machine: &machine, settings: &Settings::new(), pinned: &[] };
        if let Ok(fitted) = case.fit(objective, &Memo::default()) {
            let trained = i64::try_from(model.max_position_embeddings).unwrap();
            let best = with(&Settings::new(), &fitted.best);
            let score = score(objective, &report_of(&case, &best));
            for (what, neighbour) in neighbours(&best, trained) {
                let report = report_of(&case, &neighbour);
                let better = fits_well(&report) && self::score(objective, &report) > score;
                prop_assert!(!better, "{} on {:?} with {} GiB, {}: {} is better than {:?}", id, gib, ram, objective, what, best);
            }
        }
    }
}

/// Fits, with the margin kept and main memory left to the system.
fn fits_well(report: &Report) -> bool {
    report.verdict == Verdict::Fits
}

/// Context, slots and layers as a report has them.
fn figures(report: &Report) -> (u64, String) {
    let unsigned = |name: &str| integer(&report.settings, name).unwrap_or(0).unsigned_abs();
    let weights = match report.settings.get("weights") {
        Some(Value::Text(word)) => word.clone(),
        _ => String::new(),
    };
    (unsigned("parallel"), weights)
}

fn figures_of(choice: &Choice) -> (u64, String) {
    (choice.figures.slots, choice.figures.weights.clone())
}

/// Each dimension one step up and down.
fn neighbours(best: &Settings, trained: i64) -> Vec<(String, Settings)> {
    const WEIGHTS: [&str; 9] = [
        "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS", "Q3_K_M", "IQ3_M", "Q2_K",
    ];
    const CACHES: [&str; 3] = ["f16", "q8_0", "q4_0"];
    let mut all: Vec<(String, Settings)> = Vec::new();
    let mut add = |changes: &[(&str, Value)]| {
        let mut settings = best.clone();
        for (name, value) in changes {
            settings.insert((*name).to_owned(), value.clone());
        }
        all.push((format!("{changes:?}"), settings));
    };
    let slots = integer(best, "parallel").unwrap_or(1);
    let context = integer(best, "ctx_size").unwrap_or(0);
    if context / slots < trained {
        add(&[("ctx_size", Value::Integer(context + 256 * slots))]);
    }
    // Beyond 32 users they are counted by the sixteen.
    let more = if slots < 32 { slots + 1 } else { slots + 16 };
    let each = context / slots;
    add(&[
        ("parallel", Value::Integer(more)),
        ("ctx_size", Value::Integer(each * more)),
    ]);
    let word = |name: &str| match best.get(name) {
        Some(Value::Text(word)) => word.clone(),
        _ => String::new(),
    };
    let around = |words: &'static [&'static str], word: &str| -> Vec<&'static str> {
        let at = words.iter().position(|known| *known == word);
        let at = at.map_or(usize::MAX - 1, |at| at);
        [at.wrapping_sub(1), at + 1]
            .iter()
            .filter_map(|at| words.get(*at).copied())
            .collect()
    };
    for weights in around(&WEIGHTS, &word("weights")) {
        add(&[("weights", text(weights))]);
    }
    for cache in around(&CACHES, &word("cache_type_k")) {
        add(&[("cache_type_k", text(cache)), ("cache_type_v", text(cache))]);
    }
    for name in ["n_gpu_layers", "n_cpu_moe"] {
        for step in [-1, 1] {
            if let Some(number) = integer(best, name) {
                add(&[(name, Value::Integer((number + step).max(0)))]);
            }
        }
    }
    all
}

/// What an objective is about, larger is better. Formats below four bits and visibly lossy caches are no improvement of
/// anything, nor is quality that is slower than reading.
fn score(objective: Objective, report: &Report) -> f64 {
    let number = |name: &str| integer(&report.settings, name).unwrap_or(0) as f64;
    let word = |name: &str| match report.settings.get(name) {
        Some(Value::Text(word)) => word.as_str(),
        _ => "",
    };
    let bits = report.derived.bits_per_weight;
    let speed = report
        .speed
        .as_ref()
        .map_or(0.0, |speed| speed.decode.likely);
    let poor =
        ["Q3_K_M", "IQ3_M", "Q2_K"].contains(&word("weights")) || word("cache_type_k") == "q4_0";
    match objective {
        _ if poor => f64::MIN,
        Objective::Context => number("ctx_size") / number("parallel"),
        Objective::Quality if speed < 5.3 => f64::MIN,
        Objective::Quality => bits,
        // A cache in fewer bits is for room; tokens per second are compared with the same cache.
        Objective::Speed if word("cache_type_k") != "f16" => f64::MIN,
        Objective::Speed => speed,
        Objective::Batch => number("parallel"),
        // More bits than Q6_K has tell nothing (`presets/quality.toml`).
        Objective::Balanced => bits.min(6.5),
    }
}

//! How long a fit takes, other choices included, from an empty memo. Run: `cargo bench --bench fit [-- WORDS]`; with words
//! only the cases whose names have one of them. With `--all` every preset that takes longer than it should is named.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "what cannot go on should say where; figures are of a machine"
)]

use std::time::{Duration, Instant};

use plimsoll::advisor::{FitRequest, Objective, fit};
use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::{self, MachineCatalog};
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Inputs, Margin, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{MachineRef, Settings};

/// One card, with main memory for any model.
const CARD: &str = "ram_mib = 1048576\ngpus = [{ name = \"RTX 4090\", in_use_mib = 600 }]";

/// One card in a usual computer: the largest models do not fit at all.
const DESK: &str = "ram_mib = 65536\ngpus = [{ name = \"RTX 4090\", in_use_mib = 600 }]";

/// Two cards of different size and speed.
const TWO: &str = "ram_mib = 65536\ngpus = [{ name = \"RTX 4090\" }, { name = \"RTX 3060 12GB\" }]";

/// 192 GB on eight cards of two kinds: most experts of 671 B parameters are in main memory.
const EIGHT: &str = "ram_mib = 1048576\n\
    gpus = [{ name = \"RTX 4090\", count = 4 }, { name = \"RTX 3090\", count = 4 }]";

/// What is called what, on which machine, within how many milliseconds.
const CASES: [(&str, &str, u128, &[&str]); 3] = [
    (
        "1 card",
        CARD,
        20,
        &[
            "Llama-3.1-8B-Instruct",
            "DeepSeek-R1-Distill-Qwen-32B",
            "Qwen3-30B-A3B",
            "gpt-oss-120b",
            "DeepSeek-R1",
            "DeepSeek-V4-Flash",
            "MiniMax-M3",
            "Nemotron-H-56B-Base-8K",
        ],
    ),
    ("2 cards", TWO, 200, &["Llama-3.3-70B-Instruct"]),
    (
        "8 cards",
        EIGHT,
        200,
        &["DeepSeek-R1", "DeepSeek-V4-Flash", "Qwen3-235B-A22B"],
    ),
];

/// Runs of each; the quickest is told, since a machine that does other things only adds.
const RUNS: usize = 5;

fn main() {
    if let Ok(mut system) = sysinfo::System::new() {
        system.refresh_cpu_all();
        let brand = system.cpus().first().map_or("", |cpu| cpu.brand());
        println!("{brand}, {} threads", system.cpus().len());
    }
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    for (place, text, limit, models) in CASES {
        let machine = machine(text);
        for id in models {
            let name = format!("{place}, {id}");
            if !wanted(&name) {
                continue;
            }
            let model = model(id);
            let times = Objective::ALL.map(|objective| {
                let runs = (0..RUNS).map(|_| once(&model, &machine, objective));
                let quickest = runs.min().unwrap_or_default();
                format!("{objective} {:.1}", quickest.as_secs_f64() * 1e3)
            });
            println!("{name}: {} ms (at most {limit})", times.join(", "));
        }
    }
    let all = std::env::args().any(|word| word == "--all");
    for (name, text) in [
        ("every preset, 1 card and 64 GiB", DESK),
        ("every preset, 1 card and 1 TiB", CARD),
    ] {
        if wanted(name) {
            every_preset(name, text, all);
        }
    }
}

/// What a fit for one card takes at most.
const LIMIT: Duration = Duration::from_millis(20);

/// Every model on one machine; the slowest are named, or all that take too long.
fn every_preset(name: &str, text: &str, all: bool) {
    let machine = machine(text);
    let catalog = ModelCatalog::embedded();
    let mut times: Vec<(Duration, &str)> = catalog
        .ids()
        .map(|id| {
            let model = model(id);
            let runs = (0..3).map(|_| once(&model, &machine, Objective::default()));
            (runs.min().unwrap_or_default(), id)
        })
        .collect();
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let middle = times
        .get(times.len() / 2)
        .map_or(0.0, |(time, _)| ms(*time));
    let over = times.iter().filter(|(time, _)| *time >= LIMIT).count();
    println!(
        "{name}: median {middle:.1} ms, {} of {} within {} ms",
        times.len() - over,
        times.len(),
        ms(LIMIT)
    );
    let named = if all { over } else { over.min(5) };
    for (time, id) in times.iter().rev().take(named) {
        println!("  {id}: {:.1} ms", ms(*time));
    }
}

fn once(model: &Model, machine: &Machine, objective: Objective) -> Duration {
    let (settings, memo) = (Settings::new(), Memo::default());
    let start = Instant::now();
    // Of the largest models none fits on a desk; that takes time, too.
    let _found = fit(&FitRequest {
        engine: engine::find("llama.cpp").expect("an engine"),
        inputs: Inputs {
            model,
            draft: None,
            machine,
            settings: &settings,
            margin: Margin::DEFAULT,
            memo: &memo,
        },
        pinned: &[],
        objective,
    });
    start.elapsed()
}

fn machine(text: &str) -> Machine {
    let reference: MachineRef = toml::from_str(text).expect("a machine");
    let gpus = GpuCatalog::embedded().expect("GPUs");
    let presets = MachineCatalog::embedded().expect("machines");
    machines::resolve(Some(&reference), None, &gpus, &presets).expect("a machine")
}

fn model(id: &str) -> Model {
    let preset = ModelCatalog::embedded().find(id).expect("a preset");
    preset.model(&serde_json::Map::default()).expect("a model")
}

//! Compute buffers of llama.cpp: one placed graph serves a range of contexts, and must serve it exactly.

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::MachineCatalog;
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::Margin;
use plimsoll::engine::{self, Inputs, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{Settings, Value};
use plimsoll::projection::{Category, Input, Term};
use plimsoll::units::Bytes;

/// What differs from case to case: model, machine, settings.
type Case = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const CASES: &[Case] = &[
    ("DeepSeek-R1", "8x-h200", &[]),
    (
        "DeepSeek-R1-Distill-Qwen-32B",
        "1x-rtx-4090",
        &[("flash_attn", "off")],
    ),
    ("Qwen3-30B-A3B", "2x-rtx-4090", &[("n_gpu_layers", "30")]),
    (
        "Qwen3-30B-A3B",
        "1x-rtx-4090",
        &[("cache_type_k", "q8_0"), ("cache_type_v", "q8_0")],
    ),
    ("gemma-3-27b-it", "2x-rtx-3090", &[("parallel", "4")]),
    ("DeepSeek-V4-Flash", "8x-h200", &[("n_rs_seq", "2")]),
    // Too many slots for the mixing of residual streams to stay one node on the CPU.
    (
        "DeepSeek-V4-Flash",
        "1x-rtx-4090",
        &[("n_gpu_layers", "20"), ("parallel", "8")],
    ),
    (
        "gpt-oss-20b",
        "1x-rtx-4090",
        &[("ubatch_size", "2048"), ("batch_size", "2048")],
    ),
];

/// Contexts, those first around which the others are read off.
const CONTEXTS: &[i64] = &[
    131_072, 4_096, 16_384, 512, 1_024, 2_048, 3_328, 7_936, 8_192, 8_448, 10_240, 20_480, 32_768,
    50_176, 65_536, 90_112, 102_400, 131_072,
];

fn compute_terms(
    model: &Model,
    machine: &Machine,
    settings: &[(&str, &str)],
    context: i64,
    memo: &Memo,
) -> Vec<Term> {
    let value = |text: &str| {
        text.parse()
            .map_or_else(|_| Value::Text(text.to_owned()), Value::Integer)
    };
    let fixed = [
        ("weights", "Q4_K_M"),
        ("n_gpu_layers", "all"),
        ("parallel", "1"),
    ];
    let mut all: Settings = fixed
        .iter()
        .chain(settings)
        .map(|(key, text)| ((*key).to_owned(), value(text)))
        .collect();
    all.insert("ctx_size".to_owned(), Value::Integer(context));
    let outcome = engine::find("llama.cpp").expect("known").project(&Inputs {
        model,
        draft: None,
        machine,
        settings: &all,
        margin: Margin::DEFAULT,
        memo,
    });
    let moment = outcome.projection.peak_moment().expect("a moment");
    let devices = moment.devices.iter();
    devices
        .flat_map(|device| device.terms.iter())
        .filter(|term| term.category == Category::Compute)
        .cloned()
        .collect()
}

#[test]
fn ranges_of_contexts_are_exact() {
    let gpus = GpuCatalog::embedded().expect("a catalogue");
    let machines = MachineCatalog::embedded().expect("a catalogue");
    for (name, machine, settings) in CASES {
        let machine = machines
            .find(machine)
            .expect("known")
            .machine(&gpus)
            .expect("complete");
        let preset = ModelCatalog::embedded().find(name).expect(name);
        let model = preset.model(&serde_json::Map::default()).expect("a model");
        let shared = Memo::default();
        for &context in CONTEXTS {
            let terms = compute_terms(&model, &machine, settings, context, &shared);
            let read: Vec<Bytes> = terms.iter().map(|term| term.bytes).collect();
            let terms = compute_terms(&model, &machine, settings, context, &Memo::default());
            let alone: Vec<Bytes> = terms.iter().map(|term| term.bytes).collect();
            assert!(
                alone.iter().any(|bytes| *bytes > Bytes::ZERO),
                "{name} {context}"
            );
            assert_eq!(read, alone, "{name} {settings:?} {context}");
        }
    }
}

/// What fills a buffer is named with its size, largest first, and is never more than the buffer.
#[test]
fn a_compute_buffer_says_what_fills_it() {
    let gpus = GpuCatalog::embedded().expect("a catalogue");
    let machines = MachineCatalog::embedded().expect("a catalogue");
    for (name, machine, settings) in CASES {
        let machine = machines.find(machine).expect("known");
        let machine = machine.machine(&gpus).expect("complete");
        let preset = ModelCatalog::embedded().find(name).expect(name);
        let model = preset.model(&serde_json::Map::default()).expect("a model");
        for term in compute_terms(&model, &machine, settings, 16_384, &Memo::default()) {
            let named: Vec<Bytes> = ["first", "second", "third"]
                .iter()
                .filter_map(|wanted| {
                    let mut inputs = term.why.inputs.iter();
                    let (_, input) = inputs.find(|(name, _)| name == wanted)?;
                    match input {
                        Input::Bytes(bytes) => Some(*bytes),
                        _ => None,
                    }
                })
                .collect();
            let text = term.why.text();
            assert!(!named.is_empty() && !text.contains('{'), "{name}: {text}");
            assert!(
                named.is_sorted_by(|one, next| one >= next),
                "{name}: {text}"
            );
            let sum: Bytes = named.iter().copied().sum();
            assert!(sum <= term.bytes, "{name}: {text} of {}", term.bytes);
            assert!(
                sum.get() * 2 >= term.bytes.get(),
                "{name}: {text} of {}",
                term.bytes
            );
        }
    }
}

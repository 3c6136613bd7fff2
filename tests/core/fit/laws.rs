//! What more of something costs: laws of the engine that searches rely on.

use plimsoll::hardware::Machine;
use plimsoll::plan::{Settings, Value};
use plimsoll::projection::Category;
use plimsoll::report::{DeviceKind, Report, Verdict};
use plimsoll::units::Bytes;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq};
use proptest::{proptest, sample};

use super::{Case, cases, preset, report_of};
use crate::modelled;

const MODELS: [&str; 8] = [
    "Qwen2.5-0.5B-Instruct",
    "gemma-3-12b-it",
    "gemma-2-9b-it",
    "DeepSeek-V2-Lite",
    "gpt-oss-20b",
    "Qwen3-30B-A3B",
    "Qwen3.5-27B",
    "Llama-3.1-8B-Instruct",
];

fn machine(gpus: usize) -> Machine {
    let mut machine = modelled::machine(&vec![Bytes::from_gib(640); gpus], (8, 9));
    machine.host.ram = Bytes::from_gib(4096);
    machine
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let layers = sample::select(vec![
        Value::Text("all".to_owned()),
        Value::Integer(0),
        Value::Integer(9),
    ]);
    let cache = sample::select(vec!["f16", "q8_0"]);
    let flash = sample::select(vec!["auto", "on"]);
    let slots = sample::select(vec![1_i64, 4]);
    (layers, cache, flash, slots).prop_map(|(layers, cache, flash, slots)| {
        let text = |word: &str| Value::Text(word.to_owned());
        Settings::from([
            ("n_gpu_layers".to_owned(), layers),
            ("cache_type_k".to_owned(), text(cache)),
            ("cache_type_v".to_owned(), text(cache)),
            ("flash_attn".to_owned(), text(flash)),
            ("parallel".to_owned(), Value::Integer(slots)),
            ("ctx_size".to_owned(), Value::Integer(16_384)),
        ])
    })
}

fn project(id: &str, gpus: usize, settings: &Settings, changes: &[(&str, i64)]) -> Report {
    let (model, machine) = (preset(id), machine(gpus));
    let mut settings = settings.clone();
    for (name, number) in changes {
        settings.insert((*name).to_owned(), Value::Integer(*number));
    }
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &settings,
        pinned: &[],
    };
    let report = report_of(&case, &settings);
    assert_ne!(report.verdict, Verdict::Refused, "{}", report.sentence());
    report
}

/// Bytes of these categories on devices of this kind, or on all.
fn bytes(report: &Report, kind: Option<DeviceKind>, categories: &[Category]) -> u64 {
    let devices = report.devices.iter();
    let devices = devices.filter(|device| kind.is_none_or(|kind| device.kind == kind));
    let terms = devices.flat_map(|device| &device.terms.terms);
    let terms = terms.filter(|term| categories.contains(&term.category));
    terms.map(|term| term.bytes.get()).sum()
}

/// At least as much, up to a thousandth. The graph allocator puts tensors into the holes that others leave, as the
/// engine's does, and at another size they may fall into place better.
fn reaches(more: u64, less: u64) -> bool {
    more >= less - less / 1000
}

const CACHES: [Category; 2] = [Category::KvCache, Category::RecurrentState];
const BUFFERS: [Category; 5] = [
    Category::Weights,
    Category::KvCache,
    Category::RecurrentState,
    Category::Compute,
    Category::Output,
];

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn parts_sum_to_the_total(id in sample::select(MODELS.to_vec()), gpus in 0_usize..4, settings in any_settings()) {
        let report = project(id, gpus, &settings, &[]);
        let json = serde_json::to_value(&report).unwrap();
        for device in json["devices"].as_array().unwrap() {
            let terms = device["terms"].as_array().unwrap();
            let sum: u64 = terms.iter().map(|term| term["bytes"].as_u64().unwrap()).sum();
            prop_assert_eq!(device["total_bytes"].as_u64(), Some(sum));
            let of = |name: &str| device[name].as_i64().unwrap();
            prop_assert_eq!(of("capacity_bytes") - of("in_use_bytes") - of("total_bytes"), of("free_bytes"));
        }
    }

    #[test]
    fn a_longer_context_never_needs_less(
        id in sample::select(MODELS.to_vec()), gpus in 0_usize..3, settings in any_settings(),
        context in 1_i64..100, more in 1_i64..100,
    ) {
        // From the micro-batch on: below it the context limits the batch.
        let (context, longer) = (1024 * context, 1024 * (context + more));
        let short = project(id, gpus, &settings, &[("ctx_size", context)]);
        let long = project(id, gpus, &settings, &[("ctx_size", longer)]);
        for kind in [DeviceKind::Gpu, DeviceKind::Host] {
            let of = |report| bytes(report, Some(kind), &CACHES);
            prop_assert!(of(&long) >= of(&short), "{id} {settings:?}: {kind:?}");
        }
        let of = |report| bytes(report, None, &BUFFERS);
        prop_assert!(reaches(of(&long), of(&short)), "{id} {settings:?}: {context} {} -> {longer} {}", of(&short), of(&long));
    }

    #[test]
    fn a_larger_micro_batch_never_needs_less(
        id in sample::select(MODELS.to_vec()), gpus in 0_usize..3, settings in any_settings(),
        small in sample::select(vec![32_i64, 64, 128, 256, 512]), times in sample::select(vec![2_i64, 4]),
    ) {
        let of = |tokens: i64| {
            let report = project(id, gpus, &settings, &[("ubatch_size", tokens)]);
            bytes(&report, None, &BUFFERS)
        };
        let (less, more) = (of(small), of(small * times));
        prop_assert!(reaches(more, less), "{id} {settings:?}: {small} {less} -> {} {more}", small * times);
    }

    #[test]
    fn more_slots_never_shrink_the_caches(
        id in sample::select(MODELS.to_vec()), settings in any_settings(), slots in 1_i64..24, more in 1_i64..8,
    ) {
        let of = |slots: i64| {
            let report = project(id, 1, &settings, &[("parallel", slots), ("ctx_size", 2048 * slots)]);
            bytes(&report, None, &CACHES)
        };
        prop_assert!(of(slots + more) >= of(slots));
    }

    #[test]
    fn a_layer_moved_to_the_processor_never_raises_weights_on_gpus(
        id in sample::select(MODELS.to_vec()), gpus in 1_usize..4, settings in any_settings(), layers in 1_i64..50,
    ) {
        let of = |layers: i64| {
            let report = project(id, gpus, &settings, &[("n_gpu_layers", layers)]);
            bytes(&report, Some(DeviceKind::Gpu), &[Category::Weights])
        };
        prop_assert!(of(layers - 1) <= of(layers));
    }

    #[test]
    fn splitting_conserves_weights_and_caches(
        id in sample::select(MODELS.to_vec()), gpus in 2_usize..5, settings in any_settings(),
    ) {
        let one = project(id, 1, &settings, &[]);
        let split = project(id, gpus, &settings, &[]);
        let caches = |report| bytes(report, None, &CACHES);
        prop_assert_eq!(caches(&one), caches(&split));
        let weights = |report| bytes(report, None, &[Category::Weights]);
        // Every further card has a copy of what all layers share: rotary tables, well below a MiB.
        let copies = weights(&split) - weights(&one);
        prop_assert!(copies < 1 << 20, "{id}: {copies}");
    }
}

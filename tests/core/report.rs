//! Verdicts and devices of a report.

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::{self, MachineCatalog};
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Memo, Overhead};
use plimsoll::hardware::Machine;
use plimsoll::plan::{FitOptions, LaunchOptions, MachineRef, Settings, Value};
use plimsoll::report::{DeviceKind, Report, Request, Verdict, report};
use plimsoll::units::Bytes;

pub(super) fn machine(toml: &str) -> Machine {
    let reference: MachineRef = toml::from_str(toml).expect("a machine");
    let gpus = GpuCatalog::embedded().expect("GPUs");
    let presets = MachineCatalog::embedded().expect("presets");
    machines::resolve(Some(&reference), None, &gpus, &presets).expect("a machine")
}

pub(super) fn check(
    model: &str,
    machine: &Machine,
    settings: &[(&str, Value)],
    margin_mib: u64,
) -> Report {
    let model = ModelCatalog::embedded().find(model).expect("a preset");
    let model = model.model(&serde_json::Map::default()).expect("a model");
    let settings: Settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let fit = FitOptions {
        margin_mib: Some(margin_mib),
        ..FitOptions::default()
    };
    let request = Request {
        engine: engine::find("llama.cpp").expect("an engine"),
        model: &model,
        draft: None,
        beside: &[],
        machine,
        settings: &settings,
        fit: &fit,
        launch: &LaunchOptions::default(),
    };
    report(&request, &Memo::default()).expect("a report")
}

fn all_layers(context: i64) -> Vec<(&'static str, Value)> {
    vec![
        ("n_gpu_layers", Value::Text("all".to_owned())),
        ("parallel", Value::Integer(1)),
        ("ctx_size", Value::Integer(context)),
    ]
}

#[test]
fn the_margin_tells_fits_from_tight() {
    let card = machine("ram_mib = 65536\ngpus = [{ name = \"RTX 4090\" }]");
    let roomy = check("Qwen3-8B", &card, &all_layers(8192), 1024);
    assert_eq!(roomy.verdict, Verdict::Fits);
    // The engine's own fit leaves the margin beside its buffers (`common/fit.cpp`): what the driver takes comes out of it.
    let [card_used, _] = roomy.devices.as_slice() else {
        panic!("{:?}", roomy.devices);
    };
    let overhead = Overhead::of(&card_used.terms).usual;
    assert!(overhead > Bytes::from_mib(100), "{overhead}");
    let free = Bytes::new(card_used.free().unsigned_abs());
    let with_margin = |mib: u64| check("Qwen3-8B", &card, &all_layers(8192), mib);
    let mib = |bytes: Bytes| bytes.get() / (1 << 20);
    let kept = with_margin(mib(free + overhead));
    assert_eq!(kept.verdict, Verdict::Fits);
    assert!(kept.devices[0].margin <= free);
    let tight = with_margin(mib(free + overhead) + 1);
    assert_eq!(tight.verdict, Verdict::Tight);
    assert!(tight.devices[0].margin > free);
    let full = check("Qwen3-32B", &card, &all_layers(131_072), 0);
    assert_eq!(full.verdict, Verdict::Exceeds);
    assert!(full.devices[0].free() < 0);
    assert!(
        full.sentence().starts_with("Does not fit: "),
        "{}",
        full.sentence()
    );
}

#[test]
fn shared_memory_is_one_device_with_the_gpus_share_as_its_ceiling() {
    let mac = machine(
        "os = \"macos\"\nram_mib = 65536\ngpus = [{ name = \"Apple M4 Max (40-core GPU)\" }]",
    );
    let report = check("Qwen3-32B", &mac, &all_layers(8192), 1024);
    let [pool, host] = report.devices.as_slice() else {
        panic!("{:?}", report.devices);
    };
    assert_eq!(
        (pool.id.as_str(), pool.kind),
        ("unified", DeviceKind::Unified)
    );
    assert_eq!((host.id.as_str(), host.total()), ("host", Bytes::ZERO));
    assert_eq!(report.verdict, Verdict::Fits);
    assert!(
        pool.capacity < mac.host.ram,
        "the GPU may not take all of it"
    );
    assert_eq!(host.in_use, pool.in_use + pool.total());
    // 70 B at Q6_K is below 64 GiB and above the GPU's share of it.
    let mut settings = all_layers(8192);
    settings.push(("weights", Value::Text("Q6_K".to_owned())));
    let report = check("Llama-3.1-70B-Instruct", &mac, &settings, 0);
    assert_eq!(report.verdict, Verdict::Exceeds);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.code == "over-gpu-share"),
        "{:?}",
        report.notes
    );
}

#[test]
fn a_file_larger_than_the_disk_is_noticed() {
    let mut card = machine("ram_mib = 65536\ngpus = [{ name = \"RTX 4090\" }]");
    card.host.disk_free = Some(Bytes::from_gib(1));
    let report = check("Qwen3-8B", &card, &all_layers(8192), 1024);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.code == "file-larger-than-disk")
    );
}

/// A card that is too full by less than a MiB is too full.
#[test]
fn a_little_over_is_over() {
    let mut card = machine("ram_mib = 65536\ngpus = [{ name = \"RTX 4090\" }]");
    let roomy = check("Qwen3-8B", &card, &all_layers(8192), 0);
    let free = Bytes::new(roomy.devices[0].free().unsigned_abs());
    let memory = &mut card.gpus[0].memory;
    memory.in_use += free;
    assert_eq!(
        check("Qwen3-8B", &card, &all_layers(8192), 0).verdict,
        Verdict::Fits
    );
    card.gpus[0].memory.in_use += Bytes::new(1);
    assert_eq!(
        check("Qwen3-8B", &card, &all_layers(8192), 0).verdict,
        Verdict::Exceeds
    );
}

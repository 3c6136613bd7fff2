//! What loading and running ask of main memory, how it is held, and what a person is told before.

use plimsoll::plan::Value;
use plimsoll::projection::{Category, Note};
use plimsoll::report::{Report, Verdict};
use plimsoll::units::Bytes;

use crate::report::{check, machine};

const LARGE_RAM: &str = "ram_mib = 524288\ngpus = [{ name = \"RTX 4090\" }]";
const WITHOUT_GPU: &str = "ram_mib = 524288\ngpus = []";

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

/// One slot, 4096 tokens, experts in main memory.
fn experts(further: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut settings = vec![
        ("weights", text("Q4_K_M")),
        ("n_gpu_layers", text("all")),
        ("cpu_moe", Value::Bool(true)),
        ("parallel", Value::Integer(1)),
        ("ctx_size", Value::Integer(4096)),
    ];
    settings.extend_from_slice(further);
    settings
}

fn note<'a>(report: &'a Report, code: &str) -> Option<&'a Note> {
    report.notes.iter().find(|note| note.code == code)
}

/// Bytes of one category in main memory at a moment.
fn host(report: &Report, moment: &str, category: Category) -> Bytes {
    let moment = report.moments.iter().find(|found| found.name == moment);
    let host = moment.and_then(|moment| moment.devices.last());
    host.expect("a host")
        .terms
        .terms
        .iter()
        .filter(|term| term.category == category)
        .map(|term| term.bytes)
        .sum()
}

fn weights_words(report: &Report) -> String {
    let host = report.devices.last().expect("a host");
    let terms = host.terms.terms.iter();
    terms
        .filter(|term| term.category == Category::Weights)
        .map(|term| term.why.text())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn experts_are_mapped_or_pinned() {
    let machine = machine(LARGE_RAM);
    let mapped = check("DeepSeek-R1", &machine, &experts(&[]), 1024);
    let read = check(
        "DeepSeek-R1",
        &machine,
        &experts(&[("load_mode", text("none"))]),
        1024,
    );
    assert!(weights_words(&mapped).contains("pages of the file"));
    assert!(weights_words(&read).contains("pins"));
    // The bytes are the same; what is told differs.
    let weights = |report: &Report| host(report, "run", Category::Weights);
    assert_eq!(weights(&mapped), weights(&read));
    assert!(weights(&mapped) > Bytes::from_gib(350));
    let hint = note(&mapped, "weights-in-main-memory").expect("told before");
    assert_eq!(
        hint.fix.as_ref().expect("a fix").set["load_mode"],
        text("none")
    );
    assert!(note(&read, "pinned-memory").is_some());
    assert!(note(&mapped, "pinned-memory").is_none());
    // Four pinned buffers of 1 MiB while weights go to the GPU.
    let staged = host(&read, "load", Category::Overhead);
    let running = host(&read, "run", Category::Overhead);
    assert_eq!(staged, running + Bytes::from_mib(4));
    assert_eq!(host(&mapped, "load", Category::Overhead), running);
}

#[test]
fn checked_tensors_are_read_whole() {
    let machine = machine(LARGE_RAM);
    let settings = |check: bool| {
        vec![
            ("weights", text("F16")),
            ("n_gpu_layers", text("all")),
            ("load_mode", text("none")),
            ("check_tensors", Value::Bool(check)),
        ]
    };
    let staged = |wanted: bool| {
        let report = check("Llama-3.1-8B-Instruct", &machine, &settings(wanted), 1024);
        host(&report, "load", Category::Overhead)
    };
    // The head: 128,256 rows of 4096 values in 16 bits.
    let head = Bytes::new(128_256 * 4096 * 2);
    assert_eq!(staged(true) + Bytes::from_mib(4), staged(false) + head);
}

#[test]
fn too_little_main_memory_is_told_by_how_it_fails() {
    let small = machine("ram_mib = 262144\ngpus = [{ name = \"RTX 4090\" }]");
    let mapped = check("DeepSeek-R1", &small, &experts(&[]), 1024);
    assert_eq!(mapped.verdict, Verdict::Exceeds);
    assert!(note(&mapped, "mapped-beyond-memory").is_some());
    let read = check(
        "DeepSeek-R1",
        &small,
        &experts(&[("load_mode", text("none"))]),
        1024,
    );
    let note = note(&read, "read-beyond-memory").expect("told before");
    assert_eq!(
        note.fix.as_ref().expect("a fix").set["load_mode"],
        text("mmap")
    );
}

#[test]
fn windows_pins_half_of_main_memory() {
    let windows = machine(
        "os = \"windows\"\nram_mib = 524288\ngpus = [{ name = \"RTX 4090\", in_use_mib = 1000 }]",
    );
    let settings = experts(&[("load_mode", text("none"))]);
    let report = check("DeepSeek-R1", &windows, &settings, 1024);
    assert!(note(&report, "pinned-memory-limit").is_some());
    let linux = check("DeepSeek-R1", &machine(LARGE_RAM), &settings, 1024);
    assert!(note(&linux, "pinned-memory-limit").is_none());
}

#[test]
fn locking_a_mapping_locks_the_gpus_tensors_between() {
    let settings = |mode| experts(&[("load_mode", text(mode))]);
    let machine = machine(LARGE_RAM);
    let project = |mode| check("DeepSeek-R1", &machine, &settings(mode), 1024);
    let (mapped, locked) = (project("mmap"), project("mmap+mlock"));
    let more = host(&locked, "run", Category::Overhead).saturating_sub(host(
        &mapped,
        "run",
        Category::Overhead,
    ));
    // Attention and shared experts of 60 blocks: less than the weights of the GPU, more than half of them.
    let on_gpu: Bytes = locked.devices[0]
        .terms
        .terms
        .iter()
        .filter(|term| term.category == Category::Weights)
        .map(|term| term.bytes)
        .sum();
    assert!(
        more < on_gpu && more > on_gpu.mul_ratio(1, 2),
        "{more} of {on_gpu}"
    );
    let hint = note(&locked, "lock-limit").expect("told before");
    assert_eq!(
        hint.fix.as_ref().expect("a fix").set["load_mode"],
        text("mlock")
    );
    let read = project("mlock");
    assert_eq!(
        host(&read, "run", Category::Overhead),
        host(&mapped, "run", Category::Overhead)
    );
}

#[test]
fn loading_may_need_more_than_running() {
    // Without a GPU the experts are repacked, each matrix of 128 experts read whole before.
    let settings = [
        ("load_mode", text("none")),
        ("parallel", Value::Integer(1)),
        ("ctx_size", Value::Integer(256)),
        ("batch_size", Value::Integer(32)),
        ("ubatch_size", Value::Integer(32)),
        ("weights", text("MXFP4_MOE")),
    ];
    let roomy = check("gpt-oss-120b", &machine(WITHOUT_GPU), &settings, 0);
    let total = |name: &str| {
        let moment = roomy.moments.iter().find(|moment| moment.name == name);
        moment.expect("a moment").devices[0].total()
    };
    let (load, run) = (total("load"), total("run"));
    assert!(load > run, "{load} and {run}");
    // 128 experts of 2880 × 2880 in blocks of 17 bytes for 32 values.
    let matrix = Bytes::new(128 * 2880 * 2880 / 32 * 17);
    assert_eq!(roomy.peak, "load");
    // The system itself takes 1 GiB.
    let between = (run + matrix.mul_ratio(1, 8) + Bytes::from_gib(1)).get() >> 20;
    let tight = machine(&format!("ram_mib = {between}\ngpus = []"));
    let report = check("gpt-oss-120b", &tight, &settings, 0);
    assert_eq!(report.verdict, Verdict::Exceeds);
    assert_eq!(report.peak, "load");
    assert!(note(&report, "loading-needs-more").is_some());
    let mapped = [settings.as_slice(), &[("repack", Value::Bool(false))]].concat();
    let mapped: Vec<_> = mapped
        .into_iter()
        .filter(|(name, _)| *name != "load_mode")
        .collect();
    assert_eq!(
        check("gpt-oss-120b", &tight, &mapped, 0).verdict,
        Verdict::Fits
    );
}

#[test]
fn rows_read_on_demand_need_not_be_held() {
    let settings = |mode: &str| {
        vec![
            ("weights", text("F16")),
            ("n_gpu_layers", text("all")),
            ("ctx_size", Value::Integer(4096)),
            ("lazy_mode", text(mode)),
        ]
    };
    let machine = machine(LARGE_RAM);
    let least = |mode: &str| -> Bytes {
        let report = check("gemma-4-E4B-it", &machine, &settings(mode), 1024);
        let host = report.devices.last().expect("a host");
        let weights = host.terms.terms.iter();
        weights
            .filter(|term| term.category == Category::Weights)
            .map(|term| term.range.0)
            .sum()
    };
    // 262,144 rows of 42 × 256 values in 16 bits: 5,376 MiB, as llama.cpp reports it.
    let table = Bytes::from_mib(5376);
    assert_eq!(least("off"), least("auto") + table);
    let auto = check("gemma-4-E4B-it", &machine, &settings("auto"), 1024);
    assert!(note(&auto, "read-on-demand").is_some());
}

#[test]
fn error_correction_is_seen_by_the_size() {
    let told = |vram: u64| {
        let card = machine(&format!(
            "ram_mib = 65536\ngpus = [{{ name = \"A card\", vram_mib = {vram}, compute_capability = \"8.6\" }}]"
        ));
        let report = check("Qwen3-0.6B", &card, &[], 1024);
        note(&report, "error-correction").is_some()
    };
    // A10, L40S and T4 with it; RTX 3090, RTX 4090, RTX 5090, A100 and H100 without.
    for with in [23_028, 46_068, 15_360] {
        assert!(told(with), "{with}");
    }
    for without in [
        24_576, 24_564, 32_607, 40_960, 81_559, 11_264, 12_288, 8_188,
    ] {
        assert!(!told(without), "{without}");
    }
}

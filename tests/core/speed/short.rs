//! Speed where memory does not suffice and something stands in for it.

use plimsoll::plan::Value;
use plimsoll::report::{DeviceKind, Report, Verdict};
use plimsoll::speed::Estimate;

use crate::report::{check, machine};

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn plan(context: i64, further: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut settings = vec![
        ("weights", text("Q4_K_M")),
        ("n_gpu_layers", text("all")),
        ("parallel", Value::Integer(1)),
        ("ctx_size", Value::Integer(context)),
    ];
    settings.retain(|(name, _)| further.iter().all(|(other, _)| other != name));
    settings.extend_from_slice(further);
    settings
}

fn decode(report: &Report) -> Estimate {
    report.speed.as_ref().expect("an estimate").decode
}

fn says(report: &Report, code: &str) -> bool {
    report.notes.iter().any(|note| note.code == code)
}

/// Of 370 GiB of experts about a sixth is in 64 GiB of memory; the rest of what a token reads comes from the disk.
#[test]
fn pages_that_do_not_fit_come_from_the_disk() {
    let on = |ram_mib: u64, further: &[(&'static str, Value)]| {
        let machine = machine(&format!(
            "ram_mib = {ram_mib}\ngpus = [{{ name = \"RTX 4090\" }}]"
        ));
        let experts = ("cpu_moe", Value::Bool(true));
        let further = [&[experts], further].concat();
        check("DeepSeek-R1", &machine, &plan(4096, &further), 0)
    };
    let (roomy, tight) = (on(524_288, &[]), on(65_536, &[]));
    let (roomy, slow) = (decode(&roomy), decode(&tight));
    assert!(slow.likely < 0.5 && slow.low < slow.likely && slow.likely < slow.high);
    assert!(slow.high < roomy.low, "{} and {}", slow.high, roomy.low);
    let speed = tight.speed.as_ref().expect("an estimate");
    let mut reasons = speed.why.iter();
    assert!(reasons.any(|(_, why)| why.rule == "speed/decode/disk"));
    // What cannot be dropped cannot be read again.
    for mode in ["none", "mlock"] {
        let report = on(65_536, &[("load_mode", text(mode))]);
        assert!(report.speed.is_none(), "{mode}");
        assert!(says(&report, "speed-unknown"), "{mode}");
    }
}

/// 32 GiB on a card of 24: only Windows lends the rest, over the link.
#[test]
fn what_a_card_lacks_goes_over_its_link() {
    let on = |os: &str, card: &str| {
        let machine = machine(&format!(
            "os = \"{os}\"\nram_mib = 131072\ngpus = [{{ name = \"{card}\" }}]"
        ));
        let eight_bits = ("weights", text("Q8_0"));
        check("Qwen3-32B", &machine, &plan(8192, &[eight_bits]), 0)
    };
    let (spilled, linux) = (on("windows", "RTX 4090"), on("linux", "RTX 4090"));
    let rate = decode(&spilled);
    let lacking = -spilled.devices[0].free();
    // Sixteen lanes of PCI Express 4.0.
    assert!(
        rate.high * lacking as f64 <= 27e9,
        "{} of {lacking}",
        rate.high
    );
    assert!(linux.speed.is_none() && says(&linux, "speed-unknown"));
}

#[test]
fn attention_without_a_kernel_waits_for_the_link() {
    let card = machine("ram_mib = 65536\ngpus = [{ name = \"RTX 4090\" }]");
    let with = |keys: &str, values: &str| {
        let types = [("cache_type_k", text(keys)), ("cache_type_v", text(values))];
        check("Qwen3-8B", &card, &plan(32_768, &types), 0)
    };
    let full = |report: &Report| {
        let speed = report.speed.as_ref().expect("an estimate");
        speed.decode_at_context.likely
    };
    let (kernel, without) = (with("q4_0", "q4_0"), with("iq4_nl", "iq4_nl"));
    assert!(4.0 * full(&without) < full(&kernel));
    assert!(says(&without, "cache-type-without-kernel"));
    // The engine then does without fused attention, and multiplies keys on the GPU.
    let plain = with("iq4_nl", "f16");
    assert!(!says(&plain, "cache-type-without-kernel") && full(&plain) > full(&without));
}

#[test]
fn drafting_is_said_not_to_be_estimated() {
    let card = machine("ram_mib = 65536\ngpus = [{ name = \"RTX 4090\" }]");
    let drafts = ("spec_type", text("ngram-simple"));
    let report =
        |further: &[(&'static str, Value)]| check("Qwen3-8B", &card, &plan(4096, further), 0);
    assert!(says(&report(&[drafts]), "drafting-not-estimated"));
    assert!(!says(&report(&[]), "drafting-not-estimated"));
}

#[test]
fn a_shared_memory_is_the_plans_own() {
    let mac = machine(
        "os = \"macos\"\nram_mib = 65536\ngpus = [{ name = \"Apple M4 Max (40-core GPU)\" }]",
    );
    let report = check("Qwen3-8B", &mac, &plan(4096, &[]), 0);
    let host = report.devices.last().expect("a host");
    assert_eq!(host.kind, DeviceKind::Host);
    // And 4 GiB for a system that nothing counts.
    let system = plimsoll::units::Bytes::from_gib(4);
    assert_eq!(host.in_use, report.devices[0].total() + system);
    assert_eq!(host.in_use_by_others().get(), 0);
}

/// The system of a machine that is only described is nowhere counted.
#[test]
fn what_the_system_needs_is_said() {
    let of = |ram_mib: u64| {
        let machine = machine(&format!("ram_mib = {ram_mib}\ngpus = []"));
        check("Qwen3-8B", &machine, &plan(4096, &[]), 0)
    };
    let roomy = of(65_536);
    assert!(!says(&roomy, "system-counted"));
    let most = roomy.moments.iter().map(|moment| moment.devices[0].total());
    let most = most.max().expect("moments");
    // Half of what Linux needs is left: it is short for a fit, and so for a report.
    let short = of((most.get() >> 20) + 512);
    assert!(says(&short, "system-counted"));
    assert_eq!(short.verdict, Verdict::Exceeds, "{}", short.sentence());
    let system = &short.devices[0].beside[0];
    assert_eq!(
        (system.plan.as_str(), system.bytes.get() >> 30),
        ("the system itself", 1)
    );
    let enough = of((most.get() >> 20) + 1025);
    assert_eq!(enough.verdict, Verdict::Fits, "{}", enough.sentence());
}

/// Blocks that are in the file and not loaded count among its weights.
#[test]
fn bits_are_counted_over_the_weights_of_the_file() {
    let card = machine("ram_mib = 262144\ngpus = [{ name = \"RTX 4090\" }]");
    let report = check(
        "GLM-4.5-Air",
        &card,
        &plan(4096, &[("cpu_moe", Value::Bool(true))]),
        0,
    );
    let bits = report.derived.bits_per_weight;
    assert!((bits - 5.28).abs() < 0.01, "{bits}");
}

#[test]
fn models_published_in_mxfp4_are_had_that_way() {
    let card = machine("ram_mib = 65536\ngpus = [{ name = \"RTX 4090\" }]");
    let report = check("gpt-oss-20b", &card, &plan(4096, &[])[1..], 0);
    assert_eq!(report.settings.get("weights"), Some(&text("MXFP4_MOE")));
    let gigabytes = report.derived.file_bytes.get() as f64 / 1e9;
    assert!((gigabytes - 12.1).abs() < 0.05, "{gigabytes}");
}

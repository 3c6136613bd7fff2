//! NVIDIA's library as real drivers were seen to answer.

use plimsoll::hardware::detection::{Aside, Weight};
use plimsoll::hardware::facts::{CardKind, NodeMemory, Reason};
use plimsoll::hardware::probe::sample::Sampler;
use plimsoll::hardware::probe::{Progress, VulkanSource, detect, vulkan};
use plimsoll::hardware::{Os, Pcie, Vendor};
use plimsoll::units::Bytes;

use super::mock::{Fake, MIB, codes, host, memory, only, used};

#[test]
fn two_cards_with_everything() {
    let fake = Fake::nvml("TWO_4090");
    fake.file("proc/4242/comm", "llama-server\n");
    let detection = fake.detect();
    assert_eq!(used(&detection), ["NVIDIA GeForce RTX 4090"; 2]);
    let card = &detection.cards[0];
    assert_eq!(memory(card), [24564, 24082, 1000]);
    assert_eq!(card.gpu.compute_capability, Some((8, 9)));
    assert_eq!(card.gpu.pci_address.as_deref(), Some("0000:01:00.0"));
    assert_eq!(card.gpu.driver.as_deref(), Some("580.142"));
    assert_eq!(card.gpu.bandwidth_gb_s.map(f64::round), Some(1008.0));
    assert_eq!(
        card.gpu.pcie,
        Some(Pcie {
            generation: 4,
            lanes: 16
        })
    );
    assert!(card.gpu.drives_display);
    assert_eq!(card.facts.cuda_version, Some((13, 0)));
    assert_eq!(card.facts.reserved, Some(Bytes::from_mib(482)));
    assert_eq!(card.facts.device_id.as_deref(), Some("10de:2684"));
    // GeForce cards have no ECC to switch: a reason, not "off".
    assert_eq!(card.facts.ecc, None);
    assert_eq!(card.facts.missing.get("ecc"), Some(&Reason::Unsupported));
    let processes = card
        .facts
        .processes
        .as_ref()
        .expect("the driver tells them");
    assert_eq!(
        processes.len(),
        2,
        "one that computes and draws is one program"
    );
    assert_eq!(processes[0].name.as_deref(), Some("llama-server"));
    assert_eq!(processes[0].memory, Some(Bytes::from_mib(900)));
    assert!(processes[1].graphics);
    // The second card sits in a slot with four lanes.
    assert!(codes(&detection).contains(&"pcie-narrow"));
    assert!(!detection.cards[1].gpu.drives_display);
}

#[test]
fn progress_names_every_probe() {
    let fake = Fake::nvml("TWO_4090");
    let seen = std::cell::RefCell::new(Vec::new());
    detect(&fake.sources, &|progress: Progress| {
        seen.borrow_mut().push(progress);
    });
    let seen = seen.into_inner();
    assert_eq!(seen.len(), plimsoll::hardware::probe::PROBES.len());
    assert!(
        seen.iter()
            .enumerate()
            .all(|(index, progress)| progress.done == index)
    );
}

#[test]
fn detection_runs_on_another_thread() {
    let fake = Fake::nvml("TWO_4090");
    let sources = fake.sources.clone();
    let detection = std::thread::spawn(move || detect(&sources, &|_| {})).join();
    assert_eq!(detection.expect("it does not panic").machine.gpus.len(), 2);
}

/// gpustat 179, dra-driver 1073, nvtop 411, all-smi 80: "?? / ?? MB".
#[test]
fn a_gb10_has_the_memory_of_its_processor() {
    let mut fake = Fake::nvml("GB10");
    let mut facts = host(1);
    // MemTotal and MemAvailable of a DGX Spark (nvitop PR 208).
    facts.ram_total = Some(Bytes::new(127_600_748 * 1024));
    facts.ram_available = Some(Bytes::new(120_000_000 * 1024));
    fake.sources.system = plimsoll::hardware::probe::SystemSource::Recorded(Box::new(facts));
    let detection = fake.detect();
    let card = only(&detection);
    assert!(card.gpu.unified);
    assert_eq!(memory(card), [124_610, 124_610, 7_422]);
    assert_eq!(
        card.facts.missing.get("total"),
        Some(&Reason::UnifiedMemory)
    );
    assert_eq!(card.gpu.pci_address.as_deref(), Some("000f:01:00.0"));
    assert_eq!(card.aside, None);
}

/// whichllm 165, vllm-cli 11, sglang 3331: "no GPU", `int("[N/A]")`.
#[test]
fn a_jetson_has_neither_memory_nor_address() {
    let fake = Fake::nvml("JETSON");
    let detection = fake.detect();
    let card = only(&detection);
    assert!(card.gpu.unified);
    assert_eq!(memory(card)[1], 64 * 1024);
    assert_eq!(card.gpu.pci_address, None);
    assert_eq!(used(&detection), ["Orin (nvgpu)"]);
}

/// unsloth PR 10283: an integrated part that tells 8128 MiB.
#[test]
fn a_small_total_of_an_integrated_part_is_distrusted() {
    let mut fake = Fake::nvml("N1X");
    fake.sources.vulkan = VulkanSource::Recorded(vec![vulkan::Answer {
        name: "NVIDIA N1X".to_owned(),
        vendor_id: 0x10de,
        device_id: 0x31c0,
        kind: vulkan::Kind::Integrated,
        driver_id: 4,
        pci_address: Some("0000:01:00.0".to_owned()),
        local_heaps: vec![32 << 30],
        ..vulkan::Answer::default()
    }]);
    let detection = fake.detect();
    let card = only(&detection);
    assert!(card.gpu.unified);
    assert_eq!(memory(card)[1], 64 * 1024);
    assert!(codes(&detection).contains(&"integrated-total-distrusted"));
}

/// ollama 14031, 4814, vLLM 41776: the processor instead, one instance only, the whole card's size.
#[test]
fn mig_instances_are_found_across_holes() {
    let fake = Fake::nvml("MIG");
    let detection = fake.detect();
    assert_eq!(detection.cards.len(), 3);
    assert_eq!(used(&detection), ["NVIDIA A100-SXM4-80GB MIG 3g.40gb"]);
    let first = &detection.cards[0];
    assert_eq!(first.facts.kind, Some(CardKind::MigInstance));
    assert_eq!(memory(first), [40192, 40192, 37]);
    assert_eq!(first.gpu.compute_capability, Some((8, 0)));
    assert_eq!(first.id, "MIG-11111111-0000-0000-0000-000000000001");
    let aside: Vec<Option<Aside>> = detection.cards.iter().map(|card| card.aside).collect();
    assert!(aside.contains(&Some(Aside::SplitIntoInstances)));
    assert!(aside.contains(&Some(Aside::SecondInstance)));
}

#[test]
fn a_mig_instance_is_chosen_by_its_uuid() {
    let mut fake = Fake::nvml("MIG");
    fake.sources.cuda_visible_devices = Some("MIG-2222".to_owned());
    let detection = fake.detect();
    assert_eq!(used(&detection), ["NVIDIA A100-SXM4-80GB MIG 1g.10gb"]);
}

/// ollama 10393, nvml-wrapper 51: Windows tells no memory per program, and CUDA sees the total less 1 MiB.
#[test]
fn windows_keeps_the_memory_of_programs_to_itself() {
    for (os, wsl) in [(Os::Windows, false), (Os::Linux, true)] {
        let mut fake = Fake::nvml("WDDM");
        let mut facts = host(32);
        facts.os = Some(os);
        facts.wsl = wsl;
        fake.sources.system = plimsoll::hardware::probe::SystemSource::Recorded(Box::new(facts));
        let detection = fake.detect();
        let card = only(&detection);
        assert_eq!(memory(card), [16376, 16375, 1824]);
        let processes = card.facts.processes.as_ref().expect("they are listed");
        assert!(processes.iter().all(|process| process.memory.is_none()));
        assert_eq!(detection.machine.os, os);
    }
}

#[test]
fn a_lost_card_leaves_the_others() {
    let detection = Fake::nvml("LOST").detect();
    assert_eq!(used(&detection), ["NVIDIA GeForce RTX 3090"; 2]);
    let lost = detection.cards.last().expect("it is listed");
    assert_eq!(lost.aside, Some(Aside::Lost));
    assert_eq!(detection.findings[0].code, "nvml-card-lost");
    assert_eq!(detection.findings[0].weight, Weight::Failure);
}

fn finding(case: &str) -> (String, Weight, String) {
    let detection = Fake::nvml(case).detect();
    assert!(detection.cards.is_empty(), "{case}");
    let finding = &detection.findings[0];
    let remedy = finding.remedy.clone().unwrap_or_default();
    (finding.code.clone(), finding.weight, remedy)
}

/// NVML error 18 after an update; ollama 18482: a driver that does not come back from standby.
#[test]
fn a_driver_that_does_not_start_says_what_to_do() {
    for (case, code, remedy) in [
        ("MISMATCH", "nvml-driver-mismatch", "restart"),
        ("NOT_LOADED", "nvml-driver-not-loaded", "modprobe"),
        ("FORBIDDEN", "nvml-no-permission", "/dev/nvidia"),
        ("ZERO", "nvml-no-cards", "--gpus all"),
    ] {
        let (found, weight, text) = finding(case);
        assert_eq!(found, code);
        assert!(weight <= Weight::Warning, "{case}");
        assert!(text.contains(remedy), "{case}: {text}");
    }
}

/// `nvidia-smi` not on the path, containers without the `utility` capability: the library is loaded, not the tool.
#[test]
fn a_missing_library_is_a_failure_only_where_a_card_is_built_in() {
    let fake = Fake::new();
    fake.pci(
        "0000:01:00.0",
        None,
        &[
            ("class", "0x030000\n"),
            ("vendor", "0x10de\n"),
            ("device", "0x2684\n"),
        ],
    );
    let detection = fake.detect();
    let failure = &detection.findings[0];
    assert_eq!(
        (failure.code.as_str(), failure.weight),
        ("nvml-not-found", Weight::Failure)
    );
    let remedy = failure.remedy.as_deref().unwrap_or_default();
    assert!(remedy.contains("NVIDIA_DRIVER_CAPABILITIES"));
    assert_eq!(only(&detection).aside, Some(Aside::UnknownMemory));

    let mut without = Fake::new();
    without.sources.nvml_library = None;
    let detection = without.detect();
    // Unless this computer has a driver of its own, its absence is no failure.
    assert!(
        detection
            .findings
            .iter()
            .all(|finding| finding.code != "nvml-not-found" || finding.weight == Weight::Info)
    );
}

#[test]
fn an_old_driver_has_the_first_memory_call_only() {
    let detection = Fake::nvml("OLD_DRIVER").detect();
    let card = only(&detection);
    // Before R510 the total leaves the reserve out, so all of it is usable.
    assert_eq!(memory(card), [8113, 8113, 500]);
    assert_eq!(card.facts.reserved, None);
    assert_eq!(card.gpu.driver.as_deref(), Some("470.256.02"));
}

#[test]
fn an_architecture_of_tomorrow_is_a_card_like_any_other() {
    let detection = Fake::nvml("FUTURE").detect();
    let card = only(&detection);
    assert_eq!(card.gpu.vendor, Vendor::Nvidia);
    assert_eq!(card.gpu.compute_capability, Some((14, 0)));
    assert_eq!(memory(card), [49000, 48300, 0]);
}

/// nvtop 432: 17179869184 GiB, which is the driver's mark for "not available".
#[test]
fn not_available_is_not_a_size() {
    let detection = Fake::nvml("NOT_AVAILABLE").detect();
    let card = only(&detection);
    assert_eq!(card.facts.missing.get("total"), Some(&Reason::NotReported));
    assert_eq!(memory(card), [0, 0, 0]);
    assert_eq!(card.aside, Some(Aside::UnknownMemory));
}

/// The HBM of a Grace Hopper is a memory node of the system, counted in MemTotal.
#[test]
fn a_coherent_cards_memory_is_not_main_memory_too() {
    let mut fake = Fake::nvml("GRACE");
    let mut facts = host(576);
    let node = |total, free| NodeMemory {
        total: Bytes::from_gib(total),
        free: Bytes::from_gib(free),
    };
    facts.numa_memory = [(0, node(480, 400)), (1, node(96, 95))].into();
    facts.ram_available = Some(Bytes::from_gib(495));
    fake.sources.system = plimsoll::hardware::probe::SystemSource::Recorded(Box::new(facts));
    let detection = fake.detect();
    assert!(!only(&detection).gpu.unified);
    assert_eq!(memory(only(&detection)), [97871, 97271, 400]);
    assert_eq!(detection.machine.host.ram, Bytes::from_gib(480));
    assert_eq!(detection.machine.host.in_use, Bytes::from_gib(80));
}

#[test]
fn cards_are_chosen_by_id() {
    let detection = Fake::nvml("TWO_4090").detect();
    let ids = [detection.cards[1].id.clone(), "GPU-gone".to_owned()];
    let (machine, unknown) = detection.machine_of(&ids);
    assert_eq!(machine.gpus, [detection.cards[1].gpu.clone()]);
    assert_eq!(unknown, ["GPU-gone"]);
}

#[test]
fn cuda_visible_devices_selects_and_orders() {
    for (value, expected) in [
        ("1,0", vec!["GPU-4090bbbb", "GPU-4090aaaa"]),
        ("1", vec!["GPU-4090bbbb"]),
        ("GPU-4090b", vec!["GPU-4090bbbb"]),
        // The first that matches nothing ends the list.
        ("0,7,1", vec!["GPU-4090aaaa"]),
        ("-1", vec![]),
        ("", vec![]),
        // A prefix that means two cards means none.
        ("GPU-4090", vec![]),
    ] {
        let mut fake = Fake::nvml("TWO_4090");
        fake.sources.cuda_visible_devices = Some(value.to_owned());
        let detection = fake.detect();
        let uuids: Vec<&str> = detection
            .machine
            .gpus
            .iter()
            .filter_map(|gpu| gpu.uuid.as_deref()?.get(..12))
            .collect();
        assert_eq!(uuids, expected, "CUDA_VISIBLE_DEVICES={value}");
        assert_eq!(detection.cards.len(), 2, "hidden cards stay listed");
    }
}

#[test]
fn memory_in_use_is_read_again_cheaply() {
    let fake = Fake::nvml("TWO_4090");
    let detection = fake.detect();
    let sampler = Sampler::open(&fake.sources, &detection.machine.gpus);
    let expected = [Some(Bytes::new(1000 * MIB)), Some(Bytes::new(4 * MIB))];
    assert_eq!(sampler.in_use(), expected);
    assert_eq!(sampler.in_use(), expected);
}

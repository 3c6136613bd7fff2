//! Detection bugs that users of other programs reported, each as a case of ours. Those of NVIDIA's library (MIG,
//! Jetson, GB10, "not available", a driver that does not start, a missing library) are in `nvml.rs`.

use plimsoll::hardware::detection::Aside;
use plimsoll::hardware::probe::vulkan::{Answer, Kind};
use plimsoll::hardware::probe::{SystemSource, VulkanSource};
use plimsoll::hardware::visibility::variables;
use plimsoll::hardware::{Os, Vendor};
use plimsoll::units::Bytes;

use super::mock::{Fake, codes, host, memory, only, used};

const GIB: u64 = 1 << 30;

fn discrete(name: &str, vendor_id: u32, device_id: u32, address: &str, gib: u64) -> Answer {
    Answer {
        name: name.to_owned(),
        vendor_id,
        device_id,
        kind: Kind::Discrete,
        driver_id: if vendor_id == 0x10de { 4 } else { 3 },
        pci_address: Some(address.to_owned()),
        local_heaps: vec![gib * GIB],
        ..Answer::default()
    }
}

fn integrated(name: &str, vendor_id: u32, device_id: u32, mib: u64) -> Answer {
    Answer {
        kind: Kind::Integrated,
        local_heaps: vec![mib << 20],
        ..discrete(name, vendor_id, device_id, "0000:00:02.0", 0)
    }
}

fn windows(answers: Vec<Answer>) -> Fake {
    let mut fake = Fake::new();
    let mut facts = host(64);
    facts.os = Some(Os::Windows);
    fake.sources.system = SystemSource::Recorded(Box::new(facts));
    fake.sources.vulkan = VulkanSource::Recorded(answers);
    fake
}

/// A Strix Halo computer with a BIOS carve-out and mappable memory of these sizes, by amdgpu's files.
fn strix_halo(carved: u64, gtt: u64) -> Fake {
    let fake = Fake::new();
    fake.pci(
        "0000:c5:00.0",
        Some(1),
        &[
            ("class", "0x038000\n"),
            ("vendor", "0x1002\n"),
            ("device", "0x1586\n"),
            ("revision", "0xc1\n"),
            ("mem_info_vram_total", &format!("{carved}\n")),
            ("mem_info_vram_used", "1073741824\n"),
            ("mem_info_gtt_total", &format!("{gtt}\n")),
            ("mem_info_gtt_used", "0\n"),
            ("mem_info_vram_vendor", "unknown\n"),
            ("drm/card1/card1-eDP-1/status", "connected\n"),
            ("drm/renderD129/dev", "226:129\n"),
        ],
    );
    fake.file(
        "sys/class/kfd/kfd/topology/nodes/0/properties",
        "cpu_cores_count 32\ngfx_target_version 0\ndrm_render_minor 0\n",
    );
    fake.file(
        "sys/class/kfd/kfd/topology/nodes/1/properties",
        "simd_count 80\ngfx_target_version 110501\ndrm_render_minor 129\n",
    );
    fake.file(
        "share/libdrm/amdgpu.ids",
        "1.0.0\n1586, C0, wrong revision\n1586,\tC1,\tAMD Radeon 8060S Graphics\n",
    );
    fake
}

/// ollama 16667, 16536, PR 16669: cards matched by their place in two lists.
#[test]
fn a_windows_laptop_uses_its_card_and_not_the_31_8_gb_of_its_processor() {
    let fake = windows(vec![
        integrated("Intel(R) UHD Graphics", 0x8086, 0xa788, 32_563),
        discrete(
            "NVIDIA GeForce RTX 4060 Laptop GPU",
            0x10de,
            0x28e0,
            "0000:01:00.0",
            8,
        ),
    ]);
    let detection = fake.detect();
    assert_eq!(used(&detection), ["NVIDIA GeForce RTX 4060 Laptop GPU"]);
    assert_eq!(memory(&detection.cards[0]), [8192, 8191, 0]);
}

/// lmstudio 382, 705.
#[test]
fn an_integrated_part_is_listed_beside_a_card() {
    let fake = windows(vec![
        discrete("AMD Radeon RX 7600", 0x1002, 0x7480, "0000:03:00.0", 8),
        integrated("AMD Radeon(TM) Graphics", 0x1002, 0x164e, 16_000),
    ]);
    let detection = fake.detect();
    assert_eq!(detection.cards.len(), 2);
    assert_eq!(detection.cards[1].aside, Some(Aside::Integrated));
    // Ticking it is enough to use it.
    assert_eq!(detection.machine_with(|_| true).gpus.len(), 2);
}

#[test]
fn an_integrated_part_alone_is_used() {
    let detection = windows(vec![integrated(
        "Intel(R) Arc(TM) 140V GPU",
        0x8086,
        0x64a0,
        18_000,
    )])
    .detect();
    assert_eq!(only(&detection).aside, None);
    assert!(detection.machine.gpus[0].unified);
}

/// llm-checker 76, ollama 16508: once per interface, six copies of one card.
#[test]
fn one_card_seen_by_four_sources_is_one_card() {
    let mut fake = Fake::nvml("TWO_4090");
    let attributes = [
        ("class", "0x030000\n"),
        ("vendor", "0x10de\n"),
        ("device", "0x2684\n"),
    ];
    fake.pci("0000:01:00.0", Some(0), &attributes);
    fake.pci("0000:41:00.0", Some(1), &attributes);
    let vulkan = |address| discrete("NVIDIA GeForce RTX 4090", 0x10de, 0x2684, address, 24);
    // The other way round than the driver, and once more by a second Vulkan driver (NVK).
    let mut nvk = vulkan("0000:41:00.0");
    nvk.driver_id = 24;
    fake.sources.vulkan =
        VulkanSource::Recorded(vec![vulkan("0000:41:00.0"), nvk, vulkan("0000:01:00.0")]);
    let detection = fake.detect();
    assert_eq!(detection.cards.len(), 2);
    let first = &detection.cards[0];
    assert_eq!(first.gpu.pci_address.as_deref(), Some("0000:01:00.0"));
    assert_eq!(first.facts.seen_by, ["nvml", "vulkan", "pci"]);
    assert_eq!(first.facts.vulkan_index, Some(2));
    assert_eq!(memory(first), [24564, 24082, 1000]);
}

/// ollama 16508.
#[test]
fn a_choice_of_cards_is_told_to_every_backend() {
    let mut fake = Fake::nvml("TWO_4090");
    let vulkan = |address| discrete("NVIDIA GeForce RTX 4090", 0x10de, 0x2684, address, 24);
    fake.sources.vulkan =
        VulkanSource::Recorded(vec![vulkan("0000:41:00.0"), vulkan("0000:01:00.0")]);
    let detection = fake.detect();
    let chosen = [&detection.cards[1]];
    let variables = variables(&detection.cards, &chosen);
    assert_eq!(
        variables.get("CUDA_VISIBLE_DEVICES").map(String::as_str),
        Some("GPU-4090bbbb-0000-0000-0000-000000000002")
    );
    assert_eq!(
        variables.get("GGML_VK_VISIBLE_DEVICES").map(String::as_str),
        Some("0")
    );
}

/// llmfit 55, 810, 830, foundry-local 927: a 32-bit size. Vulkan's heaps have 64 bits.
#[test]
fn a_card_of_more_than_4_gb_on_windows_keeps_its_size() {
    let detection = windows(vec![discrete(
        "AMD Radeon RX 7900 XTX",
        0x1002,
        0x744c,
        "0000:03:00.0",
        24,
    )])
    .detect();
    assert_eq!(memory(only(&detection)), [24 * 1024, 24 * 1024, 0]);
}

/// llmfit 25: 8 GB because the name says "radeon".
#[test]
fn no_size_is_guessed_from_a_name() {
    let fake = Fake::new();
    fake.pci(
        "0000:0c:00.0",
        Some(0),
        &[
            ("class", "0x030000\n"),
            ("vendor", "0x1002\n"),
            ("device", "0x164e\n"),
        ],
    );
    fake.file("share/misc/pci.ids", "1002  AMD\n\t164e  Radeon Graphics\n");
    let detection = fake.detect();
    let card = only(&detection);
    assert_eq!(card.gpu.name, "Radeon Graphics");
    assert_eq!(memory(card), [0, 0, 0]);
    assert_eq!(card.aside, Some(Aside::UnknownMemory));
    assert!(used(&detection).is_empty());
}

/// llmfit 964: all of RAM shown as the GPU's, the BIOS carve-out lost.
#[test]
fn a_shared_pool_is_the_carve_out_and_what_may_be_mapped() {
    let detection = strix_halo(8 * GIB, 28 * GIB).detect();
    let card = only(&detection);
    assert!(card.gpu.unified);
    assert_eq!(card.gpu.name, "AMD Radeon 8060S Graphics");
    assert_eq!(card.gpu.gfx_target.as_deref(), Some("gfx1151"));
    assert_eq!(memory(card), [36 * 1024, 36 * 1024, 1024]);
    assert!(card.gpu.drives_display);
    assert_eq!(detection.machine.host.ram, Bytes::from_gib(64));
}

#[test]
fn a_large_carve_out_does_not_make_a_processor_a_card() {
    let detection = strix_halo(96 * GIB, 16 * GIB).detect();
    let card = only(&detection);
    assert!(card.gpu.unified);
    assert_eq!(memory(card)[1], 112 * 1024);
}

/// ollama 5471, 12062: rejected for its small carve-out.
#[test]
fn mappable_memory_counts_for_a_processor_with_a_small_carve_out() {
    let fake = Fake::new();
    fake.pci(
        "0000:c4:00.0",
        Some(0),
        &[
            ("class", "0x030000\n"),
            ("vendor", "0x1002\n"),
            ("device", "0x15bf\n"),
            ("mem_info_vram_total", "536870912\n"),
            ("mem_info_vram_used", "0\n"),
            ("mem_info_gtt_total", "34359738368\n"),
            ("mem_info_gtt_used", "0\n"),
        ],
    );
    let detection = fake.detect();
    let card = only(&detection);
    assert!(card.gpu.unified, "no LLVM target is known, the sizes tell");
    assert_eq!(memory(card)[1], 512 + 32 * 1024);
    assert_eq!(card.aside, None);
}

/// lmstudio 935, legacy-rocm-build 5595: 78 GB by one backend, 62.2 GB by another.
#[test]
fn each_backend_has_its_own_ceiling() {
    let mut fake = strix_halo(GIB / 2, 62 * GIB);
    fake.sources.vulkan = VulkanSource::Recorded(vec![Answer {
        pci_address: Some("0000:c5:00.0".to_owned()),
        ..integrated(
            "AMD Radeon Graphics (RADV GFX1151)",
            0x1002,
            0x1586,
            78 * 1024,
        )
    }]);
    let detection = fake.detect();
    let card = only(&detection);
    assert_eq!(memory(card)[1], 512 + 62 * 1024);
    assert_eq!(
        card.facts.ceilings.get("vulkan"),
        Some(&Bytes::from_gib(78))
    );
    assert!(plimsoll::hardware::diagnostic::to_text(&detection).contains("can allocate 78.00 GiB"));
}

/// ollama 18482: an answer kept after a bad wake-up.
#[test]
fn nothing_is_remembered_between_two_detections() {
    let asleep = Fake::nvml("NOT_LOADED");
    assert!(asleep.detect().cards.is_empty());
    let awake = Fake::nvml("TWO_4090");
    let library = asleep.sources.nvml_library.as_ref().expect("a library");
    std::fs::rename(awake.path().join("libnvidia-ml.so.1"), library).expect("the driver is back");
    assert_eq!(asleep.detect().cards.len(), 2);
}

/// lmstudio 2034: two cards, one of them seen by CUDA.
#[test]
fn a_card_without_a_driver_is_missed_by_name() {
    let fake = Fake::nvml("TWO_4090");
    fake.pci(
        "0000:81:00.0",
        None,
        &[
            ("class", "0x030000\n"),
            ("vendor", "0x10de\n"),
            ("device", "0x1b80\n"),
            ("uevent", "DRIVER=nouveau\nPCI_SLOT_NAME=0000:81:00.0\n"),
        ],
    );
    fake.file(
        "share/hwdata/pci.ids",
        "10de  NVIDIA\n\t1b80  GP104 [GeForce GTX 1080]\n",
    );
    let detection = fake.detect();
    assert_eq!(detection.cards.len(), 3);
    assert_eq!(detection.machine.gpus.len(), 2);
    let finding = detection
        .findings
        .iter()
        .find(|finding| finding.code == "unknown-memory")
        .expect("the third card is missed");
    assert!(finding.message.contains("GTX 1080"), "{}", finding.message);
    assert!(finding.message.contains("nouveau"), "{}", finding.message);
}

/// lmstudio 1216: 19491 MiB on a card of 12 GB.
#[test]
fn a_driver_is_believed_before_vulkan() {
    let mut fake = Fake::nvml("TWO_4090");
    fake.sources.vulkan = VulkanSource::Recorded(vec![discrete(
        "RTX 4090",
        0x10de,
        0x2684,
        "0000:01:00.0",
        40,
    )]);
    let detection = fake.detect();
    assert_eq!(memory(&detection.cards[0])[0], 24564);
    assert!(codes(&detection).contains(&"vulkan-total-distrusted"));
}

/// llmfit 609: 0.0 GB from a file that only amdgpu has.
#[test]
fn an_intel_card_gets_its_size_from_vulkan() {
    let mut fake = Fake::new();
    let attributes = |device| {
        [
            ("class", "0x030000\n"),
            ("vendor", "0x8086\n"),
            ("device", device),
        ]
    };
    fake.pci("0000:00:02.0", Some(0), &attributes("0x4680\n"));
    fake.pci("0000:03:00.0", Some(1), &attributes("0xe20b\n"));
    let without = fake.detect();
    assert!(without.machine.gpus.is_empty());
    assert_eq!(without.cards.len(), 2);
    fake.sources.vulkan = VulkanSource::Recorded(vec![
        Answer {
            local_budgets: Some(vec![11 * GIB]),
            ..discrete(
                "Intel(R) Arc(TM) B580 Graphics (BMG G21)",
                0x8086,
                0xe20b,
                "0000:03:00.0",
                12,
            )
        },
        integrated(
            "Intel(R) UHD Graphics 770 (ADL-S GT1)",
            0x8086,
            0x4680,
            47_000,
        ),
    ]);
    let detection = fake.detect();
    assert_eq!(
        used(&detection),
        ["Intel(R) Arc(TM) B580 Graphics (BMG G21)"]
    );
    assert_eq!(memory(&detection.cards[0]), [12 * 1024, 12 * 1024, 1024]);
    assert_eq!(detection.cards[0].gpu.vendor, Vendor::Intel);
    assert_eq!(detection.cards[1].aside, Some(Aside::Integrated));
}

//! Vulkan's answers, recorded on other machines.

use plimsoll::hardware::probe::vulkan::{Answer, cards};
use plimsoll::hardware::probe::{VulkanSource, sample::Sampler};

use super::mock::{Fake, codes, memory};

fn recorded() -> Vec<Answer> {
    serde_json::from_str(include_str!("../../data/probe/vulkan_software.json"))
        .expect("recorded answers")
}

#[test]
fn software_renderers_and_repeaters_are_no_cards() {
    let answers = recorded();
    assert!(answers.len() >= 4);
    let found: Vec<String> = cards(&answers)
        .into_iter()
        .filter_map(|card| card.name)
        .collect();
    // Lavapipe has a heap of 2 GiB that is device local: counted naively it is a 2 GB card.
    assert_eq!(found, ["AMD Radeon RX 6700 XT (RADV NAVI22)"]);
}

#[test]
fn whatever_vulkan_is_here_no_software_renderer_counts() {
    let mut fake = Fake::new();
    fake.sources.vulkan = VulkanSource::System;
    for card in fake.detect().cards {
        let name = card.gpu.name.to_lowercase();
        assert!(
            !name.contains("llvmpipe") && !name.contains("swiftshader"),
            "{name}"
        );
    }
}

#[test]
fn a_missing_loader_is_a_finding() {
    let mut fake = Fake::new();
    fake.sources.vulkan = VulkanSource::Library(fake.path().join("no-vulkan.so"));
    let detection = fake.detect();
    assert!(detection.cards.is_empty());
    assert!(codes(&detection).contains(&"vulkan-unavailable"));
}

/// An old driver has no `VK_EXT_pci_bus_info`: the same card, by its PCI identity, if there is one of it.
#[test]
fn a_card_without_an_address_is_not_listed_twice() {
    let mut fake = Fake::nvml("OLD_DRIVER");
    let keyless = Answer {
        name: "GeForce GTX 1080".to_owned(),
        vendor_id: 0x10de,
        device_id: 0x1b80,
        kind: plimsoll::hardware::probe::vulkan::Kind::Discrete,
        driver_id: 4,
        local_heaps: vec![8 << 30],
        ..Answer::default()
    };
    fake.sources.vulkan = VulkanSource::Recorded(vec![keyless.clone()]);
    assert_eq!(fake.detect().cards.len(), 1);

    let mut fake = Fake::nvml("TWO_4090");
    let answer = Answer {
        device_id: 0x2684,
        ..keyless
    };
    fake.sources.vulkan = VulkanSource::Recorded(vec![answer.clone(), answer]);
    let detection = fake.detect();
    assert_eq!(detection.cards.len(), 2);
    assert!(codes(&detection).contains(&"card-without-address"));
}

#[test]
fn an_amd_card_is_sampled_from_its_file() {
    let fake = Fake::new();
    fake.pci(
        "0000:03:00.0",
        Some(0),
        &[
            ("class", "0x030000\n"),
            ("vendor", "0x1002\n"),
            ("device", "0x744c\n"),
            ("revision", "0xc8\n"),
            ("mem_info_vram_total", "25753026560\n"),
            ("mem_info_vram_used", "1048576000\n"),
            ("mem_info_gtt_total", "33000000000\n"),
            ("mem_info_vram_vendor", "samsung\n"),
            ("unique_id", "1a2b3c4d5e6f7788\n"),
            ("current_link_speed", "16.0 GT/s PCIe\n"),
            ("current_link_width", "16\n"),
            ("max_link_speed", "16.0 GT/s PCIe\n"),
            ("max_link_width", "16\n"),
        ],
    );
    let detection = fake.detect();
    let card = &detection.cards[0];
    // 24560 MiB, which is also HIP's total; mappable memory of a card is not its own.
    assert_eq!(memory(card), [24560, 24560, 1000]);
    assert_eq!(card.gpu.uuid.as_deref(), Some("GPU-1a2b3c4d5e6f7788"));
    assert_eq!(
        card.gpu.pcie.map(|link| (link.generation, link.lanes)),
        Some((4, 16))
    );
    let sampler = Sampler::open(&fake.sources, &detection.machine.gpus);
    fake.file(
        "sys/class/drm/card0/device/mem_info_vram_used",
        "2097152000\n",
    );
    assert_eq!(sampler.in_use()[0].map(|used| used.get() >> 20), Some(2000));
}

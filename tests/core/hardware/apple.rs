//! What Macs were seen to answer, and what it means.

use plimsoll::hardware::probe::AppleSource;
use plimsoll::hardware::probe::apple::Answer;
use plimsoll::hardware::{Os, Vendor};
use plimsoll::units::Bytes;

use super::mock::{Fake, codes, host, memory, only};

const M3_MAX: &str = r#"{"SPDisplaysDataType":[{"_name":"Apple M3 Max","spdisplays_mtlgpufamilysupport":"spdisplays_metal3",
"spdisplays_ndrvs":[{"_name":"Color LCD"}],"spdisplays_vendor":"sppci_vendor_Apple","sppci_bus":"spdisplays_builtin",
"sppci_cores":"40","sppci_device_type":"spdisplays_gpu","sppci_model":"Apple M3 Max"}]}"#;

fn mac(gib: u64, answer: Answer) -> Fake {
    let mut fake = Fake::new();
    let mut facts = host(gib);
    facts.os = Some(Os::Macos);
    fake.sources.system = plimsoll::hardware::probe::SystemSource::Recorded(Box::new(facts));
    fake.sources.apple = AppleSource::Recorded(Answer {
        memory_size: Some(format!("{}\n", gib << 30)),
        ..answer
    });
    fake
}

/// antirez/ds4 PR 893: `iogpu.wired_limit_mb` 114688 makes exactly 112 GiB of 128.
#[test]
fn metal_is_believed_and_nothing_else() {
    let detection = mac(
        128,
        Answer {
            chip: Some("Apple M3 Max".to_owned()),
            working_set: Some(112 << 30),
            wired_limit_mb: Some("114688\n".to_owned()),
            displays: Some(M3_MAX.to_owned()),
            ..Answer::default()
        },
    )
    .detect();
    let card = only(&detection);
    assert_eq!(card.gpu.vendor, Vendor::Apple);
    assert!(card.gpu.unified);
    // 112 of the 128 GiB are free on this host.
    assert_eq!(memory(card), [112 * 1024, 112 * 1024, 0]);
    assert_eq!(card.facts.gpu_cores, Some(40));
    assert!(card.gpu.drives_display);
    assert_eq!(detection.machine.os, Os::Macos);
}

#[test]
fn what_programs_use_limits_the_gpu_too() {
    let mut fake = mac(
        16,
        Answer {
            chip: Some("Apple M2".to_owned()),
            working_set: Some(12_713_115_648),
            ..Answer::default()
        },
    );
    if let plimsoll::hardware::probe::SystemSource::Recorded(facts) = &mut fake.sources.system {
        facts.ram_available = Some(Bytes::from_gib(6));
    }
    let detection = fake.detect();
    let memory = only(&detection).gpu.memory;
    assert_eq!(
        memory.usable.saturating_sub(memory.in_use),
        Bytes::from_gib(6)
    );
    let remedy = detection
        .findings
        .iter()
        .find(|finding| finding.code == "working-set")
        .and_then(|finding| finding.remedy.as_deref());
    assert!(
        remedy.is_some_and(|remedy| remedy.contains("iogpu.wired_limit_mb=12288")),
        "{remedy:?}"
    );
}

#[test]
fn without_metal_the_usual_share_is_a_marked_guess() {
    let detection = mac(
        64,
        Answer {
            displays: Some(M3_MAX.to_owned()),
            ..Answer::default()
        },
    )
    .detect();
    let card = only(&detection);
    assert_eq!(card.gpu.name, "Apple M3 Max");
    assert_eq!(card.gpu.memory.usable, Bytes::from_gib(48));
    assert!(codes(&detection).contains(&"working-set-guessed"));
}

#[test]
fn a_mac_without_a_gpu_says_so() {
    let detection = mac(16, Answer::default()).detect();
    assert!(detection.cards.is_empty());
    assert!(codes(&detection).contains(&"metal-without-device"));
    assert!(detection.machine.gpus.is_empty());
}

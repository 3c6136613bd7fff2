//! One physical card is one device: the merge on records alone.

use plimsoll::hardware::facts::{CardFacts, CardKind};
use plimsoll::hardware::merge::cards;
use plimsoll::hardware::probe::Reading;
use plimsoll::hardware::visibility::variables;
use plimsoll::hardware::{DEVICES_LIMIT, Vendor, merge};
use plimsoll::units::Bytes;
use proptest::prelude::{Strategy as _, proptest};

fn record(source: &str, pci: Option<&str>, uuid: Option<&str>, luid: Option<&str>) -> CardFacts {
    CardFacts {
        seen_by: vec![source.to_owned()],
        name: Some("the same name".to_owned()),
        pci_address: pci.map(str::to_owned),
        uuid: uuid.map(str::to_owned),
        luid: luid.map(str::to_owned),
        ..CardFacts::default()
    }
}

fn count(records: Vec<CardFacts>) -> usize {
    cards(records, &mut Vec::new()).len()
}

#[test]
fn a_shared_key_makes_one_card_and_a_shared_name_does_not() {
    let a = || record("a", Some("0000:01:00.0"), None, None);
    let b = || record("b", Some("0000:02:00.0"), None, None);
    assert_eq!(count(vec![a(), b()]), 2);
    assert_eq!(count(vec![a(), b(), a(), b(), a()]), 2);
    let by_uuid = || record("c", None, Some("GPU-1"), None);
    assert_eq!(count(vec![by_uuid(), by_uuid()]), 1);
    let on_windows = || record("d", None, None, Some("00000000000186a0"));
    assert_eq!(count(vec![on_windows(), on_windows(), a()]), 2);
}

#[test]
fn a_later_source_can_show_that_two_are_one() {
    let merged = cards(
        vec![
            record("a", None, Some("GPU-1"), None),
            record("b", Some("0000:01:00.0"), None, None),
            record("c", Some("0000:01:00.0"), Some("GPU-1"), None),
        ],
        &mut Vec::new(),
    );
    assert_eq!(merged.len(), 1);
    assert_eq!(merged[0].seen_by, ["a", "b", "c"]);
}

#[test]
fn instances_share_an_address_and_stay_apart() {
    let instance = |uuid| CardFacts {
        kind: Some(CardKind::MigInstance),
        ..record("nvml", Some("0000:07:00.0"), Some(uuid), None)
    };
    let records = vec![
        record("nvml", Some("0000:07:00.0"), Some("GPU-1"), None),
        instance("MIG-1"),
        instance("MIG-2"),
        record("pci", Some("0000:07:00.0"), None, None),
    ];
    let merged = cards(records, &mut Vec::new());
    assert_eq!(merged.len(), 3);
    assert_eq!(merged[0].seen_by, ["nvml", "pci"]);
}

#[test]
fn figures_of_memory_come_from_one_source() {
    let with = |source, total, used, free| CardFacts {
        total: Some(Bytes::from_mib(total)),
        used,
        free,
        ..record(source, Some("0000:01:00.0"), None, None)
    };
    let merged = cards(
        vec![
            with("driver", 24564, None, None),
            with("vulkan", 24576, None, Some(Bytes::from_mib(1))),
        ],
        &mut Vec::new(),
    );
    assert_eq!(merged[0].total, Some(Bytes::from_mib(24564)));
    // The other source's free memory belongs to its own total.
    assert_eq!(merged[0].free, None);
}

#[test]
fn a_runaway_source_is_stopped() {
    let records = (0..5000)
        .map(|number| record("x", None, Some(&format!("GPU-{number}")), None))
        .collect();
    let mut findings = Vec::new();
    assert_eq!(cards(records, &mut findings).len(), DEVICES_LIMIT);
    assert_eq!(findings[0].code, "too-many-cards");
    let keyless = (0..5000).map(|_| record("x", None, None, None)).collect();
    assert_eq!(count(keyless), DEVICES_LIMIT);
}

#[test]
fn amd_cards_are_chosen_by_uuid_or_place() {
    let card = |pci: &str, uuid: Option<&str>| CardFacts {
        vendor: Some(Vendor::Amd),
        total: Some(Bytes::from_gib(16)),
        ..record("amdgpu", Some(pci), uuid, None)
    };
    let reading = Reading {
        cards: vec![
            card("0000:83:00.0", None),
            card("0000:03:00.0", None),
            card("0000:43:00.0", Some("GPU-43")),
        ],
        ..Reading::default()
    };
    let found = merge::detection(vec![("amdgpu", reading)], None, None);
    let chosen: Vec<_> = found
        .cards
        .iter()
        .filter(|card| card.id != "0000:03:00.0")
        .collect();
    let variables = variables(&found.cards, &chosen);
    assert_eq!(
        variables.get("ROCR_VISIBLE_DEVICES").map(String::as_str),
        Some("2,GPU-43")
    );
}

proptest! {
    /// Whatever the sources say, in whatever order: as many cards as there are addresses.
    #[test]
    fn the_order_of_sources_changes_no_count(
        seen in proptest::collection::vec((0_u8..6, 0_u8..3), 0..40)
            .prop_map(|seen| seen.into_iter().collect::<Vec<_>>())
    ) {
        let records: Vec<CardFacts> = seen
            .iter()
            .map(|(slot, source)| record(&format!("s{source}"), Some(&format!("0000:0{slot}:00.0")), None, None))
            .collect();
        let mut slots: Vec<u8> = seen.iter().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(count(records), slots.len());
    }
}

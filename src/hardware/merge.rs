//! One physical card is one device, whichever sources saw it. Pure functions over what the probes read.
//!
//! Cards are matched by PCI address, UUID or LUID; never by their place in a list, which differs from source to source
//! (ollama issue 16667), and never by name alone, which two cards can share (llmfit PR 676).

use super::detection::{Aside, DetectedCard, Detection, Finding, Weight};
use super::facts::{CardFacts, CardKind, HostFacts};
use super::probe::Reading;
use super::{DEVICES_LIMIT, Machine, rules, visibility};

/// Merges what the probes read, given in order of trust, into one detection.
pub fn detection(
    readings: Vec<(&str, Reading)>,
    visible: Option<&str>,
    order: Option<&str>,
) -> Detection {
    let mut findings = Vec::new();
    let mut host = HostFacts::default();
    let mut records = Vec::new();
    for (probe, reading) in readings {
        findings.extend(reading.findings);
        if let Some(facts) = reading.host {
            host = facts;
        }
        for mut card in reading.cards {
            if card.seen_by.is_empty() {
                card.seen_by.push(probe.to_owned());
            }
            records.push(card);
        }
    }
    let merged = cards(records, &mut findings);
    rules::leave_out_gpu_nodes(&mut host, &merged);
    let mut cards: Vec<DetectedCard> = merged
        .into_iter()
        .enumerate()
        .map(|(place, facts)| rules::card(place, facts, &host, &mut findings))
        .collect();
    set_aside(&mut cards);
    visibility::apply_cuda(visible, order, &mut cards, &mut findings);
    cards.sort_by_key(|card| card.aside.is_some());
    findings.sort_by_key(|finding| finding.weight);
    Detection {
        machine: Machine {
            name: "This machine".to_owned(),
            os: host.os.unwrap_or(super::Os::Linux),
            host: rules::host(&host),
            gpus: cards
                .iter()
                .filter(|card| card.aside.is_none())
                .map(|card| card.gpu.clone())
                .collect(),
            nodes: 1,
        },
        cards,
        host,
        findings,
    }
}

/// Merges records, given in order of trust, into one per physical card.
pub fn cards(records: Vec<CardFacts>, findings: &mut Vec<Finding>) -> Vec<CardFacts> {
    let mut merged: Vec<CardFacts> = Vec::new();
    let mut keyless = Vec::new();
    for record in records {
        if record.pci_address.is_none() && record.uuid.is_none() && record.luid.is_none() {
            keyless.push(record);
            continue;
        }
        add(&mut merged, record);
        if merged.len() > DEVICES_LIMIT {
            merged.truncate(DEVICES_LIMIT);
            findings.push(Finding::new(
                Weight::Warning,
                "merge",
                "too-many-cards",
                format!("more than {DEVICES_LIMIT} cards were reported; the rest is left out"),
            ));
            break;
        }
    }
    add_keyless(&mut merged, keyless, findings);
    merged
}

/// Joins a record with every card it is the same as: a later source can show that two are one.
fn add(merged: &mut Vec<CardFacts>, record: CardFacts) {
    let place = merged
        .iter()
        .position(|card| same_card(card, &record))
        .unwrap_or(merged.len());
    // Earlier records are more trusted, so they are joined in the order they have.
    let same = merged.extract_if(.., |card| same_card(card, &record));
    let earlier = same.reduce(join);
    let card = match earlier {
        Some(earlier) => join(earlier, record),
        None => record,
    };
    merged.insert(place, card);
}

fn same_card(a: &CardFacts, b: &CardFacts) -> bool {
    let equal = |x: &Option<String>, y: &Option<String>| x.is_some() && x == y;
    if equal(&a.uuid, &b.uuid) {
        return true;
    }
    // Instances share the address of their card and are told apart by UUID alone.
    let instance = |card: &CardFacts| card.kind == Some(CardKind::MigInstance);
    if instance(a) || instance(b) {
        return false;
    }
    equal(&a.pci_address, &b.pci_address) || equal(&a.luid, &b.luid)
}

/// A record without any key is a second sight of a card that another source lists, if the PCI identities agree.
fn add_keyless(merged: &mut Vec<CardFacts>, keyless: Vec<CardFacts>, findings: &mut Vec<Finding>) {
    let keyed = merged.len();
    for record in keyless {
        let twins: Vec<usize> = merged
            .iter()
            .take(keyed)
            .enumerate()
            .filter(|(_, card)| card.device_id.is_some() && card.device_id == record.device_id)
            .map(|(index, _)| index)
            .collect();
        match twins.as_slice() {
            [] if merged.len() < DEVICES_LIMIT => merged.push(record),
            [index] => {
                if let Some(card) = merged.get_mut(*index) {
                    let earlier = std::mem::take(card);
                    *card = join(earlier, record);
                }
            }
            _ => findings.push(Finding::new(
                Weight::Info,
                record.seen_by.first().map_or("merge", String::as_str),
                "card-without-address",
                format!(
                    "{} was reported without an address and is taken to be one of the cards already listed",
                    record.name.as_deref().unwrap_or("a card")
                ),
            )),
        }
    }
}

/// The earlier source wins where both know a field.
fn join(a: CardFacts, b: CardFacts) -> CardFacts {
    let mut seen_by = a.seen_by;
    for probe in b.seen_by {
        if !seen_by.contains(&probe) {
            seen_by.push(probe);
        }
    }
    let mut ceilings = b.ceilings;
    ceilings.extend(a.ceilings);
    let mut missing = b.missing;
    missing.extend(a.missing);
    // Figures of memory belong together: a total of one source and a use of another need not add up.
    let (memory_of_a, memory_of_b) = (
        (a.total, a.reserved, a.used, a.free),
        (b.total, b.reserved, b.used, b.free),
    );
    let (total, reserved, used, free) = if a.total.is_some() {
        memory_of_a
    } else {
        memory_of_b
    };
    let mut joined = CardFacts {
        seen_by,
        name: a.name.or(b.name),
        vendor: a.vendor.or(b.vendor),
        uuid: a.uuid.or(b.uuid),
        pci_address: a.pci_address.or(b.pci_address),
        luid: a.luid.or(b.luid),
        device_id: a.device_id.or(b.device_id),
        kind: a.kind.or(b.kind),
        unified: a.unified.or(b.unified),
        total,
        reserved,
        used,
        free,
        gtt_total: a.gtt_total.or(b.gtt_total),
        gtt_used: a.gtt_used.or(b.gtt_used),
        compute_capability: a.compute_capability.or(b.compute_capability),
        gfx_target: a.gfx_target.or(b.gfx_target),
        gpu_cores: a.gpu_cores.or(b.gpu_cores),
        bus_width_bits: a.bus_width_bits.or(b.bus_width_bits),
        memory_clock_mhz: a.memory_clock_mhz.or(b.memory_clock_mhz),
        bandwidth_gb_s: a.bandwidth_gb_s.or(b.bandwidth_gb_s),
        pcie_max: a.pcie_max.or(b.pcie_max),
        pcie_now: a.pcie_now.or(b.pcie_now),
        ecc: a.ecc.or(b.ecc),
        mig: a.mig.or(b.mig),
        wddm: a.wddm.or(b.wddm),
        numa_node: a.numa_node.or(b.numa_node),
        drives_display: a.drives_display.or(b.drives_display),
        driver: a.driver.or(b.driver),
        cuda_version: a.cuda_version.or(b.cuda_version),
        processes: a.processes.or(b.processes),
        ceilings,
        vulkan_index: a.vulkan_index.or(b.vulkan_index),
        missing,
    };
    forget_filled(&mut joined);
    joined
}

/// A field that another source filled is no longer missing.
fn forget_filled(card: &mut CardFacts) {
    let filled = [
        ("total", card.total.is_some()),
        ("used", card.used.is_some()),
        ("name", card.name.is_some()),
        ("uuid", card.uuid.is_some()),
        ("pci_address", card.pci_address.is_some()),
        ("pcie_max", card.pcie_max.is_some()),
        ("pcie_now", card.pcie_now.is_some()),
        ("bandwidth_gb_s", card.bandwidth_gb_s.is_some()),
        ("drives_display", card.drives_display.is_some()),
        ("driver", card.driver.is_some()),
        ("processes", card.processes.is_some()),
    ];
    for (field, is_filled) in filled {
        if is_filled {
            card.missing.remove(field);
        }
    }
}

/// Marks what is not used by default. Only the first reason counts.
fn set_aside(cards: &mut [DetectedCard]) {
    let any_separate = cards.iter().any(|card| {
        card.aside.is_none() && !card.gpu.unified && card.facts.kind != Some(CardKind::Integrated)
    });
    let mut instance_taken = false;
    for card in cards.iter_mut().filter(|card| card.aside.is_none()) {
        let is_integrated = card.facts.kind == Some(CardKind::Integrated) || card.gpu.unified;
        if any_separate && is_integrated {
            card.aside = Some(Aside::Integrated);
        } else if card.facts.kind == Some(CardKind::MigInstance) {
            if instance_taken {
                card.aside = Some(Aside::SecondInstance);
            }
            instance_taken = true;
        }
    }
}

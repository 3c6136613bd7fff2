//! Which cards a program sees: reading `CUDA_VISIBLE_DEVICES`, and the variables that select cards for every backend.

use std::collections::BTreeMap;

use super::Vendor;
use super::detection::{Aside, DetectedCard, Finding, Weight};
use super::facts::CardKind;

/// Sets aside what `CUDA_VISIBLE_DEVICES` hides and orders the NVIDIA cards as it does.
///
/// Its rules (CUDA programming guide, environment variables): numbers or UUID prefixes, separated by commas; the first
/// one that matches nothing ends the list; an empty list hides all.
pub(super) fn apply_cuda(
    visible: Option<&str>,
    order_variable: Option<&str>,
    cards: &mut [DetectedCard],
    findings: &mut Vec<Finding>,
) {
    let Some(visible) = visible else { return };
    let nvidia: Vec<usize> = cards
        .iter()
        .enumerate()
        .filter(|(_, card)| card.gpu.vendor == Vendor::Nvidia)
        .map(|(index, _)| index)
        .collect();
    let chosen = named_cards(visible, &nvidia, cards, findings);
    let by_number = visible
        .split(',')
        .any(|entry| entry.trim().parse::<u32>().is_ok());
    if by_number && order_variable != Some("PCI_BUS_ID") {
        doubt_numbers(&nvidia, cards, findings);
    }
    for index in &nvidia {
        let Some(card) = cards.get_mut(*index) else {
            continue;
        };
        let is_open = matches!(card.aside, None | Some(Aside::SecondInstance));
        if is_open {
            // An instance that was named is the one to use.
            card.aside = (!chosen.contains(index)).then_some(Aside::Hidden);
        }
    }
    let in_order: Vec<DetectedCard> = chosen
        .iter()
        .filter_map(|index| cards.get(*index).cloned())
        .collect();
    let mut slots = chosen;
    slots.sort_unstable();
    for (slot, card) in slots.into_iter().zip(in_order) {
        if let Some(place) = cards.get_mut(slot) {
            *place = card;
        }
    }
}

/// The cards that the variable names, in its order, up to the first entry that names none.
fn named_cards(
    visible: &str,
    nvidia: &[usize],
    cards: &[DetectedCard],
    findings: &mut Vec<Finding>,
) -> Vec<usize> {
    let mut chosen = Vec::new();
    for entry in visible.split(',').map(str::trim) {
        let Some(index) = named_card(entry, nvidia, cards) else {
            if !entry.is_empty() && entry != "-1" {
                findings.push(
                    Finding::new(
                        Weight::Warning,
                        "nvml",
                        "cuda-visible-devices-unmatched",
                        format!("`{entry}` in CUDA_VISIBLE_DEVICES matches no card, so CUDA ignores it and all that follows"),
                    )
                    .remedy("correct the variable or unset it"),
                );
            }
            break;
        };
        if !chosen.contains(&index) {
            chosen.push(index);
        }
    }
    chosen
}

/// The card that one entry means: a number in the driver's order, or the beginning of a UUID.
fn named_card(entry: &str, nvidia: &[usize], cards: &[DetectedCard]) -> Option<usize> {
    if let Ok(number) = entry.parse::<usize>() {
        // CUDA does not count cards that do not answer.
        let whole_cards = nvidia.iter().filter(|index| {
            cards.get(**index).is_some_and(|card| {
                card.facts.kind != Some(CardKind::MigInstance)
                    && !matches!(card.aside, Some(Aside::Lost | Aside::UnknownMemory))
            })
        });
        return whole_cards.copied().nth(number);
    }
    if !entry.starts_with("GPU-") && !entry.starts_with("MIG-") {
        return None;
    }
    let mut matching = nvidia.iter().copied().filter(|index| {
        cards
            .get(*index)
            .and_then(|card| card.gpu.uuid.as_deref())
            .is_some_and(|uuid| uuid.starts_with(entry))
    });
    // CUDA refuses a prefix that means two cards.
    let first = matching.next()?;
    matching.next().is_none().then_some(first)
}

/// Without `CUDA_DEVICE_ORDER=PCI_BUS_ID` CUDA counts from the fastest card, the driver by address.
fn doubt_numbers(nvidia: &[usize], cards: &[DetectedCard], findings: &mut Vec<Finding>) {
    let mut names = nvidia
        .iter()
        .filter_map(|index| cards.get(*index))
        .map(|card| card.gpu.name.as_str());
    let first = names.next();
    if names.any(|name| Some(name) != first) {
        findings.push(
            Finding::new(
                Weight::Info,
                "nvml",
                "cuda-device-order",
                "CUDA_VISIBLE_DEVICES counts cards by number, and unequal cards are numbered from the fastest unless CUDA_DEVICE_ORDER=PCI_BUS_ID",
            )
            .remedy("name the cards by UUID"),
        );
    }
}

/// The environment variables that make each backend see exactly these cards, in this order.
///
/// CUDA and ROCm take UUIDs, which survive a change of order; AMD parts without one go by their place among AMD cards,
/// which is ROCm's own count. Vulkan ignores both (ollama issue 16508) and has llama.cpp's own variable.
pub fn variables(all: &[DetectedCard], chosen: &[&DetectedCard]) -> BTreeMap<&'static str, String> {
    let mut variables = BTreeMap::new();
    let cuda: Vec<&str> = chosen
        .iter()
        .filter(|card| card.gpu.vendor == Vendor::Nvidia)
        .filter_map(|card| card.gpu.uuid.as_deref())
        .collect();
    if !cuda.is_empty() {
        variables.insert("CUDA_VISIBLE_DEVICES", cuda.join(","));
    }
    let mut amd: Vec<&DetectedCard> = all
        .iter()
        .filter(|card| card.gpu.vendor == Vendor::Amd)
        .collect();
    amd.sort_by(|a, b| a.gpu.pci_address.cmp(&b.gpu.pci_address));
    let rocm: Vec<String> = chosen
        .iter()
        .filter_map(|card| {
            let place = amd.iter().position(|other| other.id == card.id)?;
            Some(card.gpu.uuid.clone().unwrap_or_else(|| place.to_string()))
        })
        .collect();
    if !rocm.is_empty() {
        variables.insert("ROCR_VISIBLE_DEVICES", rocm.join(","));
    }
    let vulkan: Vec<String> = chosen
        .iter()
        .filter_map(|card| card.facts.vulkan_index)
        .map(|index| index.to_string())
        .collect();
    if vulkan.len() == chosen.len() && !vulkan.is_empty() {
        variables.insert("GGML_VK_VISIBLE_DEVICES", vulkan.join(","));
    }
    variables
}

//! From facts to what a plan sees: which number counts, and what is one pool with main memory.

use std::collections::BTreeSet;

use super::detection::{Aside, DetectedCard, Finding, Weight};
use super::facts::{CardFacts, CardKind, HostFacts, Reason};
use super::{Gpu, GpuMemory, Host, Os, Vendor};
use crate::units::Bytes;

/// Targets of AMD parts that share the processor's memory, whatever the size of the firmware's carve-out
/// (ollama `discover/amd.go`; gfx1151 with 96 GB carved out looks like a card otherwise).
const AMD_INTEGRATED: &[&str] = &[
    "gfx90c", "gfx1035", "gfx1036", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
];

/// The host as a plan sees it: inside a container the container's limit is all there is.
pub(super) fn host(facts: &HostFacts) -> Host {
    let total = facts.ram_total.unwrap_or_default();
    let limited = facts.cgroup_limit.filter(|limit| *limit < total);
    let ram = limited.unwrap_or(total);
    let mut available = facts.ram_available.unwrap_or(total).min(ram);
    if limited.is_some()
        && let Some(free) = facts.cgroup_free
    {
        available = available.min(free);
    }
    Host {
        ram,
        in_use: ram.saturating_sub(available),
        swap: facts.swap_total.unwrap_or_default(),
        physical_cores: facts.physical_cores,
        cpu_name: facts.cpu_name.clone(),
        cpu_features: facts.cpu_features.clone(),
        bandwidth_gb_s: None,
        disk_free: facts.disk_free,
    }
}

/// The memory of a coherent GPU (Grace Hopper) is a node of the system and counted in its total: it is not main memory.
pub(super) fn leave_out_gpu_nodes(host: &mut HostFacts, cards: &[CardFacts]) {
    let nodes: BTreeSet<u32> = cards.iter().filter_map(|card| card.numa_node).collect();
    for node in nodes.iter().filter_map(|node| host.numa_memory.get(node)) {
        host.ram_total = host.ram_total.map(|total| total.saturating_sub(node.total));
        host.ram_available = host
            .ram_available
            .map(|available| available.saturating_sub(node.free));
    }
}

/// A card as a plan sees it, with the reason why it is not used where its facts already show one.
pub(super) fn card(
    place: usize,
    mut facts: CardFacts,
    host_facts: &HostFacts,
    findings: &mut Vec<Finding>,
) -> DetectedCard {
    let id = facts
        .uuid
        .clone()
        .or_else(|| facts.pci_address.clone())
        .unwrap_or_else(|| format!("card{place}"));
    let unified = is_unified(&facts, &id, findings);
    facts.unified = Some(unified);
    // A carve-out of 96 GB passes for a card until the LLVM target tells.
    if unified && facts.kind == Some(CardKind::Discrete) {
        facts.kind = Some(CardKind::Integrated);
    }
    let memory = if unified {
        pool(&facts, host_facts)
    } else {
        separate(&facts, host_facts)
    };
    doubt_vulkan(&facts, unified, &id, findings);
    let aside = if facts.missing.values().any(|reason| *reason == Reason::Lost) {
        Some(Aside::Lost)
    } else if facts.mig == Some(true) && facts.kind != Some(CardKind::MigInstance) {
        Some(Aside::SplitIntoInstances)
    } else if memory.usable == Bytes::ZERO {
        findings.push(unknown_memory(&facts, unified, &id));
        Some(Aside::UnknownMemory)
    } else {
        None
    };
    DetectedCard {
        gpu: Gpu {
            name: facts
                .name
                .clone()
                .unwrap_or_else(|| "unknown card".to_owned()),
            vendor: facts.vendor.unwrap_or(Vendor::Other),
            uuid: facts.uuid.clone(),
            pci_address: facts.pci_address.clone(),
            memory,
            unified,
            compute_capability: facts.compute_capability,
            gfx_target: facts.gfx_target.clone(),
            metal_family: None,
            bandwidth_gb_s: facts.bandwidth_gb_s,
            fp16_tflops: None,
            pcie: facts.pcie_max,
            drives_display: facts.drives_display.unwrap_or(false),
            driver: facts.driver.clone(),
        },
        id,
        facts,
        aside,
    }
}

/// A card that is there but cannot be used says why.
fn unknown_memory(facts: &CardFacts, unified: bool, id: &str) -> Finding {
    let source = facts.seen_by.first().map_or("merge", String::as_str);
    let name = facts.name.as_deref().unwrap_or("a card");
    let only_on_the_bus = facts.seen_by == ["pci"];
    let message = match (&facts.driver, only_on_the_bus) {
        (None, true) => format!("{name} is built in, but no driver serves it"),
        (Some(driver), true) => {
            format!("{name} is built in, but its driver `{driver}` tells no memory size")
        }
        _ => format!("{name} is there, but no source says how much memory it has"),
    };
    // Nobody misses the display part of a server's processor.
    let weight = if unified || facts.kind == Some(CardKind::Integrated) {
        Weight::Info
    } else {
        Weight::Warning
    };
    Finding::new(weight, source, "unknown-memory", message)
        .of(id.to_owned())
        .remedy("install its vendor's driver, or describe it by hand with `vram_mib`")
}

fn is_unified(facts: &CardFacts, id: &str, findings: &mut Vec<Finding>) -> bool {
    if let Some(target) = &facts.gfx_target
        && AMD_INTEGRATED.contains(&target.as_str())
    {
        return true;
    }
    let integrated = facts.kind == Some(CardKind::Integrated) || facts.unified == Some(true);
    // A driver that invents a small total for an integrated part (8128 MiB on an "N1X", unsloth PR 10283).
    if integrated && facts.vendor == Some(Vendor::Nvidia) && facts.total.is_some() {
        findings.push(
            Finding::new(
                Weight::Warning,
                "nvml",
                "integrated-total-distrusted",
                "the driver tells a memory size for a part that shares the processor's memory; main memory counts instead",
            )
            .of(id.to_owned()),
        );
    }
    integrated
}

/// Memory of a card that has its own.
fn separate(facts: &CardFacts, host: &HostFacts) -> GpuMemory {
    let total = facts.total.unwrap_or_default();
    let windows_rules = host.wsl || (host.os == Some(Os::Windows) && facts.wddm != Some(false));
    let usable = match facts.vendor {
        // Under WDDM CUDA sees the total less 1 MiB; on Linux the total less what the driver reserves.
        Some(Vendor::Nvidia) if windows_rules => total.saturating_sub(Bytes::from_mib(1)),
        _ => total.saturating_sub(facts.reserved.unwrap_or_default()),
    };
    let used = facts
        .used
        .or_else(|| facts.free.map(|free| usable.saturating_sub(free)))
        .unwrap_or_default();
    GpuMemory {
        total,
        usable,
        in_use: used.min(usable),
    }
}

/// Memory of a part that shares the processor's: its own carve-out, where there is one, and what it may map.
fn pool(facts: &CardFacts, host: &HostFacts) -> GpuMemory {
    let ram = host.ram_total.unwrap_or_default();
    let available = host.ram_available.unwrap_or(ram);
    let (ceiling, free) = if let Some(gtt) = facts.gtt_total {
        let carved = facts.total.unwrap_or_default();
        let mappable = gtt
            .saturating_sub(facts.gtt_used.unwrap_or_default())
            .min(available);
        let carved_free = carved.saturating_sub(facts.used.unwrap_or_default());
        (carved + gtt, carved_free + mappable)
    } else if let Some(working_set) = facts.ceilings.get("metal") {
        (*working_set, available.min(*working_set))
    } else if facts.vendor == Some(Vendor::Nvidia) {
        // CUDA's total equals MemTotal on a GB10 (llama.cpp logs: 124610 MiB = 127600748 kB).
        (ram, available)
    } else {
        // What Vulkan may take is the only limit that an integrated part without files of its own tells of.
        let vulkan = facts.ceilings.get("vulkan").copied();
        let total = vulkan.or(facts.total).unwrap_or_default().min(ram);
        (total, available.min(total))
    };
    GpuMemory {
        total: ceiling,
        usable: ceiling,
        in_use: ceiling.saturating_sub(free),
    }
}

/// Vulkan told of 19491 MiB on a 12 GB card (lmstudio issue 1216): say so where a driver knows better.
fn doubt_vulkan(facts: &CardFacts, unified: bool, id: &str, findings: &mut Vec<Finding>) {
    let (Some(total), Some(heap)) = (facts.total, facts.ceilings.get("vulkan")) else {
        return;
    };
    if !unified && *heap > total.mul_ratio(11, 10) {
        findings.push(
            Finding::new(
                Weight::Info,
                "vulkan",
                "vulkan-total-distrusted",
                format!(
                    "Vulkan tells of {heap}, the driver of {total}; the driver's figure is used"
                ),
            )
            .of(id.to_owned()),
        );
    }
}

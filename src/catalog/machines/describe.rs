//! A machine from the words of a plan.

use std::ops::RangeInclusive;

use super::Error;
use crate::catalog::gpus::{GpuCatalog, parse_capability};
use crate::catalog::names;
use crate::hardware::{DEVICES_LIMIT, Gpu, GpuMemory, Host, Machine, Os, Vendor};
use crate::plan::{GpuRef, MachineRef};
use crate::units::{Bytes, MIB};

/// One PiB, more than any machine has: nothing that is added to it or multiplied by its cards comes near the largest
/// number.
pub(super) const MOST_MIB: u64 = 1 << 30;

/// What memory may reach: a tenth of the slowest channel of SDRAM (PC-66, 0.5 GB/s) is nothing that a model runs on, and
/// ten times the fastest stacks of today (8 TB/s of B200) is more than anyone has announced.
const BANDWIDTHS_GB_S: RangeInclusive<f64> = 0.1..=100_000.0;
const BANDWIDTH: &str = "`bandwidth_gb_s` must be between 0.1 and 100,000 GB/s";

/// The machine that a table describes; what it leaves open is the detected machine's.
pub(super) fn described(
    reference: &MachineRef,
    detected: Option<&Machine>,
    catalog: &GpuCatalog,
) -> Result<Machine, Error> {
    let os = reference
        .os
        .or(detected.map(|machine| machine.os))
        .unwrap_or(Os::Linux);
    for (field, mib) in [
        ("ram_mib", reference.ram_mib),
        ("ram_in_use_mib", reference.ram_in_use_mib),
    ] {
        if mib.is_some_and(|mib| mib > MOST_MIB) {
            return Err(Error::Memory { field });
        }
    }
    let mut host = match (reference.ram_mib, detected) {
        // Another amount of RAM is another computer: nothing of this one is in use there.
        (Some(mib), _) => Host::with_ram(Bytes::from_mib(mib)),
        (None, Some(machine)) => machine.host.clone(),
        (None, None) => return Err(Error::NoRam),
    };
    if let Some(mib) = reference.ram_in_use_mib {
        host.in_use = Bytes::from_mib(mib).min(host.ram);
    }
    if let Some(bandwidth) = reference.ram_bandwidth_gb_s {
        if !BANDWIDTHS_GB_S.contains(&bandwidth) {
            return Err(Error::RamBandwidth);
        }
        host.bandwidth_gb_s = Some(bandwidth);
    }
    let nodes = reference.nodes.unwrap_or(1);
    if nodes == 0 {
        return Err(Error::NoNodes);
    }
    let cards = match &reference.gpus {
        Some(references) => cards(references, nodes, os, &host, catalog)?,
        None => detected
            .map(|machine| machine.gpus.clone())
            .unwrap_or_default(),
    };
    within_limit(cards.len() as u64, nodes)?;
    Ok(Machine {
        name: title(&cards, &host),
        os,
        host,
        gpus: cards,
        nodes,
    })
}

fn within_limit(cards: u64, nodes: u32) -> Result<(), Error> {
    // A node without cards still is a device.
    let asked = cards.max(1).saturating_mul(u64::from(nodes));
    if asked > DEVICES_LIMIT as u64 {
        return Err(Error::TooMany { asked });
    }
    Ok(())
}

fn cards(
    references: &[GpuRef],
    nodes: u32,
    os: Os,
    host: &Host,
    catalog: &GpuCatalog,
) -> Result<Vec<Gpu>, Error> {
    let asked = references.iter().fold(0_u64, |sum, reference| {
        sum.saturating_add(u64::from(reference.count.unwrap_or(1)))
    });
    within_limit(asked, nodes)?;
    let mut cards = Vec::new();
    for reference in references {
        let card = card(reference, os, host, catalog)?;
        for _ in 0..reference.count.unwrap_or(1) {
            cards.push(card.clone());
        }
    }
    Ok(cards)
}

fn card(reference: &GpuRef, os: Os, host: &Host, catalog: &GpuCatalog) -> Result<Gpu, Error> {
    let figure = |problem: &str| Error::Figure {
        problem: problem.to_owned(),
        gpu: reference.name.clone(),
    };
    for (field, mib) in [
        ("vram_mib", reference.vram_mib),
        ("usable_mib", reference.usable_mib),
        ("in_use_mib", reference.in_use_mib),
    ] {
        if mib.is_some_and(|mib| mib > MOST_MIB) {
            return Err(figure(&format!(
                "`{field}` is more than {MOST_MIB} (1 PiB)"
            )));
        }
    }
    let vram = reference.vram_mib.map(Bytes::from_mib);
    let usable = reference.usable_mib.map(Bytes::from_mib);
    let mut card = match catalog.find_sized(&reference.name, vram) {
        Ok(preset) => {
            let mut card = preset.gpu(os, host.ram);
            if let Some(total) = vram {
                card.memory.total = total;
                card.memory.usable = if preset.unified {
                    total
                } else {
                    preset.usable(total, os)
                };
            }
            card
        }
        Err(_) if vram.is_some() || usable.is_some() => custom(reference, vram, usable),
        Err(error) => return Err(error.into()),
    };
    if let Some(usable) = usable {
        if vram.is_some_and(|vram| usable > vram) {
            return Err(figure("`usable_mib` is more than `vram_mib`"));
        }
        card.memory.usable = usable;
        card.memory.total = card.memory.total.max(usable);
    }
    if let Some(bandwidth) = reference.bandwidth_gb_s {
        if !BANDWIDTHS_GB_S.contains(&bandwidth) {
            return Err(figure(BANDWIDTH));
        }
        card.bandwidth_gb_s = Some(bandwidth);
    }
    if let Some(text) = &reference.compute_capability {
        let capability = parse_capability(text)
            .ok_or_else(|| figure("`compute_capability` must look like \"8.9\""))?;
        card.compute_capability = Some(capability);
    }
    card.memory.in_use = match reference.in_use_mib {
        Some(mib) => Bytes::from_mib(mib),
        // What others use of a shared pool counts where it leaves less than the GPU may take.
        None if card.unified => card
            .memory
            .usable
            .saturating_sub(host.ram.saturating_sub(host.in_use)),
        None => Bytes::ZERO,
    };
    Ok(card)
}

/// A card that no catalogue knows: all that is known is what is written.
fn custom(reference: &GpuRef, vram: Option<Bytes>, usable: Option<Bytes>) -> Gpu {
    let total = vram.or(usable).unwrap_or_default();
    let vendor = if reference.compute_capability.is_some() {
        Some(Vendor::Nvidia)
    } else {
        names::vendor(&reference.name)
    };
    Gpu {
        name: reference.name.clone(),
        vendor: vendor.unwrap_or(Vendor::Other),
        uuid: None,
        pci_address: None,
        memory: GpuMemory {
            total,
            usable: usable.unwrap_or(total),
            in_use: Bytes::ZERO,
        },
        unified: false,
        compute_capability: None,
        gfx_target: None,
        metal_family: None,
        bandwidth_gb_s: None,
        fp16_tflops: None,
        pcie: None,
        drives_display: false,
        driver: None,
    }
}

/// "2x NVIDIA GeForce RTX 3090 + 64 GiB".
fn title(cards: &[Gpu], host: &Host) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for card in cards {
        match counted.iter_mut().find(|(name, _)| *name == card.name) {
            Some((_, count)) => *count += 1,
            None => counted.push((&card.name, 1)),
        }
    }
    let mut parts: Vec<String> = counted
        .into_iter()
        .map(|(name, count)| {
            if count == 1 {
                name.to_owned()
            } else {
                format!("{count}x {name}")
            }
        })
        .collect();
    if parts.is_empty() {
        parts.push("CPU only".to_owned());
    }
    parts.push(format!("{:.0} GiB RAM", host.ram.as_gib()));
    parts.join(" + ")
}

/// The table that describes a machine, for a plan that is to mean it elsewhere too. Sizes are rounded to MiB, memory
/// that is free downwards. Equal neighbours become one entry with a count.
pub fn reference(machine: &Machine, catalog: &GpuCatalog) -> MachineRef {
    let mut gpus: Vec<GpuRef> = Vec::new();
    for gpu in &machine.gpus {
        let mut entry = gpu_reference(gpu, machine, catalog);
        match gpus.last_mut() {
            Some(last) if equal_cards(last, &entry) => {
                last.count = Some(last.count.unwrap_or(1).saturating_add(1));
            }
            _ => {
                entry.count = None;
                gpus.push(entry);
            }
        }
    }
    MachineRef {
        preset: None,
        os: Some(machine.os),
        ram_mib: Some(whole_mib(machine.host.ram)),
        ram_in_use_mib: Some(begun_mib(machine.host.in_use)),
        ram_bandwidth_gb_s: machine.host.bandwidth_gb_s,
        gpus: Some(gpus),
        nodes: (machine.nodes != 1).then_some(machine.nodes),
    }
}

/// Names a card, and writes what its catalogue row would make different.
fn gpu_reference(gpu: &Gpu, machine: &Machine, catalog: &GpuCatalog) -> GpuRef {
    let total = whole_mib(gpu.memory.total);
    let preset = catalog
        .find_sized(&gpu.name, Some(gpu.memory.total))
        .or_else(|_| catalog.find(&gpu.name))
        .ok();
    let usual = preset.map(|preset| preset.gpu(machine.os, machine.host.ram));
    let differs = |of: fn(&Gpu) -> u64| usual.as_ref().is_none_or(|usual| of(usual) != of(gpu));
    let capability = |gpu: &Gpu| gpu.compute_capability;
    GpuRef {
        name: preset.map_or_else(|| gpu.name.clone(), |preset| preset.name.clone()),
        count: None,
        in_use_mib: (gpu.memory.in_use > Bytes::ZERO).then(|| begun_mib(gpu.memory.in_use)),
        usable_mib: differs(|gpu| whole_mib(gpu.memory.usable))
            .then(|| whole_mib(gpu.memory.usable)),
        vram_mib: differs(|gpu| whole_mib(gpu.memory.total)).then_some(total),
        bandwidth_gb_s: gpu
            .bandwidth_gb_s
            .filter(|rate| usual.as_ref().and_then(|usual| usual.bandwidth_gb_s) != Some(*rate)),
        compute_capability: gpu
            .compute_capability
            .filter(|own| usual.as_ref().and_then(capability) != Some(*own))
            .map(|(major, minor)| format!("{major}.{minor}")),
    }
}

fn equal_cards(a: &GpuRef, b: &GpuRef) -> bool {
    let uncounted = |gpu: &GpuRef| GpuRef {
        count: None,
        ..gpu.clone()
    };
    uncounted(a) == uncounted(b)
}

fn whole_mib(bytes: Bytes) -> u64 {
    bytes.get() / MIB
}

fn begun_mib(bytes: Bytes) -> u64 {
    bytes.get().div_ceil(MIB)
}

//! One NVIDIA device and, where it is split, its instances.

use std::collections::BTreeMap;
use std::path::Path;

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use super::{ASKED_LIMIT, memory, reason};
use crate::hardware::detection::{Finding, Weight};
use crate::hardware::facts::{CardFacts, CardKind, GpuProcess, Reason};
use crate::hardware::probe::sysfs;
use crate::hardware::{Pcie, Vendor};
use crate::units::Bytes;

/// Takes answers and keeps the reasons of the others.
#[derive(Default)]
struct Missing(BTreeMap<String, Reason>);

impl Missing {
    fn take<T>(&mut self, field: &str, answer: Result<T, NvmlError>) -> Option<T> {
        self.because(field, answer.map_err(|error| reason(&error)))
    }

    fn because<T>(&mut self, field: &str, answer: Result<T, Reason>) -> Option<T> {
        answer
            .map_err(|reason| self.0.insert(field.to_owned(), reason))
            .ok()
    }
}

/// The device, followed by its instances.
pub(super) fn read(
    device: &Device<'_>,
    proc_root: &Path,
    findings: &mut Vec<Finding>,
) -> Vec<CardFacts> {
    let mut card = whole(device, proc_root);
    doubt_link(&card, findings);
    // Cards that cannot be split answer NotSupported: that is no gap.
    card.mig = device.mig_mode().ok().map(|mode| mode.current == 1);
    let mut instances = Vec::new();
    if card.mig == Some(true) {
        // The count is the most there can be; numbers without an instance answer NotFound.
        let most = device.mig_device_count().unwrap_or(0).min(ASKED_LIMIT);
        instances.extend((0..most).filter_map(|number| {
            let instance = device.mig_device_by_index(number).ok()?;
            Some(self::instance(&instance, &card))
        }));
        if instances.is_empty() {
            findings.push(
                Finding::new(
                    Weight::Warning,
                    "nvml",
                    "mig-without-instances",
                    "the card is in MIG mode but has no instance that this program may see",
                )
                .of(id(&card))
                .remedy("create one (`nvidia-smi mig -cgi ... -C`), pass it to the container, or turn MIG off"),
            );
        }
    }
    let mut cards = vec![card];
    cards.append(&mut instances);
    cards
}

fn whole(device: &Device<'_>, proc_root: &Path) -> CardFacts {
    let mut missing = Missing::default();
    let pci = missing.take("pci_address", device.pci_info());
    let memory = missing.because("total", memory(device));
    let unified = missing.0.get("total") == Some(&Reason::UnifiedMemory);
    let bus_width_bits = missing.take("bus_width_bits", device.memory_bus_width());
    let memory_clock_mhz = missing.take("memory_clock_mhz", device.max_clock_info(Clock::Memory));
    let capability = missing
        .take("compute_capability", device.cuda_compute_capability())
        .and_then(|answer| {
            let part = |part: i32| u32::try_from(part).ok();
            Some((part(answer.major)?, part(answer.minor)?))
        });
    CardFacts {
        name: missing.take("name", device.name()),
        vendor: Some(Vendor::Nvidia),
        uuid: missing.take("uuid", device.uuid()),
        pci_address: pci.as_ref().and_then(|pci| sysfs::pci_address(&pci.bus_id)),
        device_id: pci
            .as_ref()
            // The upper half is the device, the lower the vendor.
            .map(|pci| {
                format!(
                    "{:04x}:{:04x}",
                    pci.pci_device_id & 0xffff,
                    pci.pci_device_id >> 16
                )
            }),
        unified: unified.then_some(true),
        total: memory.map(|memory| memory.total),
        reserved: memory.and_then(|memory| memory.reserved),
        used: memory.map(|memory| memory.used),
        free: memory.map(|memory| memory.free),
        compute_capability: capability,
        bus_width_bits,
        memory_clock_mhz,
        bandwidth_gb_s: bus_width_bits
            .zip(memory_clock_mhz)
            .map(|(bits, mhz)| bandwidth(bits, mhz)),
        pcie_max: missing.take(
            "pcie_max",
            link(device.max_pcie_link_gen(), device.max_pcie_link_width()),
        ),
        pcie_now: missing.take(
            "pcie_now",
            link(
                device.current_pcie_link_gen(),
                device.current_pcie_link_width(),
            ),
        ),
        ecc: missing
            .take("ecc", device.is_ecc_enabled())
            .map(|state| state.currently_enabled),
        wddm: wddm(device),
        // Refused by every card whose memory is no node: that is no gap.
        numa_node: device.numa_node_id().ok(),
        drives_display: missing.take("drives_display", display(device)),
        processes: processes(device, proc_root, &mut missing),
        missing: missing.0,
        ..CardFacts::default()
    }
}

fn display(device: &Device<'_>) -> Result<bool, NvmlError> {
    device
        .is_display_active()
        .or_else(|_| device.is_display_connected())
}

#[cfg(target_os = "windows")]
fn wddm(device: &Device<'_>) -> Option<bool> {
    use nvml_wrapper::enum_wrappers::device::DriverModel;
    let model = device.driver_model().ok()?;
    Some(model.current == DriverModel::WDDM)
}

#[cfg(not(target_os = "windows"))]
const fn wddm(_: &Device<'_>) -> Option<bool> {
    None
}

fn link(
    generation: Result<u32, NvmlError>,
    lanes: Result<u32, NvmlError>,
) -> Result<Pcie, NvmlError> {
    Ok(Pcie {
        generation: generation?,
        lanes: lanes?,
    })
}

/// GB/s of memory that moves data twice a clock, which held for GDDR6, GDDR6X and HBM alike
/// (RTX 4090: 10501 MHz x 2 x 384 bit / 8000 = 1008; B200: 3996 x 2 x 7680 / 8000 = 7672).
fn bandwidth(bits: u32, mhz: u32) -> f64 {
    f64::from(mhz) * 2.0 * f64::from(bits) / 8000.0
}

/// An instance has memory and UUID of its own; the rest is its card's.
fn instance(device: &Device<'_>, card: &CardFacts) -> CardFacts {
    let mut missing = Missing::default();
    let memory = missing.because("total", memory(device));
    CardFacts {
        name: missing
            .take("name", device.name())
            .or_else(|| card.name.clone()),
        uuid: missing.take("uuid", device.uuid()),
        kind: Some(CardKind::MigInstance),
        mig: None,
        total: memory.map(|memory| memory.total),
        reserved: memory.and_then(|memory| memory.reserved),
        used: memory.map(|memory| memory.used),
        free: memory.map(|memory| memory.free),
        // Bandwidth is split by memory slices, and no call tells how.
        bandwidth_gb_s: None,
        processes: None,
        missing: missing.0,
        ..card.clone()
    }
}

fn processes(
    device: &Device<'_>,
    proc_root: &Path,
    missing: &mut Missing,
) -> Option<Vec<GpuProcess>> {
    let compute = missing.take("processes", device.running_compute_processes())?;
    let graphics = device.running_graphics_processes().unwrap_or_default();
    let mut processes: Vec<GpuProcess> = Vec::new();
    let kinds = [(compute, false), (graphics, true)];
    for (info, graphics) in kinds
        .into_iter()
        .flat_map(|(list, graphics)| list.into_iter().map(move |info| (info, graphics)))
    {
        let process = process(&info, graphics, proc_root);
        // A program that computes and draws is in both lists with the same memory.
        if processes.iter().all(|other| other.pid != process.pid) {
            processes.push(process);
        }
    }
    processes.sort_by_key(|process| (std::cmp::Reverse(process.memory), process.pid));
    Some(processes)
}

fn process(info: &ProcessInfo, graphics: bool, proc_root: &Path) -> GpuProcess {
    GpuProcess {
        pid: info.pid,
        name: sysfs::text(&proc_root.join(format!("{}/comm", info.pid)))
            .filter(|name| !name.is_empty()),
        memory: match info.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(Bytes::new(bytes)),
            // Windows manages the memory itself and tells nobody.
            UsedGpuMemory::Unavailable => None,
        },
        graphics,
    }
}

/// An idle card runs a slow link, but not a narrow one.
fn doubt_link(card: &CardFacts, findings: &mut Vec<Finding>) {
    let (Some(now), Some(max)) = (card.pcie_now, card.pcie_max) else {
        return;
    };
    if now.lanes < max.lanes && card.unified != Some(true) {
        findings.push(
            Finding::new(
                Weight::Info,
                "nvml",
                "pcie-narrow",
                format!(
                    "the card runs at x{} although x{} is possible",
                    now.lanes, max.lanes
                ),
            )
            .of(id(card))
            .remedy("check the slot and its riser; offloaded weights and layers load more slowly"),
        );
    }
}

fn id(card: &CardFacts) -> String {
    card.uuid
        .clone()
        .or_else(|| card.pci_address.clone())
        .unwrap_or_default()
}

//! Devices in report order: GPUs in plan order, the host last.

use super::{DeviceKind, DeviceReport};
use crate::hardware::{Gpu, Machine};
use crate::projection::DeviceTerms;
use crate::units::Bytes;

/// The one GPU that shares its memory with the processor, where that is what the machine is.
pub(super) fn pool(machine: &Machine) -> Option<&Gpu> {
    match machine.gpus.as_slice() {
        [gpu] if gpu.unified && machine.nodes <= 1 => Some(gpu),
        _ => None,
    }
}

/// The devices of a machine with the terms given (missing ones are empty).
pub(super) fn reports(machine: &Machine, terms: &[DeviceTerms]) -> Vec<DeviceReport> {
    if let Some(gpu) = pool(machine) {
        return pooled(machine, gpu, terms);
    }
    let mut terms = terms.iter().cloned();
    let mut reports = Vec::with_capacity(machine.gpus.len() + 1);
    for node in 0..machine.nodes.max(1) {
        for (index, gpu) in machine.gpus.iter().enumerate() {
            let id = if node == 0 {
                format!("gpu{index}")
            } else {
                format!("node{node}/gpu{index}")
            };
            reports.push(DeviceReport {
                id,
                kind: if gpu.unified {
                    DeviceKind::Unified
                } else {
                    DeviceKind::Gpu
                },
                name: gpu.name.clone(),
                capacity: gpu.memory.usable,
                driver_total: gpu.memory.total,
                in_use: gpu.memory.in_use,
                terms: terms.next().unwrap_or_default(),
            });
        }
    }
    reports.push(host(
        machine,
        machine.host.in_use,
        terms.next().unwrap_or_default(),
    ));
    reports
}

/// One pool: everything is allocated in it, and for the host it is in use.
fn pooled(machine: &Machine, gpu: &Gpu, terms: &[DeviceTerms]) -> Vec<DeviceReport> {
    let mut all: Vec<_> = terms
        .iter()
        .flat_map(|device| device.terms.iter().cloned())
        .collect();
    all.sort_by_key(|term| term.category);
    let beside: Bytes = terms.iter().skip(1).map(DeviceTerms::total).sum();
    // A firmware carve-out is hidden from the system's RAM, so the larger of the two is what there is.
    let memory = machine.host.ram.max(gpu.memory.usable);
    let in_use = machine.host.in_use.max(gpu.memory.in_use);
    let pool = DeviceReport {
        id: "unified".to_owned(),
        kind: DeviceKind::Unified,
        name: gpu.name.clone(),
        // The GPU's share is a ceiling inside the pool: beyond it only others and the processor find room.
        capacity: memory.min(in_use + beside + gpu.memory.usable),
        driver_total: memory,
        in_use,
        terms: DeviceTerms { terms: all },
    };
    let taken = pool.in_use + pool.total();
    let host = host(machine, taken, DeviceTerms::default());
    vec![pool, host]
}

fn host(machine: &Machine, in_use: Bytes, terms: DeviceTerms) -> DeviceReport {
    let name = machine.host.cpu_name.as_deref();
    DeviceReport {
        id: "host".to_owned(),
        kind: DeviceKind::Host,
        name: name.unwrap_or("RAM").to_owned(),
        capacity: machine.host.ram,
        driver_total: machine.host.ram,
        in_use,
        terms,
    }
}

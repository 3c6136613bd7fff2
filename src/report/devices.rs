//! Devices in report order: GPUs in plan order, the host last.

use super::{DeviceKind, DeviceReport};
use crate::hardware::{Machine, Pool};
use crate::projection::DeviceTerms;
use crate::units::Bytes;

/// The devices of a machine with the terms given (missing ones are empty).
pub(super) fn reports(machine: &Machine, terms: &[DeviceTerms]) -> Vec<DeviceReport> {
    if let Some(pool) = machine.pool() {
        return pooled(machine, &pool, terms);
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
fn pooled(machine: &Machine, pool: &Pool<'_>, terms: &[DeviceTerms]) -> Vec<DeviceReport> {
    let beside = terms.iter().skip(1).map(DeviceTerms::total).sum();
    let mut all: Vec<_> = terms
        .iter()
        .flat_map(|device| device.terms.iter().cloned())
        .collect();
    all.sort_by_key(|term| term.category);
    let pool = DeviceReport {
        id: "unified".to_owned(),
        kind: DeviceKind::Unified,
        name: pool.gpu.name.clone(),
        capacity: pool.capacity(beside),
        driver_total: pool.bytes,
        in_use: pool.in_use,
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

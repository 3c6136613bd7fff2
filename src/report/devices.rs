//! Devices in report order: GPUs in plan order, the host last.

use std::borrow::Cow;

use super::{Beside, DeviceKind, DeviceReport, Neighbour, Request};
use crate::engine::{Margin, Overhead, left_to_system};
use crate::hardware::{Machine, Pool};
use crate::projection::DeviceTerms;
use crate::units::Bytes;

/// What takes main memory where nothing in a machine's description counts it.
const SYSTEM: &str = "the system itself";

/// The machine as a plan finds it while others run beside it: what they take is in use, and what the system itself takes
/// where nothing counts it.
pub(super) fn shared<'a>(machine: &'a Machine, beside: &[Beside]) -> Cow<'a, Machine> {
    let system = left_to_system(machine);
    if beside.is_empty() && system == Bytes::ZERO {
        return Cow::Borrowed(machine);
    }
    let taken = |device: usize| -> Bytes {
        let takes = |plan: &Beside| plan.devices.get(device).copied();
        beside.iter().filter_map(takes).sum()
    };
    let mut shared = machine.clone();
    if system > Bytes::ZERO {
        let in_use = machine.pool().map(|pool| pool.in_use);
        shared.host.in_use = in_use.unwrap_or(machine.host.in_use) + system;
    }
    let host = if machine.pool().is_some() {
        // One memory: the GPU's share and the whole of it are used up together.
        0
    } else {
        usize::try_from(machine.nodes.max(1))
            .unwrap_or(1)
            .saturating_mul(machine.gpus.len())
    };
    for (index, gpu) in shared.gpus.iter_mut().enumerate() {
        gpu.memory.in_use += taken(index);
    }
    shared.host.in_use += taken(host);
    Cow::Owned(shared)
}

/// What the plans beside this one take of a device.
fn neighbours(beside: &[Beside], device: usize) -> Vec<Neighbour> {
    let takes = |plan: &Beside| {
        let bytes = plan.devices.get(device).copied()?;
        (bytes > Bytes::ZERO).then(|| Neighbour {
            plan: plan.plan.clone(),
            bytes,
        })
    };
    beside.iter().filter_map(takes).collect()
}

/// The devices of a request's machine with the terms given (missing ones are empty); `system` is what the system itself
/// takes of it.
pub(super) fn reports(
    request: &Request<'_>,
    system: Bytes,
    margin: Margin,
    terms: &[DeviceTerms],
) -> Vec<DeviceReport> {
    let mut reports = plain(request.machine, margin, terms);
    for (index, report) in reports.iter_mut().enumerate() {
        report.beside = neighbours(request.beside, index);
    }
    let home = if request.machine.pool().is_some() {
        reports.first_mut()
    } else {
        reports.last_mut()
    };
    if let Some(home) = home.filter(|_| system > Bytes::ZERO) {
        home.beside.push(Neighbour {
            plan: SYSTEM.to_owned(),
            bytes: system,
        });
    }
    if let (Some(_), [pool, host]) = (request.machine.pool(), reports.as_mut_slice()) {
        host.beside.clone_from(&pool.beside);
        if pool.total() > Bytes::ZERO {
            host.beside.push(Neighbour {
                plan: IN_THE_POOL.to_owned(),
                bytes: pool.total(),
            });
        }
    }
    reports
}

/// What a plan takes of the memory that its GPU shares with the processor, as main memory sees it.
const IN_THE_POOL: &str = "this plan, in the shared memory";

fn plain(machine: &Machine, margin: Margin, terms: &[DeviceTerms]) -> Vec<DeviceReport> {
    if let Some(pool) = machine.pool() {
        return pooled(machine, &pool, margin, terms);
    }
    let mut terms = terms.iter().cloned();
    let mut next = || terms.next().unwrap_or_default();
    let mut reports = Vec::with_capacity(machine.gpus.len() + 1);
    for node in 0..machine.nodes.max(1) {
        for (index, gpu) in machine.gpus.iter().enumerate() {
            let id = if node == 0 {
                format!("gpu{index}")
            } else {
                format!("node{node}/gpu{index}")
            };
            let terms = next();
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
                beside: Vec::new(),
                margin: margin.beside(gpu.memory.usable, Overhead::of(&terms)),
                terms,
            });
        }
    }
    reports.push(host(machine, machine.host.in_use, next()));
    reports
}

/// One pool: everything is allocated in it, and for the host it is in use.
fn pooled(
    machine: &Machine,
    pool: &Pool<'_>,
    margin: Margin,
    terms: &[DeviceTerms],
) -> Vec<DeviceReport> {
    let beside = terms.iter().skip(1).map(DeviceTerms::total).sum();
    let overhead = terms.first().map_or_else(Overhead::default, Overhead::of);
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
        beside: Vec::new(),
        margin: margin.beside(pool.gpu.memory.usable, overhead),
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
        beside: Vec::new(),
        margin: Bytes::ZERO,
        terms,
    }
}

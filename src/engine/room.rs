//! What every device has left beyond its margin.

use super::{Margin, Overhead};
use crate::hardware::Machine;
use crate::projection::DeviceTerms;
use crate::units::Bytes;

/// What every device has left beyond its margin with these terms, GPUs in plan order and the host last; negative where it
/// lacks. Main memory has no margin, nor has a card that nothing is on. One memory for both: all of it stands at the GPU.
pub fn room(machine: &Machine, margin: Margin, devices: &[DeviceTerms]) -> Vec<i64> {
    let signed = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
    let overhead = |index: usize| {
        devices
            .get(index)
            .map_or_else(Overhead::default, Overhead::of)
    };
    let total = |index: usize| devices.get(index).map_or(Bytes::ZERO, DeviceTerms::total);
    if let Some(pool) = machine.pool() {
        let host = total(1);
        let left = pool
            .capacity(host)
            .signed_sub(pool.in_use + total(0) + host);
        let kept = signed(margin.beside(pool.gpu.memory.usable, overhead(0)));
        return vec![left.saturating_sub(kept), 0];
    }
    let nodes = usize::try_from(machine.nodes.max(1)).unwrap_or(1);
    let gpus = machine.gpus.iter().cycle();
    let gpus = gpus.take(machine.gpus.len().saturating_mul(nodes));
    let mut room: Vec<i64> = gpus
        .enumerate()
        .map(|(index, gpu)| {
            let used = total(index);
            if used == Bytes::ZERO {
                return 0;
            }
            let left = gpu.memory.usable.signed_sub(gpu.memory.in_use + used);
            left.saturating_sub(signed(margin.beside(gpu.memory.usable, overhead(index))))
        })
        .collect();
    let host = total(room.len());
    room.push(machine.host.ram.signed_sub(machine.host.in_use + host));
    room
}

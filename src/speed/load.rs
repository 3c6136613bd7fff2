//! Time to load a model: from a disk, and from the system's cache.

use super::class::CLASSES;
use super::decode::GIGA;
use super::{Estimate, link, ram};
use crate::engine::traffic::Traffic;
use crate::hardware::Machine;
use crate::projection::Why;

/// Seconds from a disk, and seconds where the file is cached.
pub(super) fn estimate(traffic: &Traffic, machine: &Machine) -> (Estimate, Estimate) {
    let file = traffic.file_bytes.get() as f64;
    let ram = ram::Bandwidth::of(machine);
    // Reading memory and writing it again, then each card over its own link, one after the other.
    let copied = [ram.low, ram.likely, ram.high].map(|gb_s| 2.0 * file / (gb_s * GIGA));
    let mut cached = copied;
    for (gpu, work) in machine.gpus.iter().zip(&traffic.gpus) {
        let bytes = work.resident.get() as f64;
        for (seconds, gb_s) in cached.iter_mut().zip(link::gb_s(gpu)) {
            *seconds += bytes / (gb_s * GIGA);
        }
    }
    let [slow, likely, fast] = cached;
    let reload = Estimate {
        low: fast,
        likely,
        high: slow,
    };
    let [disk_slow, disk, disk_fast] = CLASSES.links.disk_gb_s.map(|gb_s| file / (gb_s * GIGA));
    let load = Estimate {
        low: disk_fast.max(reload.low),
        likely: disk.max(reload.likely),
        high: disk_slow.max(reload.high),
    };
    (load, reload)
}

/// Why it takes so long.
pub(super) fn why(traffic: &Traffic) -> Why {
    let [low, likely, high] = CLASSES.links.disk_gb_s;
    Why::new(
        "speed/load",
        "{file} from a disk of {low} to {high} GB/s, most likely {likely}; in the system's cache, at the rates of main memory and of the links to the cards",
        &CLASSES.links.disk_basis,
    )
    .with("file", traffic.file_bytes)
    .with("low", low)
    .with("likely", likely)
    .with("high", high)
}

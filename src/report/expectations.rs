//! What a plan can be expected to do beside fitting.

use super::{DeviceReport, MomentReport};
use crate::engine::Engine;
use crate::engine::llamacpp::file_type::{FileType, Weights};
use crate::engine::meaning::Meaning;
use crate::engine::traffic::Traffic;
use crate::hardware::Machine;
use crate::model::Model;
use crate::plan::{Settings, Value};
use crate::projection::Note;
use crate::quality::{self, Evidence, Quality};
use crate::speed::{self, Speed};
use crate::units::Bytes;

/// How fast it will be, or a note on what is missing for an estimate.
pub(super) fn speed(
    traffic: Option<Traffic>,
    machine: &Machine,
    moments: &[MomentReport],
    notes: &mut Vec<Note>,
) -> Option<Speed> {
    let mut traffic = traffic?;
    count(&mut traffic, machine, moments);
    match speed::estimate(&traffic, machine) {
        Ok(speed) => Some(speed),
        Err(missing) => {
            notes.push(Note::hint("speed-unknown", missing.to_string()));
            None
        }
    }
}

/// What each device holds of the plan and lacks for it.
fn count(traffic: &mut Traffic, machine: &Machine, moments: &[MomentReport]) {
    let Some([gpus @ .., host]) = moments.last().map(|moment| moment.devices.as_slice()) else {
        return;
    };
    for (work, gpu) in traffic.gpus.iter_mut().zip(gpus) {
        work.held = gpu.total();
        work.lacking = lacking(gpu);
    }
    traffic.host.held = host.total();
    traffic.host.lacking = lacking(host);
    if machine.pool().is_some() {
        if let (Some(work), Some(pool)) = (traffic.gpus.first_mut(), gpus.first()) {
            // Beyond the GPU's share nothing stands in; beyond all of it pages of the file may be dropped.
            let beyond = (pool.in_use + pool.total()).saturating_sub(pool.driver_total);
            if beyond > Bytes::ZERO {
                work.lacking = Bytes::ZERO;
                traffic.host.lacking = beyond;
            }
        }
        return;
    }
    if traffic.spills {
        let lent: Bytes = traffic.gpus.iter().map(|gpu| gpu.lacking).sum();
        let free = Bytes::new(u64::try_from(host.free()).unwrap_or(0));
        traffic.host.lacking += lent.saturating_sub(free);
    }
    // What the loader lacks stops the server before it runs, unless it is pages that can be dropped.
    let hosts = moments.iter().filter_map(|moment| moment.devices.last());
    let most = hosts.map(lacking).max().unwrap_or_default();
    if most > traffic.pages {
        traffic.host.lacking = most.max(traffic.host.lacking);
    }
}

/// What a device has no room for; an unused one lacks nothing, whatever others do with it.
fn lacking(device: &DeviceReport) -> Bytes {
    if device.total() == Bytes::ZERO {
        return Bytes::ZERO;
    }
    Bytes::new(device.free().min(0).unsigned_abs())
}

/// The measured format with the most bits of those that have no more, by the type that most of it is stored in: a mixture
/// has some more than that.
fn nearest(bits_per_weight: f64) -> Option<&'static Evidence> {
    let bits = |row: &Evidence| {
        let format = row.format.parse::<FileType>().ok()?;
        Some(format.default_type().bits_per_element())
    };
    let mut known: Vec<(f64, &Evidence)> = quality::weights()
        .iter()
        .filter_map(|row| Some((bits(row)?, row)))
        .collect();
    // The first of those with equal bits is the least quantized.
    known.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let fewer = known.iter().find(|(bits, _)| *bits <= bits_per_weight);
    fewer.or(known.last()).map(|(_, row)| *row)
}

/// What the formats in the effective settings cost, whatever the engine calls them.
pub(super) fn quality(
    (engine, model): (&dyn Engine, &Model),
    resolved: &Settings,
    bits_per_weight: f64,
) -> Quality {
    let word = |meaning: Meaning| {
        engine.settings().iter().find_map(|setting| {
            let mut counterparts = setting.counterparts.iter();
            let counterpart = counterparts.find(|counterpart| counterpart.meaning == meaning)?;
            let value = resolved.get(setting.name)?;
            match (counterpart.tell)(value, resolved)? {
                Value::Text(word) => Some(word),
                _ => None,
            }
        })
    };
    let weights = word(Meaning::Weights);
    // The file that is open is known by its own name for its type.
    let own = weights
        .as_deref()
        .is_some_and(|word| word.eq_ignore_ascii_case(Weights::NATIVE));
    let label = model.checkpoint.as_ref().filter(|_| own);
    let label = label.and_then(|file| file.label.clone());
    let named = label
        .or(weights)
        .and_then(|word| quality::of_weights(&word));
    let nearest = (own && named.is_none())
        .then(|| nearest(bits_per_weight))
        .flatten();
    let cache = word(Meaning::CachedKeys).zip(word(Meaning::CachedValues));
    Quality {
        bits_per_weight,
        weights: named.or(nearest),
        weights_by_bits: nearest.is_some(),
        cache: cache.and_then(|(keys, values)| quality::of_cache(&keys, &values)),
    }
}

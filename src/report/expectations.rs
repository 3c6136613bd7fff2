//! What a plan can be expected to do beside fitting.

use crate::engine::traffic::Traffic;
use crate::hardware::Machine;
use crate::plan::{Settings, Value};
use crate::projection::Note;
use crate::quality::{self, Quality};
use crate::speed::{self, Speed};

/// How fast it will be, or a note on what is missing for an estimate.
pub(super) fn speed(
    traffic: Option<&Traffic>,
    machine: &Machine,
    notes: &mut Vec<Note>,
) -> Option<Speed> {
    match speed::estimate(traffic?, machine) {
        Ok(speed) => Some(speed),
        Err(missing) => {
            notes.push(Note::hint("speed-unknown", missing.to_string()));
            None
        }
    }
}

/// What the formats in the effective settings cost.
pub(super) fn quality(resolved: &Settings, bits_per_weight: f64) -> Quality {
    let word = |name: &str| match resolved.get(name) {
        Some(Value::Text(word)) => Some(word.as_str()),
        _ => None,
    };
    Quality {
        bits_per_weight,
        weights: word("weights").and_then(quality::of_weights),
        cache: word("cache_type_k")
            .zip(word("cache_type_v"))
            .and_then(|(keys, values)| quality::of_cache(keys, values)),
    }
}

//! What a plan can be expected to do beside fitting.

use crate::engine::Engine;
use crate::engine::meaning::Meaning;
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

/// What the formats in the effective settings cost, whatever the engine calls them.
pub(super) fn quality(engine: &dyn Engine, resolved: &Settings, bits_per_weight: f64) -> Quality {
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
    let cache = word(Meaning::CachedKeys).zip(word(Meaning::CachedValues));
    Quality {
        bits_per_weight,
        weights: word(Meaning::Weights).and_then(|word| quality::of_weights(&word)),
        cache: cache.and_then(|(keys, values)| quality::of_cache(&keys, &values)),
    }
}

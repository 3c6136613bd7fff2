//! What would help a plan that does not fit. Knows engines only through their trait, and uses nothing but projections.

use crate::engine::search::pinned_choices;
use crate::engine::{Engine, Inputs, Remedy, Step};
use crate::projection::{Fix, Gain, Note};
use crate::units::Bytes;

/// Most changes offered: more than a few are no advice.
const OFFERED: usize = 4;

/// One change with what it brings.
struct Offer {
    remedy: Remedy,
    step: Step,
    /// Bytes saved on the device that lacks most.
    saved: i64,
    /// Bytes that the device with the least room has left, negative where it lacks them.
    left: i64,
}

/// Of an engine's remedies, the changes that would mend a plan that does not fit, as notes with a fix: those that make it fit first, in the
/// engine's order of what they cost the user; then the ones that save most. None changes what is pinned. `places` names
/// the devices.
pub fn fixes(
    engine: &dyn Engine,
    inputs: &Inputs<'_>,
    remedies: Vec<Remedy>,
    pinned: &[String],
    places: &[&str],
) -> Vec<Note> {
    let pinned = &pinned_choices(engine, pinned);
    let Some(before) = engine.free(inputs) else {
        return Vec::new();
    };
    let Some((worst, _)) = before.iter().enumerate().min_by_key(|(_, free)| **free) else {
        return Vec::new();
    };
    let mut offers: Vec<Offer> = remedies
        .into_iter()
        .map(|remedy| open(remedy, pinned))
        .filter_map(|remedy| offer(engine, inputs, &before, worst, remedy))
        .collect();
    offers.sort_by_key(|offer| {
        if offer.left >= 0 {
            i64::MIN
        } else {
            -offer.saved
        }
    });
    offers.truncate(OFFERED);
    let place = places.get(worst).copied().unwrap_or("host");
    offers.into_iter().map(|offer| note(offer, place)).collect()
}

/// The steps of a remedy that change nothing pinned.
fn open(mut remedy: Remedy, pinned: &[String]) -> Remedy {
    remedy
        .steps
        .retain(|step| !step.set.keys().any(|name| pinned.contains(name)));
    remedy
}

/// The mildest step of a remedy that makes the plan fit, else its strongest, if that saves anything.
fn offer(
    engine: &dyn Engine,
    inputs: &Inputs<'_>,
    before: &[i64],
    worst: usize,
    remedy: Remedy,
) -> Option<Offer> {
    let mut last = None;
    for step in &remedy.steps {
        let mut settings = inputs.settings.clone();
        settings.extend(
            step.set
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        let Some(free) = engine.free(&Inputs {
            settings: &settings,
            ..*inputs
        }) else {
            continue;
        };
        let saved = free.get(worst)?.saturating_sub(*before.get(worst)?);
        let left = free.iter().copied().min()?;
        last = Some((step.clone(), saved, left));
        if left >= 0 {
            break;
        }
    }
    let (step, saved, left) = last?;
    (saved > 0).then_some(Offer {
        remedy,
        step,
        saved,
        left,
    })
}

fn note(offer: Offer, place: &str) -> Note {
    let Offer {
        remedy,
        step,
        saved,
        left,
    } = offer;
    let bytes = |bytes: i64| Bytes::new(bytes.unsigned_abs());
    let then = if left >= 0 {
        format!("then the plan fits with {} to spare", bytes(left))
    } else {
        format!("{} is still missing", bytes(left))
    };
    Note::hint(
        "would-help",
        format!("{} saves {} on {place}; {then}.", step.what, bytes(saved)),
    )
    .on(remedy.setting)
    .fixed_by(Fix {
        set: step.set,
        gain: Some(Gain::Bytes(saved)),
    })
}

/// Most ideas for memory that is left over.
const IDEAS: usize = 2;

/// Most steps of an idea that are tried: engines offer only what should fit.
const TRIED: usize = 2;

/// Of an engine's ideas for memory that is left, those that fit with the margin kept, as hints with a change. `spare` is
/// what every device has left beyond its margin, `places` names them.
pub fn hints(
    engine: &dyn Engine,
    inputs: &Inputs<'_>,
    ideas: Vec<Remedy>,
    pinned: &[String],
    (spare, places): (&[i64], &[&str]),
) -> Vec<Note> {
    let pinned = &pinned_choices(engine, pinned);
    let most = spare.iter().zip(places);
    let most = most
        .filter(|(_, place)| **place != "host")
        .max_by_key(|(spare, _)| **spare);
    let Some((spare, place)) = most else {
        return Vec::new();
    };
    let spare = Bytes::new(spare.unsigned_abs());
    let fits = |step: &Step| {
        if step.known_to_fit {
            return true;
        }
        let mut settings = inputs.settings.clone();
        settings.extend(step.set.clone());
        let inputs = Inputs {
            settings: &settings,
            ..*inputs
        };
        let room = engine.room(&inputs, inputs.margin);
        room.is_some_and(|room| room.iter().all(|room| *room >= 0))
    };
    ideas
        .into_iter()
        .map(|idea| open(idea, pinned))
        .filter_map(|idea| {
            let step = idea.steps.into_iter().take(TRIED).find(fits)?;
            Some(
                Note::hint(
                    "would-fit",
                    format!(
                        "{spare} beyond the margin stay free on {place}: {} fits, too.",
                        step.what
                    ),
                )
                .on(idea.setting)
                .fixed_by(Fix {
                    set: step.set,
                    gain: step.gain,
                }),
            )
        })
        .take(IDEAS)
        .collect()
}

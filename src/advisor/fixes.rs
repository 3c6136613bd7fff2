//! What would help a plan that does not fit. Knows engines only through their trait, and uses nothing but projections.

use super::price::{Price, Work};
use crate::engine::search::pinned_choices;
use crate::engine::{Engine, Inputs, Margin, Remedy, Step};
use crate::plan::Settings;
use crate::projection::{Fix, Gain, Note};
use crate::units::{Bytes, MIB};

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
    /// It fits with less than the margin to spare.
    tight: bool,
    /// What the user gives up, where it makes the plan fit.
    price: Price,
}

/// Of an engine's remedies, the changes that would mend a plan that does not fit, as notes with a fix: those that make it
/// fit first, the cheapest for the user before others, in the engine's order where they cost about the same; then the ones
/// that save most. None changes what is pinned. `places` names the devices.
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
    let work = Work::of(engine, inputs);
    for offer in offers.iter_mut().filter(|offer| offer.left >= 0) {
        let settings = with(inputs, &offer.step);
        let inputs = Inputs {
            settings: &settings,
            ..*inputs
        };
        offer.price = Price::of(work.as_ref(), Work::of(engine, &inputs).as_ref());
    }
    offers.sort_by_key(|offer| {
        if offer.left >= 0 {
            (0, i64::from(offer.price.steps()))
        } else {
            (1, -offer.saved)
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
        let settings = with(inputs, step);
        let changed = Inputs {
            settings: &settings,
            ..*inputs
        };
        let Some(free) = engine.free(&changed) else {
            continue;
        };
        let saved = free.get(worst)?.saturating_sub(*before.get(worst)?);
        let left = free.iter().copied().min()?;
        let tight = left >= 0 && !keeps_margin(engine, &changed);
        last = Some((step.clone(), saved, left, tight));
        if left >= 0 {
            break;
        }
    }
    let (step, saved, left, tight) = last?;
    (saved > 0).then_some(Offer {
        remedy,
        step,
        saved,
        left,
        tight,
        price: Price::default(),
    })
}

/// Whether every GPU keeps the margin free.
fn keeps_margin(engine: &dyn Engine, inputs: &Inputs<'_>) -> bool {
    let room = engine.room(inputs, inputs.margin);
    room.is_some_and(|room| room.iter().all(|room| *room >= 0))
}

/// The settings of a plan after a step.
fn with(inputs: &Inputs<'_>, step: &Step) -> Settings {
    let mut settings = inputs.settings.clone();
    settings.extend(step.set.clone());
    settings
}

fn note(offer: Offer, place: &str) -> Note {
    let Offer {
        remedy,
        step,
        saved,
        left,
        tight,
        price,
    } = offer;
    let bytes = |bytes: i64| Bytes::new(bytes.unsigned_abs());
    let then = if left >= 0 {
        let price = price.text();
        let verdict = if tight { "is tight" } else { "fits" };
        format!(
            "then the plan {verdict} with {} to spare{price}",
            bytes(left)
        )
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

/// Margins are told in steps of this.
const MARGIN_STEP: u64 = 64 * MIB;

/// A hint for a plan whose layers the engine chooses itself, and chooses so that a GPU is over: with a larger margin it
/// leaves more. `None` where the choice is not the engine's, or a larger margin does not help. `own_count`: the engine's
/// own count says that it is too much, too.
pub fn larger_margin(
    engine: &dyn Engine,
    inputs: &Inputs<'_>,
    places: &[&str],
    own_count: bool,
) -> Option<Note> {
    let before = engine.free(inputs)?;
    let (_, on_gpus) = before.split_last()?;
    let (worst, over) = on_gpus.iter().enumerate().min_by_key(|(_, free)| **free)?;
    let over = Bytes::new(over.min(&0).unsigned_abs());
    if over == Bytes::ZERO {
        return None;
    }
    let gpus = inputs.machine.gpus.iter();
    let margin = gpus.map(|gpu| inputs.margin.of(gpu.memory.usable)).max()?;
    // Layers are whole: what is over may need a little more than itself.
    [1, 2].into_iter().find_map(|times| {
        let margin = (margin + over.mul_ratio(times, 1)).align_up(MARGIN_STEP);
        let free = engine.free(&Inputs {
            margin: Margin::Bytes(margin),
            ..*inputs
        })?;
        let least = free.iter().copied().min().filter(|left| *left >= 0)?;
        let spare = Bytes::new(least.unsigned_abs());
        let (place, mib) = (places.get(worst)?, margin.get() / MIB);
        let why = if own_count {
            ""
        } else {
            ", by a dry run that counts less than the server then takes"
        };
        Some(Note::hint(
            "larger-margin",
            format!(
                "The engine chooses the layers itself{why}: {over} too many on {place}. With margin_mib = {mib} under [fit] \
                 it leaves more; then the plan fits with {spare} to spare."
            ),
        ))
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
        let settings = with(inputs, step);
        let changed = Inputs {
            settings: &settings,
            ..*inputs
        };
        keeps_margin(engine, &changed)
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
                        "{spare} beyond the margin stay free on {place}, enough for {}.",
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

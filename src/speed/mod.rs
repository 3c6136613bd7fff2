//! How fast a plan will be, as ranges: bytes and operations of [`Traffic`] over the rates of the machine.
//!
//! The form of the estimate is `bytes / (share of bandwidth × bandwidth) + time per layer`, with constants per class of
//! device in `presets/speed.toml`, each fitted to published measurements.

mod class;
mod decode;
mod link;
mod load;
mod prefill;
mod ram;
mod short;

use std::fmt;

use serde::{Serialize, Serializer};

use crate::engine::traffic::Traffic;
use crate::hardware::Machine;
use crate::projection::Why;
use crate::units::Bytes;

pub use class::{Class, of_gpu};

/// A figure with the range in which measurements of comparable machines lie: `low <= likely <= high`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Few comparable measurements are below it: at least eight of ten lie between the two ends.
    pub low: f64,
    /// The middle.
    pub likely: f64,
    /// Few comparable measurements are above it.
    pub high: f64,
}

/// What a plan can be expected to do. Estimates, never promises.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// Tokens per second of one stream at the beginning of its context.
    #[serde(rename = "decode_tokens_per_second")]
    pub decode: Estimate,
    /// Tokens per second of one stream with the planned context full.
    #[serde(rename = "decode_at_context_tokens_per_second")]
    pub decode_at_context: Estimate,
    /// Tokens per second of all slots together at the beginning of their contexts; `None` where there is one.
    #[serde(rename = "decode_all_tokens_per_second")]
    pub decode_all: Option<Estimate>,
    /// Tokens per second at which a prompt is read, at its beginning.
    #[serde(rename = "prefill_tokens_per_second")]
    pub prefill: Estimate,
    /// Seconds until the first token where the prompt fills the planned context of one slot.
    pub first_token_seconds: Estimate,
    /// Seconds to load the model from a disk.
    pub load_seconds: Estimate,
    /// Seconds to load it where the file is in the system's cache already.
    pub reload_seconds: Estimate,
    /// Why, by figure.
    #[serde(serialize_with = "by_figure")]
    pub why: Vec<(Figure, Why)>,
}

/// Which figure of [`Speed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// [`Speed::decode`], [`Speed::decode_at_context`] and [`Speed::decode_all`].
    Decode,
    /// [`Speed::prefill`] and [`Speed::first_token_seconds`].
    Prefill,
    /// [`Speed::load_seconds`] and [`Speed::reload_seconds`].
    Load,
}

/// Each reason as an object that names its figure.
fn by_figure<S: Serializer>(why: &[(Figure, Why)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Reason<'a> {
        figure: Figure,
        why: &'a Why,
    }
    serializer.collect_seq(why.iter().map(|(figure, why)| Reason {
        figure: *figure,
        why,
    }))
}

/// What is missing for an estimate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// A card's bandwidth.
    #[error(
        "no estimate of speed: the memory bandwidth of {name} is not known; `bandwidth_gb_s` of a card says it"
    )]
    Bandwidth {
        /// Name of the card.
        name: String,
    },
    /// Room, where nothing else can stand in.
    #[error("no estimate of speed: {device} lacks {bytes}, so the plan would not run as it is")]
    Memory {
        /// The device, as a report calls it.
        device: String,
        /// What it lacks.
        bytes: Bytes,
    },
    /// The plan reads nothing.
    #[error("no estimate of speed: this plan reads no weights")]
    Nothing,
}

/// How fast a plan will be.
///
/// # Errors
/// What is missing.
pub fn estimate(traffic: &Traffic, machine: &Machine) -> Result<Speed, Missing> {
    let rates = decode::Rates::of(traffic, machine)?;
    let decode = rates.tokens_per_second(1, 0);
    if decode.likely <= 0.0 || !decode.likely.is_finite() {
        return Err(Missing::Nothing);
    }
    let (prefill, first_token_seconds) = prefill::estimate(traffic, &rates);
    let (load_seconds, reload_seconds) = load::estimate(traffic, machine);
    let slots = traffic.slots.max(1);
    let mut why = rates.why();
    why.push((Figure::Prefill, prefill::why(traffic, &rates)));
    why.push((Figure::Load, load::why(traffic)));
    Ok(Speed {
        decode,
        decode_at_context: rates.tokens_per_second(1, traffic.context),
        decode_all: (slots > 1).then(|| rates.tokens_per_second(slots, 0)),
        prefill,
        first_token_seconds,
        load_seconds,
        reload_seconds,
        why,
    })
}

/// Tokens per second of so many streams together, each behind so many tokens of context.
///
/// # Errors
/// What is missing.
pub fn decode(
    traffic: &Traffic,
    machine: &Machine,
    streams: u64,
    depth: u64,
) -> Result<Estimate, Missing> {
    let rates = decode::Rates::of(traffic, machine)?;
    Ok(rates.tokens_per_second(streams.max(1), depth))
}

/// Tokens per second at which a prompt of so many tokens is read behind so many others.
///
/// # Errors
/// What is missing.
pub fn prefill(
    traffic: &Traffic,
    machine: &Machine,
    tokens: u64,
    depth: u64,
) -> Result<Estimate, Missing> {
    let rates = decode::Rates::of(traffic, machine)?;
    Ok(prefill::tokens_per_second(
        traffic,
        &rates,
        tokens.max(1),
        depth,
    ))
}

impl Estimate {
    /// From times per unit of work.
    fn of_times(fast: f64, likely: f64, slow: f64, work: f64) -> Self {
        Self {
            low: work / slow,
            likely: work / likely,
            high: work / fast,
        }
    }
}

impl fmt::Display for Estimate {
    /// "12.3 (10 to 15)": no more digits than the range allows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, likely, high } = self;
        write!(
            f,
            "{} ({} to {})",
            round(*likely),
            round(*low),
            round(*high)
        )
    }
}

/// Two significant digits above 10, one decimal below.
fn round(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    if value < 10.0 {
        return format!("{value:.1}");
    }
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    format!("{:.0}", (value / unit).round() * unit)
}

//! Choices against one another, in words.

use super::ladder::READING_SPEED;
use super::{Figures, Objective};
use crate::advisor::price::NOTICEABLE;
use crate::advisor::rounded;
use crate::projection::{counted, grouped};
use crate::units::GIB;

/// What one figure says of two choices.
struct Difference {
    /// Of the first over the second: above 1 is better.
    ratio: f64,
    /// What it is a difference of ("context").
    what: &'static str,
    /// "16,384 instead of 8,192 tokens".
    words: String,
}

/// Whether a choice is better in nothing that anyone would notice.
pub(super) fn is_no_better(figures: &Figures, than: &Figures) -> bool {
    let differences = differences(figures, than);
    let mut differences = differences.iter();
    differences.all(|difference| difference.ratio < 1.0 + NOTICEABLE)
}

/// Whether a choice serves an objective better by what anyone would notice. A balance has no one measure.
pub(super) fn serves_better(objective: Objective, figures: &Figures, than: &Figures) -> bool {
    let speed = |figures: &Figures| {
        figures
            .decode
            .map_or(figures.gpu_share, |decode| decode.likely)
    };
    let (new, old) = match objective {
        Objective::Balanced => return false,
        Objective::Context => (
            figures.context_per_slot as f64,
            than.context_per_slot as f64,
        ),
        Objective::Quality => (figures.bits_per_weight, than.bits_per_weight),
        Objective::Speed => (speed(figures), speed(than)),
        Objective::Batch => (figures.slots as f64, than.slots as f64),
    };
    new > old * (1.0 + NOTICEABLE)
}

/// Whether a choice is slower than people read where the other is not, and stores the model no better for it: longer contexts
/// and more users are no use at a crawl.
pub(super) fn crawls(figures: &Figures, than: &Figures) -> bool {
    let reads = |figures: &Figures| {
        let decode = figures.decode.as_ref();
        decode.map(|decode| decode.likely >= READING_SPEED)
    };
    let richer = figures.bits_per_weight > than.bits_per_weight * (1.0 + NOTICEABLE);
    reads(figures) == Some(false) && reads(than) == Some(true) && !richer
}

/// What is worse than with another choice, in one clause.
pub(super) fn worse(figures: &Figures, than: &Figures) -> String {
    clause(figures, than, |ratio| ratio < 1.0 - NOTICEABLE)
}

/// What is better than with another choice, in one clause.
pub(super) fn better(figures: &Figures, than: &Figures) -> String {
    clause(figures, than, |ratio| ratio > 1.0 + NOTICEABLE)
}

/// Memory that is left on the fullest GPU, where there is noticeably less: what is given up where nothing else is.
pub(super) fn less_left(figures: &Figures, than: &Figures) -> String {
    let least = |figures: &Figures| {
        let (_, gpus) = figures.free.split_last()?;
        gpus.iter().copied().min()
    };
    match (least(figures), least(than)) {
        (Some(left), Some(before)) if (left as f64) < before as f64 * (1.0 - NOTICEABLE) => {
            let gib = |bytes: i64| bytes as f64 / GIB as f64;
            format!(
                "room on a GPU ({:.1} instead of {:.1} GiB free)",
                gib(left),
                gib(before)
            )
        }
        _ => String::new(),
    }
}

fn clause(figures: &Figures, than: &Figures, wanted: impl Fn(f64) -> bool) -> String {
    let differences = differences(figures, than);
    let clauses: Vec<String> = differences
        .into_iter()
        .filter(|difference| wanted(difference.ratio))
        .map(|Difference { what, words, .. }| format!("{what} ({words})"))
        .collect();
    clauses.join(", ")
}

fn differences(figures: &Figures, than: &Figures) -> Vec<Difference> {
    let ratio = |of: fn(&Figures) -> f64| of(figures) / of(than).max(f64::MIN_POSITIVE);
    let mut all = vec![
        Difference {
            ratio: ratio(|figures| figures.context_per_slot as f64),
            what: "context",
            words: format!(
                "{} instead of {} tokens",
                grouped(figures.context_per_slot),
                grouped(than.context_per_slot)
            ),
        },
        Difference {
            ratio: ratio(|figures| figures.slots as f64),
            what: "users",
            words: format!("{} instead of {}", figures.slots, than.slots),
        },
        Difference {
            ratio: ratio(|figures| figures.bits_per_weight),
            what: "bits",
            words: format!(
                "{} at {:.1} bits per weight instead of {}",
                figures.weights, figures.bits_per_weight, than.weights
            ),
        },
        Difference {
            ratio: ratio(|figures| cache_bits(&figures.cache)),
            what: "bits of the KV cache",
            words: format!(
                "{} instead of {}",
                cache_words(&figures.cache),
                cache_words(&than.cache)
            ),
        },
    ];
    all.push(match (&figures.decode, &than.decode) {
        (Some(mine), Some(theirs)) => Difference {
            ratio: mine.likely / theirs.likely.max(f64::MIN_POSITIVE),
            what: "speed",
            words: format!(
                "about {} instead of {} tokens/s",
                rounded(mine.likely),
                rounded(theirs.likely)
            ),
        },
        _ => Difference {
            ratio: ratio(|figures| figures.gpu_share),
            what: "memory of GPUs",
            words: format!(
                "{:.0} instead of {:.0} % of the weights there",
                100.0 * figures.gpu_share,
                100.0 * than.gpu_share
            ),
        },
    });
    all
}

fn weights(figures: &Figures) -> String {
    let Figures {
        weights,
        bits_per_weight,
        ..
    } = figures;
    format!("{weights} weights ({bits_per_weight:.1} bits)")
}

fn cache_words((keys, values): &(String, String)) -> String {
    if keys == values {
        keys.clone()
    } else {
        format!("{keys} and {values}")
    }
}

fn cache_bits((keys, values): &(String, String)) -> f64 {
    let bits = |word: &str| {
        let kind: Option<crate::quant::Type> = word.parse().ok();
        kind.map_or(1.0, |kind| {
            8.0 * kind.block_bytes() as f64 / kind.block_elements() as f64
        })
    };
    bits(keys) + bits(values)
}

/// What the best of an objective offers.
pub(super) fn praise(objective: Objective, figures: &Figures) -> String {
    let context = format!("{} tokens", grouped(figures.context_per_slot));
    let place = place(figures);
    match objective {
        Objective::Balanced => format!("{} with {context}, {place}", figures.weights),
        Objective::Context => {
            format!(
                "the longest context {}: {context} in {}",
                placed(figures),
                figures.weights
            )
        }
        Objective::Quality => format!("{}: {}, {place}", most_bits(figures), weights(figures)),
        Objective::Speed => match &figures.decode {
            Some(decode) => format!(
                "the fastest: about {} tokens/s, {place}",
                rounded(decode.likely)
            ),
            None => format!("the fastest: {place}"),
        },
        Objective::Batch => {
            let each = if figures.slots > 1 { " each" } else { "" };
            format!(
                "the most users {}: {} with {context}{each} in {}",
                placed(figures),
                figures.slots,
                figures.weights
            )
        }
    }
}

/// The rule by which these are the most bits.
fn most_bits(figures: &Figures) -> &'static str {
    let (on_gpus, all) = figures.gpu_layers;
    match &figures.decode {
        Some(decode) if decode.low >= READING_SPEED => {
            "the most bits at which answers come as fast as people read"
        }
        Some(decode) if decode.likely >= READING_SPEED => {
            "the most bits at which answers should come as fast as people read, which the range of the estimate does not \
             promise"
        }
        Some(_) => "slower than people read, and more bits would be slower still",
        None if on_gpus >= all => "the most bits with no more than experts off the GPU",
        None => "the most bits worth their time where layers are off the GPU",
    }
}

/// What keeps its place, as the rule of an objective.
fn placed(figures: &Figures) -> String {
    let (on_gpus, all) = figures.gpu_layers;
    match (on_gpus, figures.expert_layers_in_ram) {
        (0, _) => "on the processor".to_owned(),
        (on_gpus, _) if on_gpus < all => format!("with {on_gpus} of {all} layers on the GPU"),
        (_, 0) => "with everything on the GPU".to_owned(),
        (_, _) => "with all but experts on the GPU".to_owned(),
    }
}

fn place(figures: &Figures) -> String {
    let (on_gpus, all) = figures.gpu_layers;
    match (on_gpus, figures.expert_layers_in_ram) {
        (0, _) => "on the processor".to_owned(),
        (on_gpus, _) if on_gpus < all => format!("{on_gpus} of {all} layers on the GPU"),
        (_, 0) => "everything on the GPU".to_owned(),
        (_, layers) => format!("experts of {} in main memory", counted(layers, "layer")),
    }
}

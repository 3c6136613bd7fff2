//! What each objective prefers, in order: the first that fits is the best.

mod formats;
mod reach;

use super::Objective;
use super::explorer::{Explorer, Found, Point, Role};
use crate::engine::search::{Arrangement, Effort, Residency};

/// Contexts of a new plan, longest first: room for a long conversation, for a short one, and what llama.cpp's own fit
/// will not go below (`fit_params_min_ctx`, `common/common.h` 0.6.0-dev).
const CONTEXTS: [u64; 3] = [16_384, 8_192, 4_096];

/// Below four bits per weight published losses grow steeply (`presets/quality.toml`): such files are a last resort.
const FEW_BITS: f64 = 4.0;

/// Below two and a half, answers are often wrong (`presets/quality.toml`: twice the perplexity and more): nothing but the
/// only way to load a model at all.
const LEAST_BITS: f64 = 2.5;

/// Above seven bits no published comparison tells a file from the original (`presets/quality.toml`): more are only for who
/// asks for quality.
const ENOUGH_BITS: f64 = 7.0;

/// Tokens per second at which people read: 238 words per minute (Brysbaert, "How many words do we read per minute?",
/// Journal of Memory and Language 109, 2019), of 4/3 tokens each.
pub(super) const READING_SPEED: f64 = 238.0 / 60.0 * 4.0 / 3.0;

/// The best for an objective.
pub(super) fn best(explorer: &mut Explorer<'_>, objective: Objective) -> Option<Found> {
    let ladder = Ladder::new(explorer);
    match objective {
        Objective::Balanced => ladder.balanced(explorer),
        Objective::Context => ladder.context(explorer),
        Objective::Quality => ladder.quality(explorer),
        Objective::Speed => ladder.speed(explorer),
        Objective::Batch => ladder.batch(explorer),
    }
    .or_else(|| ladder.anything(explorer))
}

/// The longest context whatever it costs in speed.
pub(super) fn longest(explorer: &mut Explorer<'_>) -> Option<Found> {
    let ladder = Ladder::new(explorer);
    let weights = ladder.weights.planned;
    let found = ladder.longest(explorer, weights, Residency::Anywhere)?;
    explorer.refined(&found, Residency::Anywhere)
}

/// What is found with the longest context in the same formats and with as much on GPUs, where it is a context that is asked
/// for.
pub(super) fn furthest(
    explorer: &mut Explorer<'_>,
    objective: Objective,
    found: &Found,
) -> Option<Found> {
    found
        .point
        .load
        .filter(|_| objective == Objective::Context)?;
    let (context, slots) = (found.context(), found.slots());
    let residency = found.arrangement.probe.residency();
    let longest = if explorer.space.gpus && residency < Residency::Layers {
        explorer.longest_as_placed(found, slots, context)?
    } else {
        let longest =
            explorer.longest(&found.point, slots, context, residency, Effort::Possible)?;
        explorer.refined(&longest, residency)?
    };
    let on_gpus = |found: &Found| found.arrangement.probe.gpu_layers.0;
    (longest.context() > context && on_gpus(&longest) >= on_gpus(found)).then_some(longest)
}

/// The most bits with everything on GPUs.
pub(super) fn most_bits_whole(explorer: &mut Explorer<'_>) -> Option<Found> {
    Ladder::new(explorer).most_bits_whole(explorer)
}

/// What fits with a setting that was pinned as near as can be to what it was: with other things as planned, else with
/// whatever it takes of them.
pub(super) fn nearest(explorer: &mut Explorer<'_>, pin: &str) -> Option<Found> {
    let ladder = Ladder::new(explorer);
    let role = explorer.role(pin);
    let smallest = ladder.weights.all.last().copied()?;
    match role {
        Role::Context => [ladder.weights.planned, smallest]
            .into_iter()
            .find_map(|weights| {
                let longest = ladder.longest_from(explorer, weights, 1, Residency::Anywhere)?;
                explorer.refined(&longest, Residency::Anywhere)
            }),
        Role::Slots => {
            let (context, _) = ladder.loads.last().copied().flatten()?;
            [ladder.weights.planned, smallest]
                .into_iter()
                .find_map(|weights| {
                    let point = Point {
                        weights,
                        cache: ladder.caches.last().copied()?,
                        load: None,
                    };
                    let most = explorer.most_slots(&point, context, Residency::Anywhere)?;
                    explorer.refined(&most, Residency::Anywhere)
                })
        }
        Role::Other => {
            let found = ladder.anything(explorer)?;
            Some(if explorer.request.places_layers(pin) {
                ladder.with_most_on_gpus(explorer, &found)
            } else {
                found
            })
        }
    }
}

/// What comes closest with the least that can be chosen.
pub(super) fn least(explorer: &mut Explorer<'_>) -> Option<Arrangement> {
    let ladder = Ladder::new(explorer);
    let point = Point {
        weights: ladder.weights.all.last().copied()?,
        cache: ladder.all_caches.last().copied()?,
        load: ladder.loads.last().copied()?,
    };
    let least = explorer.arrange(&point, Residency::Anywhere, Effort::Closest);
    least.cloned()
}

/// Context per user and users; `None`: as it is pinned.
pub(super) type Load = Option<(u64, u64)>;

/// An index into the formats; `None`: as it is pinned.
type Format = Option<usize>;

/// Formats in the parts that objectives care about, and the loads they try.
struct Ladder {
    weights: Weights,
    /// Cache formats that lose next to nothing, most bits first.
    caches: Vec<Format>,
    all_caches: Vec<Format>,
    /// Loads, the largest first.
    loads: Vec<Load>,
    slots: u64,
}

/// Formats of weights, each list with most bits first.
struct Weights {
    all: Vec<Format>,
    /// Those with enough bits that they are no last resort.
    good: Vec<Format>,
    /// Others that still answer.
    poor: Vec<Format>,
    /// All but those that hardly do.
    usable: Vec<Format>,
    /// The one that is pinned, or the usual one.
    planned: Format,
    /// Good ones that a balanced plan takes.
    balanced: Vec<Format>,
}

impl Weights {
    fn new(explorer: &Explorer<'_>) -> Self {
        let space = &explorer.space;
        let bits = |format: Format| {
            let format = format.and_then(|index| space.weights.get(index));
            format.map_or(f64::MAX, |format| format.bits)
        };
        let all = explorer.weights.clone();
        let written = space.planned_weights;
        let planned = written.or(Some(space.usual_weights));
        let planned = if all.contains(&planned) {
            planned
        } else {
            all.first().copied().flatten()
        };
        // Whoever pins a poor one does not mind.
        let few = written.map_or(FEW_BITS, |_| bits(planned).min(FEW_BITS));
        let least = few.min(LEAST_BITS);
        let with = |enough: &dyn Fn(f64) -> bool| -> Vec<Format> {
            let formats = all.iter().copied();
            formats.filter(|format| enough(bits(*format))).collect()
        };
        let mut good = with(&|bits| bits >= few);
        let poor = with(&|bits| bits < few && bits >= least);
        let usable = with(&|bits| bits >= least);
        if good.is_empty() {
            good.clone_from(&all);
        }
        let enough = ENOUGH_BITS.max(bits(planned));
        let balanced = good.iter().copied();
        let balanced = balanced
            .filter(|format| match written {
                Some(_) => *format >= planned,
                None => bits(*format) <= enough,
            })
            .collect();
        Self {
            all,
            good,
            poor,
            usable,
            planned,
            balanced,
        }
    }

    /// Good ones with no more bits than planned.
    fn at_most_planned(&self) -> Vec<Format> {
        let formats = self.good.iter().copied();
        formats.filter(|format| *format >= self.planned).collect()
    }

    /// Good ones with no fewer bits than planned.
    fn at_least_planned(&self) -> Vec<Format> {
        let formats = self.good.iter().copied();
        formats.filter(|format| *format <= self.planned).collect()
    }

    /// Those of them whose bits still tell.
    fn told_apart(&self) -> Vec<Format> {
        let formats = self.balanced.iter().copied();
        formats.filter(|format| *format <= self.planned).collect()
    }
}

impl Ladder {
    fn new(explorer: &Explorer<'_>) -> Self {
        let space = &explorer.space;
        let slots = space.planned_slots.unwrap_or(1);
        let longest = space.longest_context;
        let mut contexts: Vec<u64> = match space.planned_context {
            Some(planned) => std::iter::once(planned)
                .chain(CONTEXTS.into_iter().filter(|context| *context < planned))
                .collect(),
            None => CONTEXTS.map(|context| context.min(longest)).to_vec(),
        };
        contexts.dedup();
        let loads = if explorer.context_is_open {
            let load = |context| Some((context, slots));
            contexts.into_iter().map(load).collect()
        } else {
            vec![None]
        };
        Self {
            weights: Weights::new(explorer),
            caches: explorer.caches.clone(),
            all_caches: explorer.all_caches.clone(),
            loads,
            slots,
        }
    }

    fn balanced(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        let planned = [self.weights.planned];
        let [plain, ..] = self.caches.as_slice() else {
            return None;
        };
        let load = *self.loads.first()?;
        let above = self.weights.told_apart();
        let whole = Residency::Whole;
        // A context that somebody wrote is a wish; of one that nobody wrote, half is as good.
        let wished = explorer.space.planned_context.is_some();
        let useful = if wished { 1 } else { 2 };
        // A good file with a plain cache, then with a smaller one; then a smaller file; then less context.
        first(explorer, &above, &[*plain], load, whole)
            .or_else(|| first(explorer, &above, &self.caches, load, whole))
            .or_else(|| {
                let mut loads = self.loads.iter().take(useful);
                loads.find_map(|load| {
                    first(explorer, &self.weights.balanced, &self.caches, *load, whole)
                })
            })
            .or_else(|| {
                let mut loads = self.loads.iter().take(if wished { 1 } else { usize::MAX });
                loads.find_map(|load| {
                    first(explorer, &planned, &self.caches, *load, Residency::Layers)
                        .filter(|_| explorer.space.experts)
                })
            })
            .or_else(|| {
                // Short rather than slow: every token of context is one of memory for layers.
                let load = self.loads.iter().rev().nth(1).or(self.loads.last())?;
                let load = if wished { self.loads.first()? } else { load };
                first(explorer, &planned, &[*plain], *load, Residency::Anywhere)
            })
    }

    /// Whatever fits: fewer bits, then less context, then poorer caches; so few bits that answers are often wrong only where
    /// nothing else fits at all.
    fn anything(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        let Weights {
            usable,
            all,
            planned,
            ..
        } = &self.weights;
        [usable, all].into_iter().find_map(|formats| {
            let formats = formats.iter().copied();
            let at_most: Vec<Format> = formats.filter(|format| format >= planned).collect();
            let caches = [&self.caches, &self.all_caches];
            caches.into_iter().find_map(|caches| {
                let mut loads = self.loads.iter();
                loads.find_map(|load| first(explorer, &at_most, caches, *load, Residency::Anywhere))
            })
        })
    }

    /// The same in the cache format that loses next to nothing and leaves most layers on GPUs.
    fn with_most_on_gpus(&self, explorer: &mut Explorer<'_>, found: &Found) -> Found {
        let on_gpus = |found: &Found| {
            let probe = &found.arrangement.probe;
            (probe.gpu_layers.0, probe.gpu_share)
        };
        let mut best = found.clone();
        for cache in &self.caches {
            let point = Point {
                cache: *cache,
                ..found.point
            };
            if let Some(other) = explorer.found(&point, Residency::Anywhere, Effort::Best)
                && on_gpus(&other) > on_gpus(&best)
            {
                best = other;
            }
        }
        best
    }

    /// The planned load where it can be had at all, else the shorter of the useful ones.
    fn useful_load(&self, explorer: &mut Explorer<'_>) -> Load {
        let planned = explorer.space.planned_context.is_some();
        let smallest = *self.weights.good.last()?;
        let loads = self.loads.iter().copied();
        let mut loads = loads.skip(usize::from(!planned && self.loads.len() > 2));
        let possible = loads.find(|load| {
            self.caches.iter().any(|cache| {
                let point = Point {
                    weights: smallest,
                    cache: *cache,
                    load: *load,
                };
                explorer
                    .found(&point, Residency::Anywhere, Effort::Possible)
                    .is_some()
            })
        });
        possible.or_else(|| self.loads.last().copied()).flatten()
    }

    /// What a longest context begins at: the planned one where it fits, else the least that is of use.
    fn least_context(&self, explorer: &mut Explorer<'_>) -> u64 {
        let planned = explorer.space.planned_context;
        let load = planned.and_then(|_| self.useful_load(explorer));
        let least = self.loads.last().copied().flatten();
        load.or(least).map_or(0, |(context, _)| context)
    }
}

/// The first pair of formats that fits, weights before caches.
fn first(
    explorer: &mut Explorer<'_>,
    weights: &[Format],
    caches: &[Format],
    load: Load,
    residency: Residency,
) -> Option<Found> {
    let point = |weights: Format, cache: Format| Point {
        weights,
        cache,
        load,
    };
    let smallest = weights.last().copied()?;
    let mut possible: Vec<Option<bool>> = vec![None; caches.len()];
    for format in weights {
        for (cache, possible) in caches.iter().zip(&mut possible) {
            // Where not even the smallest fits, none does: then nothing else is asked.
            let mut is_possible = || {
                let smallest = point(smallest, *cache);
                explorer.found(&smallest, residency, Effort::Possible)
            };
            if weights.len() > 1 && !*possible.get_or_insert_with(|| is_possible().is_some()) {
                continue;
            }
            let found = explorer.found(&point(*format, *cache), residency, Effort::Best);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

impl Found {
    fn context(&self) -> u64 {
        self.arrangement.probe.context_per_slot
    }

    fn slots(&self) -> u64 {
        self.arrangement.probe.slots
    }
}

//! How far a plan reaches: the longest context, the most users.

use super::{Format, Ladder, first};
use crate::advisor::fit::explorer::{Explorer, Found, Point};
use crate::engine::search::{Effort, Residency};

impl Ladder {
    /// The longest context that moves nothing off the GPUs that the least one leaves there.
    pub(super) fn context(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        for weights in &self.weights.good {
            // More bits than planned are not what was asked for.
            if *weights < self.weights.planned {
                continue;
            }
            let found = self.longest(explorer, *weights, Residency::Whole);
            if found.is_some() {
                return found;
            }
        }
        if explorer.space.experts
            && let Some(found) = self.longest(explorer, self.weights.planned, Residency::Layers)
        {
            return explorer.refined(&found, Residency::Layers);
        }
        self.longest_of_layers(explorer)
    }

    /// The longest context over caches that lose next to nothing; of equals the one with more bits.
    pub(super) fn longest(
        &self,
        explorer: &mut Explorer<'_>,
        weights: Format,
        residency: Residency,
    ) -> Option<Found> {
        let least = self.least_context(explorer);
        self.longest_from(explorer, weights, least, residency)
    }

    pub(super) fn longest_from(
        &self,
        explorer: &mut Explorer<'_>,
        weights: Format,
        least: u64,
        residency: Residency,
    ) -> Option<Found> {
        let mut best: Option<Found> = None;
        for cache in &self.caches {
            let point = Point {
                weights,
                cache: *cache,
                load: None,
            };
            let found = explorer.longest(&point, self.slots, least, residency, Effort::Possible);
            best = match (best, found) {
                (Some(best), Some(found)) if found.context() > best.context() => Some(found),
                (best, found) => best.or(found),
            };
        }
        best
    }

    /// Not all layers fit: the longest context with as many as the least one leaves on the GPUs.
    fn longest_of_layers(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        let least = self.least_context(explorer);
        let load = explorer.context_is_open.then_some((least, self.slots));
        let smallest = [self.weights.planned];
        let mut best: Option<Found> = None;
        for cache in &self.caches {
            let start = first(explorer, &smallest, &[*cache], load, Residency::Anywhere);
            let Some(start) = start else { continue };
            let longest = explorer.longest_as_placed(&start, self.slots, least);
            let found = longest.unwrap_or(start);
            let key = |found: &Found| (found.arrangement.probe.gpu_layers.0, found.context());
            if best.as_ref().is_none_or(|best| key(&found) > key(best)) {
                best = Some(found);
            }
        }
        best
    }

    /// The most users with the planned context each, as much on GPUs as for one.
    pub(super) fn batch(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        let load = self.useful_load(explorer);
        let Some((context, _)) = load.filter(|_| explorer.slots_are_open) else {
            return self.balanced(explorer);
        };
        let planned = [self.weights.planned];
        let one = Some((context, 1));
        let start = first(
            explorer,
            &self.weights.at_most_planned(),
            &self.caches,
            one,
            Residency::Whole,
        )
        .or_else(|| {
            first(explorer, &planned, &self.caches, one, Residency::Layers)
                .filter(|_| explorer.space.experts)
        })
        .or_else(|| first(explorer, &planned, &self.caches, one, Residency::Anywhere))?;
        let residency = if explorer.space.gpus {
            start.arrangement.probe.residency()
        } else {
            Residency::Anywhere
        };
        let mut best = start.clone();
        for cache in &self.caches {
            let point = Point {
                cache: *cache,
                ..start.point
            };
            let found = explorer.most_slots(&point, context, residency);
            if let Some(found) = found
                && found.slots() > best.slots()
            {
                best = found;
            }
        }
        explorer.refined(&best, residency)
    }
}

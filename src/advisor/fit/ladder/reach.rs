//! How far a plan reaches: the longest context, the most users.

use super::{Format, Ladder, Load, first};
use crate::advisor::fit::explorer::{Explorer, Found, Point};
use crate::engine::search::{Effort, Residency};

impl Ladder {
    /// The longest context that moves nothing off the GPUs that the planned one leaves there, or the least where none is
    /// planned; in the usual weights, or in fewer bits where only those fit. More bits come where they cost nothing of it.
    pub(super) fn context(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        for weights in self.weights.at_most_planned() {
            if let Some(found) = self.longest(explorer, weights, Residency::Whole) {
                return Some(self.enriched(explorer, found, Residency::Whole));
            }
        }
        if explorer.space.experts
            && let Some(found) = self.longest(explorer, self.weights.planned, Residency::Layers)
        {
            return explorer.refined(&found, Residency::Layers);
        }
        self.longest_of_layers(explorer)
    }

    /// With more bits, as far as they cost nothing of context and users.
    fn enriched(&self, explorer: &mut Explorer<'_>, found: Found, residency: Residency) -> Found {
        let richer = self.weights.told_apart();
        let load = found.point.load;
        first(explorer, &richer, &self.caches, load, residency).unwrap_or(found)
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
        let point = |cache: Format| Point {
            weights,
            cache,
            load: None,
        };
        let possible = Effort::Possible;
        if !explorer.context_is_open {
            let mut caches = self.caches.iter();
            return caches.find_map(|cache| explorer.found(&point(*cache), residency, possible));
        }
        let as_long = |explorer: &mut Explorer<'_>, cache: Format, load: Load| {
            let point = Point {
                load,
                ..point(cache)
            };
            explorer.found(&point, residency, possible)
        };
        // Nothing is longer.
        let most = explorer.most_context(least);
        let (plain, smaller) = self.caches.split_first()?;
        if let Some(found) = as_long(explorer, *plain, Some((most, self.slots))) {
            return Some(found);
        }
        // The smallest first: what is larger mostly leaves less, as can be told without graphs.
        let mut best: Option<Found> = None;
        for cache in smaller.iter().rev().chain([plain]) {
            if let Some(best) = &best
                && as_long(explorer, *cache, best.point.load).is_none()
            {
                continue;
            }
            let found = explorer.longest(&point(*cache), self.slots, least, residency, possible);
            best = match (best, found) {
                (Some(best), Some(found)) if found.context() < best.context() => Some(best),
                (best, found) => found.or(best),
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

    /// The most users with the planned context each, as much on GPUs as for those who are planned, or for one: in the usual
    /// weights, or in fewer bits where only those fit. More bits come where they cost no user.
    pub(super) fn batch(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        let load = self.useful_load(explorer);
        let Some((context, _)) = load.filter(|_| explorer.slots_are_open) else {
            return self.balanced(explorer);
        };
        let start = self
            .placed_for(explorer, (context, self.slots))
            .or_else(|| self.placed_for(explorer, (context, 1)))?;
        let residency = if explorer.space.gpus {
            start.arrangement.probe.residency()
        } else {
            Residency::Anywhere
        };
        if residency < Residency::Layers && explorer.space.gpus {
            return self.most_as_placed(explorer, start, context);
        }
        let most = self.most_slots(explorer, &start, (context, residency));
        let most = most.filter(|most| most.slots() > start.slots());
        let best = most.unwrap_or(start);
        if residency == Residency::Whole {
            return Some(self.enriched(explorer, best, residency));
        }
        explorer.refined(&best, residency)
    }

    /// The most users with so much context each, over caches that lose next to nothing; of equals the one with more bits.
    fn most_slots(
        &self,
        explorer: &mut Explorer<'_>,
        start: &Found,
        (context, residency): (u64, Residency),
    ) -> Option<Found> {
        // The smallest first: what is larger mostly leaves less, as can be told without graphs.
        let mut most: Option<Found> = None;
        for cache in self.caches.iter().rev() {
            let point = Point {
                cache: *cache,
                ..start.point
            };
            let possible = Effort::Possible;
            let as_many = most.as_ref().map(|most| Point {
                cache: *cache,
                ..most.point
            });
            if as_many.is_some_and(|point| explorer.found(&point, residency, possible).is_none()) {
                continue;
            }
            let found = explorer.most_slots(&point, context, residency);
            most = match (most, found) {
                (Some(most), Some(found)) if found.slots() < most.slots() => Some(most),
                (most, found) => found.or(most),
            };
        }
        most
    }

    /// Not all layers fit: the most users with as many on the GPUs as for those who are planned. More would serve more people
    /// at a crawl.
    fn most_as_placed(
        &self,
        explorer: &mut Explorer<'_>,
        start: Found,
        context: u64,
    ) -> Option<Found> {
        let load = start.point.load;
        let mut best: Option<Found> = None;
        for cache in &self.caches {
            let weights = [start.point.weights];
            let start = first(explorer, &weights, &[*cache], load, Residency::Anywhere);
            let Some(start) = start else { continue };
            let most = explorer.most_slots_as_placed(&start, context);
            let found = most.unwrap_or(start);
            let key = |found: &Found| (found.arrangement.probe.gpu_layers.0, found.slots());
            if best.as_ref().is_none_or(|best| key(&found) > key(best)) {
                best = Some(found);
            }
        }
        best.or(Some(start))
    }

    /// So many users with as much on GPUs as they leave room for.
    fn placed_for(&self, explorer: &mut Explorer<'_>, load: (u64, u64)) -> Option<Found> {
        let (load, caches) = (Some(load), &self.caches);
        let formats = self.weights.at_most_planned();
        let planned = [self.weights.planned];
        first(explorer, &formats, caches, load, Residency::Whole)
            .or_else(|| {
                first(explorer, &planned, caches, load, Residency::Layers)
                    .filter(|_| explorer.space.experts)
            })
            .or_else(|| first(explorer, &formats, caches, load, Residency::Anywhere))
    }
}

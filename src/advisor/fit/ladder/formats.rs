//! The best formats: for quality, and for speed.

use super::{Format, Ladder, Load, READING_SPEED, first};
use crate::advisor::fit::explorer::{Explorer, Found, Point};
use crate::engine::search::{Effort, Residency};

impl Ladder {
    /// The most bits at which answers come as fast as people read. Where none do, no fewer than usual: more would be
    /// slower still.
    pub(super) fn quality(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        let load = self.useful_load(explorer);
        let anywhere = Residency::Anywhere;
        let at_most = self.weights.at_most_planned();
        self.readable(explorer, load)
            .or_else(|| first(explorer, &at_most, &self.caches, load, anywhere))
            .or_else(|| first(explorer, &self.weights.poor, &self.caches, load, anywhere))
    }

    /// The most bits with everything on GPUs.
    pub(super) fn most_bits_whole(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        let load = self.useful_load(explorer);
        let good = &self.weights.good;
        first(explorer, good, &self.caches, load, Residency::Whole)
    }

    /// The most bits at which answers come as fast as people read, with whichever cache leaves most; none below the usual.
    fn readable(&self, explorer: &mut Explorer<'_>, load: Load) -> Option<Found> {
        let mut best: Option<Found> = None;
        for cache in &self.caches {
            let found = self.readable_with(explorer, load, *cache);
            best = match (best, found) {
                (Some(best), Some(found)) if found.point.weights < best.point.weights => {
                    Some(found)
                }
                (best, found) => best.or(found),
            };
        }
        best
    }

    fn readable_with(
        &self,
        explorer: &mut Explorer<'_>,
        load: Load,
        cache: Format,
    ) -> Option<Found> {
        let at = |explorer: &mut Explorer<'_>, weights: Format| {
            let point = Point {
                weights,
                cache,
                load,
            };
            let found = explorer.found(&point, Residency::Anywhere, Effort::Best)?;
            let decode = explorer.decode(&found.arrangement.settings);
            // Where nothing is known of speed, experts are what main memory is good enough for.
            let readable = match decode {
                Some(decode) => decode.likely >= READING_SPEED,
                None => found.arrangement.probe.residency() >= Residency::Layers,
            };
            readable.then_some(found)
        };
        // Fewer bits are faster.
        let formats = self.weights.at_least_planned();
        let mut best = at(explorer, *formats.last()?)?;
        let (mut low, mut high) = (0, formats.len().saturating_sub(1));
        while low < high {
            let middle = low + (high - low) / 2;
            let found = formats.get(middle);
            match found.and_then(|weights| at(explorer, *weights)) {
                Some(better) => {
                    best = better;
                    high = middle;
                }
                None => low = middle + 1,
            }
        }
        Some(best)
    }

    /// A good file that is all on GPUs, the smaller the faster; else a poor one that is; else the faster of what the caches
    /// make possible.
    pub(super) fn speed(&self, explorer: &mut Explorer<'_>) -> Option<Found> {
        let load = self.useful_load(explorer);
        let smallest = [*self.weights.good.last()?];
        let whole = Residency::Whole;
        let found = first(explorer, &smallest, &self.caches, load, whole)
            .or_else(|| first(explorer, &self.weights.poor, &self.caches, load, whole));
        if found.is_some() {
            return found;
        }
        let mut best: Option<(f64, Found)> = None;
        for cache in &self.caches {
            let found = first(explorer, &smallest, &[*cache], load, Residency::Anywhere);
            let Some(found) = found else { continue };
            let decode = explorer.decode(&found.arrangement.settings);
            let speed = decode.map_or(found.arrangement.probe.gpu_share, |decode| decode.likely);
            if best.as_ref().is_none_or(|(known, _)| speed > *known) {
                best = Some((speed, found));
            }
        }
        best.map(|(_, found)| found)
    }
}

//! The best formats: for quality, and for speed.

use super::{Format, Ladder, Load, READING_SPEED, first};
use crate::advisor::fit::explorer::{Explorer, Found, Point};
use crate::engine::search::{Bound, Effort, Residency};

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
        let formats = self.weights.at_least_planned();
        let mut richer = formats.as_slice();
        let mut best: Option<Found> = None;
        for cache in &self.caches {
            // Another cache counts where it leaves room for more bits.
            let point = |weights: Format| Point {
                weights,
                cache: *cache,
                load,
            };
            if let Some((place, found)) = readable(explorer, richer, point) {
                richer = richer.get(..place).unwrap_or_default();
                best = Some(found);
            }
        }
        best
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

/// The first of these formats with which answers come as fast as people read, and its place. Fewer bits are faster: more than
/// the first that could be fast enough are not.
fn readable(
    explorer: &mut Explorer<'_>,
    formats: &[Format],
    point: impl Fn(Format) -> Point,
) -> Option<(usize, Found)> {
    let could_be = |place: usize| {
        let format = formats.get(place);
        format.is_some_and(|format| could_be_readable(explorer, &point(*format)))
    };
    let first = first_of(formats.len(), could_be)?;
    let mut at = |place: usize| {
        let point = point(*formats.get(place)?);
        let found = explorer.found(&point, Residency::Anywhere, Effort::Best)?;
        is_readable(explorer, &found).then_some((place, found))
    };
    if let Some(found) = at(first) {
        return Some(found);
    }
    let (mut low, mut high) = (first + 1, formats.len() - 1);
    if low > high {
        return None;
    }
    let mut best = at(high)?;
    while low < high {
        let middle = low + (high - low) / 2;
        match at(middle) {
            Some(better) => {
                best = better;
                high = middle;
            }
            None => low = middle + 1,
        }
    }
    Some(best)
}

/// The first of so many of which this is true, as it is of all after it; `None` where it is of none.
fn first_of(count: usize, mut is_true: impl FnMut(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_true(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    (low < count).then_some(low)
}

/// Whether answers come as fast as people read. Where nothing is known of speed, experts are what main memory is good enough
/// for.
fn is_readable(explorer: &Explorer<'_>, found: &Found) -> bool {
    let decode = explorer.decode(&found.arrangement.settings);
    match decode {
        Some(decode) => decode.likely >= READING_SPEED,
        None => found.arrangement.probe.residency() >= Residency::Layers,
    }
}

/// Whether that could be, as far as can be said without graphs.
fn could_be_readable(explorer: &Explorer<'_>, point: &Point) -> bool {
    match explorer.bound(point) {
        Some(Bound::Nowhere) => false,
        Some(Bound::Settings(settings)) => {
            let decode = explorer.decode(&settings);
            decode.is_none_or(|decode| decode.likely >= READING_SPEED)
        }
        None => true,
    }
}

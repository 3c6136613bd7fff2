//! Sizes as functions of the context. Every size in a graph grows in proportion to the cells of the cache or not at
//! all, so where the allocator takes the same decisions, buffers do too: one placement serves a whole range of contexts.

use std::cmp::Ordering;
use std::ops::{Add, Sub};

/// Bytes at each number of steps of [`STEP`] cells: `base + slope * steps`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Linear {
    base: i64,
    slope: i64,
}

/// Cells by which caches grow (`GGML_PAD(n_ctx, 256)`, `src/llama-context.cpp` 0.6.0-dev).
pub(super) const STEP: u64 = 256;

impl Linear {
    /// No bytes.
    pub(super) const ZERO: Self = Self { base: 0, slope: 0 };

    /// The same at any context.
    pub(super) fn constant(bytes: u64) -> Self {
        Self {
            base: i64::try_from(bytes).unwrap_or(i64::MAX).min(LARGEST),
            slope: 0,
        }
    }

    /// The line through two sizes.
    pub(super) fn through(one: (i64, u64), other: (i64, u64)) -> Self {
        let [first, second] = [one.1, other.1].map(|bytes| Self::constant(bytes).base);
        let slope = (second - first).checked_div(other.0 - one.0).unwrap_or(0);
        Self {
            base: first.saturating_sub(slope.saturating_mul(one.0)),
            slope,
        }
    }

    /// Grows by whole multiples of `alignment`.
    pub(super) fn keeps_alignment(self, alignment: u64) -> bool {
        let alignment = i64::try_from(alignment).unwrap_or(i64::MAX);
        self.slope.checked_rem(alignment).unwrap_or(0) == 0
    }

    /// The bytes at a number of steps.
    pub(super) fn at(self, steps: i64) -> u64 {
        u64::try_from(self.value(steps).max(0)).unwrap_or(u64::MAX)
    }

    fn value(self, steps: i64) -> i128 {
        i128::from(self.base) + i128::from(self.slope) * i128::from(steps)
    }
}

/// Sizes saturate here, so that sums of them cannot overflow.
const LARGEST: i64 = i64::MAX / 8;

impl Add for Linear {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            base: self.base.saturating_add(other.base),
            slope: self.slope.saturating_add(other.slope),
        }
    }
}

impl Sub for Linear {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            base: self.base.saturating_sub(other.base),
            slope: self.slope.saturating_sub(other.slope),
        }
    }
}

/// The steps at which every comparison so far comes out as at `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Domain {
    /// Where comparisons are made.
    pub(super) at: i64,
    /// First step of the range.
    pub(super) low: i64,
    /// Last step of the range.
    pub(super) high: i64,
}

impl Domain {
    /// Every number of steps.
    pub(super) fn everywhere(at: i64) -> Self {
        Self {
            at,
            low: 1,
            high: i64::MAX,
        }
    }

    /// Only where it is made.
    pub(super) fn narrow(&mut self) {
        self.low = self.at;
        self.high = self.at;
    }

    /// Does not cross `step` from below.
    pub(super) fn split(&mut self, step: i64) {
        if self.at < step {
            self.high = self.high.min(step - 1);
        } else {
            self.low = self.low.max(step);
        }
    }

    /// Compares two sizes, and keeps the range to where the answer is the same.
    pub(super) fn compare(&mut self, a: Linear, b: Linear) -> Ordering {
        let difference = a - b;
        if difference.slope == 0 {
            return difference.base.cmp(&0);
        }
        let here = difference.value(self.at);
        if here == 0 {
            self.narrow();
            return Ordering::Equal;
        }
        // Zero lies at -base / slope.
        let root = i128::from(difference.base)
            .saturating_neg()
            .div_euclid(i128::from(difference.slope));
        let exact = difference.value(clamp(root)) == 0;
        if (here > 0) == (difference.slope > 0) {
            let first = root.saturating_add(1);
            self.low = self.low.max(clamp(first));
        } else {
            // `div_euclid` by a negative slope rounds towards the larger root.
            let last = match (exact, difference.slope > 0) {
                (true, _) | (false, false) => root - 1,
                (false, true) => root,
            };
            self.high = self.high.min(clamp(last).max(self.at));
        }
        self.low = self.low.min(self.at);
        if here > 0 {
            Ordering::Greater
        } else {
            Ordering::Less
        }
    }
}

fn clamp(steps: i128) -> i64 {
    i64::try_from(steps).unwrap_or(if steps < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comparisons made at one step must come out the same over the whole range.
    #[test]
    fn ranges_hold_what_they_promise() {
        let lines = [
            (0, 3),
            (100, 1),
            (-50, 7),
            (1000, -2),
            (1000, 0),
            (7, -7),
            (40, 5),
        ];
        let lines = lines.map(|(base, slope)| Linear { base, slope });
        for at in 1..200 {
            for a in lines {
                for b in lines {
                    let mut domain = Domain::everywhere(at);
                    let here = domain.compare(a, b);
                    assert!(domain.low <= at && at <= domain.high);
                    for steps in domain.low..=domain.high.min(400) {
                        assert_eq!(
                            a.value(steps).cmp(&b.value(steps)),
                            here,
                            "{a:?} {b:?} {at} {steps}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn lines_pass_through_their_points() {
        let line = Linear::through((4, 1000), (5, 1100));
        assert_eq!((line.at(4), line.at(5), line.at(10)), (1000, 1100, 1600));
        assert!(line.keeps_alignment(50) && !line.keeps_alignment(64));
    }
}

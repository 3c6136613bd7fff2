//! The largest value of a setting that fits, by few measurements.

/// The largest number of steps in `least..=most` with no device over, where `slack` says what each device has left
/// (negative: over) and never grows with the number. `None` where not even the least fits.
///
/// Memory is piecewise linear in context and slots, so the line between two measurements meets zero at the answer
/// unless a device's slope changes in between; then the bounds are tightened and the line drawn again.
pub(crate) fn largest(
    least: u64,
    most: u64,
    mut slack: impl FnMut(u64) -> Vec<i64>,
) -> Option<u64> {
    let fits = |slack: &[i64]| slack.iter().all(|left| *left >= 0);
    let mut high = (most, slack(most));
    if most < least {
        return None;
    }
    if fits(&high.1) {
        return Some(most);
    }
    let mut low = (least, slack(least));
    if !fits(&low.1) {
        return None;
    }
    let mut halve = false;
    while high.0 - low.0 > 1 {
        let guess = if halve {
            low.0 + (high.0 - low.0) / 2
        } else {
            crossing(&low, &high)
        };
        let before = high.0 - low.0;
        let measured = slack(guess);
        if fits(&measured) {
            low = (guess, measured);
            // The line is exact where slopes do not change: then the next step is already too much.
            let next = guess + 1;
            if next < high.0 && !halve {
                let measured = slack(next);
                if fits(&measured) {
                    low = (next, measured);
                } else {
                    return Some(guess);
                }
            }
        } else {
            high = (guess, measured);
        }
        // A line that cuts off little was drawn across a bend.
        halve = (high.0 - low.0) > before / 2;
    }
    Some(low.0)
}

/// The same over `stretches`, first and last numbers of each in order: slack never grows within one, and may from one to
/// the next.
pub(crate) fn largest_over(
    stretches: &[(u64, u64)],
    mut slack: impl FnMut(u64) -> Vec<i64>,
) -> Option<u64> {
    let mut stretches = stretches.iter().rev();
    stretches.find_map(|(first, last)| {
        let fits = slack(*first).iter().all(|left| *left >= 0);
        fits.then(|| largest(*first, *last, &mut slack)).flatten()
    })
}

/// The stretches of `1..=most` over which `amount` never shrinks.
pub(crate) fn growing(most: u64, amount: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
    let mut stretches = Vec::new();
    let mut first = 1;
    for last in 1..=most {
        if last == most || amount(last + 1) < amount(last) {
            stretches.push((first, last));
            first = last + 1;
        }
    }
    stretches
}

type Measured = (u64, Vec<i64>);

/// The last number before any device goes below zero on the line from `low` to `high`.
fn last_above_zero(low: &Measured, high: &Measured) -> u64 {
    let width = i128::from(high.0 - low.0);
    let ends = low.1.iter().zip(&high.1);
    let steps = ends
        .filter(|(_, end)| **end < 0)
        .map(|(start, end)| {
            let (start, end) = (i128::from(*start), i128::from(*end));
            width * start / (start - end).max(1)
        })
        .min();
    let steps = steps.and_then(|steps| u64::try_from(steps).ok());
    low.0.saturating_add(steps.unwrap_or(0))
}

/// Where the first device reaches zero on the line from `low` to `high`, strictly between them.
fn crossing(low: &Measured, high: &Measured) -> u64 {
    last_above_zero(low, high).clamp(low.0 + 1, high.0 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks an answer against a walk over all numbers, and that few measurements were needed.
    fn check(least: u64, most: u64, measurements: usize, slack: impl Fn(u64) -> Vec<i64>) {
        let expected = (least..=most)
            .rev()
            .find(|steps| slack(*steps).iter().all(|left| *left >= 0));
        let mut count = 0;
        let found = largest(least, most, |steps| {
            count += 1;
            slack(steps)
        });
        assert_eq!(found, expected);
        assert!(count <= measurements, "{count} measurements");
    }

    fn signed(number: u64) -> i64 {
        i64::try_from(number).unwrap()
    }

    #[test]
    fn a_line_takes_four_measurements() {
        check(1, 4096, 4, |steps| vec![100_000 - 37 * signed(steps)]);
        check(1, 4096, 4, |steps| {
            vec![100_000 - 37 * signed(steps), 90_000 - 35 * signed(steps)]
        });
    }

    #[test]
    fn all_or_nothing_is_found() {
        check(1, 64, 1, |_| vec![5]);
        check(1, 64, 2, |_| vec![5, -1]);
        check(1, 1, 1, |_| vec![0]);
        assert_eq!(largest(2, 1, |_| vec![0]), None);
    }

    #[test]
    fn the_last_stretch_that_fits_is_found() {
        // A micro-batch of 512 in equal parts for all slots: whatever is left, the answer is that of a walk.
        let rounded = |slots: u64| 512_u64.next_multiple_of(slots);
        let stretches = growing(256, rounded);
        assert_eq!(stretches.first(), Some(&(1, 3)));
        assert_eq!(stretches.last(), Some(&(256, 256)));
        for room in (0..4_000).step_by(7) {
            let slack = |slots: u64| vec![room - signed(2 * rounded(slots) + slots)];
            let walked = (1..=256).rev().find(|slots| slack(*slots) >= vec![0]);
            assert_eq!(largest_over(&stretches, slack), walked, "{room}");
        }
        assert_eq!(growing(9, |_| 1), [(1, 9)]);
    }

    #[test]
    fn a_bend_is_found() {
        check(1, 4096, 12, |steps| {
            let steps = signed(steps);
            vec![50_000 - 10 * steps - 90 * (steps - 300).max(0)]
        });
        check(1, 4096, 24, |steps| {
            let steps = signed(steps);
            vec![50_000 - 100 * steps.min(499) - steps]
        });
    }
}

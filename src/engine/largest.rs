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

/// The last of `numbers`, which grow, with no device over; `None` where not even the first fits. Always asks for the
/// same few of them, so that measurements which are kept serve again.
pub(crate) fn last_of(numbers: &[u64], mut slack: impl FnMut(u64) -> Vec<i64>) -> Option<u64> {
    let mut fits = |number: &u64| slack(*number).iter().all(|left| *left >= 0);
    // Most plans have room for none more or for all.
    if let Some(last) = numbers.last().filter(|last| fits(last)) {
        return Some(*last);
    }
    let fitting = numbers.partition_point(|number| fits(number));
    numbers.get(fitting.checked_sub(1)?).copied()
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
        let numbers: Vec<u64> = (least..=most).collect();
        assert_eq!(last_of(&numbers, &slack), expected);
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

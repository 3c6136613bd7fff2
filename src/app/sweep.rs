//! Memory against one setting: many reports, made beside the window.

use crate::engine::setting::{Kind, Scope, Setting, Step};
use crate::engine::{Axis, Memo, setting};
use crate::plan::{LaunchOptions, Value};
use crate::projection::Category;
use crate::report::{Report, Verdict, report};
use crate::units::Bytes;

use super::basis::Basis;

/// Values along an axis; more cannot be told apart on a screen.
const POINTS: usize = 64;

/// Everything that a sweep depends on.
#[derive(Clone, PartialEq)]
pub(crate) struct SweepKey {
    /// The plan, without the swept setting.
    pub(crate) basis: Basis,
    /// What is swept.
    pub(crate) axis: Axis,
}

/// One curve per device and category.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    /// What was swept; absent: nothing was.
    pub(crate) axis: Option<Axis>,
    /// In order of the setting's value.
    pub(crate) points: Vec<Point>,
}

/// The report at one value, as far as a curve shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    /// The setting's value.
    pub(crate) value: i64,
    /// Does it fit?
    pub(crate) verdict: Verdict,
    /// In report order.
    pub(crate) devices: Vec<DevicePoint>,
}

/// One device at one value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DevicePoint {
    /// "gpu0", "host", ...
    pub(crate) id: String,
    /// What the engine can use.
    pub(crate) capacity: Bytes,
    /// In use by others.
    pub(crate) in_use: Bytes,
    /// Bytes by category, in order of the categories, those without bytes left out.
    pub(crate) categories: Vec<(Category, Bytes)>,
}

impl Curve {
    /// Is this a sweep of this setting over these devices, though perhaps of a plan that has changed since?
    pub(crate) fn shows<'a>(&self, axis: Axis, devices: impl Iterator<Item = &'a str>) -> bool {
        let first = self.points.first().map(|point| point.devices.as_slice());
        let swept = first.unwrap_or_default().iter();
        self.axis == Some(axis) && swept.map(|device| device.id.as_str()).eq(devices)
    }
}

impl DevicePoint {
    /// Bytes of one category.
    pub(crate) fn bytes(&self, category: Category) -> Bytes {
        self.categories
            .iter()
            .find(|(known, _)| *known == category)
            .map_or(Bytes::ZERO, |(_, bytes)| *bytes)
    }

    /// Others' use and this plan's.
    pub(crate) fn total(&self) -> Bytes {
        self.in_use + self.categories.iter().map(|(_, bytes)| *bytes).sum()
    }
}

/// Bytes of a device's terms by category, in order, without empty ones.
pub(crate) fn by_category(terms: &crate::projection::DeviceTerms) -> Vec<(Category, Bytes)> {
    Category::ALL
        .into_iter()
        .map(|category| {
            let bytes = terms
                .terms
                .iter()
                .filter(|term| term.category == category)
                .map(|term| term.bytes)
                .sum();
            (category, bytes)
        })
        .filter(|(_, bytes)| *bytes != Bytes::ZERO)
        .collect()
}

/// Reports along the axis. What the engine refuses has no point.
pub(crate) fn curve(key: &SweepKey, memo: &Memo) -> Curve {
    let SweepKey { basis, axis } = key;
    let Basis {
        engine,
        model,
        draft,
        machine,
        settings,
        ..
    } = basis;
    let Some(setting) = setting::find(*engine, axis.setting) else {
        return Curve::default();
    };
    let scope = Scope {
        model,
        draft: draft.as_deref(),
        machine,
        settings,
    };
    let launch = LaunchOptions::default();
    let at = |value: i64| {
        let mut settings = settings.clone();
        settings.insert(axis.setting.to_owned(), Value::Integer(value));
        let report = report(&basis.request(&settings, &launch), memo).ok()?;
        let empty = report
            .devices
            .iter()
            .all(|device| device.total() == Bytes::ZERO);
        (!empty).then(|| point(value, &report))
    };
    let values = values(setting, &scope, axis.logarithmic);
    let mut points: Vec<Point> = values.into_iter().filter_map(at).collect();
    close_in(&mut points, multiple(setting), at);
    Curve {
        axis: Some(*axis),
        points,
    }
}

/// Adds points where a device becomes full until the last value before that and the first after it are one step apart.
fn close_in(points: &mut Vec<Point>, step: i64, at: impl Fn(i64) -> Option<Point>) {
    let devices = points.first().map_or(0, |point| point.devices.len());
    for device in 0..devices {
        let over = |point: &Point| {
            let device = point.devices.get(device);
            device.is_some_and(|device| device.total() > device.capacity)
        };
        loop {
            let mut pairs = points.windows(2).enumerate();
            let passes = pairs.find_map(|(place, pair)| match pair {
                [before, after] if !over(before) && over(after) => {
                    Some((place, before.value, after.value))
                }
                _ => None,
            });
            let Some((place, low, high)) = passes else {
                break;
            };
            let steps = high.saturating_sub(low) / step;
            if steps < 2 {
                break;
            }
            let middle = (low / step + steps / 2).saturating_mul(step);
            let Some(point) = at(middle) else { break };
            points.insert(place + 1, point);
        }
    }
}

fn point(value: i64, report: &Report) -> Point {
    Point {
        value,
        verdict: report.verdict,
        devices: report
            .devices
            .iter()
            .map(|device| DevicePoint {
                id: device.id.clone(),
                capacity: device.capacity,
                in_use: device.in_use,
                categories: by_category(&device.terms),
            })
            .collect(),
    }
}

/// What values are multiples of.
fn multiple(setting: &Setting) -> i64 {
    match setting.kind {
        Kind::Integer {
            step: Step::By(multiple) | Step::Logarithmic { multiple },
            ..
        } => multiple.max(1),
        _ => 1,
    }
}

/// Values that a sweep visits: the setting's bounds and what lies between, snapped as its slider snaps.
fn values(setting: &Setting, scope: &Scope<'_>, logarithmic: bool) -> Vec<i64> {
    let Kind::Integer { bounds, .. } = setting.kind else {
        return Vec::new();
    };
    let (low, high) = bounds(scope);
    let multiple = multiple(setting);
    let first = if logarithmic { low.max(multiple) } else { low };
    if high <= first {
        return vec![first];
    }
    let mut values: Vec<i64> = (0..POINTS)
        .map(|index| {
            let share = index as f64 / (POINTS - 1) as f64;
            let value = if logarithmic {
                first as f64 * (high as f64 / first as f64).powf(share)
            } else {
                first as f64 + (high - first) as f64 * share
            };
            let snapped = (value / multiple as f64).round() as i64;
            snapped.saturating_mul(multiple).clamp(first, high)
        })
        .collect();
    values.dedup();
    values
}

/// Where a device's total passes its capacity, between two points; absent if it never does.
pub(crate) fn crossing(curve: &Curve, device: usize) -> Option<(f64, f64)> {
    let at = |point: &Point| {
        let device = point.devices.get(device)?;
        Some((
            point.value as f64,
            device.total().as_gib(),
            device.capacity.as_gib(),
        ))
    };
    curve.points.windows(2).find_map(|pair| {
        let [before, after] = pair else { return None };
        let ((x0, y0, capacity), (x1, y1, _)) = (at(before)?, at(after)?);
        if y0 > capacity || y1 <= capacity {
            return None;
        }
        let share = (capacity - y0) / (y1 - y0);
        Some((x0 + (x1 - x0) * share, capacity))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: i64, gib: u64) -> Point {
        Point {
            value,
            verdict: Verdict::Fits,
            devices: vec![DevicePoint {
                id: "gpu0".to_owned(),
                capacity: Bytes::from_gib(10),
                in_use: Bytes::from_gib(1),
                categories: vec![(Category::Weights, Bytes::from_gib(gib))],
            }],
        }
    }

    #[test]
    fn the_last_value_before_it_is_full_is_found() {
        // Up to 9 GiB there is room: 1 GiB per 1,000, so the last multiple of 256 is 8,960.
        let grows = |value: i64| at(value, u64::try_from(value).unwrap().div_ceil(1_000));
        for far in [10_240, 65_536, 1_000_000] {
            let mut points = vec![grows(256), grows(4_096), grows(far)];
            close_in(&mut points, 256, |value| Some(grows(value)));
            let values: Vec<i64> = points.iter().map(|point| point.value).collect();
            assert!(values.is_sorted(), "{values:?}");
            let place = values.iter().position(|value| *value == 8_960).unwrap();
            assert_eq!(values.get(place + 1), Some(&9_216), "{values:?}");
            assert!(values.len() < 20, "{values:?}");
        }
        // What never gets full gets no further points.
        let mut points = vec![grows(256), grows(4_096)];
        close_in(&mut points, 256, |value| Some(grows(value)));
        assert_eq!(points.len(), 2);
    }

    #[test]
    fn the_crossing_lies_between_its_neighbours() {
        let curve = Curve {
            axis: None,
            points: vec![at(0, 5), at(100, 7), at(200, 11)],
        };
        assert_eq!(crossing(&curve, 0), Some((150.0, 10.0)));
        assert_eq!(crossing(&curve, 1), None);
        let flat = Curve {
            axis: None,
            points: vec![at(0, 5), at(100, 5)],
        };
        assert_eq!(crossing(&flat, 0), None);
    }
}

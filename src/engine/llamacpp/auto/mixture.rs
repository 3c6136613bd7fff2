//! Step 4 of the engine's fit, for models with experts whose other weights all fit: layers without their experts in the
//! back become whole layers in the front, and at last a part of one more layer is tried.

use super::candidate::{DeviceLayers, Fraction};
use super::layers::with;
use super::search::{Measured, Search};

/// A distribution, with the first device whose layers lack their experts.
#[derive(Clone)]
struct State {
    measured: Measured,
    dense_start: usize,
}

/// As many whole layers as fit, the first device first.
pub(super) fn fill_from_the_front(search: &Search<'_>, filled: Measured) -> Vec<DeviceLayers> {
    let devices = search.targets.len();
    let empty_in_front = filled
        .devices
        .iter()
        .rposition(|device| device.layers == 0)
        .map_or(0, |index| index + 1);
    let mut state = State {
        measured: filled,
        dense_start: empty_in_front.min(devices.saturating_sub(1)),
    };
    let mut device = 0;
    while device <= state.dense_start && state.dense_start < devices {
        state = convert(search, state, device);
        state = extra(search, state, device);
        device += 1;
    }
    state.measured.devices
}

/// Whole layers on one device.
fn convert(search: &Search<'_>, mut state: State, device: usize) -> State {
    let devices = search.targets.len();
    let all = all_to(&state, device);
    let full_of_all = all.get(device).map_or(0, |layers| layers.full());
    let between = full_of_all.saturating_sub(state.measured.layers(device).full());
    let more = |step: u32| moved(&state, device, step).0;
    let some = || search.could_hold_more(device, &state.measured, between, more);
    if !search.could_hold(all.clone(), device) && !some() {
        return state;
    }
    let mut high = State {
        measured: search.measure(all),
        dense_start: devices.saturating_sub(1),
    };
    if search.holds(&high.measured, device) {
        return high;
    }
    let full = |state: &State| state.measured.layers(device).full();
    let mut delta = full(&high).saturating_sub(full(&state));
    while delta > 1 {
        let step = search.step(device, delta, &state.measured, &high.measured);
        let (layers, dense_start) = moved(&state, device, step);
        let test = State {
            measured: search.measure(layers),
            dense_start,
        };
        if search.holds(&test.measured, device) {
            state = test;
        } else {
            high = test;
        }
        delta = full(&high).saturating_sub(full(&state));
    }
    state
}

/// Everything that is left, whole, on one device; the output layer stays on the last.
fn all_to(state: &State, device: usize) -> Vec<DeviceLayers> {
    let mut layers = state.measured.devices.clone();
    let last = layers.len().saturating_sub(1);
    for index in state.dense_start..layers.len() {
        let Some(source) = layers.get_mut(index) else {
            continue;
        };
        let moved = if index < last {
            source.layers
        } else {
            source.layers.saturating_sub(1)
        };
        source.layers -= moved;
        source.partial = 0;
        if let Some(target) = layers.get_mut(device) {
            target.layers += moved;
        }
    }
    layers
}

/// `step` layers moved from the first devices that have layers without experts, and the first device that then has some.
fn moved(state: &State, device: usize, step: u32) -> (Vec<DeviceLayers>, usize) {
    let mut layers = state.measured.devices.clone();
    let mut start = state.dense_start;
    let mut converted = 0;
    while start < layers.len() {
        let Some(source) = layers.get_mut(start) else {
            break;
        };
        let number = (step - converted).min(source.partial);
        source.layers -= number;
        source.partial -= number;
        let left = source.partial;
        if let Some(target) = layers.get_mut(device) {
            target.layers += number;
        }
        converted += number;
        if left > 0 {
            break;
        }
        start += 1;
    }
    (layers, start)
}

/// A part of one more layer, the rest on the next device or in main memory.
fn extra(search: &Search<'_>, state: State, device: usize) -> State {
    let devices = search.targets.len();
    let source = state.measured.layers(state.dense_start);
    let least = u32::from(device + 1 >= devices);
    if source.layers <= least {
        return state;
    }
    let mut start = state.dense_start;
    let mut layers = with(&state.measured.devices, start, |source| {
        source.layers -= 1;
        source.partial = source.partial.wrapping_sub(1);
    });
    if layers.get(start).is_some_and(|source| source.partial == 0) {
        start += 1;
    }
    let next = (device + 1 < devices).then_some(device + 1);
    layers = with(&layers, device, |target| {
        target.layers += 1;
        target.partial = target.partial.wrapping_add(1);
        target.overflow = next;
    });
    let attempt = |first: Fraction| {
        let layers = with(&layers, device, |target| target.first = first);
        let could = |device: usize| search.could_hold(layers.clone(), device);
        if !could(device) || !next.is_none_or(could) {
            return None;
        }
        let measured = search.measure(layers);
        let below = |device: usize| measured.on(device) < search.target(device);
        let fits = below(device) && next.is_none_or(below);
        fits.then_some(State {
            measured,
            dense_start: start,
        })
    };
    match attempt(Fraction::Up) {
        Some(up) => attempt(Fraction::Gate).unwrap_or(up),
        None => attempt(Fraction::Attention).unwrap_or(state),
    }
}

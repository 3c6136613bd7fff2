//! Step 3 of the engine's fit: devices are filled from the last to the first with layers; layers of a model with
//! experts leave those in main memory.

use super::candidate::DeviceLayers;
use super::search::{Measured, Search};

/// As many layers per device as fit, the last device first.
pub(super) fn fill_from_the_back(search: &Search<'_>) -> Measured {
    let devices = search.targets.len();
    let mut best = search.measure(vec![DeviceLayers::default(); devices]);
    for device in (0..devices).rev() {
        let assigned: u32 = best
            .devices
            .iter()
            .skip(device + 1)
            .map(|device| device.layers)
            .sum();
        let unassigned = (search.blocks + 1).saturating_sub(assigned);
        if unassigned == 0 {
            continue;
        }
        let last = device + 1 == devices;
        let more = |devices: &[DeviceLayers], step: u32| {
            with(devices, device, |layers| {
                layers.layers += step;
                if search.experts {
                    // The output layer has no parts.
                    layers.partial += if last && layers.partial == 0 {
                        step - 1
                    } else {
                        step
                    };
                }
            })
        };
        if !search.could_hold_more(device, &best, unassigned, |step| more(&best.devices, step)) {
            continue;
        }
        let mut high = search.measure(more(&best.devices, unassigned));
        if search.holds(&high, device) {
            best = high;
            continue;
        }
        let mut delta = high.layers(device).layers - best.layers(device).layers;
        while delta > 1 {
            let step = search.step(device, delta, &best, &high);
            let test = search.measure(more(&best.devices, step));
            if search.holds(&test, device) {
                best = test;
            } else {
                high = test;
            }
            delta = high
                .layers(device)
                .layers
                .saturating_sub(best.layers(device).layers);
        }
    }
    best
}

/// A copy with one device changed.
pub(super) fn with(
    devices: &[DeviceLayers],
    device: usize,
    change: impl FnOnce(&mut DeviceLayers),
) -> Vec<DeviceLayers> {
    let mut devices = devices.to_vec();
    if let Some(layers) = devices.get_mut(device) {
        change(layers);
    }
    devices
}

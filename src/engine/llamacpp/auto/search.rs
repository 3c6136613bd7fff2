//! What the steps that place layers share: distributions that are measured, and the next one to try.

use super::DryRun;
use super::candidate::{Candidate, DeviceLayers};

/// What both steps of the search need.
pub(super) struct Search<'a> {
    pub(super) run: &'a dyn DryRun,
    pub(super) context: Option<u64>,
    /// Most that each device may hold.
    pub(super) targets: Vec<i64>,
    pub(super) blocks: u32,
    pub(super) experts: bool,
}

/// A distribution with what it was measured to take.
#[derive(Clone)]
pub(super) struct Measured {
    pub(super) devices: Vec<DeviceLayers>,
    pub(super) used: Vec<i64>,
}

impl Search<'_> {
    pub(super) fn measure(&self, devices: Vec<DeviceLayers>) -> Measured {
        let candidate = Candidate {
            context: self.context,
            layers: Some(devices),
            experts_on_host: false,
        };
        let used = self.run.measure(&candidate);
        Measured {
            devices: candidate.layers.unwrap_or_default(),
            used: used.iter().map(|used| used.total).collect(),
        }
    }

    pub(super) fn target(&self, device: usize) -> i64 {
        self.targets.get(device).copied().unwrap_or(0)
    }

    /// Whether a device holds no more than it may.
    pub(super) fn holds(&self, measured: &Measured, device: usize) -> bool {
        measured.on(device) <= self.target(device)
    }

    /// Whether a device could hold a distribution, as far as can be said without its graph.
    pub(super) fn could_hold(&self, devices: Vec<DeviceLayers>, device: usize) -> bool {
        let target = self.target(device);
        if target < 0 {
            return false;
        }
        let candidate = Candidate {
            context: self.context,
            layers: Some(devices),
            experts_on_host: false,
        };
        let least = self.run.least(&candidate);
        least.get(device).is_none_or(|least| *least <= target)
    }

    /// Whether a device that holds `low` could hold any of `1..=most` layers more, which `more` adds. Where not even
    /// `low` leaves it its room, the engine's search tries one number after the other, down from the most: a number that
    /// takes too much without its graph needs no graph.
    pub(super) fn could_hold_more(
        &self,
        device: usize,
        low: &Measured,
        most: u32,
        more: impl Fn(u32) -> Vec<DeviceLayers>,
    ) -> bool {
        // More layers never take less, and there are no more than all blocks and the output layer.
        let (mut few, mut many) = (0, most.min(self.blocks).saturating_add(2));
        while many - few > 1 {
            let middle = few + (many - few) / 2;
            if self.could_hold(more(middle), device) {
                few = middle;
            } else {
                many = middle;
            }
        }
        let mut numbers = 1..=few;
        few > 0
            && (self.holds(low, device)
                || numbers.any(|number| self.holds(&self.measure(more(number)), device)))
    }

    /// The next number of layers to try between two bounds that are `delta` apart (method of false position).
    pub(super) fn step(&self, device: usize, delta: u32, low: &Measured, high: &Measured) -> u32 {
        let room = self.target(device).saturating_sub(low.on(device));
        let growth = high.on(device).saturating_sub(low.on(device));
        let guess =
            i128::from(delta) * i128::from(room) / i128::from(if growth == 0 { 1 } else { growth });
        // A negative guess wraps around in the engine's unsigned arithmetic, and is then cut to the most.
        let guess = if guess < 0 {
            u32::MAX
        } else {
            u32::try_from(guess).unwrap_or(u32::MAX)
        };
        guess.max(1).min(delta.saturating_sub(1).max(1))
    }
}

impl Measured {
    pub(super) fn on(&self, device: usize) -> i64 {
        self.used.get(device).copied().unwrap_or(0)
    }

    pub(super) fn layers(&self, device: usize) -> DeviceLayers {
        self.devices.get(device).copied().unwrap_or_default()
    }
}

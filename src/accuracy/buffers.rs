//! Buffers of one device in MiB, as an engine reports them.

use std::ops::Add;

use serde_json::Value as Json;

use crate::projection::{Category, DeviceTerms};
use crate::units::Bytes;

/// What is on one device, in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Buffers {
    /// Weights.
    pub(super) model: f64,
    /// Caches and recurrent states.
    pub(super) context: f64,
    /// Graph.
    pub(super) compute: f64,
    /// Logits.
    pub(super) output: f64,
}

impl Buffers {
    /// `[model, context, compute]`, or an object with these names.
    pub(super) fn read(parts: &Json) -> Self {
        let part = |index: usize, name: &str| {
            let value = parts.get(index).or_else(|| parts.get(name));
            value.and_then(Json::as_f64).unwrap_or(0.0)
        };
        Self {
            model: part(0, "model_MiB"),
            context: part(1, "context_MiB"),
            compute: part(2, "compute_MiB"),
            output: 0.0,
        }
    }

    /// What is projected, overhead and host caches left out: no engine counts them.
    pub(super) fn of(device: &DeviceTerms) -> Self {
        let sum = |categories: &[Category]| {
            let terms = device.terms.iter();
            let wanted = terms.filter(|term| categories.contains(&term.category));
            wanted.map(|term| term.bytes).sum::<Bytes>().as_mib()
        };
        Self {
            model: sum(&[Category::Weights]),
            context: sum(&[Category::KvCache, Category::RecurrentState]),
            compute: sum(&[Category::Compute]),
            output: sum(&[Category::Output]),
        }
    }

    /// All of it.
    pub(super) fn total(self) -> f64 {
        self.model + self.context + self.compute + self.output
    }
}

impl Add for Buffers {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            model: self.model + other.model,
            context: self.context + other.context,
            compute: self.compute + other.compute,
            output: self.output + other.output,
        }
    }
}

//! Blocks with their weights, before those to emulate are chosen.

use crate::model::Layer;
use crate::quant::Type;

/// A weight of a block or of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) dtype: Type,
    pub(super) ne: [u64; 4],
    /// GPU, or [`CPU`].
    pub(super) backend: u8,
}

/// Main memory, before the number of GPUs that are emulated is known.
pub(super) const CPU: u8 = u8::MAX - 1;

/// A block before it is chosen for emulation.
pub(super) struct Draft<'a> {
    pub(super) layer: &'a Layer,
    pub(super) weights: Vec<(&'a str, Weight)>,
    pub(super) backend: u8,
}

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

impl Weight {
    /// What graphs tell apart of it. Of quantized weights that stay where they are used the type is nothing to them.
    pub(super) fn told_apart(self, resident: bool) -> (Option<Type>, [u64; 4], u8) {
        let any = resident && self.dtype.is_quantized();
        ((!any).then_some(self.dtype), self.ne, self.backend)
    }
}

/// Main memory, before the number of GPUs that are emulated is known.
pub(super) const CPU: u8 = u8::MAX - 1;

/// A block before it is chosen for emulation.
pub(super) struct Draft<'a> {
    pub(super) layer: &'a Layer,
    pub(super) weights: Vec<(&'a str, Weight)>,
    pub(super) backend: u8,
}

impl Draft<'_> {
    /// All its weights are where the block is.
    pub(super) fn is_at_home(&self) -> bool {
        let mut weights = self.weights.iter();
        weights.all(|(_, weight)| weight.backend == self.backend)
    }
}

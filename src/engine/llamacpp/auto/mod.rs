//! Choices the engine makes by itself.

mod candidate;
mod choose;
mod fit;
mod layers;
mod mixture;
mod search;
#[cfg(test)]
mod tests;

pub(super) use crate::engine::largest::largest;
pub(super) use candidate::{Fraction, Overflow, gpu_layers, overflows};
pub(super) use choose::{choose, moves_layers, spilled};
pub(super) use fit::Fitted;

use candidate::Candidate;

/// What the engine's dry run says of one device: everything it would allocate there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    /// Weights alone.
    pub(super) model: i64,
    /// Weights, caches and compute buffer.
    pub(super) total: i64,
}

/// The engine's dry run: memory per GPU of a candidate, and last of main memory.
pub(super) trait DryRun {
    /// What every GPU would hold, the host last.
    fn measure(&self, candidate: &Candidate) -> Vec<Used>;

    /// What every GPU would hold at least: the same without compute buffers, for which graphs have to be made.
    fn least(&self, candidate: &Candidate) -> Vec<i64>;
}

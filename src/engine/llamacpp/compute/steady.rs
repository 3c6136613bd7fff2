//! Whether blocks leave memory as they found it, so that more of the same change nothing.

use std::collections::BTreeMap;

use super::alloc::Allocator;
use super::graph::Graph;
use super::linear::Linear;
use super::shorten::Repeat;
use super::tensor::{Id, Op};

/// What is free, and where the last result of a block lies.
#[derive(Clone, PartialEq, Eq)]
struct Snapshot {
    buffers: Vec<Allocator>,
    result: (u8, Linear),
}

/// Looks at memory after the blocks of repeats.
pub(super) struct Watch {
    /// Last step of each block to look at, ascending, with the block.
    ends: Vec<(usize, usize)>,
    seen: BTreeMap<usize, Snapshot>,
}

impl Watch {
    /// For steps that run these nodes.
    pub(super) fn new(
        graph: &Graph,
        nodes: impl Iterator<Item = (usize, Id)>,
        repeats: &[Repeat],
    ) -> Self {
        let blocks = repeats.iter().flatten();
        let mut last: BTreeMap<usize, usize> = blocks.map(|&block| (block, usize::MAX)).collect();
        if !last.is_empty() {
            for (index, id) in nodes {
                let tensor = graph.at(id);
                let block = tensor.stage.block.and_then(|own| usize::try_from(own).ok());
                // Copies bear the block of what they copy.
                if tensor.op != Op::None
                    && let Some(end) = block.and_then(|block| last.get_mut(&block))
                {
                    *end = index;
                }
            }
        }
        let mut ends: Vec<(usize, usize)> =
            last.into_iter().map(|(block, end)| (end, block)).collect();
        ends.sort_unstable();
        Self {
            ends,
            seen: BTreeMap::new(),
        }
    }

    /// The block that ends with a step, where it is one to look at.
    pub(super) fn ends(&self, step: usize) -> Option<usize> {
        let at = self
            .ends
            .binary_search_by_key(&step, |(end, _)| *end)
            .ok()?;
        self.ends.get(at).map(|(_, block)| *block)
    }

    /// Remembers memory after a block.
    pub(super) fn note(&mut self, block: usize, buffers: &[Allocator], result: (u8, Linear)) {
        let snapshot = Snapshot {
            buffers: buffers.iter().map(Allocator::free_space).collect(),
            result,
        };
        self.seen.insert(block, snapshot);
    }

    /// After the last repetition as after the one before, or, where two take turns, the one before that.
    pub(super) fn is_steady(&self, repeats: &[Repeat]) -> bool {
        repeats.iter().all(|repeat| {
            let mut latest = repeat.iter().rev().map(|block| self.seen.get(block));
            let last = latest.next().flatten();
            last.is_some() && latest.take(2).any(|earlier| earlier == last)
        })
    }
}

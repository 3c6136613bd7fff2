//! The allocator of one buffer: best-fitting free block, the last one grows (`ggml_dyn_tallocr`, `ggml/src/ggml-alloc.c`
//! 0.6.0-dev). CUDA and host buffers have no largest size, so there is one chunk.

use std::cmp::Ordering;

use super::linear::{Domain, Linear};

/// Free blocks of a buffer and how far it has grown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Allocator {
    free: Vec<Block>,
    grown: Linear,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    offset: Linear,
    size: Linear,
}

impl Allocator {
    /// An empty buffer.
    pub(super) fn new() -> Self {
        Self {
            free: vec![Block {
                offset: Linear::ZERO,
                // `SIZE_MAX/2`: no limit.
                size: Linear::constant(u64::MAX),
            }],
            grown: Linear::ZERO,
        }
    }

    /// What is free, however far the buffer has grown.
    pub(super) fn free_space(&self) -> Self {
        Self {
            free: self.free.clone(),
            grown: Linear::ZERO,
        }
    }

    /// The size the buffer must have for everything allocated so far.
    pub(super) fn grown(&self) -> Linear {
        self.grown
    }

    /// Places a size that is aligned; the offset, and whether the buffer had to grow.
    pub(super) fn allocate(&mut self, size: Linear, domain: &mut Domain) -> (Linear, bool) {
        let last = self.free.len().saturating_sub(1);
        // Of equal blocks the later one is taken: the engine compares with `<=`.
        let mut best: Option<(usize, Linear)> = None;
        for (index, block) in self.free.iter().take(last).enumerate() {
            if domain.compare(block.size, size) == Ordering::Less {
                continue;
            }
            if best.is_none_or(|(_, least)| domain.compare(block.size, least) != Ordering::Greater)
            {
                best = Some((index, block.size));
            }
        }
        let index = best.map_or(last, |(index, _)| index);
        let Some(block) = self.free.get_mut(index) else {
            return (Linear::ZERO, false);
        };
        let offset = block.offset;
        block.offset = block.offset + size;
        block.size = block.size - size;
        let end = block.offset;
        if domain.compare(block.size, Linear::ZERO) == Ordering::Equal {
            self.free.remove(index);
        }
        let grows = domain.compare(end, self.grown) == Ordering::Greater;
        if grows {
            self.grown = end;
        }
        (offset, grows)
    }

    /// Gives back what was placed at `offset`. Blocks may be empty: the first that adjoins takes it, as in the engine.
    pub(super) fn release(&mut self, offset: Linear, size: Linear, domain: &mut Domain) {
        for index in 0..self.free.len() {
            let Some(block) = self.free.get(index).copied() else {
                break;
            };
            if domain.compare(block.offset + block.size, offset) == Ordering::Equal {
                self.set(index, block.offset, block.size + size);
                self.join_next(index, domain);
                return;
            }
            if domain.compare(offset + size, block.offset) == Ordering::Equal {
                self.set(index, offset, block.size + size);
                if let Some(before) = index.checked_sub(1) {
                    self.join_next(before, domain);
                }
                return;
            }
        }
        // Empty blocks may have put the list out of order, so no search by halves.
        let mut blocks = self.free.iter();
        let after = blocks.position(|block| domain.compare(block.offset, offset) != Ordering::Less);
        let after = after.unwrap_or(self.free.len());
        self.free.insert(after, Block { offset, size });
    }

    fn set(&mut self, index: usize, offset: Linear, size: Linear) {
        if let Some(block) = self.free.get_mut(index) {
            *block = Block { offset, size };
        }
    }

    /// Joins a block with the one after it where they adjoin.
    fn join_next(&mut self, index: usize, domain: &mut Domain) {
        let (Some(block), Some(next)) = (self.free.get(index), self.free.get(index + 1)) else {
            return;
        };
        let end = block.offset + block.size;
        if domain.compare(end, next.offset) == Ordering::Equal {
            let (offset, size) = (block.offset, block.size + next.size);
            self.set(index, offset, size);
            self.free.remove(index + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bytes: u64) -> Linear {
        Linear::constant(bytes)
    }

    #[test]
    fn takes_the_smallest_hole_that_is_large_enough() {
        let mut buffer = Allocator::new();
        let domain = &mut Domain::everywhere(1);
        let sizes = [1024, 128, 384, 128, 512, 128];
        let offsets = sizes.map(|size| buffer.allocate(bytes(size), domain).0);
        assert_eq!(offsets, [0, 1024, 1152, 1536, 1664, 2176].map(bytes));
        buffer.release(bytes(0), bytes(1024), domain);
        buffer.release(bytes(1152), bytes(384), domain);
        buffer.release(bytes(1664), bytes(512), domain);
        assert_eq!(buffer.allocate(bytes(512), domain), (bytes(1664), false));
        assert_eq!(buffer.allocate(bytes(384), domain), (bytes(1152), false));
        assert_eq!(buffer.allocate(bytes(2048), domain), (bytes(2304), true));
        assert_eq!(buffer.grown(), bytes(4352));
    }

    #[test]
    fn neighbours_join_on_release() {
        let mut buffer = Allocator::new();
        let domain = &mut Domain::everywhere(1);
        let [a, b, c] = [128, 256, 384].map(|size| buffer.allocate(bytes(size), domain).0);
        buffer.release(a, bytes(128), domain);
        buffer.release(c, bytes(384), domain);
        buffer.release(b, bytes(256), domain);
        let mut fresh = Allocator::new();
        fresh.grown = bytes(768);
        assert_eq!(buffer, fresh);
    }

    #[test]
    fn a_hole_fits_only_so_far() {
        let mut buffer = Allocator::new();
        let mut domain = Domain::everywhere(2);
        let hole = buffer.allocate(bytes(1000), &mut domain).0;
        buffer.allocate(bytes(10), &mut domain);
        buffer.release(hole, bytes(1000), &mut domain);
        // 300 per step: fits into the hole up to three steps.
        let growing = Linear::through((0, 0), (1, 300));
        assert_eq!(buffer.allocate(growing, &mut domain).0, bytes(0));
        assert_eq!((domain.low, domain.high), (1, 3));
    }

    #[test]
    fn absurd_sizes_saturate() {
        let mut buffer = Allocator::new();
        let domain = &mut Domain::everywhere(1);
        buffer.allocate(bytes(u64::MAX), domain);
        buffer.allocate(bytes(u64::MAX), domain);
        assert!(buffer.grown().at(1) > 1 << 59);
    }
}

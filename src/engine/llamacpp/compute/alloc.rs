//! The allocator of one buffer: best-fitting free block, the last one grows (`ggml_dyn_tallocr`, `ggml/src/ggml-alloc.c`
//! 0.6.0-dev). CUDA and host buffers have no largest size, so there is one chunk.

/// Free blocks of a buffer and how far it has grown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Allocator {
    alignment: u64,
    free: Vec<Block>,
    grown: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    offset: u64,
    size: u64,
}

/// Room in a buffer without limit (`SIZE_MAX/2`).
const UNBOUNDED: u64 = u64::MAX / 2;

impl Allocator {
    /// An empty buffer. `alignment` is a power of two.
    pub(super) fn new(alignment: u64) -> Self {
        Self {
            alignment: alignment.max(1),
            free: vec![Block {
                offset: 0,
                size: UNBOUNDED,
            }],
            grown: 0,
        }
    }

    /// The size the buffer must have for everything allocated so far.
    pub(super) fn grown(&self) -> u64 {
        self.grown
    }

    /// Places `size` bytes; the offset.
    pub(super) fn allocate(&mut self, size: u64) -> u64 {
        let size = self.aligned(size);
        let last = self.free.len().saturating_sub(1);
        // Of equal blocks the later one is taken: the engine compares with `<=`.
        let mut best: Option<(usize, u64)> = None;
        for (index, block) in self.free.iter().take(last).enumerate() {
            if block.size >= size && best.is_none_or(|(_, least)| block.size <= least) {
                best = Some((index, block.size));
            }
        }
        let index = best.map_or(last, |(index, _)| index);
        let Some(block) = self.free.get_mut(index) else {
            return 0;
        };
        let offset = block.offset;
        block.offset = block.offset.saturating_add(size);
        block.size = block.size.saturating_sub(size);
        if block.size == 0 {
            self.free.remove(index);
        }
        self.grown = self.grown.max(offset.saturating_add(size));
        offset
    }

    /// Gives back what was placed at `offset`. Blocks may be empty: the first that adjoins takes it, as in the engine.
    pub(super) fn release(&mut self, offset: u64, size: u64) {
        let size = self.aligned(size);
        for index in 0..self.free.len() {
            let Some(block) = self.free.get(index).copied() else {
                break;
            };
            if block.offset.saturating_add(block.size) == offset {
                self.set(index, block.offset, block.size.saturating_add(size));
                self.join_next(index);
                return;
            }
            if offset.saturating_add(size) == block.offset {
                self.set(index, offset, block.size.saturating_add(size));
                if let Some(before) = index.checked_sub(1) {
                    self.join_next(before);
                }
                return;
            }
        }
        // Empty blocks may have put the list out of order, so no search by halves.
        let mut blocks = self.free.iter();
        let after = blocks.position(|block| block.offset >= offset);
        let after = after.unwrap_or(self.free.len());
        self.free.insert(after, Block { offset, size });
    }

    /// `size` rounded up to the alignment of the buffer.
    pub(super) fn aligned(&self, size: u64) -> u64 {
        size.checked_next_multiple_of(self.alignment)
            .unwrap_or(UNBOUNDED)
            .min(UNBOUNDED)
    }

    fn set(&mut self, index: usize, offset: u64, size: u64) {
        if let Some(block) = self.free.get_mut(index) {
            *block = Block { offset, size };
        }
    }

    /// Joins a block with the one after it where they adjoin.
    fn join_next(&mut self, index: usize) {
        let (Some(block), Some(next)) = (self.free.get(index), self.free.get(index + 1)) else {
            return;
        };
        if block.offset.saturating_add(block.size) == next.offset {
            let (offset, size) = (block.offset, block.size.saturating_add(next.size));
            self.set(index, offset, size);
            self.free.remove(index + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_smallest_hole_that_is_large_enough() {
        let mut buffer = Allocator::new(128);
        let sizes = [1000, 10, 300, 10, 500, 10];
        let offsets: Vec<u64> = sizes.iter().map(|&size| buffer.allocate(size)).collect();
        assert_eq!(offsets, [0, 1024, 1152, 1536, 1664, 2176]);
        buffer.release(0, 1000);
        buffer.release(1152, 300);
        buffer.release(1664, 500);
        assert_eq!(buffer.allocate(400), 1664);
        assert_eq!(buffer.allocate(384), 1152);
        assert_eq!(buffer.grown(), 2304);
        assert_eq!(buffer.allocate(2000), 2304);
        assert_eq!(buffer.grown(), 4352);
    }

    #[test]
    fn neighbours_join_on_release() {
        let mut buffer = Allocator::new(128);
        let [a, b, c] = [128, 256, 384].map(|size| buffer.allocate(size));
        buffer.release(a, 128);
        buffer.release(c, 384);
        buffer.release(b, 256);
        let mut fresh = Allocator::new(128);
        fresh.grown = 768;
        assert_eq!(buffer, fresh);
    }

    #[test]
    fn absurd_sizes_saturate() {
        let mut buffer = Allocator::new(128);
        buffer.allocate(u64::MAX);
        buffer.allocate(u64::MAX);
        assert!(buffer.grown() >= UNBOUNDED);
    }
}

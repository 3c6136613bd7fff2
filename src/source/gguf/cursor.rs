//! A place in a file that moves forward, with a buffer in front of it.

use super::error::Reason;
use crate::source::access::RandomAccess;

/// Bytes read at once. A key, the longest thing that is looked at as a whole, has at most 2^16 - 1 (the format's
/// specification, `docs/gguf.md` of ggml).
pub(super) const BUFFER: usize = 128 << 10;

/// Most bytes of a header. Those of the largest vocabularies have 20 MiB.
pub(super) const MOST: u64 = 256 << 20;

pub(super) struct Cursor<'a> {
    file: &'a dyn RandomAccess,
    size: u64,
    buffer: Box<[u8]>,
    /// Where in the file the buffer's first byte is.
    start: u64,
    filled: usize,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(file: &'a dyn RandomAccess) -> Self {
        let size = file.size();
        Self {
            file,
            size,
            // A small file needs a small buffer only.
            buffer: vec![0; BUFFER.min(usize::try_from(size).unwrap_or(BUFFER))].into(),
            start: 0,
            filled: 0,
            at: 0,
        }
    }

    pub(super) fn position(&self) -> u64 {
        self.start.saturating_add(self.at as u64)
    }

    /// Bytes of the file that follow.
    pub(super) fn rest(&self) -> u64 {
        self.size.saturating_sub(self.position())
    }

    fn check(&self, count: u64) -> Result<(), Reason> {
        if count > self.rest() {
            return Err(Reason::HeaderCut {
                size: self.size,
                piece: false,
            });
        }
        if self.position().saturating_add(count) > MOST {
            return Err(Reason::HeaderTooLarge { most: MOST });
        }
        Ok(())
    }

    /// Reads on until `count` bytes are in the buffer.
    fn fill(&mut self, count: usize) -> Result<(), Reason> {
        self.check(count as u64)?;
        self.buffer.copy_within(self.at..self.filled, 0);
        self.start = self.position();
        self.filled -= self.at;
        self.at = 0;
        while self.filled < count {
            let place = self.start.saturating_add(self.filled as u64);
            let free = self.buffer.get_mut(self.filled..).unwrap_or_default();
            let read = self.file.read_at(place, free).map_err(Reason::Read)?;
            if read == 0 {
                return Err(Reason::HeaderCut {
                    size: place,
                    piece: false,
                });
            }
            self.filled += read.min(free.len());
        }
        Ok(())
    }

    /// The next bytes, of which there are no more than [`BUFFER`].
    pub(super) fn take(&mut self, count: usize) -> Result<&[u8], Reason> {
        self.peek(count)?;
        let from = self.at;
        self.at += count;
        Ok(self.buffer.get(from..self.at).unwrap_or_default())
    }

    /// The next bytes without moving on.
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8], Reason> {
        if self.filled - self.at < count {
            self.fill(count)?;
        }
        // Filled: the buffer has at least as many bytes as were asked for and are in the file.
        Ok(self
            .buffer
            .get(self.at..self.at + count)
            .unwrap_or_default())
    }

    /// Passes over bytes; those beyond the buffer are not read.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), Reason> {
        match usize::try_from(count) {
            Ok(count) if count <= self.filled - self.at => self.at += count,
            _ => {
                self.check(count)?;
                self.start = self.position().saturating_add(count);
                (self.filled, self.at) = (0, 0);
            }
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Reason> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Reason> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Reason> {
        self.array().map(u64::from_le_bytes)
    }
}

//! Parts of a file that were read, kept so that none is asked for twice.

use std::collections::BTreeMap;
use std::ops::Range;

/// Read parts by their places, none touching another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extents {
    parts: BTreeMap<u64, Vec<u8>>,
}

impl Extents {
    /// The part that holds a place.
    fn around(&self, at: u64) -> Option<(u64, &Vec<u8>)> {
        let (start, bytes) = self.parts.range(..=at).next_back()?;
        (at < end(*start, bytes)).then_some((*start, bytes))
    }

    /// Copies what is known from a place on, and says how much.
    pub(super) fn copy(&self, at: u64, buffer: &mut [u8]) -> usize {
        let known = self.around(at).and_then(|(start, bytes)| {
            let skip = usize::try_from(at - start).ok()?;
            bytes.get(skip..)
        });
        let known = known.unwrap_or_default();
        let count = known.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), known.get(..count)) {
            to.copy_from_slice(from);
        }
        count
    }

    /// What to read next, so that `wanted` bytes from `at` on, which is not known, are: more at once the longer the part
    /// is that ends there, and nothing that is known.
    pub(super) fn next(&self, at: u64, wanted: u64, size: u64, ahead: Range<u64>) -> Range<u64> {
        let before = self.parts.range(..at).next_back();
        let read = before
            .filter(|(start, bytes)| end(**start, bytes) == at)
            .map_or(0, |(_, bytes)| bytes.len() as u64);
        let length = wanted.max(read.clamp(ahead.start, ahead.end));
        let known = self
            .parts
            .range(at..)
            .next()
            .map_or(size, |(start, _)| *start);
        at..at.saturating_add(length).min(known).min(size)
    }

    /// Takes bytes up that were not known.
    pub(super) fn insert(&mut self, at: u64, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let before = self.parts.range_mut(..at).next_back();
        match before.filter(|(start, known)| end(**start, known) == at) {
            Some((_, known)) => known.extend_from_slice(&bytes),
            None => {
                self.parts.insert(at, bytes);
            }
        }
    }

    /// The parts, without what lies behind a place.
    pub(super) fn until(&self, last: u64) -> impl Iterator<Item = (u64, &[u8])> {
        self.parts.iter().filter_map(move |(start, bytes)| {
            let length = usize::try_from(last.checked_sub(*start)?).ok()?;
            let bytes = bytes.get(..length.min(bytes.len()))?;
            (!bytes.is_empty()).then_some((*start, bytes))
        })
    }
}

fn end(start: u64, bytes: &[u8]) -> u64 {
    start.saturating_add(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_and_are_read_once() {
        let mut extents = Extents::default();
        let ahead = 4..16;
        assert_eq!(extents.next(0, 1, 100, ahead.clone()), 0..4);
        extents.insert(0, vec![1; 4]);
        assert_eq!(extents.next(4, 1, 100, ahead.clone()), 4..8);
        extents.insert(4, vec![2; 4]);
        assert_eq!(extents.next(8, 1, 100, ahead.clone()), 8..16);
        assert_eq!(extents.next(8, 50, 100, ahead.clone()), 8..58);
        // Elsewhere it begins anew, and ends where something is known or the file ends.
        assert_eq!(extents.next(90, 1, 100, ahead.clone()), 90..94);
        extents.insert(90, vec![3; 4]);
        assert_eq!(extents.next(88, 50, 100, ahead.clone()), 88..90);
        assert_eq!(extents.next(94, 50, 100, ahead), 94..100);

        let mut buffer = [0; 6];
        assert_eq!(extents.copy(2, &mut buffer), 6);
        assert_eq!(buffer, [1, 1, 2, 2, 2, 2]);
        assert_eq!(extents.copy(92, &mut buffer), 2);
        assert_eq!(extents.copy(8, &mut buffer), 0);
        assert_eq!(extents.copy(u64::MAX, &mut buffer), 0);
        let until: Vec<_> = extents
            .until(91)
            .map(|(start, bytes)| (start, bytes.len()))
            .collect();
        assert_eq!(until, [(0, 8), (90, 1)]);
    }
}

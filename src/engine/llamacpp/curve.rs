//! Compute buffers over the length of the cache, from few emulated graphs.
//!
//! With everything else equal, only masks, scores and copies of the cache grow with its cells, each in proportion; which
//! of them is the peak may change. So buffers are piecewise linear in the cells. A stretch counts as linear when its
//! ends and its middle lie on one line for every buffer; everything in it is then read off that line.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::compute::{Buffers, ComputeBuffer};
use super::config::CELL_PADDING;
use crate::units::Bytes;

/// Graphs that are emulated in a stretch before it is worth finding out whether it is linear.
const EMULATED_FIRST: usize = 2;

/// Beyond this many cells nothing is interpolated.
const LONGEST: u64 = 1 << 40;

/// What is known of one load.
#[derive(Default)]
pub(super) struct Curve {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    points: BTreeMap<u64, Arc<Buffers>>,
    /// Stretches that are linear.
    lines: Vec<(u64, u64)>,
}

impl Curve {
    /// The buffers for a cache of this length; `emulate` makes them from graphs.
    pub(super) fn at(&self, cells: u64, emulate: impl Fn(u64) -> Buffers) -> Arc<Buffers> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(buffers) = known.read(cells) {
            return buffers;
        }
        let stretch = octave(cells);
        let emulated = stretch.map_or(0, |(low, high)| known.points.range(low..=high).count());
        match stretch {
            Some(stretch) if emulated >= EMULATED_FIRST => known.explore(stretch, cells, &emulate),
            _ => known.point(cells, &emulate),
        }
    }
}

/// The stretch between powers of two around a length.
fn octave(cells: u64) -> Option<(u64, u64)> {
    let steps = cells / CELL_PADDING;
    let whole = cells.is_multiple_of(CELL_PADDING) && steps > 0 && cells < LONGEST;
    whole.then(|| {
        let low = 1 << steps.ilog2();
        (low * CELL_PADDING, 2 * low * CELL_PADDING)
    })
}

impl Known {
    fn point(&mut self, cells: u64, emulate: &impl Fn(u64) -> Buffers) -> Arc<Buffers> {
        let entry = self.points.entry(cells);
        Arc::clone(entry.or_insert_with(|| Arc::new(emulate(cells))))
    }

    /// What is known without emulating.
    fn read(&self, cells: u64) -> Option<Arc<Buffers>> {
        if let Some(buffers) = self.points.get(&cells) {
            return Some(Arc::clone(buffers));
        }
        let mut lines = self.lines.iter();
        let (low, high) = lines.find(|(low, high)| (*low..=*high).contains(&cells))?;
        let (a, b) = (self.points.get(low)?, self.points.get(high)?);
        between((*low, a), (*high, b), cells).map(Arc::new)
    }

    /// Halves a stretch around a length until it is linear.
    fn explore(
        &mut self,
        (mut low, mut high): (u64, u64),
        cells: u64,
        emulate: &impl Fn(u64) -> Buffers,
    ) -> Arc<Buffers> {
        while high - low > 2 * CELL_PADDING {
            let middle = low + (high - low) / 2 / CELL_PADDING * CELL_PADDING;
            let (a, b) = (self.point(low, emulate), self.point(high, emulate));
            let c = self.point(middle, emulate);
            let read = between((low, &a), (high, &b), middle);
            if read.is_some_and(|read| same_sizes(&read, &c)) {
                self.lines.push((low, high));
                break;
            }
            if cells <= middle {
                high = middle;
            } else {
                low = middle;
            }
        }
        match self.read(cells) {
            Some(buffers) => buffers,
            None => self.point(cells, emulate),
        }
    }
}

fn same_sizes(a: &Buffers, b: &Buffers) -> bool {
    let sizes = |buffers: &Buffers| -> Vec<Bytes> {
        let gpus = buffers.gpus.iter();
        gpus.chain([&buffers.host])
            .map(|buffer| buffer.bytes)
            .collect()
    };
    a.flash_attn == b.flash_attn && sizes(a) == sizes(b)
}

/// The buffers on the line between two lengths; `None` where a size would not be whole.
fn between((low, a): (u64, &Buffers), (high, b): (u64, &Buffers), cells: u64) -> Option<Buffers> {
    let buffer = |a: &ComputeBuffer, b: &ComputeBuffer| {
        let (start, end) = (i128::from(a.bytes.get()), i128::from(b.bytes.get()));
        let grown = (end - start) * i128::from(cells - low);
        let width = i128::from(high - low);
        let bytes = u64::try_from(start + grown / width).ok()?;
        (grown % width == 0).then_some(ComputeBuffer {
            bytes: Bytes::new(bytes),
            peak: a.peak,
        })
    };
    let gpus = a.gpus.iter().zip(&b.gpus);
    Some(Buffers {
        gpus: gpus
            .map(|(a, b)| buffer(a, b))
            .collect::<Option<Vec<_>>>()?,
        host: buffer(&a.host, &b.host)?,
        flash_attn: a.flash_attn,
        exactness: a.exactness,
        copies: a.copies,
    })
}

//! Ranges of contexts over which buffers are known, so that few graphs serve all contexts.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::linear::{Domain, STEP};
use super::place::Placed;
use super::{GraphLoad, Purpose};

/// A range of contexts, in steps of cells.
#[derive(Default)]
pub(super) struct Segment {
    /// First step.
    pub(super) low: i64,
    /// Last step.
    pub(super) high: i64,
    /// The buffer of each GPU over the range, the host's last.
    pub(super) placed: Vec<Placed>,
    /// What `flash_attn` comes to.
    pub(super) flash_attn: bool,
    /// Nothing was left out, so that places are positions in the model.
    pub(super) whole: bool,
}

/// The larger of each buffer.
pub(super) fn larger(graphs: Vec<Vec<Placed>>, domain: &mut Domain) -> Vec<Placed> {
    let placed = graphs.into_iter().reduce(|one, other| {
        let pairs = one.into_iter().zip(other);
        pairs
            .map(
                |(one, other)| match domain.compare(other.bytes, one.bytes) {
                    Ordering::Greater => other,
                    Ordering::Less | Ordering::Equal => one,
                },
            )
            .collect()
    });
    placed.unwrap_or_default()
}

impl Segment {
    /// The same over this range.
    pub(super) fn over(self, low: i64, high: i64) -> Self {
        Self { low, high, ..self }
    }
}

/// A load at any context, and what for.
type Key = (GraphLoad, Purpose);

/// Ranges kept; a sweep of one plan needs far fewer.
const CAPACITY: usize = 256;

/// Contexts of a load that are found out about one by one: a range costs about as much as two of them, and only a search for
/// the longest context, which begins at both ends, asks for more.
const FEW: usize = 3;

/// What is known of a plan.
#[derive(Default)]
pub(super) struct Segments(Mutex<HashMap<Key, Known>>);

/// What is known of a load at any context.
#[derive(Default)]
struct Known {
    segments: Vec<Arc<Segment>>,
    /// What is left out matters.
    failed: bool,
    /// Held by who finds out more: others wait for that rather than to do it, too.
    turn: Arc<Mutex<()>>,
}

impl Known {
    /// The range around a context; `Err` where it is not known, with whether few are. `None`: what is left out matters.
    fn around(&self, steps: i64) -> Result<Option<Arc<Segment>>, bool> {
        if self.failed {
            return Ok(None);
        }
        let mut around = self.segments.iter();
        let around = around.find(|segment| segment.low <= steps && steps <= segment.high);
        match around {
            Some(segment) => Ok(Some(Arc::clone(segment))),
            None => Err(self.segments.len() < FEW),
        }
    }
}

impl Segments {
    /// The range around this context, from `find` where it is not known; that is told whether few contexts are known, and
    /// may then find out about this one only. `None` where it found none at any context of this load.
    pub(super) fn around(
        &self,
        key: Key,
        steps: i64,
        find: impl FnOnce(bool) -> Option<Segment>,
    ) -> Option<Arc<Segment>> {
        let turn = {
            let mut known = self.lock();
            if known.len() >= CAPACITY {
                known.clear();
            }
            let known = known.entry(key).or_default();
            if let Ok(segment) = known.around(steps) {
                return segment;
            }
            Arc::clone(&known.turn)
        };
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let few = match self.lock().entry(key).or_default().around(steps) {
            Ok(segment) => return segment,
            Err(few) => few,
        };
        // Not under the lock of everything: it takes long.
        let segment = find(few).map(Arc::new);
        let mut known = self.lock();
        let known = known.entry(key).or_default();
        match &segment {
            Some(segment) => {
                if known.segments.len() >= CAPACITY {
                    known.segments.clear();
                }
                known.segments.push(Arc::clone(segment));
            }
            None => known.failed = true,
        }
        segment
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same load at another number of steps. A window as long as the context grows with it.
pub(super) fn at(load: &GraphLoad, steps: i64) -> GraphLoad {
    let cells = u64::try_from(steps).unwrap_or(0).saturating_mul(STEP);
    GraphLoad {
        cells,
        window_cells: if load.window_cells == load.cells {
            cells
        } else {
            load.window_cells
        },
        ..*load
    }
}

/// The steps of a load; `None` where its caches do not grow by whole steps.
pub(super) fn steps(load: &GraphLoad) -> Option<i64> {
    let whole = load.cells > 0 && load.cells.is_multiple_of(STEP);
    whole
        .then(|| i64::try_from(load.cells / STEP).ok())
        .flatten()
}

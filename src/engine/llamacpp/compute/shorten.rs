//! Which blocks and devices have to be emulated. A buffer does not grow any more once the same blocks follow each
//! other on one device and each leaves it as it found it. So runs of equal blocks, or of equal groups of blocks, are
//! shortened, and GPUs in the middle that do the same as another are not emulated again. That the blocks kept do leave
//! it as they found it is checked where they are placed; otherwise all blocks are.

use std::ops::Range;

use super::draft::{CPU, Draft, Weight};
use crate::model::Mixer;

/// What is left.
pub(super) struct Shortened {
    /// Blocks that are kept, ascending.
    pub(super) kept: Vec<usize>,
    /// For each GPU the emulated one, counted without those left out.
    pub(super) stand_ins: Vec<u8>,
    /// What must turn out true for the others to be left out.
    pub(super) repeats: Vec<Repeat>,
}

/// The last blocks of the repetitions that are kept of a run, ascending: after each the memory must be the same.
pub(super) type Repeat = Vec<usize>;

impl Shortened {
    /// Everything, as it is.
    pub(super) fn whole(blocks: usize, gpus: usize) -> Self {
        Self {
            kept: (0..blocks).collect(),
            stand_ins: (0..gpus).filter_map(|gpu| u8::try_from(gpu).ok()).collect(),
            repeats: Vec::new(),
        }
    }
}

/// Longest group of blocks that may repeat: the patterns of windows (2 to 6) by those of file types (3).
const LONGEST_GROUP: usize = 12;

/// Repetitions that are kept on a GPU: the state that the blocks before leave, the change to the steady one, the steady
/// one, and the last. Where two blocks take turns in memory the steady state has two forms, so an even number stays
/// even.
const REPETITIONS: usize = 4;

/// How much of a run of blocks is kept on the CPU, and where weights are in main memory: copies of them for large batches
/// leave holes that close later, of some models sooner than of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine::llamacpp) enum Extent {
    /// As much as is enough for many models.
    Few,
    /// As much as is enough for most.
    Many,
    /// Everything.
    All,
}

impl Extent {
    /// What is left where this was not enough.
    pub(super) fn longer(self) -> Option<Self> {
        match self {
            Self::Few => Some(Self::Many),
            Self::Many => Some(Self::All),
            Self::All => None,
        }
    }

    fn repetitions(self) -> usize {
        match self {
            Self::Few => 5,
            Self::Many => 8,
            Self::All => usize::MAX,
        }
    }
}

/// Repetitions that stay of `times`.
fn repetitions_kept(times: usize, least: usize) -> usize {
    match times.checked_sub(least) {
        Some(more) => least + more % 2,
        None => times,
    }
}

/// Sparse attention over chosen positions keeps a tensor per block from the start of the graph, that over chosen blocks
/// of positions copies of its mask; shared caches name their block.
fn grows_with_blocks(draft: &Draft<'_>) -> bool {
    match &draft.layer.mixer {
        Mixer::Attention(attention) => !attention.owns_cache() || attention.block_indexer.is_some(),
        Mixer::Latent(latent) => latent.sparse.is_some(),
        // Kimi K3 keeps residuals of earlier blocks.
        Mixer::Compressed(_) | Mixer::KimiDelta(_) => true,
        _ => false,
    }
}

/// Where the logits are computed, and whether anything outside of the blocks is in an unusual place.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// The backend of the logits.
    pub(super) head: u8,
    /// The embedding is not in main memory, or the last norm not beside the head.
    pub(super) moved: bool,
}

/// Chooses the blocks to emulate.
pub(super) fn shorten(
    drafts: &[Draft<'_>],
    gpus: usize,
    ends: Ends,
    (extent, kv_offload): (Extent, bool),
) -> Shortened {
    let kinds = kinds(drafts);
    if extent == Extent::All || drafts.iter().any(grows_with_blocks) {
        return Shortened::whole(drafts.len(), gpus);
    }
    let mut repeats = Vec::new();
    let mut kept = Vec::with_capacity(drafts.len());
    let mut segments: Vec<Segment> = Vec::new();
    let mut from = 0;
    while let Some(first) = drafts.get(from) {
        let rest = drafts.get(from..).unwrap_or_default();
        let same = rest
            .iter()
            .take_while(|draft| draft.backend == first.backend);
        let until = from + same.count();
        let start = kept.len();
        let mut own = rest.iter().take(until - from);
        let least = if own.all(Draft::is_at_home) && first.backend < CPU {
            REPETITIONS
        } else {
            extent.repetitions()
        };
        let run = Run {
            kinds: &kinds,
            range: from..until,
            least,
        };
        run.shorten(&mut kept, &mut repeats);
        segments.push(Segment {
            backend: first.backend,
            kinds: kept
                .get(start..)
                .unwrap_or_default()
                .iter()
                .filter_map(|&index| kinds.get(index).copied())
                .collect(),
            kept: start..kept.len(),
        });
        from = until;
    }
    let foreign = drafts.iter().any(|draft| {
        let mut weights = draft.weights.iter();
        weights.any(|(_, weight)| weight.backend != draft.backend && weight.backend < CPU)
    });
    let (kept, stand_ins) = if foreign || ends.moved || !kv_offload {
        (
            kept,
            (0..gpus).filter_map(|gpu| u8::try_from(gpu).ok()).collect(),
        )
    } else {
        fold_devices(&segments, &kept, gpus, ends.head)
    };
    // Of devices that are left out the repetitions are those of their stand-in.
    repeats.retain(|repeat: &Repeat| repeat.iter().all(|block| kept.contains(block)));
    Shortened {
        kept,
        stand_ins,
        repeats,
    }
}

/// Consecutive blocks on one device.
struct Segment {
    backend: u8,
    kinds: Vec<usize>,
    kept: Range<usize>,
}

/// Leaves out GPUs whose blocks equal those of an earlier GPU, where both have GPUs on either side.
fn fold_devices(
    segments: &[Segment],
    kept: &[usize],
    gpus: usize,
    head: u8,
) -> (Vec<usize>, Vec<u8>) {
    let mut stand_ins: Vec<u8> = Vec::with_capacity(gpus);
    let mut blocks = Vec::with_capacity(kept.len());
    let mut emulated = 0_u8;
    let is_middle = |position: usize| {
        let around = [position.checked_sub(1), position.checked_add(1)];
        let own = segments.get(position);
        let neighbours = around.iter().all(|&next| {
            next.and_then(|next| segments.get(next))
                .is_some_and(|segment| segment.backend < CPU)
        });
        neighbours && own.is_some_and(|own| own.backend < CPU && own.backend != head)
    };
    let mut taken = vec![false; segments.len()];
    for gpu in 0..gpus {
        let mine = |segment: &Segment| usize::from(segment.backend) == gpu;
        let position = segments.iter().position(mine);
        let several = segments.iter().filter(|segment| mine(segment)).count() > 1;
        let twin = position
            .filter(|&own| !several && is_middle(own))
            .and_then(|own| {
                // The first GPU after the input differs from those after another GPU.
                let mut earlier = segments.iter().enumerate().take(own).skip(1);
                let kinds = &segments.get(own)?.kinds;
                let (twin, _) =
                    earlier.find(|&(at, other)| is_middle(at) && other.kinds == *kinds)?;
                stand_ins
                    .get(usize::from(segments.get(twin)?.backend))
                    .copied()
            });
        if let Some(twin) = twin {
            stand_ins.push(twin);
            if let Some(slot) = position.and_then(|at| taken.get_mut(at)) {
                *slot = true;
            }
        } else {
            stand_ins.push(emulated);
            emulated += 1;
        }
    }
    for (segment, left_out) in segments.iter().zip(taken) {
        if !left_out {
            blocks.extend_from_slice(kept.get(segment.kept.clone()).unwrap_or_default());
        }
    }
    (blocks, stand_ins)
}

/// Consecutive blocks on one device, before they are shortened.
struct Run<'a> {
    /// Of all blocks.
    kinds: &'a [usize],
    range: Range<usize>,
    /// Repetitions to keep.
    least: usize,
}

impl Run<'_> {
    /// Keeps what cannot be left out.
    fn shorten(&self, kept: &mut Vec<usize>, repeats: &mut Vec<Repeat>) {
        let from = self.range.start;
        let run = self.kinds.get(self.range.clone()).unwrap_or_default();
        let mut at = 0;
        while at < run.len() {
            let rest = run.get(at..).unwrap_or_default();
            // The group that covers most, the shorter of equals.
            let best = (1..=LONGEST_GROUP.min(rest.len() / 2))
                .map(|group| (group, repetitions(rest, group)))
                .filter(|&(_, times)| times > repetitions_kept(times, self.least))
                .max_by_key(|&(group, times)| (group * times, usize::MAX - group));
            let Some((group, times)) = best else {
                kept.push(from + at);
                at += 1;
                continue;
            };
            let start = from + at;
            let keep = repetitions_kept(times, self.least);
            // The last one differs: it is the last to use some inputs, or chooses the rows of logits.
            repeats.push((1..keep).map(|times| start + group * times - 1).collect());
            kept.extend(start..start + group * keep);
            at += group * times;
        }
    }
}

/// How often the first `group` kinds follow each other.
fn repetitions(kinds: &[usize], group: usize) -> usize {
    let same = kinds
        .iter()
        .zip(kinds.iter().skip(group))
        .take_while(|(earlier, later)| earlier == later)
        .count();
    same / group.max(1) + 1
}

/// A number per block, equal where the graphs around the blocks are equal.
fn kinds(drafts: &[Draft<'_>]) -> Vec<usize> {
    let mut distinct: Vec<&Draft<'_>> = Vec::new();
    drafts
        .iter()
        .map(|draft| {
            let known = distinct.iter().position(|other| is_like(draft, other));
            known.unwrap_or_else(|| {
                distinct.push(draft);
                distinct.len() - 1
            })
        })
        .collect()
}

fn is_like(a: &Draft<'_>, b: &Draft<'_>) -> bool {
    let on_gpu = |draft: &Draft<'_>| draft.backend < CPU;
    on_gpu(a) == on_gpu(b)
        && a.layer == b.layer
        && a.weights.len() == b.weights.len()
        && a.weights.iter().zip(&b.weights).all(|(left, right)| {
            left.0 == right.0
                && same_in_graph((a.backend, left.1), (b.backend, right.1))
                && types_as_shared(a, left) == types_as_shared(b, right)
        })
}

/// Whether experts have the type of the shared one beside them, with which they are then computed.
fn types_as_shared(draft: &Draft<'_>, (name, weight): &(&str, Weight)) -> bool {
    let Some(matrix) = name.strip_suffix("_exps.weight") else {
        return false;
    };
    let is_shared = |other: &str| other.strip_suffix("_shexp.weight") == Some(matrix);
    let mut weights = draft.weights.iter();
    weights.any(|(other, shared)| is_shared(other) && shared.dtype == weight.dtype)
}

/// Whether two weights do the same to a graph. Which type it is matters only where a weight may be copied.
fn same_in_graph(a: (u8, Weight), b: (u8, Weight)) -> bool {
    let ((a_block, a), (b_block, b)) = (a, b);
    let (a_home, b_home) = (a.backend == a_block, b.backend == b_block);
    let resident = a_home && b_home && a.backend < CPU && b.backend < CPU;
    let same_home = a_home == b_home && (a_home || a.backend == b.backend);
    let same_type = if resident {
        a.dtype.is_quantized() == b.dtype.is_quantized()
    } else {
        a.dtype == b.dtype
    };
    same_home && a.ne == b.ne && same_type
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kinds: &[usize], expect: &[usize]) {
        let (mut kept, mut repeats) = (Vec::new(), Vec::new());
        let run = Run {
            kinds,
            range: 0..kinds.len(),
            least: 4,
        };
        run.shorten(&mut kept, &mut repeats);
        assert_eq!(kept, expect, "{kinds:?}");
        for repeat in repeats {
            assert!(repeat.len() >= 3, "{kinds:?}");
            assert!(repeat.iter().all(|block| kept.contains(block)), "{kinds:?}");
        }
    }

    #[test]
    fn long_runs_keep_four() {
        check(&[0, 0, 0, 0], &[0, 1, 2, 3]);
        check(&[0; 41], &[0, 1, 2, 3, 4]);
        check(&[0; 40], &[0, 1, 2, 3]);
        check(&[0, 1, 1, 1, 1, 1, 1, 2], &[0, 1, 2, 3, 4, 7]);
    }

    #[test]
    fn groups_keep_four_repetitions() {
        let pattern: Vec<usize> = [0, 0, 1].repeat(6);
        check(&pattern, &(0..12).collect::<Vec<usize>>());
        check(&[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4]);
    }
}

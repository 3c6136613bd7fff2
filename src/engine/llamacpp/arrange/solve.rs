//! Layers over devices with so much room each: arithmetic alone, by which placements to measure are found.

/// Matrices of experts that can be apart: up, gate, down.
pub(super) const MATRICES: usize = 3;

/// One layer, or the output layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// What goes with the layer: weights but for routed experts, caches, states.
    pub(super) dense: i64,
    /// Routed experts by matrix.
    pub(super) experts: [i64; MATRICES],
}

impl Unit {
    fn experts(&self) -> i64 {
        self.experts.iter().sum()
    }

    /// Its experts stay with it.
    pub(super) fn bind(&mut self) {
        self.dense = self.dense.saturating_add(self.experts());
        self.experts = [0; MATRICES];
    }
}

/// Where layers go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// The first unit on a GPU; all after it are, too.
    pub(super) first: usize,
    /// Units per GPU.
    pub(super) counts: Vec<usize>,
    /// Units that leave matrices of experts in main memory, with those that stay.
    pub(super) spilled: Vec<Spill>,
    /// Bytes per GPU.
    pub(super) content: Vec<i64>,
}

/// A layer that leaves experts in main memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spill {
    pub(super) unit: usize,
    pub(super) keeps: [bool; MATRICES],
}

/// What may be in main memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Nothing.
    Whole,
    /// Experts.
    Experts,
    /// The first layers, and all experts.
    Layers,
}

/// Room per GPU, and what of it is to be used first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Room {
    /// Bytes per GPU.
    pub(super) bytes: Vec<i64>,
    /// Bandwidth per GPU where known: layers go to the fast ones first.
    pub(super) bandwidth: Vec<f64>,
}

/// The layout with most on the GPUs.
pub(super) fn solve(units: &[Unit], room: &Room, spread: Spread) -> Option<Layout> {
    match spread {
        Spread::Whole => whole(units, room),
        Spread::Experts => experts(units, &room.bytes),
        Spread::Layers => layers(units, &room.bytes),
    }
}

/// How a walk fills GPUs.
struct Walk<'a> {
    units: &'a [Unit],
    room: &'a [i64],
    /// Most layers with their experts, per GPU.
    most: &'a [usize],
    /// Most layers that leave theirs in main memory.
    spills: usize,
}

impl Walk<'_> {
    /// Units in order, each GPU as full as can be; `None` where some are left over.
    fn from(&self, first: usize) -> Option<Layout> {
        let mut layout = Layout {
            first,
            ..Layout::default()
        };
        let mut next = first;
        for (room, most) in self.room.iter().zip(self.most) {
            let (start, mut used, mut complete) = (next, 0_i64, 0);
            while let Some(unit) = self.units.get(next) {
                let experts = unit.experts();
                let whole = used.saturating_add(unit.dense).saturating_add(experts);
                let dense = used.saturating_add(unit.dense);
                if experts == 0 && dense <= *room {
                    used = dense;
                } else if experts > 0 && complete < *most && whole <= *room {
                    complete += 1;
                    used = whole;
                } else if experts > 0 && layout.spilled.len() < self.spills && dense <= *room {
                    used = dense;
                    layout.spilled.push(Spill {
                        unit: next,
                        keeps: [false; MATRICES],
                    });
                } else {
                    break;
                }
                next += 1;
            }
            layout.counts.push(next - start);
            layout.content.push(used);
        }
        (next == self.units.len()).then_some(layout)
    }
}

/// Everything on GPUs. Equal cards are filled to the same part; of different ones the slower get as little as can be.
fn whole(units: &[Unit], room: &Room) -> Option<Layout> {
    let most = vec![usize::MAX; room.bytes.len()];
    let walk = |bytes: &[i64]| {
        let walk = Walk {
            units,
            room: bytes,
            most: &most,
            spills: 0,
        };
        walk.from(0)
    };
    let mut best = walk(&room.bytes)?;
    let slowest = room.bandwidth.iter().copied().fold(f64::MAX, f64::min);
    let fastest = room.bandwidth.iter().copied().fold(0.0, f64::max);
    let mut bytes = room.bytes.clone();
    let groups: Vec<Vec<usize>> = if slowest < fastest {
        let mut order: Vec<usize> = (0..bytes.len()).collect();
        let speed = |gpu: &usize| room.bandwidth.get(*gpu).copied().unwrap_or(0.0);
        order.sort_by(|a, b| speed(a).total_cmp(&speed(b)));
        order.into_iter().map(|gpu| vec![gpu]).collect()
    } else {
        vec![(0..bytes.len()).collect()]
    };
    for group in groups {
        let scaled = |parts: i64| {
            let mut scaled = bytes.clone();
            for gpu in &group {
                if let Some(bytes) = scaled.get_mut(*gpu) {
                    *bytes = bytes.max(&mut 0).saturating_mul(parts) / PARTS;
                }
            }
            scaled
        };
        let (mut low, mut high) = (0, PARTS);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if let Some(layout) = walk(&scaled(middle)) {
                best = layout;
                high = middle;
            } else {
                low = middle;
            }
        }
        bytes = scaled(high);
    }
    Some(best)
}

/// Into how many parts room is divided to fill cards evenly: finer than any layer.
const PARTS: i64 = 1024;

/// All layers on GPUs, as few as possible without their experts.
fn experts(units: &[Unit], room: &[i64]) -> Option<Layout> {
    let mut most = vec![usize::MAX; room.len()];
    let all = units.len();
    let walk = |most: &[usize], spills: usize| {
        let walk = Walk {
            units,
            room,
            most,
            spills,
        };
        walk.from(0)
    };
    let layout = if walk(&most, all).is_some() {
        // Every GPU holds as many whole layers as it can; fewer spills leave more of those to the last ones.
        least(0, all, |spills| walk(&most, spills))?
    } else {
        // Whole layers make way for several without experts, on the last GPUs first.
        let mut found = None;
        for gpu in (0..room.len()).rev() {
            let with = |complete: usize| {
                let mut most = most.clone();
                if let Some(most) = most.get_mut(gpu) {
                    *most = complete;
                }
                walk(&most, all)
            };
            found = least(0, all, |fewer| with(all - fewer));
            if found.is_some() {
                break;
            }
            if let Some(most) = most.get_mut(gpu) {
                *most = 0;
            }
        }
        found?
    };
    Some(kept(units, room, layout))
}

/// Matrices of spilled layers that fit into what is left on their GPU.
fn kept(units: &[Unit], room: &[i64], mut layout: Layout) -> Layout {
    let mut start = layout.first;
    let gpus = layout.counts.iter().zip(room).zip(&mut layout.content);
    for ((count, room), content) in gpus {
        let here = start..start + count;
        start += count;
        for spill in &mut layout.spilled {
            let unit = units.get(spill.unit).filter(|_| here.contains(&spill.unit));
            let Some(unit) = unit else { continue };
            let left = room.saturating_sub(*content);
            let (keeps, bytes) = best_subset(unit.experts, left);
            spill.keeps = keeps;
            *content = content.saturating_add(bytes);
        }
    }
    layout.spilled.retain(|spill| spill.keeps.contains(&false));
    layout
}

/// The most bytes of matrices that fit, never all of them.
fn best_subset(matrices: [i64; MATRICES], left: i64) -> ([bool; MATRICES], i64) {
    let all = (1_usize << MATRICES) - 1;
    let subset = |mask: usize| {
        let mut keeps = [false; MATRICES];
        let mut bytes = 0_i64;
        for (index, (keeps, size)) in keeps.iter_mut().zip(matrices).enumerate() {
            // An empty one is where the others are.
            *keeps = mask & (1 << index) != 0 && size > 0;
            bytes = bytes.saturating_add(if *keeps { size } else { 0 });
        }
        (keeps, bytes)
    };
    (0..=all)
        .map(subset)
        .filter(|(_, bytes)| *bytes <= left && *bytes < matrices.iter().sum())
        .max_by_key(|(_, bytes)| *bytes)
        .unwrap_or_default()
}

/// As many layers as fit, without their experts.
fn layers(units: &[Unit], room: &[i64]) -> Option<Layout> {
    let most = vec![0; room.len()];
    least(0, units.len(), |first| {
        let walk = Walk {
            units,
            room,
            most: &most,
            spills: units.len(),
        };
        walk.from(first)
    })
}

/// What the least number gives that gives anything, where all larger ones do, too.
fn least<T>(mut low: usize, most: usize, give: impl Fn(usize) -> Option<T>) -> Option<T> {
    let mut high = most;
    let mut best = give(most)?;
    while low < high {
        let middle = low + (high - low) / 2;
        match give(middle) {
            Some(better) => {
                best = better;
                high = middle;
            }
            None => low = middle + 1,
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(bytes: &[i64]) -> Room {
        Room {
            bytes: bytes.to_vec(),
            bandwidth: vec![1.0; bytes.len()],
        }
    }

    fn moe(count: usize) -> Vec<Unit> {
        let layer = Unit {
            dense: 10,
            experts: [20, 20, 20],
        };
        let output = Unit {
            dense: 5,
            ..Unit::default()
        };
        let mut units = vec![layer; count];
        units.push(output);
        units
    }

    #[test]
    fn equal_cards_are_filled_to_the_same_part() {
        let units = vec![
            Unit {
                dense: 10,
                ..Unit::default()
            };
            9
        ];
        let layout = solve(&units, &room(&[90, 90, 90]), Spread::Whole).unwrap();
        assert_eq!(layout.counts, [3, 3, 3]);
        let layout = solve(&units, &room(&[80, 20, 20]), Spread::Whole).unwrap();
        assert_eq!(layout.counts.iter().sum::<usize>(), 9);
        assert_eq!(solve(&units, &room(&[60, 25]), Spread::Whole), None);
    }

    #[test]
    fn slower_cards_get_what_is_left() {
        let units = vec![
            Unit {
                dense: 10,
                ..Unit::default()
            };
            9
        ];
        let room = Room {
            bytes: vec![60, 60],
            bandwidth: vec![300.0, 1000.0],
        };
        let layout = solve(&units, &room, Spread::Whole).unwrap();
        assert_eq!(layout.counts, [3, 6]);
    }

    #[test]
    fn gaps_take_layers_without_experts() {
        // Each card holds two whole layers and four more without experts.
        let layout = solve(&moe(8), &room(&[180, 180]), Spread::Experts).unwrap();
        assert_eq!(layout.counts.iter().sum::<usize>(), 9);
        assert_eq!(layout.spilled.len(), 4, "{layout:?}");
        assert!(layout.content.iter().all(|content| *content <= 180));
        // A matrix goes into what is left.
        let layout = solve(&moe(2), &room(&[125]), Spread::Experts).unwrap();
        assert_eq!(
            layout.spilled,
            [Spill {
                unit: 1,
                keeps: [false, true, true]
            }]
        );
    }

    #[test]
    fn whole_layers_make_way_where_gaps_are_too_small() {
        // Twenty layers without experts take 200; one more card's worth has 40 left for experts.
        let layout = solve(&moe(20), &room(&[140, 145]), Spread::Experts).unwrap();
        assert_eq!(layout.counts.iter().sum::<usize>(), 21);
        let whole = 20 - layout.spilled.len();
        assert_eq!(whole, 1, "{layout:?}");
        assert_eq!(solve(&moe(20), &room(&[100, 100]), Spread::Experts), None);
    }

    #[test]
    fn first_layers_stay_behind() {
        let layout = solve(&moe(20), &room(&[100, 65]), Spread::Layers).unwrap();
        assert_eq!(layout.counts, [10, 7]);
        assert_eq!(layout.first, 4);
    }
}

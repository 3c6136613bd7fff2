//! Layers over several GPUs: found by arithmetic, measured, and found anew with the compute buffers as measured.

use super::desk::{Change, Desk, number};
use super::solve::{Layout, MATRICES, Room, Spread, Unit, solve};
use super::trial::Trial;
use crate::engine::Inputs;
use crate::engine::llamacpp::accepted::accepted;
use crate::engine::llamacpp::config::Config;
use crate::engine::llamacpp::placement::Placement;
use crate::engine::llamacpp::subject::Subject;
use crate::engine::llamacpp::tensors::{Layer, Matrix, Row};
use crate::plan::Value;
use crate::units::Bytes;

/// Most layouts measured: compute buffers settle after two or three.
const ROUNDS: usize = 5;

/// The layout with most on the GPUs that keeps their margins; `reference` knows about how large compute buffers are.
pub(super) fn spread(desk: &Desk<'_>, reference: &Trial, spread: Spread) -> Option<Trial> {
    if !desk.may_spread() || !desk.is_open("n_gpu_layers") && spread == Spread::Layers {
        return None;
    }
    let inputs = Inputs {
        settings: &reference.settings,
        ..desk.inputs
    };
    let (subject, config) = accepted(&inputs)?;
    let (units, before) = open_units(desk, (&subject, &config), reference)?;
    let bandwidth = subject.devices.iter();
    let mut room = Room {
        bytes: reference.capacity.clone(),
        bandwidth: bandwidth
            .map(|device| device.gpu.bandwidth_gb_s.unwrap_or(0.0))
            .collect(),
    };
    let mut seen: Vec<Layout> = Vec::new();
    let mut best: Option<Trial> = None;
    let mut closest: Option<(Layout, Trial)> = None;
    for _ in 0..ROUNDS {
        let Some(layout) = solve(&units, &room, spread) else {
            break;
        };
        if seen.contains(&layout) {
            break;
        }
        let Some(trial) = desk.trial(&changes(desk, &layout, (&units, before))) else {
            break;
        };
        let fits = trial.fits_gpus();
        for ((bytes, left), content) in room
            .bytes
            .iter_mut()
            .zip(&trial.probe.room)
            .zip(&layout.content)
        {
            let found = left.saturating_add(*content);
            // What was too much once is not tried again.
            *bytes = if *left >= 0 { found } else { found.min(*bytes) };
        }
        let better = best
            .as_ref()
            .is_none_or(|best| trial.probe.gpu_share > best.probe.gpu_share);
        if fits && better {
            best = Some(trial);
        } else if !fits {
            closest = Some((layout.clone(), trial));
        }
        seen.push(layout);
    }
    match (best, closest) {
        (None, Some((layout, trial))) => shifted(desk, layout, trial, (&units, before)),
        (best, _) => best,
    }
}

/// What there is to share out, after so many layers that a pinned number leaves in main memory whatever the split.
fn open_units(
    desk: &Desk<'_>,
    (subject, config): (&Subject<'_>, &Config),
    reference: &Trial,
) -> Option<(Vec<Unit>, usize)> {
    let contents = subject.contents(config, &[]).ok()?;
    let placement = &contents.placed.placement;
    // Experts that nobody pinned go wherever they serve best, wherever they are with the reference.
    let bound = !desk.may_override();
    let mut units = units(
        subject,
        &subject.context_by_block(config),
        |position, row| (bound || !row.is_routed()) && is_elsewhere(placement, position, row),
    );
    if bound {
        units.iter_mut().for_each(Unit::bind);
    }
    let before = match usize::try_from(reference.probe.gpu_layers.0) {
        Ok(on_gpus) if !desk.is_open("n_gpu_layers") => units.len().saturating_sub(on_gpus),
        _ => 0,
    };
    units.drain(..before);
    Some((units, before))
}

/// Units moved one by one from the card that lacks most to the neighbour with most room, while that may help.
fn shifted(
    desk: &Desk<'_>,
    mut layout: Layout,
    mut trial: Trial,
    units: (&[Unit], usize),
) -> Option<Trial> {
    for _ in 0..ROUNDS {
        let room = trial.probe.room.get(..trial.gpus)?;
        let (from, _) = room.iter().enumerate().min_by_key(|(_, room)| **room)?;
        let neighbours = [from.checked_sub(1), from.checked_add(1)];
        let open = neighbours.into_iter().flatten();
        let (to, most) = open
            .filter_map(|gpu| room.get(gpu).map(|room| (gpu, *room)))
            .max_by_key(|(_, room)| *room)?;
        if most < 0 {
            return None;
        }
        let count = layout.counts.get_mut(from)?;
        *count = count.checked_sub(1)?;
        *layout.counts.get_mut(to)? += 1;
        trial = desk.trial(&changes(desk, &layout, units))?;
        if trial.fits_gpus() {
            return Some(trial);
        }
    }
    None
}

/// What every layer and the output layer take of the GPU they are on, but for the tensors that are left out: those of which
/// pinned rules say where they go.
fn units(
    subject: &Subject<'_>,
    context: &[Bytes],
    left_out: impl Fn(usize, &Row) -> bool,
) -> Vec<Unit> {
    let table = &subject.table;
    let blocks = table.all_blocks as usize;
    let signed = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
    let mut units = vec![Unit::default(); blocks + 1];
    for (unit, bytes) in units.iter_mut().zip(context) {
        unit.dense = signed(*bytes);
    }
    for (position, row) in table.rows.iter().enumerate() {
        if left_out(position, row) {
            continue;
        }
        let tied_head = table.tied && row.tensor.name == "token_embd.weight";
        let index = match row.tensor.layer {
            Layer::Block(block) => block as usize,
            Layer::Output => blocks,
            Layer::Input if tied_head => blocks,
            Layer::Input | Layer::EveryBlock => continue,
        };
        let Some(unit) = units.get_mut(index).filter(|_| row.tensor.loaded) else {
            continue;
        };
        let bytes = signed(row.gpu_bytes);
        let matrix = row.part.filter(|_| row.is_routed()).map(|part| part.matrix);
        let slot = match matrix {
            None => &mut unit.dense,
            Some(matrix) => {
                let [up, gate, down] = &mut unit.experts;
                match matrix {
                    Matrix::Up => up,
                    Matrix::Gate => gate,
                    Matrix::Down => down,
                }
            }
        };
        *slot = slot.saturating_add(bytes);
    }
    units
}

/// Whether a tensor of a block on a GPU is on another device.
fn is_elsewhere(placement: &Placement, position: usize, row: &Row) -> bool {
    let Layer::Block(block) = row.tensor.layer else {
        return false;
    };
    let home = placement.blocks.get(block as usize);
    let home = home.and_then(|home| home.gpu());
    let place = placement.rows.get(position).copied().flatten();
    home.is_some() && place.is_some_and(|place| place.gpu() != home)
}

/// The settings of a layout of units, which come after so many others.
fn changes(desk: &Desk<'_>, layout: &Layout, (units, before): (&[Unit], usize)) -> Vec<Change> {
    let on_gpus = units.len().saturating_sub(layout.first);
    let mut changes = vec![if layout.first == 0 {
        desk.all_layers()
    } else {
        number("n_gpu_layers", on_gpus as u64)
    }];
    let count = |count: &usize| Value::Integer(i64::try_from(*count).unwrap_or(i64::MAX));
    let shares = layout.counts.iter().map(count).collect();
    changes.push(("tensor_split", Value::List(shares)));
    if layout.spilled.is_empty() {
        return changes;
    }
    let routed = |unit: &&Unit| unit.experts.iter().any(|bytes| *bytes > 0);
    let behind = units.get(layout.first..).unwrap_or_default();
    let all = behind.iter().filter(routed).count();
    let bare = layout
        .spilled
        .iter()
        .all(|spill| !spill.keeps.contains(&true));
    if bare
        && layout.spilled.len() == all
        && let Some(bare) = desk.without_experts()
    {
        changes.extend(bare);
        return changes;
    }
    changes.push(("override_tensor", Value::List(rules(layout, before))));
    changes
}

/// One rule per set of matrices that leave.
fn rules(layout: &Layout, before: usize) -> Vec<Value> {
    let mut sets: Vec<([bool; MATRICES], Vec<String>)> = Vec::new();
    for spill in &layout.spilled {
        let unit = (before + spill.unit).to_string();
        match sets.iter_mut().find(|(keeps, _)| *keeps == spill.keeps) {
            Some((_, blocks)) => blocks.push(unit),
            None => sets.push((spill.keeps, vec![unit])),
        }
    }
    let rule = |(keeps, blocks): ([bool; MATRICES], Vec<String>)| {
        let words = ["up", "gate|gate_up", "down"];
        let leave = words.iter().zip(keeps).filter(|(_, keeps)| !keeps);
        let leave: Vec<&str> = leave.map(|(word, _)| *word).collect();
        let (blocks, matrices) = (blocks.join("|"), leave.join("|"));
        Value::Text(format!(r"blk\.({blocks})\.ffn_({matrices})_(ch|)exps=CPU"))
    };
    sets.into_iter().map(rule).collect()
}

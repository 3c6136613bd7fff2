//! The search: the best, checked by a full projection, and what else is good.

use super::explorer::{Explorer, Found};
use super::{Choice, Figures, FitRequest, Fitted, Impossible, Objective, blame, compare, ladder};
use crate::engine::{Inputs, Margin, room};
use crate::hardware::Machine;
use crate::plan::Settings;
use crate::units::Bytes;

/// Most choices beside the best.
const OTHERS: usize = 5;

/// Most searches until one holds in the full projection: the quick measure leaves out what only some moments or plans
/// have.
const ROUNDS: usize = 4;

/// The best settings for the objective, and other good ones.
pub(super) fn search(request: &FitRequest<'_>) -> Result<Fitted, Box<Impossible>> {
    let reserved = checked(request, |explorer| {
        ladder::best(explorer, request.objective)
    });
    let (best, machine) = reserved.ok_or_else(|| Box::new(blame::impossible(request)))?;
    let best = choice(request, &best);
    let reserved = &FitRequest {
        inputs: Inputs {
            machine: &machine,
            ..request.inputs
        },
        ..*request
    };
    let mut others = others(request, reserved, &best);
    let best = preferred(request.objective, best, &mut others);
    Ok(finish(request.objective, best, others))
}

/// What a search finds and the full projection agrees with, and the machine with as much taken off as that needed.
pub(super) fn checked(
    request: &FitRequest<'_>,
    find: impl Fn(&mut Explorer<'_>) -> Option<Found>,
) -> Option<(Found, Machine)> {
    let mut machine = request.inputs.machine.clone();
    for _ in 0..ROUNDS {
        let found = {
            let inputs = Inputs {
                machine: &machine,
                ..request.inputs
            };
            let mut explorer = Explorer::new(&FitRequest { inputs, ..*request })?;
            find(&mut explorer)?
        };
        let lacks = lacks(request, &found)?;
        if lacks.iter().all(|lacks| *lacks == Bytes::ZERO) {
            return Some((found, machine));
        }
        reserve(&mut machine, &lacks);
    }
    None
}

/// What every device lacks in the full projection; `None` where the engine would not start.
pub(super) fn lacks(request: &FitRequest<'_>, found: &Found) -> Option<Vec<Bytes>> {
    let inputs = Inputs {
        settings: &found.arrangement.settings,
        ..request.inputs
    };
    let outcome = request.engine.project_as_is(&inputs);
    if outcome.refused || outcome.projection.moments.is_empty() {
        return None;
    }
    let margin = if found.arrangement.probe.fills_margin {
        Margin::NONE
    } else {
        inputs.margin
    };
    let mut lacks: Vec<Bytes> = Vec::new();
    for moment in &outcome.projection.moments {
        let room = room(inputs.machine, margin, &moment.devices);
        lacks.resize(room.len(), Bytes::ZERO);
        for (lacks, room) in lacks.iter_mut().zip(room) {
            *lacks = (*lacks).max(Bytes::new(room.min(0).unsigned_abs()));
        }
    }
    Some(lacks)
}

/// Takes what was lacking off the machine.
fn reserve(machine: &mut Machine, lacks: &[Bytes]) {
    let pooled = machine.pool().is_some();
    let (host, gpus) = match lacks.split_last() {
        Some((host, gpus)) => (*host, gpus),
        None => return,
    };
    let count = machine.gpus.len().max(1);
    for (index, lacks) in gpus.iter().enumerate() {
        if let Some(gpu) = machine.gpus.get_mut(index % count) {
            gpu.memory.in_use += *lacks;
        }
        if pooled {
            machine.host.in_use += *lacks;
        }
    }
    machine.host.in_use += host;
}

/// What is found, as changes of the plan.
pub(super) fn choice(request: &FitRequest<'_>, found: &Found) -> Choice {
    let Inputs {
        settings: written, ..
    } = request.inputs;
    let settings = &found.arrangement.settings;
    let set: Settings = settings
        .iter()
        .filter(|(name, value)| written.get(*name) != Some(*value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let unset = written
        .keys()
        .filter(|name| !settings.contains_key(*name))
        .cloned()
        .collect();
    Choice {
        set,
        unset,
        figures: figures(request, found),
        gives_up: String::new(),
        good_for: String::new(),
    }
}

fn figures(request: &FitRequest<'_>, found: &Found) -> Figures {
    let settings = &found.arrangement.settings;
    let inputs = Inputs {
        settings,
        ..request.inputs
    };
    let explorer = Explorer::new(request);
    let probe = found.arrangement.probe.clone();
    Figures {
        context_per_slot: probe.context_per_slot,
        slots: probe.slots,
        weights: probe.weights,
        bits_per_weight: probe.bits_per_weight,
        cache: probe.cache,
        gpu_share: probe.gpu_share,
        gpu_layers: probe.gpu_layers,
        expert_layers_in_ram: probe.expert_layers_in_ram,
        decode: explorer.and_then(|explorer| explorer.decode(settings)),
        free: free(request, &inputs),
    }
}

/// Bytes left per device at the peak of the full projection, as a report of it says.
fn free(request: &FitRequest<'_>, inputs: &Inputs<'_>) -> Vec<i64> {
    let projection = request.engine.project_as_is(inputs).projection;
    let Some(moment) = projection.moments.get(projection.peak) else {
        return Vec::new();
    };
    let mut free = room(inputs.machine, Margin::NONE, &moment.devices);
    if inputs.machine.pool().is_some() {
        return free;
    }
    // What others have of a card counts, too, where this plan has nothing on it. The host comes last.
    let gpus = inputs.machine.gpus.iter().cycle();
    let Some((_, on_gpus)) = free.split_last_mut() else {
        return free;
    };
    for ((free, terms), gpu) in on_gpus.iter_mut().zip(&moment.devices).zip(gpus) {
        if terms.total() == Bytes::ZERO {
            *free = gpu.memory.usable.signed_sub(gpu.memory.in_use);
        }
    }
    free
}

/// What the other objectives come to, and the ends of this one.
fn others(request: &FitRequest<'_>, reserved: &FitRequest<'_>, best: &Choice) -> Vec<Choice> {
    let Some(mut explorer) = Explorer::new(reserved) else {
        return Vec::new();
    };
    let mut found: Vec<Found> = Objective::ALL
        .into_iter()
        .filter(|objective| *objective != request.objective)
        .filter_map(|objective| ladder::best(&mut explorer, objective))
        .collect();
    found.extend(ladder::longest(&mut explorer));
    found.extend(ladder::most_bits_whole(&mut explorer));
    let mut kept: Vec<Choice> = Vec::new();
    for found in found {
        let other = choice(request, &found);
        let known = || std::iter::once(best).chain(&kept);
        if known().any(|known| compare::is_no_better(&other.figures, &known.figures)) {
            continue;
        }
        let fits = lacks(request, &found)
            .is_some_and(|lacks| lacks.iter().all(|lacks| *lacks == Bytes::ZERO));
        if fits {
            kept.retain(|known| !compare::is_no_better(&known.figures, &other.figures));
            kept.push(other);
        }
    }
    kept.truncate(OTHERS);
    kept
}

/// The best, or what was found on the way and serves the objective better at no price; the best then stands among the
/// others, where it has anything to offer.
fn preferred(objective: Objective, best: Choice, others: &mut Vec<Choice>) -> Choice {
    let mut serving = others.iter().enumerate();
    let better = serving.find(|(_, other)| {
        compare::serves_better(objective, &other.figures, &best.figures)
            && compare::worse(&other.figures, &best.figures).is_empty()
    });
    let Some(place) = better.map(|(place, _)| place) else {
        return best;
    };
    let better = others.remove(place);
    if !compare::is_no_better(&best.figures, &better.figures) {
        others.push(best);
    }
    others.retain(|other| !compare::is_no_better(&other.figures, &better.figures));
    better
}

/// With what each is good for and gives up.
fn finish(objective: Objective, mut best: Choice, mut others: Vec<Choice>) -> Fitted {
    for other in &mut others {
        other.gives_up = compare::worse(&other.figures, &best.figures);
        other.good_for = compare::better(&other.figures, &best.figures);
        if other.gives_up.is_empty() {
            other.gives_up = compare::less_left(&other.figures, &best.figures);
        }
    }
    best.good_for = compare::praise(objective, &best.figures);
    Fitted {
        objective,
        best,
        others,
    }
}

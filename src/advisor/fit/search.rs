//! The search: the best, checked by a full projection, and what else is good.

use super::explorer::{Explorer, Found, Known};
use super::side_by_side::side_by_side;
use super::{
    Choice, Figures, FitRequest, Fitted, Impossible, Objective, blame, compare, explorer, ladder,
};
use crate::engine::{Inputs, Margin, room};
use crate::hardware::Machine;
use crate::plan::Settings;
use crate::projection::Projection;
use crate::units::Bytes;

/// Most choices beside the best.
const OTHERS: usize = 5;

/// Most searches until one holds in the full projection: the quick measure leaves out what only some moments or plans
/// have.
const ROUNDS: usize = 4;

/// What a search finds and the full projection agrees with.
pub(super) struct Checked {
    pub(super) found: Found,
    projected: Projected,
    /// The machine with as much taken off as that needed.
    machine: Machine,
    /// What the search came to know of that machine.
    known: Known,
}

/// What the full projection says of settings.
struct Projected {
    /// What every device lacks.
    lacks: Vec<Bytes>,
    /// Bytes left per device at the peak.
    free: Vec<i64>,
}

/// The best settings for the objective, and other good ones.
pub(super) fn search(request: &FitRequest<'_>) -> Result<Fitted, Box<Impossible>> {
    let checked = checked(request, |explorer| {
        ladder::best(explorer, request.objective)
    });
    let checked = checked.ok_or_else(|| Box::new(blame::impossible(request)))?;
    let best = checked.choice(request);
    let reserved = &FitRequest {
        inputs: Inputs {
            machine: &checked.machine,
            ..request.inputs
        },
        ..*request
    };
    let mut others = others(request, reserved, &checked.known, &best);
    let best = preferred(request.objective, best, &mut others);
    Ok(finish(request.objective, best, others))
}

/// What a search finds and the full projection agrees with.
pub(super) fn checked(
    request: &FitRequest<'_>,
    find: impl Fn(&mut Explorer<'_>) -> Option<Found>,
) -> Option<Checked> {
    let mut machine = request.inputs.machine.clone();
    for _ in 0..ROUNDS {
        let inputs = Inputs {
            machine: &machine,
            ..request.inputs
        };
        let mut explorer = Explorer::new(&FitRequest { inputs, ..*request })?;
        let found = find(&mut explorer)?;
        let known = explorer.into_known();
        let projected = projected(request, &found)?;
        if projected.fits() {
            return Some(Checked {
                found,
                projected,
                machine,
                known,
            });
        }
        reserve(&mut machine, &projected.lacks);
    }
    None
}

/// What the full projection says; `None` where the engine would not start.
fn projected(request: &FitRequest<'_>, found: &Found) -> Option<Projected> {
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
    Some(Projected {
        lacks,
        free: free(inputs.machine, &outcome.projection),
    })
}

impl Projected {
    fn fits(&self) -> bool {
        self.lacks.iter().all(|lacks| *lacks == Bytes::ZERO)
    }
}

impl Checked {
    /// As changes of the plan.
    pub(super) fn choice(&self, request: &FitRequest<'_>) -> Choice {
        choice(request, &self.found, self.projected.free.clone())
    }
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
fn choice(request: &FitRequest<'_>, found: &Found, free: Vec<i64>) -> Choice {
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
        figures: figures(request, found, free),
        gives_up: String::new(),
        good_for: String::new(),
    }
}

fn figures(request: &FitRequest<'_>, found: &Found, free: Vec<i64>) -> Figures {
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
        decode: explorer::decode(request, &found.arrangement.settings),
        free,
    }
}

/// The device that lacks most, by its place in a report, and what is left on it, as a report says it; the margin is not
/// taken off.
pub(super) fn fullest(request: &FitRequest<'_>, settings: &Settings) -> Option<(usize, i64)> {
    let inputs = Inputs {
        settings,
        ..request.inputs
    };
    let outcome = request.engine.project_as_is(&inputs);
    let free = free(inputs.machine, &outcome.projection);
    free.into_iter().enumerate().min_by_key(|(_, left)| *left)
}

/// Bytes left per device at the peak of the full projection, as a report of it says.
fn free(machine: &Machine, projection: &Projection) -> Vec<i64> {
    let Some(moment) = projection.moments.get(projection.peak) else {
        return Vec::new();
    };
    let mut free = room(machine, Margin::NONE, &moment.devices);
    if machine.pool().is_some() {
        return free;
    }
    // What others have of a card counts, too, where this plan has nothing on it. The host comes last.
    let gpus = machine.gpus.iter().cycle();
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
fn others(
    request: &FitRequest<'_>,
    reserved: &FitRequest<'_>,
    known: &Known,
    best: &Choice,
) -> Vec<Choice> {
    let mut kept: Vec<Choice> = Vec::new();
    let mut explorer = Explorer::new(reserved);
    if let Some(explorer) = &mut explorer {
        explorer.knows(known.clone());
    }
    for mut found in candidates(reserved, known) {
        // Most come to what is known already: what is left, which nothing is compared by, is worked out after that.
        let mut other = choice(request, &found, Vec::new());
        let is_of_use = |other: &Choice| {
            let mut known = std::iter::once(best).chain(&kept);
            !compare::crawls(&other.figures, &best.figures)
                && !known.any(|known| compare::is_no_better(&other.figures, &known.figures))
        };
        if !is_of_use(&other) {
            continue;
        }
        // Of its kind it is to be what serves the objective best.
        let explorer = explorer.as_mut();
        let furthest =
            explorer.and_then(|explorer| ladder::furthest(explorer, request.objective, &found));
        if let Some(furthest) = furthest
            && projected(request, &furthest).is_some_and(|projected| projected.fits())
        {
            let further = choice(request, &furthest, Vec::new());
            if !is_of_use(&further) {
                continue;
            }
            (found, other) = (furthest, further);
        }
        let Some(projected) = projected(request, &found).filter(Projected::fits) else {
            continue;
        };
        other.figures.free = projected.free;
        kept.retain(|known| !compare::is_no_better(&known.figures, &other.figures));
        kept.push(other);
    }
    kept.truncate(OTHERS);
    kept
}

/// What is best for each other objective, then the ends of what can be had: the longest context, the most bits.
///
/// Searches that ask much of the same share what they learn; the others go on at the same time.
fn candidates(reserved: &FitRequest<'_>, known: &Known) -> Vec<Found> {
    // Those that take longest first.
    let begun = [
        Objective::Batch,
        Objective::Context,
        Objective::Quality,
        Objective::Speed,
        Objective::Balanced,
    ];
    let searched = side_by_side(&begun, |objective| {
        let mut explorer = Explorer::new(reserved)?;
        explorer.knows(known.clone());
        let best = (*objective != reserved.objective)
            .then(|| ladder::best(&mut explorer, *objective))
            .flatten();
        let end = match objective {
            Objective::Context => ladder::longest(&mut explorer),
            Objective::Quality => ladder::most_bits_whole(&mut explorer),
            Objective::Balanced | Objective::Speed | Objective::Batch => None,
        };
        Some((*objective, best, end))
    });
    let (mut found, mut ends) = (Vec::new(), Vec::new());
    for objective in Objective::ALL {
        let own = searched
            .iter()
            .flatten()
            .find(|(own, ..)| *own == objective);
        if let Some((_, best, end)) = own {
            found.extend(best.clone());
            ends.extend(end.clone());
        }
    }
    found.extend(ends);
    found
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

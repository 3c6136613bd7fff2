//! Everything in its place: as much on GPUs as keeps the margin.

mod desk;
mod solve;
mod space;
mod spread;
mod trial;

pub(super) use desk::SEARCHED;
pub(super) use space::{LADDER, chosen, load, plans_slots, space};

use crate::engine::Inputs;
use crate::engine::largest::largest;
use crate::engine::search::{Arrangement, Ask, Bound, Effort, Probe, Residency};
use desk::Desk;
use solve::Spread;
use trial::Trial;

/// The placement asked for; where it does not fit, what comes closest.
pub(super) fn arrange(inputs: &Inputs<'_>, ask: &Ask<'_>) -> Option<Arrangement> {
    let desk = Desk::new(inputs, ask);
    let trial = match desk.single_cards() {
        // Whichever card serves best: the fastest of those that hold most.
        Some(cards) => {
            let mut best: Option<Trial> = None;
            for card in cards {
                let trial = placed(&desk.on(card), ask)?;
                if best.as_ref().is_none_or(|best| trial.serves_better(best)) {
                    best = Some(trial);
                }
            }
            best?
        }
        None => placed(&desk, ask)?,
    };
    Some(Arrangement {
        settings: trial.settings,
        probe: trial.probe,
    })
}

/// What comes of settings as they are.
pub(super) fn probe(inputs: &Inputs<'_>) -> Option<Probe> {
    Some(Trial::new(inputs, inputs.settings.clone(), true, 0)?.probe)
}

/// As much on the only GPU as it could hold if graphs took nothing, and one layer more, part of which could be there;
/// `None` where more is open than that.
pub(super) fn bound(inputs: &Inputs<'_>, pinned: &[String]) -> Option<Bound> {
    let desk = Desk::new(
        inputs,
        &Ask {
            pinned,
            residency: Residency::Anywhere,
            effort: Effort::Best,
        },
    );
    let pooled = inputs.machine.pool().is_some();
    if pooled || inputs.machine.gpus.len() != 1 || !desk.is_open("n_gpu_layers") {
        return None;
    }
    let whole = desk.sketch(&[desk.all_layers()])?;
    if whole.gpus != 1 {
        return None;
    }
    if whole.nowhere {
        return Some(Bound::Nowhere);
    }
    if whole.fits_gpus() {
        return Some(Bound::Settings(whole.settings));
    }
    let room = |trial: Option<Trial>| trial.map_or_else(|| vec![-1], |trial| gpu_room(&trial));
    let bare = desk.without_experts();
    if bare.is_some() {
        if !desk.is_open("n_cpu_moe") {
            return None;
        }
        let blocks = desk.blocks();
        let with_kept = |kept: u64| {
            let in_ram = desk::number("n_cpu_moe", blocks.saturating_sub(kept));
            desk.sketch(&[desk.all_layers(), in_ram])
        };
        if let Some(kept) = largest(0, blocks, |kept| room(with_kept(kept))) {
            return Some(Bound::Settings(with_kept(kept + 1)?.settings));
        }
    }
    let bare = bare.unwrap_or_default();
    let with_layers = |count: u64| {
        let mut changes = bare.clone();
        changes.push(desk::number("n_gpu_layers", count));
        desk.sketch(&changes)
    };
    let (_, all) = whole.probe.gpu_layers;
    let count = largest(0, all, |count| room(with_layers(count))).unwrap_or(0);
    Some(Bound::Settings(with_layers(count + 1)?.settings))
}

fn placed(desk: &Desk<'_>, ask: &Ask<'_>) -> Option<Trial> {
    if desk.is_automatic() {
        return desk.trial(&[]);
    }
    let whole = desk.trial(&[desk.all_layers()])?;
    let best = ask.effort != Effort::Possible;
    if whole.gpus == 0 || whole.nowhere {
        return Some(whole);
    }
    let whole = everything(desk, whole);
    if ask.residency == Residency::Whole || best && whole.probe.fits() {
        return Some(whole);
    }
    let bare = desk.without_experts();
    let mut closest = whole;
    if let Some(bare) = &bare {
        let found = experts_in_ram(desk, &closest, bare, best)?;
        let fits_gpus = found.fits_gpus();
        closest = found;
        if fits_gpus {
            return Some(closest);
        }
    }
    if ask.residency == Residency::Layers || !desk.is_open("n_gpu_layers") {
        return Some(closest);
    }
    layers_in_ram(desk, &closest, best).or(Some(closest))
}

/// Everything on GPUs, by a split of our own where the engine's does not fit or ignores that one card is faster.
fn everything(desk: &Desk<'_>, whole: Trial) -> Trial {
    let uneven = desk.gpus_differ();
    if whole.gpus < 2 || whole.hopeless || whole.probe.fits() && !uneven {
        return whole;
    }
    let split = spread::spread(desk, &whole, Spread::Whole);
    if let Some(split) = split.filter(|split| split.probe.fits()) {
        return split;
    }
    if whole.probe.fits() {
        return whole;
    }
    desk.one_gpu(whole.gpus).unwrap_or(whole)
}

/// All layers on GPUs, experts in main memory: of all layers where it is only asked whether that is possible, else of as
/// few as fit.
fn experts_in_ram(
    desk: &Desk<'_>,
    whole: &Trial,
    bare: &[desk::Change],
    best: bool,
) -> Option<Trial> {
    let mut all = bare.to_vec();
    all.push(desk.all_layers());
    let none_kept = desk.trial(&all)?;
    let possible = none_kept.fits_gpus();
    if possible && !best && none_kept.probe.fits() {
        return Some(none_kept);
    }
    if whole.gpus > 1 && desk.may_spread() && desk.may_override() && !none_kept.hopeless {
        let spread = spread::spread(desk, &none_kept, Spread::Experts);
        if let Some(spread) = spread {
            return Some(spread);
        }
    }
    if !possible || !desk.is_open("n_cpu_moe") {
        return Some(none_kept);
    }
    let blocks = desk.blocks();
    let mut best: Option<Trial> = None;
    let kept = largest(0, blocks, |kept| {
        let in_ram = blocks - kept;
        let trial = match kept {
            0 => Some(none_kept.clone()),
            _ if in_ram == 0 => Some(whole.clone()),
            _ => {
                let changes = [desk.all_layers(), desk::number("n_cpu_moe", in_ram)];
                desk.trial_above(none_kept.floor(in_ram), &changes)
            }
        };
        let Some(trial) = trial else { return vec![-1] };
        let room = gpu_room(&trial);
        // The last that fits is the one with most.
        if kept > 0 && trial.fits_gpus() {
            best = Some(trial);
        }
        room
    });
    match (kept, best) {
        (Some(kept), Some(best)) if kept > 0 => {
            let more = desk.parts_of_one_more(blocks - kept, &best);
            Some(more.unwrap_or(best))
        }
        _ => Some(none_kept),
    }
}

/// As many layers on GPUs as fit, the experts of all in main memory; none at all where it is only asked whether that is
/// possible, and main memory is large enough.
fn layers_in_ram(desk: &Desk<'_>, closest: &Trial, best: bool) -> Option<Trial> {
    let bare = desk.without_experts().unwrap_or_default();
    let with_layers = |count: u64| {
        let mut changes = bare.clone();
        changes.push(desk::number("n_gpu_layers", count));
        desk.trial(&changes)
    };
    let none = with_layers(0)?;
    if !best && none.probe.fits() {
        return Some(none);
    }
    if closest.gpus > 1 && desk.may_spread() {
        let spread = desk
            .worked_out(closest)
            .and_then(|closest| spread::spread(desk, &closest, Spread::Layers));
        if spread.is_some() {
            return spread;
        }
    }
    let (_, all) = none.probe.gpu_layers;
    let count = largest(0, all, |count| match with_layers(count) {
        Some(trial) => gpu_room(&trial),
        None => vec![-1],
    });
    count.and_then(with_layers).or(Some(none))
}

/// What GPUs have left; main memory holds what they do not.
fn gpu_room(trial: &Trial) -> Vec<i64> {
    let mut room = trial.probe.room.clone();
    room.truncate(trial.gpus);
    room
}

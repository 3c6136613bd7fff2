//! The engine's own fit: what it makes of a plan that leaves context or layers open.
//!
//! Follows `common_params_fit_impl` (`common/fit.cpp`, 0.6.0-dev) step by step, integer arithmetic included.

use super::candidate::{Candidate, DeviceLayers};
use super::search::Search;
use super::{DryRun, Used, layers, mixture};

/// What bounds a fit.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Limits {
    /// Free memory per GPU.
    pub(in super::super) free: Vec<i64>,
    /// Memory to leave free per GPU.
    pub(in super::super) margins: Vec<i64>,
    /// All of main memory, for a machine without GPUs.
    pub(in super::super) host_total: i64,
    /// Trained context.
    pub(in super::super) trained: u64,
    /// Least context, per stream; `None`: the user asked for the whole context.
    pub(in super::super) least_context: Option<u64>,
    /// Context as asked for; `None`: not at all.
    pub(in super::super) asked_context: Option<u64>,
    /// Streams of the cache.
    pub(in super::super) streams: u64,
    /// Layers without the output layer.
    pub(in super::super) blocks: u32,
    /// Layers on GPUs as asked for; `None`: not at all.
    pub(in super::super) asked_layers: Option<u64>,
    /// The model has experts.
    pub(in super::super) experts: bool,
    /// Why layers must stay as asked for, where they must.
    pub(in super::super) fixed: bool,
}

/// What fitting decides.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Fitted {
    /// Whether it ended well.
    pub(in super::super) status: Status,
    /// Context and layers; what is `None` stays as asked for.
    pub(in super::super) candidate: Candidate,
}

/// How a fit ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Status {
    /// It fits, or as much as can be does.
    #[default]
    Success,
    /// The engine gives up and loads as asked, with the context as far as it was reduced.
    Failure,
}

/// Fits.
pub(in super::super) fn fit(limits: &Limits, run: &dyn DryRun) -> Fitted {
    let streams = limits.streams.max(1);
    let most = limits
        .trained
        .saturating_mul(streams)
        .min(u64::from(u32::MAX));
    let least = limits.least_context.map_or(u64::from(u32::MAX), |least| {
        least.saturating_mul(streams).min(u64::from(u32::MAX))
    });
    let mut candidate = Candidate {
        context: limits.asked_context.is_none().then_some(most),
        ..Candidate::default()
    };
    let full = run.measure(&candidate);
    let missing = |used: &[Used]| -> i64 { missing(limits, used) };
    if satisfied(limits, &full) {
        return Fitted {
            status: Status::Success,
            candidate,
        };
    }
    if missing(&full) > 0 && limits.asked_context.is_none() && most > least {
        let (context, whole) = reduced_context(limits, run, &full, (least, most));
        candidate.context = Some(context);
        if whole && limits.free.len() <= 1 {
            return Fitted {
                status: Status::Success,
                candidate,
            };
        }
    }
    let failed = limits.free.is_empty() || limits.asked_layers.is_some() || limits.fixed;
    if failed {
        return Fitted {
            status: Status::Failure,
            candidate,
        };
    }
    candidate.layers = Some(distribute(limits, run, candidate.context));
    Fitted {
        status: Status::Success,
        candidate,
    }
}

/// Every device keeps its margin free.
fn satisfied(limits: &Limits, used: &[Used]) -> bool {
    if limits.free.is_empty() {
        let used = used.last().map_or(0, |used| used.total);
        let margin = limits.margins.first().copied().unwrap_or(0);
        return limits.host_total.saturating_sub(used) >= margin;
    }
    let devices = limits.free.iter().zip(&limits.margins).zip(used);
    devices
        .into_iter()
        .all(|((free, margin), used)| free.saturating_sub(used.total) >= *margin)
}

/// How much all devices together are short of.
fn missing(limits: &Limits, used: &[Used]) -> i64 {
    let Totals { used, available } = Totals::of(limits, used);
    used.saturating_sub(available)
}

/// Sums over the devices that count.
struct Totals {
    used: i64,
    /// Free memory less margins.
    available: i64,
}

impl Totals {
    fn of(limits: &Limits, used: &[Used]) -> Self {
        if limits.free.is_empty() {
            let margin = limits.margins.first().copied().unwrap_or(0);
            return Self {
                used: used.last().map_or(0, |used| used.total),
                available: limits.host_total.saturating_sub(margin),
            };
        }
        let sum = |values: &[i64]| {
            values
                .iter()
                .fold(0_i64, |sum, value| sum.saturating_add(*value))
        };
        Self {
            used: used
                .iter()
                .take(limits.free.len())
                .fold(0_i64, |sum, used| sum.saturating_add(used.total)),
            available: sum(&limits.free).saturating_sub(sum(&limits.margins)),
        }
    }
}

/// The context by linear interpolation between the least and the most, and whether the whole model should fit with it.
fn reduced_context(
    limits: &Limits,
    run: &dyn DryRun,
    full: &[Used],
    (least, most): (u64, u64),
) -> (u64, bool) {
    let devices = limits.free.len();
    let Totals {
        used: used_most,
        available: mut target,
    } = Totals::of(limits, full);
    if devices > 1 {
        // Only whole layers (or tensors of experts, about a third of a layer) can be assigned: half of one is wasted
        // per device, and one more is left to be safe.
        let model = full
            .iter()
            .take(devices)
            .fold(0_i64, |sum, used| sum.saturating_add(used.model));
        let layers = limits.asked_layers.map_or(limits.blocks, |asked| {
            u32::try_from(asked).unwrap_or(u32::MAX).min(limits.blocks)
        });
        let per_layer = model / i64::from(layers.max(1));
        let devices = i64::try_from(devices).unwrap_or(i64::MAX - 1);
        let wasted = (devices + 1).saturating_mul(per_layer);
        target = target.saturating_sub(wasted / if limits.experts { 6 } else { 2 });
    }
    let at_least = run.measure(&Candidate {
        context: Some(least),
        ..Candidate::default()
    });
    let used_least = Totals::of(limits, &at_least).used;
    if target <= used_least {
        return (least, false);
    }
    let growth = i128::from(used_most.saturating_sub(used_least)).max(1);
    let room = i128::from(target.saturating_sub(used_least));
    let more = i128::from(most - least) * room / growth;
    let context = least.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
    // The engine's contexts have 32 bits.
    let context = context & u64::from(u32::MAX);
    let step = 256_u64.saturating_mul(limits.streams.max(1));
    (least.max(context - context % step), true)
}

/// Steps 3 and 4: whole layers from the back, then experts from the front.
fn distribute(limits: &Limits, run: &dyn DryRun, context: Option<u64>) -> Vec<DeviceLayers> {
    let search = Search {
        run,
        context,
        targets: limits
            .free
            .iter()
            .zip(&limits.margins)
            .map(|(free, margin)| free.saturating_sub(*margin))
            .collect(),
        blocks: limits.blocks,
        experts: limits.experts,
    };
    let dense_fits = limits.experts && {
        let used = run.measure(&Candidate {
            context,
            layers: None,
            experts_on_host: true,
        });
        missing(limits, &used) < 0
    };
    let filled = layers::fill_from_the_back(&search);
    if dense_fits {
        mixture::fill_from_the_front(&search, filled)
    } else {
        filled.devices
    }
}

//! Saved prompts and checkpoints: nothing at the start, filled as requests come.

use super::super::config::{Config, Shape};
use super::super::{kv_cache, recurrent};
use crate::projection::{Category, Part, Term, Why};
use crate::units::Bytes;

/// What the server may keep in main memory. A term is zero with its limit as the upper end of its range: nothing is
/// allocated at the start, and a server with little load never comes near.
pub(in super::super) fn cache_terms(
    config: &Config,
    shape: Shape,
    caches: &[kv_cache::Group],
    states: &[recurrent::Group],
    host_ram: Bytes,
) -> Vec<Term> {
    let mut terms = Vec::with_capacity(2);
    let limit = u64::try_from(config.cache_ram_mib).map_or(host_ram, Bytes::from_mib);
    if limit != Bytes::ZERO {
        terms.push(term(
            limit,
            Why::new(
                "llama.cpp/host-cache/prompts",
                "nothing at first; saved prompts may grow to {limit} as requests come",
                "common/arg.cpp --cache-ram, 0.6.0-dev",
            )
            .with("limit", limit),
        ));
    }
    if let Some(checkpoints) = checkpoints(config, shape, caches, states) {
        terms.push(checkpoints);
    }
    terms
}

/// Copies of what cannot be rolled back: window caches and recurrent states.
fn checkpoints(
    config: &Config,
    shape: Shape,
    caches: &[kv_cache::Group],
    states: &[recurrent::Group],
) -> Option<Term> {
    let windows: Bytes = caches
        .iter()
        .filter(|group| {
            matches!(
                group.kind,
                kv_cache::Kind::Window(_) | kv_cache::Kind::CompressedWindow(_)
            )
        })
        .map(|group| group.bytes)
        .sum();
    let recurrent: Bytes = states.iter().map(|group| group.bytes).sum();
    let one = (windows + recurrent).mul_ratio(1, shape.sequences);
    if one == Bytes::ZERO || config.checkpoints == 0 || config.swa_full && recurrent == Bytes::ZERO
    {
        return None;
    }
    let per_slot = match shape.cells.checked_div(config.checkpoint_step) {
        Some(steps) => config.checkpoints.min(steps),
        None => config.checkpoints,
    };
    let number = per_slot.saturating_mul(shape.sequences);
    (number > 0).then(|| {
        term(
            one * number,
            Why::new(
                "llama.cpp/host-cache/checkpoints",
                "nothing at first; up to {number} checkpoints of {one}, one per {step} tokens of a slot",
                "common/arg.cpp --ctx-checkpoints and --checkpoint-min-step, 0.6.0-dev",
            )
            .with("number", number)
            .with("one", one)
            .with("step", config.checkpoint_step),
        )
    })
}

fn term(limit: Bytes, why: Why) -> Term {
    Term {
        category: Category::HostCache,
        part: Part::Model,
        bytes: Bytes::ZERO,
        range: (Bytes::ZERO, limit),
        why,
    }
}

//! What a graph takes at most, told without placing it.

use super::backend::Rules;
use super::graph::Graph;
use super::place::Placed;
use super::plan::GraphPlan;
use super::schedule::Schedule;
use super::tensor::{Id, Op};

/// Alignment of any buffer, at most.
const ALIGNMENT: u64 = 128;

/// Whether a graph needs no more of any buffer than another that was placed at one context: all its tensors side by side
/// are smaller, as many times as blocks are left out. A graph of one token per sequence mostly is.
pub(super) fn is_within(
    plan: &GraphPlan,
    (graph, schedule): (&Graph, &Schedule),
    rules: Rules,
    placed: &[Placed],
) -> bool {
    if plan.pipeline {
        return false;
    }
    let mut sums = vec![0_u64; placed.len()];
    let mut anywhere = 0_u64;
    for index in 0..graph.arena.len() {
        let id = Id::at(index);
        let tensor = graph.at(id);
        if tensor.home.is_some() || tensor.view_src != Id::NONE {
            continue;
        }
        let backend = schedule.backend(id);
        let slot = match sums.get_mut(usize::from(backend)) {
            Some(sum) if tensor.op != Op::None => sum,
            // Copies and inputs may be on several devices.
            _ => &mut anywhere,
        };
        let bytes = rules
            .alloc_bytes(graph, backend.min(rules.cpu()), id)
            .max(tensor.bytes());
        let aligned = bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(bytes);
        *slot = slot.saturating_add(aligned);
    }
    let kept = (plan.blocks.len() as u64).max(1);
    let times = plan.trunk.blocks.max(kept).div_ceil(kept);
    let pairs = sums.iter().zip(placed);
    pairs.into_iter().all(|(sum, placed)| {
        let most = sum.saturating_add(anywhere).saturating_mul(times);
        most <= placed.bytes.at(0)
    })
}

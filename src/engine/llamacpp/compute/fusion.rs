//! Fused operations of the CUDA backend that keep tensors alive longer: `ggml_backend_cuda_graph_optimize`
//! (`ggml/src/ggml-cuda/ggml-cuda.cu` 0.6.0-dev).

use std::ops::Range;

use super::graph::Graph;
use super::tensor::{Id, Op, Tensor};
use crate::quant::Type;

/// Tensors that must outlive a node.
#[derive(Default)]
pub(super) struct Keep {
    /// By node, one more than where its tensors are; 0: nowhere.
    slots: Vec<u32>,
    kept: Vec<Vec<Id>>,
}

impl Keep {
    /// What must live until `node` has run.
    pub(super) fn until(&self, node: Id) -> &[Id] {
        let slot = self.slots.get(node.index()).copied().unwrap_or(0);
        let kept = slot
            .checked_sub(1)
            .and_then(|slot| self.kept.get(slot as usize));
        kept.map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, tensor: Id, until: Id) {
        if until == Id::NONE {
            return;
        }
        if self.slots.len() <= until.index() {
            self.slots.resize(until.index() + 1, 0);
        }
        let Some(slot) = self.slots.get_mut(until.index()) else {
            return;
        };
        if *slot == 0 {
            self.kept.push(Vec::new());
            *slot = u32::try_from(self.kept.len()).unwrap_or(u32::MAX);
        }
        if let Some(kept) = self.kept.get_mut(*slot as usize - 1)
            && !kept.contains(&tensor)
        {
            kept.push(tensor);
        }
    }
}

/// The nodes of one split with what the matchers ask of them.
struct View<'a> {
    graph: &'a Graph,
    nodes: &'a [Id],
}

impl View<'_> {
    fn id(&self, index: usize) -> Id {
        self.nodes.get(index).copied().unwrap_or(Id::NONE)
    }

    fn at(&self, index: usize) -> &Tensor {
        self.graph.at(self.id(index))
    }

    fn op(&self, index: usize) -> Op {
        self.at(index).op
    }

    /// Whether the node at `index` is computed from the one before it.
    fn follows(&self, index: usize, op: Op) -> bool {
        index > 0
            && index < self.nodes.len()
            && self.op(index) == op
            && self.at(index).source(0) == self.id(index - 1)
    }

    /// `ggml_can_fuse_subgraph_ext`: nothing but `outputs` is used outside of the nodes.
    fn closed(&self, indices: &[usize], outputs: &[usize]) -> bool {
        indices.iter().enumerate().all(|(position, &index)| {
            let (id, node) = (self.id(index), self.at(index));
            if index >= self.nodes.len() || !node.compute {
                return false;
            }
            if outputs.contains(&index) {
                return true;
            }
            let later = indices.get(position + 1..).unwrap_or_default();
            let uses = later
                .iter()
                .flat_map(|&user| self.at(user).sources())
                .filter(|&source| source == id)
                .count();
            let base = node.view_src;
            let inside = base == Id::NONE
                || self.graph.at(base).home.is_some_and(|home| home.weight)
                || indices.iter().any(|&other| self.id(other) == base);
            !node.output && inside && uses == self.graph.uses(id) as usize
        })
    }
}

/// Reorders the nodes of a split for fusion and collects what fusion keeps alive.
pub(super) fn optimize(graph: &Graph, nodes: &mut [Id], keep: &mut Keep) {
    group_shared_experts(graph, nodes, keep);
    let view = View { graph, nodes };
    let mut index = 0;
    while index < view.nodes.len() {
        if let Some(length) = keep_weighted_sum(&view, index, keep) {
            index += length - 1;
        }
        if let Some(length) = keep_router(&view, index, keep) {
            index += length - 1;
        }
        index += 1;
    }
}

/// A shared expert of the routed experts' shape is computed right after them.
fn group_shared_experts(graph: &Graph, nodes: &mut [Id], keep: &mut Keep) {
    let mut index = 0;
    while index + 5 < nodes.len() {
        let op = |nodes: &[Id], at: usize| nodes.get(at).map_or(Op::None, |&id| graph.at(id).op);
        if op(nodes, index) != Op::MulMatId {
            index += 1;
            continue;
        }
        let mut other = index + 3;
        while other + 2 < nodes.len() {
            let here = op(nodes, other);
            if here == Op::MulMatId && op(nodes, other + 1) == Op::MulMatId {
                break;
            }
            let view = View {
                graph,
                nodes: &*nodes,
            };
            if here == Op::MulMat && matches_shared_expert(&view, index, other) {
                if let Some(range) = nodes.get_mut(index + 3..other + 3) {
                    range.rotate_right(3);
                }
                let view = View {
                    graph,
                    nodes: &*nodes,
                };
                let up = *graph.at(view.at(index + 2).source(1));
                keep.add(up.source(1), view.id(index + 5));
                keep.add(up.source(2), view.id(index + 5));
                index += 5;
                break;
            }
            other += 1;
        }
        index += 1;
    }
}

fn matches_shared_expert(view: &View<'_>, routed: usize, shared: usize) -> bool {
    let indices = [
        routed,
        routed + 1,
        routed + 2,
        shared,
        shared + 1,
        shared + 2,
    ];
    let ops = [
        Op::MulMatId,
        Op::MulMatId,
        Op::Glu,
        Op::MulMat,
        Op::MulMat,
        Op::Glu,
    ];
    let same = indices.iter().zip(ops).all(|(&at, op)| view.op(at) == op);
    if !same || !view.closed(&indices, &[routed + 2, shared + 2]) {
        return false;
    }
    let (Some((gate, up)), Some((shared_gate, shared_up))) =
        (gated_pair(view, routed), gated_pair(view, shared))
    else {
        return false;
    };
    let graph = view.graph;
    let (weight, shared_weight) = (graph.at(up.source(0)), graph.at(shared_up.source(0)));
    let (input, shared_input) = (graph.at(up.source(1)), graph.at(shared_up.source(1)));
    let ([ne0, ne1, _, _], [shared_ne0, shared_ne1, _, _]) = (weight.ne, shared_weight.ne);
    let [_, input_rows, _, input_last] = input.ne;
    weight.home.is_some()
        && weight.dtype.is_quantized()
        && weight.dtype == shared_weight.dtype
        && (ne0, ne1) == (shared_ne0, shared_ne1)
        && input.op == Op::Reshape
        && input.source(0) == shared_up.source(1)
        && (input_rows, input_last) == (1, 1)
        && shared_input.is_contiguous()
        && gate.source(2) == up.source(2)
        && graph.at(shared_gate.source(0)).op == Op::None
        && shared_weight.op == Op::None
}

/// Gate and up of a gated network whose glu is two nodes later, where the backend would fuse them
/// (`ggml_cuda_should_fuse_mul_mat`).
fn gated_pair<'a>(view: &View<'a>, index: usize) -> Option<(&'a Tensor, &'a Tensor)> {
    let graph = view.graph;
    let glu = graph.at(view.id(index + 2));
    let (gate_id, up_id) = (glu.source(0), glu.source(1));
    let pair = [view.id(index), view.id(index + 1)];
    let is_pair = pair == [gate_id, up_id] || pair == [up_id, gate_id];
    let (gate, up) = (graph.at(gate_id), graph.at(up_id));
    let (gate_weight, up_weight) = (graph.at(gate.source(0)), graph.at(up.source(0)));
    (is_pair && gate_weight.same_layout(up_weight) && gate.source(1) == up.source(1))
        .then_some((gate, up))
}

/// Largest number of experts whose weighted sum is one kernel (`MOE_WEIGHTED_REDUCTION_MAX_EXPERTS`).
const SUMMED_EXPERTS: usize = 15;

/// The weighted sum of the chosen experts (`ggml_cuda_match_moe_weighted_reduction`); its length in nodes.
fn keep_weighted_sum(view: &View<'_>, start: usize, keep: &mut Keep) -> Option<usize> {
    let first = view.at(start);
    if first.op != Op::Mul || first.dtype != Type::F32 {
        return None;
    }
    let (experts, mut weights) = split_product(view.graph, first)?;
    let (mut weighted, mut products, mut scale) = (view.id(start), 1, None);
    let second = view.at(start + 1);
    if second.op == Op::Mul
        && let Some((inner, route)) = split_product(view.graph, second)
        && inner == view.id(start)
    {
        (weighted, products, scale) = (view.id(start + 1), 2, Some(weights));
        weights = route;
    }
    let [width, used, tokens, last] = view.graph.at(weighted).ne;
    let used = usize::try_from(used).ok()?;
    if !(2..=SUMMED_EXPERTS).contains(&used) {
        return None;
    }
    let length = 2 * used + products - 1;
    if start + length > view.nodes.len() {
        return None;
    }
    let nodes = start + products..start + length;
    let rows = tokens.saturating_mul(last);
    let sum = summed(view, nodes, weighted, (width, rows), used)?;
    let indices: Vec<usize> = (start..start + length).collect();
    if !view.closed(&indices, &[start + length - 1]) {
        return None;
    }
    keep.add(experts, sum);
    keep.add(weights, sum);
    if let Some(scale) = scale {
        keep.add(scale, sum);
    }
    Some(length)
}

/// Views of each expert's rows and their sum, in any order in which it can be computed; the sum.
fn summed(
    view: &View<'_>,
    nodes: Range<usize>,
    weighted: Id,
    shape: (u64, u64),
    used: usize,
) -> Option<Id> {
    let mut views = Vec::with_capacity(used);
    let mut sum = Id::NONE;
    let mut adds = 0;
    for index in nodes {
        let node = view.at(index);
        match node.op {
            Op::View if node.view_src == weighted && views.len() < used => {
                let [ne0, ne1, ..] = node.ne;
                if (ne0, ne1) != shape {
                    return None;
                }
                views.push(view.id(index));
            }
            Op::Add => {
                let left = if adds == 0 {
                    views.first().copied()?
                } else {
                    sum
                };
                let right = views.get(adds + 1).copied()?;
                if (node.source(0), node.source(1)) != (left, right) {
                    return None;
                }
                sum = view.id(index);
                adds += 1;
            }
            _ => return None,
        }
    }
    (views.len() == used && adds + 1 == used).then_some(sum)
}

/// The full tensor and the one weight per row of a product.
fn split_product(graph: &Graph, product: &Tensor) -> Option<(Id, Id)> {
    let is_full = |id: Id| {
        let tensor = graph.at(id);
        tensor.dtype == Type::F32 && tensor.is_contiguous() && tensor.ne == product.ne
    };
    let is_weight = |id: Id| {
        let ([one, weight @ ..], [_, rows @ ..]) = (graph.at(id).ne, product.ne);
        graph.at(id).dtype == Type::F32 && one == 1 && weight == rows
    };
    let (left, right) = (product.source(0), product.source(1));
    if right == Id::NONE {
        return None;
    }
    if is_full(left) && is_weight(right) {
        return Some((left, right));
    }
    (is_full(right) && is_weight(left)).then_some((right, left))
}

/// Numbers of experts for which the router is one kernel (`ggml_cuda_should_use_topk_moe`).
fn is_router_width(experts: u64) -> bool {
    (experts.is_power_of_two() && experts <= 512) || matches!(experts, 288 | 576)
}

/// The router from scores to weights (`ggml_cuda_topk_moe_fusion`); its length in nodes.
fn keep_router(view: &View<'_>, start: usize, keep: &mut Keep) -> Option<usize> {
    let mut at = start;
    match view.op(start) {
        Op::SoftMax | Op::Sigmoid => {}
        Op::Softplus if view.follows(start + 1, Op::Sqrt) => at += 1,
        _ => return None,
    }
    let scores = at;
    if !view.follows(at + 1, Op::Reshape) {
        return None;
    }
    let reshaped = view.id(at + 1);
    at += 2;
    let biased = view.op(at) == Op::Add && view.at(at).source(0) == view.id(scores);
    if biased {
        at += 1;
    }
    let sorted = if biased {
        view.id(at - 1)
    } else {
        view.id(scores)
    };
    if view.op(at) != Op::Argsort || view.at(at).source(0) != sorted {
        return None;
    }
    if !view.follows(at + 1, Op::View) {
        return None;
    }
    let ids = at + 1;
    let rows = view.at(at + 2);
    if rows.op != Op::GetRows || (rows.source(0), rows.source(1)) != (reshaped, view.id(ids)) {
        return None;
    }
    at += 3;
    at = after_normalization(view, at);
    if view.follows(at, Op::Scale) {
        at += 1;
    }
    // What the kernel may not do: masks, sinks, an unusual number of experts.
    let score = view.at(scores);
    let [experts, ..] = score.ne;
    if score.op == Op::SoftMax && score.source(1) != Id::NONE || !is_router_width(experts) {
        return None;
    }
    let indices: Vec<usize> = (start..at).collect();
    if !view.closed(&indices, &[ids, at - 1]) {
        return None;
    }
    // The engine keeps the nodes up to the one after the router.
    let until = view.id(at);
    for index in start..at {
        keep.add(view.id(index), until);
        for source in view.at(index).sources() {
            keep.add(source, until);
        }
    }
    Some(at - start)
}

/// Past the division of the weights by their sum, where it is there.
fn after_normalization(view: &View<'_>, at: usize) -> usize {
    let divides = |index: usize| {
        view.op(index) == Op::Div
            && view.at(index).source(0) == view.id(index - 3)
            && view.at(index).source(1) == view.id(index - 1)
    };
    let normalizes = view.follows(at, Op::Reshape)
        && view.follows(at + 1, Op::SumRows)
        && view.follows(at + 2, Op::Clamp)
        && divides(at + 3)
        && view.follows(at + 4, Op::Reshape);
    if normalizes { at + 5 } else { at }
}

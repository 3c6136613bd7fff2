//! Hyper-connections (`build_hc_pre`, `build_hc_post`, `build_hc_head` in `src/models/deepseek4.cpp` 0.6.0-dev):
//! several residual streams, mixed into one before every layer part and spread again after it.

use super::{Builder, Fused};
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Op};
use crate::quant::Type;

/// Rounds of the balancing that are built where it is not one kernel. The engine makes as many as the model says
/// (20 in V4); each works in the memory of the one before.
const BALANCING_ROUNDS: usize = 4;

/// Names of the weights before one part of a layer.
#[derive(Clone, Copy)]
pub(super) struct Site {
    matrix: &'static str,
    base: &'static str,
    scale: &'static str,
}

impl Site {
    /// Before the attention.
    pub(super) const ATTENTION: Self = Self {
        matrix: "hc_attn_fn.weight",
        base: "hc_attn_base.weight",
        scale: "hc_attn_scale.weight",
    };

    /// Before the feed-forward network.
    pub(super) const FEED_FORWARD: Self = Self {
        matrix: "hc_ffn_fn.weight",
        base: "hc_ffn_base.weight",
        scale: "hc_ffn_scale.weight",
    };
}

/// What a layer part reads and how its result goes back.
#[derive(Clone, Copy)]
pub(super) struct Mixed {
    /// The streams as they were.
    pub(super) residual: Id,
    /// Their mixture.
    pub(super) input: Id,
    /// Weight of the result in each stream.
    pub(super) post: Id,
    /// Weight of each old stream in each new one.
    pub(super) comb: Id,
}

impl Builder<'_> {
    /// The mixture before a layer part (`build_hc_pre`).
    pub(super) fn mix_streams(&mut self, block: &Block, site: Site, streams: Id) -> Mixed {
        let hc = self.plan.trunk.streams;
        let weights = [site.matrix, site.base, site.scale].map(|name| self.weight(block, name));
        let [Some(matrix), Some(base), Some(scale)] = weights else {
            return Mixed {
                residual: streams,
                input: streams,
                post: streams,
                comb: streams,
            };
        };
        let mixes = self.mixes(matrix, streams);
        let pre = self.affine(mixes, scale, base, (0, 0, hc));
        let pre = self.graph.map(Op::Sigmoid, pre);
        let pre = self.graph.scale(pre);
        let post = self.affine(mixes, scale, base, (1, hc, hc));
        let post = self.graph.map(Op::Sigmoid, post);
        let post = self.graph.scale(post);
        let tokens = self.batch.tokens;
        let comb = if self.fused.comb {
            let ne = [hc, hc, tokens, 1];
            let node = self
                .graph
                .node(Op::HyperComb, Type::F32, ne, [mixes, scale, base]);
            self.fused_nodes.push((Fused::Comb, node, block.backend));
            node
        } else {
            let comb = self.affine(mixes, scale, base, (2, 2 * hc, hc * hc));
            let comb = self.graph.reshape(comb, [hc, hc, tokens, 1]);
            self.balanced(comb)
        };
        let input = if self.fused.pre {
            let ne = [self.hidden_size(), tokens, 1, 1];
            let node = self.graph.node(Op::HyperPre, Type::F32, ne, [streams, pre]);
            self.fused_nodes.push((Fused::Pre, node, block.backend));
            node
        } else {
            self.weighted_streams(streams, pre)
        };
        Mixed {
            residual: streams,
            input,
            post,
            comb,
        }
    }

    /// The streams after a layer part (`build_hc_post`).
    pub(super) fn spread(&mut self, block: &Block, out: Id, mixed: Mixed) -> Id {
        let Mixed {
            residual,
            post,
            comb,
            ..
        } = mixed;
        let (hc, width, tokens) = (
            self.plan.trunk.streams,
            self.hidden_size(),
            self.batch.tokens,
        );
        if self.fused.post {
            let ne = [width, hc, tokens, 1];
            let sources = [out, residual, post, comb];
            let node = self.graph.node(Op::HyperPost, Type::F32, ne, sources);
            self.fused_nodes.push((Fused::Post, node, block.backend));
            return node;
        }
        let (post_nb, residual_nb) = (self.graph.at(post).nb, self.graph.at(residual).nb);
        let comb_nb = self.graph.at(comb).nb;
        let mut all: Option<Id> = None;
        for to in 0..hc {
            let weight = self
                .graph
                .view_2d(post, 1, tokens, post_nb[1], to * post_nb[0]);
            let mut stream = self.graph.mul(out, weight);
            for from in 0..hc {
                let old = self.graph.view_2d(
                    residual,
                    width,
                    tokens,
                    residual_nb[2],
                    from * residual_nb[1],
                );
                let offset = to * comb_nb[0] + from * comb_nb[1];
                let weight = self.graph.view_2d(comb, 1, tokens, comb_nb[2], offset);
                let part = self.graph.mul(old, weight);
                stream = self.graph.add(stream, part);
            }
            let stream = self.graph.reshape(stream, [width, 1, tokens, 1]);
            all = Some(match all {
                Some(all) => self.graph.concat(all, stream, 1),
                None => stream,
            });
        }
        all.unwrap_or(out)
    }

    /// The mixture before the head (`build_hc_head`).
    pub(super) fn head_mixture(&mut self, streams: Id) -> Id {
        let names = [
            "output_hc_fn.weight",
            "output_hc_base.weight",
            "output_hc_scale.weight",
        ];
        let [Some(matrix), Some(base), Some(scale)] = names.map(|name| self.outside(name)) else {
            return streams;
        };
        let mixes = self.mixes(matrix, streams);
        let pre = self.graph.mul(mixes, scale);
        let pre = self.graph.add(pre, base);
        let pre = self.graph.map(Op::Sigmoid, pre);
        let pre = self.graph.scale(pre);
        self.weighted_streams(streams, pre)
    }

    /// All streams side by side, normed, and their product with a matrix.
    fn mixes(&mut self, matrix: Id, streams: Id) -> Id {
        let [width, hc, tokens, _] = self.graph.at(streams).ne;
        let flat = [width.saturating_mul(hc), tokens, 1, 1];
        let flat = self.graph.reshape(streams, flat);
        let normed = self.graph.map(Op::RmsNorm, flat);
        self.graph.mul_mat(matrix, normed)
    }

    /// A part of the mixes, times a scale, plus a base; the part by number of its scale, first value and length.
    fn affine(&mut self, mixes: Id, scale: Id, base: Id, part: (u64, u64, u64)) -> Id {
        let (number, first, length) = part;
        let scale = self.graph.view_1d(scale, 1, F32 * number);
        let base = self.graph.view_1d(base, length, F32 * first);
        let ([_, tokens, ..], [_, row, ..]) = (self.graph.at(mixes).ne, self.graph.at(mixes).nb);
        let part = self.graph.view_2d(mixes, length, tokens, row, F32 * first);
        let part = self.graph.mul(part, scale);
        self.graph.add(part, base)
    }

    /// The sum of all streams, each times its weight.
    fn weighted_streams(&mut self, streams: Id, weights: Id) -> Id {
        let ([width, hc, tokens, _], [_, nb1, nb2, _]) =
            (self.graph.at(streams).ne, self.graph.at(streams).nb);
        let [nb0, row, ..] = self.graph.at(weights).nb;
        let mut sum: Option<Id> = None;
        for stream in 0..hc {
            let values =
                self.graph
                    .view_2d(streams, width, tokens, nb2, stream.saturating_mul(nb1));
            let weight = self
                .graph
                .view_2d(weights, 1, tokens, row, stream.saturating_mul(nb0));
            let part = self.graph.mul(values, weight);
            sum = Some(match sum {
                Some(sum) => self.graph.add(sum, part),
                None => part,
            });
        }
        sum.unwrap_or(streams)
    }

    /// Rows and columns brought to a sum of one by turns (`build_hc_sinkhorn`).
    fn balanced(&mut self, comb: Id) -> Id {
        let comb = self.graph.soft_max(comb, None, None);
        let epsilon = self.graph.bare(Type::F32, [1, 1, 1, 1]);
        let epsilon = self.graph.map(Op::Fill, epsilon);
        let comb = self.graph.add(comb, epsilon);
        let mut comb = self.balanced_columns(comb, epsilon);
        for _ in 1..BALANCING_ROUNDS {
            let sums = self.graph.sum_rows(comb);
            let sums = self.graph.add(sums, epsilon);
            comb = self.graph.zip(Op::Div, comb, sums);
            comb = self.balanced_columns(comb, epsilon);
        }
        comb
    }

    fn balanced_columns(&mut self, comb: Id, epsilon: Id) -> Id {
        let turned = self.graph.permute(comb, [1, 0, 2, 3]);
        let turned = self.graph.cont(turned);
        let sums = self.graph.sum_rows(turned);
        let sums = self.graph.add(sums, epsilon);
        let sums = self.graph.permute(sums, [1, 0, 2, 3]);
        self.graph.zip(Op::Div, comb, sums)
    }
}

/// Bytes of a value of the mixes.
const F32: u64 = 4;

//! One layer of a vision tower: attention and network (`build_vit`, `build_attn`, `build_ffn`).

use super::Run;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::{TowerKind, product};
use crate::quant::Type;

impl Run<'_> {
    pub(super) fn layer(&mut self, index: Option<usize>, input: Id) -> Id {
        let width = self.width();
        self.graph.stage(Part::Attention, index);
        let normed = self.norm(width, input);
        // Every eighth layer of Qwen2.5-VL sees the whole image.
        let windowed = index.is_some_and(|index| (index + 1) % 8 != 0);
        let mask = self.mask.filter(|_| windowed);
        let mut attended = self.attention(normed, mask);
        if self.tower().kind == TowerKind::Gemma4 {
            attended = self.norm(width, attended);
        }
        let residual = self.graph.add(attended, input);
        self.graph.stage(Part::FeedForward, index);
        let normed = self.norm(width, residual);
        let mut out = self.network(normed);
        if self.tower().kind == TowerKind::Gemma4 {
            out = self.norm(width, out);
        }
        self.graph.add(residual, out)
    }

    pub(super) fn attention(&mut self, a: Id, mask: Option<Id>) -> Id {
        let (width, tokens) = (self.width(), self.tokens());
        let heads = self.tower().heads.max(1);
        let head = width / heads;
        let [mut q, mut k, mut v] = self.queries(a, head, heads);
        for ids in self.positions.clone() {
            q = self.graph.rope(q, ids, None);
            k = self.graph.rope(k, ids, None);
        }
        if self.tower().kind == TowerKind::Gemma4 {
            v = self.graph.map(Op::RmsNorm, v);
        }
        for id in [q, k, v] {
            self.graph.expand(id);
        }
        let first = [0, 2, 1, 3];
        let q = self.graph.permute(q, first);
        let k = self.graph.permute(k, first);
        let mixed = if self.fused {
            let v = self.graph.permute(v, first);
            let k = self.graph.cast(k, Type::F16);
            let v = self.graph.cast(v, Type::F16);
            let mask = mask.unwrap_or(Id::NONE);
            let mixed = self.graph.flash_attn(q, k, v, mask, None);
            self.attentions.push(mixed);
            self.graph.reshape(mixed, [width, tokens, 1, 1])
        } else {
            let v = self.graph.permute(v, [1, 2, 0, 3]);
            let v = self.graph.cont(v);
            let scores = self.graph.mul_mat(k, q);
            let scores = self.graph.soft_max(scores, mask, None);
            let mixed = self.graph.mul_mat(v, scores);
            let mixed = self.graph.permute(mixed, first);
            self.graph.cont_as(mixed, [width, tokens, 1, 1])
        };
        let out = self.matrix(width, width, mixed);
        if self.has_biases() || self.tower().kind == TowerKind::Qwen25 {
            self.bias(width, out)
        } else {
            out
        }
    }

    /// Queries, keys and values by head: views of one product, or three of them.
    pub(super) fn queries(&mut self, a: Id, head: u64, heads: u64) -> [Id; 3] {
        let (width, tokens) = (self.width(), self.tokens());
        let kind = self.tower().kind;
        if matches!(kind, TowerKind::Qwen3 | TowerKind::Moon) {
            let triple = width.saturating_mul(3);
            let joint = self.matrix(width, triple, a);
            let joint = self.bias(triple, joint);
            let row = self.graph.at(joint).nb[1];
            return [0, 1, 2].map(|part: u64| {
                let offset = product(&[part, width, 4]);
                self.graph
                    .view_3d(joint, [head, heads, tokens], [head * 4, row], offset)
            });
        }
        let biased = self.has_biases() || kind == TowerKind::Qwen25;
        let mut parts = [Id::NONE; 3];
        for part in &mut parts {
            let mut product = self.matrix(width, width, a);
            if biased {
                product = self.bias(width, product);
            }
            *part = self.graph.reshape(product, [head, heads, tokens, 1]);
        }
        if kind == TowerKind::Gemma4 {
            let [q, k, v] = parts;
            return [self.norm(head, q), self.norm(head, k), v];
        }
        parts
    }

    pub(super) fn network(&mut self, a: Id) -> Id {
        let (width, inner) = (self.width(), self.tower().intermediate_size);
        let biased = self.has_biases() || self.tower().kind == TowerKind::Qwen25;
        let mut up = self.matrix(width, inner, a);
        if biased {
            up = self.bias(inner, up);
        }
        let active = if self.is_gated() {
            let mut gate = self.matrix(width, inner, a);
            if biased {
                gate = self.bias(inner, gate);
            }
            self.graph.glu_split(gate, up)
        } else {
            self.graph.map(Op::Unary, up)
        };
        let out = self.matrix(inner, width, active);
        if biased { self.bias(width, out) } else { out }
    }
}

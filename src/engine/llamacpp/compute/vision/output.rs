//! From patches to tokens of the language model.

use super::Run;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::TowerKind;
use crate::quant::Type;

impl Run<'_> {
    /// Groups of patches as one row each.
    pub(super) fn groups(&mut self, a: Id) -> (Id, u64, u64) {
        let merge = self.vision.spatial_merge_size.max(1);
        let area = merge.saturating_mul(merge);
        let wide = self.width().saturating_mul(area);
        let rows = self.patches() / area;
        let kind = self.tower().kind;
        let grouped = if matches!(kind, TowerKind::Qwen25 | TowerKind::Qwen3) {
            // They are in this order already.
            self.graph.reshape(a, [wide, rows, 1, 1])
        } else {
            self.graph.cont_as(a, [wide, rows, 1, 1])
        };
        (grouped, wide, rows)
    }

    /// Two matrices over groups of patches, as images enter further layers (Qwen3-VL).
    pub(super) fn merged_network(&mut self, a: Id) -> Id {
        let (grouped, wide, _) = self.groups(a);
        let normed = self.norm(wide, grouped);
        self.two_matrices(normed, wide, wide, true)
    }

    pub(super) fn two_matrices(&mut self, a: Id, wide: u64, inner: u64, biased: bool) -> Id {
        let out = self.tower().output_size;
        let mut hidden = self.matrix(wide, inner, a);
        if biased {
            hidden = self.bias(inner, hidden);
        }
        let active = self.graph.map(Op::Unary, hidden);
        let tokens = self.matrix(inner, out, active);
        if biased {
            self.bias(out, tokens)
        } else {
            tokens
        }
    }

    /// From patches to tokens of the language model.
    pub(super) fn projector(&mut self, a: Id) -> Id {
        self.graph.stage(Part::Output, None);
        let (width, out) = (self.width(), self.tower().output_size);
        match self.tower().kind {
            TowerKind::Siglip | TowerKind::Gemma4 => {
                let turned = self.graph.transpose(a);
                let turned = self.graph.cont(turned);
                let merge = self.vision.spatial_merge_size.max(1);
                let rows = self.patches() / merge.saturating_mul(merge).max(1);
                let pooled = self
                    .graph
                    .node(Op::Cont, Type::F32, [rows, width, 1, 1], [turned]);
                let pooled = self.graph.transpose(pooled);
                let pooled = self.graph.cont(pooled);
                let normed = self.graph.map(Op::RmsNorm, pooled);
                self.matrix(width, out, normed)
            }
            TowerKind::Pixtral => {
                let normed = self.norm(width, a);
                let turned = self.graph.permute(normed, [2, 0, 1, 3]);
                let turned = self.graph.cont(turned);
                let (grouped, wide, _) = self.groups(turned);
                let merged = self.matrix(wide, width, grouped);
                self.two_matrices(merged, width, out, false)
            }
            TowerKind::Llama4 => {
                let row = self.graph.at(a).nb[1];
                let patches = self.patches();
                let seen = self.graph.view_2d(a, width, patches, row, 0);
                let (grouped, wide, _) = self.groups(seen);
                let again = self.graph.cont(grouped);
                self.two_matrices(again, wide, wide.min(out), false)
            }
            TowerKind::Moon => {
                let (grouped, wide, _) = self.groups(a);
                let normed = self.norm(wide, grouped);
                self.two_matrices(normed, wide, wide, true)
            }
            TowerKind::Qwen25 | TowerKind::Qwen3 | TowerKind::Other => {
                let (grouped, wide, rows) = self.groups(a);
                let tokens = self.two_matrices(grouped, wide, wide, true);
                if self.mask.is_none() {
                    return tokens;
                }
                let ids = self.graph.input(Type::I32, [rows, 1, 1, 1]);
                self.graph.get_rows(tokens, ids)
            }
        }
    }
}

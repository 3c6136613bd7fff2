//! From pixels to the last layer of a vision tower.

use super::Run;
use crate::engine::llamacpp::compute::tensor::{Id, Op, Part};
use crate::model::{TowerKind, product};
use crate::quant::Type;

impl Run<'_> {
    pub(super) fn build(&mut self) -> Id {
        let (tokens, width) = (self.tokens(), self.width());
        self.graph.stage(Part::Input, None);
        let rotations = match self.tower().kind {
            TowerKind::Qwen25 | TowerKind::Qwen3 => 1,
            TowerKind::Pixtral | TowerKind::Llama4 | TowerKind::Gemma4 | TowerKind::Moon => 2,
            TowerKind::Siglip | TowerKind::Other => 0,
        };
        // One number per patch and axis; four for rotations by sections.
        let per_patch = if rotations == 1 { 4 } else { 1 };
        self.positions = (0..rotations)
            .map(|_| {
                let ne = [tokens.saturating_mul(per_patch), 1, 1, 1];
                self.graph.input(Type::I32, ne)
            })
            .collect();
        let mut stream = self.input();
        if matches!(self.tower().kind, TowerKind::Pixtral | TowerKind::Llama4) {
            stream = self.norm(width, stream);
        }
        if self.tower().kind == TowerKind::Qwen25 {
            stream = self.windows(stream);
        }
        let layers = self.vision.encoder.num_hidden_layers;
        let deepstack = self.vision.deepstack;
        let mut images: Option<Id> = None;
        for layer in 0..layers {
            let index = usize::try_from(layer).ok();
            stream = self.layer(index, stream);
            // Which layers hand out images changes nothing but how early their tokens are kept.
            if layer >= layers.saturating_sub(deepstack) {
                let image = self.merged_network(stream);
                images = Some(match images {
                    Some(images) => self.graph.concat(images, image, 0),
                    None => image,
                });
            }
        }
        if matches!(
            self.tower().kind,
            TowerKind::Siglip
                | TowerKind::Qwen3
                | TowerKind::Qwen25
                | TowerKind::Llama4
                | TowerKind::Moon
        ) {
            stream = self.norm(width, stream);
        }
        let tokens = self.projector(stream);
        match images {
            Some(images) => self.graph.concat(tokens, images, 0),
            None => tokens,
        }
    }

    /// From pixels to the first layer.
    pub(super) fn input(&mut self) -> Id {
        let (side, width) = (self.picture.side, self.width());
        let edge = side.saturating_mul(self.vision.patch_size);
        let mut raw = self.graph.input(Type::F32, [edge, edge, 3, 1]);
        if self.tower().kind == TowerKind::Gemma4 {
            raw = self.graph.scale(raw);
        }
        let mut stream = self.convolution(raw);
        if matches!(self.tower().kind, TowerKind::Qwen25 | TowerKind::Qwen3) {
            // Both frames of a video see a still image.
            let second = self.convolution(raw);
            let both = self.graph.add(stream, second);
            let turned = self.graph.permute(both, [1, 2, 0, 3]);
            let rows = [width.saturating_mul(2), side / 2, side, 1];
            stream = self.graph.cont_as(turned, rows);
            stream = self.pairs(stream);
        } else if self.tower().kind != TowerKind::Llama4 {
            let flat = [self.patches(), width, 1, 1];
            let flat = self.graph.reshape(stream, flat);
            let turned = self.graph.transpose(flat);
            stream = self.graph.cont(turned);
        }
        match self.tower().kind {
            TowerKind::Qwen3 => {
                stream = self.bias(width, stream);
                let table = self.weight(Type::F32, [width, self.patches(), 1, 1]);
                // Brought to the size of the image.
                let resized = self.graph.cont(table);
                let resized = self.pairs(resized);
                self.graph.add(stream, resized)
            }
            TowerKind::Siglip => {
                stream = self.bias(width, stream);
                let table = self.weight(Type::F32, [width, self.patches(), 1, 1]);
                self.graph.add(stream, table)
            }
            TowerKind::Moon => {
                stream = self.bias(width, stream);
                let table = self.weight(Type::F32, [width, self.patches(), 1, 1]);
                let resized = self.graph.cont(table);
                self.graph.add(stream, resized)
            }
            TowerKind::Gemma4 => {
                for ids in self.positions.clone() {
                    let table = self.weight(Type::F32, [width, self.patches(), 1, 1]);
                    let rows = self.graph.get_rows(table, ids);
                    stream = self.graph.add(stream, rows);
                }
                stream
            }
            TowerKind::Llama4 => {
                let class = self.weight(Type::F32, [width, 1, 1, 1]);
                let joined = self.graph.concat(stream, class, 1);
                let table = self.weight(Type::F32, [width, self.tokens(), 1, 1]);
                self.graph.add(joined, table)
            }
            TowerKind::Qwen25 | TowerKind::Pixtral | TowerKind::Other => stream,
        }
    }

    /// Patches as rows of pixels, times the patch embedding (`ggml_conv_2d`); Llama 4 has it the other way round.
    pub(super) fn convolution(&mut self, raw: Id) -> Id {
        let (side, width) = (self.picture.side, self.width());
        let pixels = product(&[3, self.vision.patch_size, self.vision.patch_size]);
        let direct = self.tower().kind == TowerKind::Llama4;
        let dtype = if direct {
            Type::F32
        } else {
            self.picture.patches
        };
        let lines = self
            .graph
            .node(Op::Cont, dtype, [pixels, side, side, 1], [raw]);
        let lines = self.graph.reshape(lines, [pixels, self.patches(), 1, 1]);
        let kernel = self.weight(self.picture.patches, [pixels, width, 1, 1]);
        if direct {
            return self.graph.mul_mat(kernel, lines);
        }
        let planes = self.graph.mul_mat(lines, kernel);
        let planes = self.graph.reshape(planes, [side, side, 1, width]);
        let turned = self.graph.permute(planes, [0, 1, 3, 2]);
        self.graph.cont(turned)
    }

    /// Patches in the order of their groups of four.
    pub(super) fn pairs(&mut self, a: Id) -> Id {
        let (side, width) = (self.picture.side, self.width());
        let groups = [width.saturating_mul(2), side / 2, 2, side / 2];
        let groups = self.graph.reshape(a, groups);
        let turned = self.graph.permute(groups, [0, 2, 1, 3]);
        self.graph.cont_as(turned, [width, self.patches(), 1, 1])
    }

    /// Patches in the order of their windows, and who sees whom.
    pub(super) fn windows(&mut self, a: Id) -> Id {
        let (patches, width) = (self.patches(), self.width());
        let ids = self.graph.input(Type::I32, [patches / 4, 1, 1, 1]);
        let mask = self.graph.input(Type::F32, [patches, patches, 1, 1]);
        self.mask = Some(if self.fused {
            self.graph.cast(mask, Type::F16)
        } else {
            mask
        });
        let groups = [width.saturating_mul(4), patches / 4, 1, 1];
        let groups = self.graph.reshape(a, groups);
        let rows = self.graph.get_rows(groups, ids);
        self.graph.reshape(rows, [width, patches, 1, 1])
    }
}

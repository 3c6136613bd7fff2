//! How large the images are that a tower is made ready for, and can be given.

use crate::model::{TowerKind, Vision};

/// Patches along each edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Of the image with which the buffer is made.
    pub(super) first: u64,
    /// Of the largest image.
    pub(super) largest: u64,
    merge: u64,
}

impl Sizes {
    /// Those of a tower with the limits of a plan in tokens, 0 where it leaves them to the model
    /// (`set_limit_image_tokens`, `set_warmup_n_tokens` in `tools/mtmd/clip-model.h` and their calls in `clip.cpp`,
    /// 0.6.0-dev). `None`: the tower is not known.
    pub(super) fn of(vision: &Vision, least: u64, most: u64) -> Option<Self> {
        let merge = vision.spatial_merge_size.max(1);
        // Tokens of the first image, and of the largest one unless the plan says otherwise.
        let (ready, limit) = match vision.tower.kind {
            TowerKind::Qwen25 | TowerKind::Qwen3 => (46 * 46, 4096),
            TowerKind::Pixtral => (256, 1024),
            TowerKind::Gemma4 => (256, 1120),
            TowerKind::Moon => (4096, 4096),
            // Images are cut or brought to one size.
            TowerKind::Siglip | TowerKind::Llama4 => {
                let side = vision.tower.image_size.checked_div(vision.patch_size)?;
                return Some(Self {
                    first: side,
                    largest: side,
                    merge,
                });
            }
            TowerKind::Other => return None,
        };
        let limit = if most > 0 { most } else { limit }.max(least);
        let ready = ready.min(limit);
        let side = |tokens: u64| tokens.isqrt().max(1).saturating_mul(merge);
        Some(Self {
            first: side(ready),
            largest: side(limit),
            merge,
        })
    }

    /// Tokens of an image with so many patches along each edge.
    pub(super) fn tokens(self, side: u64) -> u64 {
        let edge = side / self.merge.max(1);
        edge.saturating_mul(edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tower;

    #[test]
    fn limits_reduce_both_images() {
        let vision = Vision {
            tower: Tower {
                kind: TowerKind::Qwen3,
                ..Tower::default()
            },
            spatial_merge_size: 2,
            patch_size: 16,
            ..Vision::default()
        };
        for ((least, most), (first, largest)) in [
            ((0, 0), (92, 128)),
            ((0, 1024), (64, 64)),
            ((0, 16_384), (92, 256)),
            ((8192, 0), (92, 180)),
        ] {
            let sizes = Sizes::of(&vision, least, most).unwrap();
            assert_eq!((sizes.first, sizes.largest), (first, largest));
        }
    }
}

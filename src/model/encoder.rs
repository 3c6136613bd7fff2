/// A part of the model that engines load apart from the language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoder {
    /// All its parameters, projector included.
    pub parameters: u64,
    /// Width of its layers.
    pub hidden_size: u64,
    /// How many layers.
    pub num_hidden_layers: u64,
}

/// The vision tower, as far as engines must know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vision {
    /// Its size.
    pub encoder: Encoder,
    /// What it is made of.
    pub tower: Tower,
    /// Intermediate outputs that enter the first layers of the language model (`deepstack_visual_indexes`).
    pub deepstack: u64,
    /// Edge of a patch in pixels.
    pub patch_size: u64,
    /// Patches along one edge that become one token.
    pub spatial_merge_size: u64,
}

/// What a vision tower is made of, projector included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tower {
    /// Whose tower.
    pub kind: TowerKind,
    /// Its parameters by what they are.
    pub shares: Shares,
    /// Attention heads.
    pub heads: u64,
    /// Width of the feed-forward network.
    pub intermediate_size: u64,
    /// Edge of an image in pixels; 0 where any size is taken.
    pub image_size: u64,
    /// Width of the tokens that it makes: that of the language model.
    pub output_size: u64,
}

/// Whose tower it is: what its layers compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TowerKind {
    /// One of which no more than the size is known.
    #[default]
    Other,
    /// Qwen2.5-VL.
    Qwen25,
    /// Qwen3-VL, Qwen3.5.
    Qwen3,
    /// Pixtral.
    Pixtral,
    /// Llama 4.
    Llama4,
    /// SigLIP as in Gemma 3.
    Siglip,
    /// Gemma 4.
    Gemma4,
    /// MoonViT.
    Moon,
}

/// Parameters by what they are, which decides how files store them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shares {
    /// Matrices.
    pub matrices: u64,
    /// From pixels to the first layer.
    pub patches: u64,
    /// Learnt positions.
    pub positions: u64,
    /// Norms, biases, separators.
    pub vectors: u64,
}

impl Shares {
    /// All of them.
    pub fn total(self) -> u64 {
        super::sum(&[self.matrices, self.patches, self.positions, self.vectors])
    }

    /// Both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            matrices: self.matrices.saturating_add(other.matrices),
            patches: self.patches.saturating_add(other.patches),
            positions: self.positions.saturating_add(other.positions),
            vectors: self.vectors.saturating_add(other.vectors),
        }
    }

    /// So many of the same.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self {
            matrices: self.matrices.saturating_mul(count),
            patches: self.patches.saturating_mul(count),
            positions: self.positions.saturating_mul(count),
            vectors: self.vectors.saturating_mul(count),
        }
    }
}

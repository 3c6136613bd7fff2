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
    /// Intermediate outputs that enter the first layers of the language model (`deepstack_visual_indexes`); they
    /// widen its input embeddings even where no image is used.
    pub deepstack: u64,
    /// Edge of a patch in pixels.
    pub patch_size: u64,
    /// Patches along one edge that become one token.
    pub spatial_merge_size: u64,
}

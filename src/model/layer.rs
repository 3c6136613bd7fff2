use super::{FeedForward, Mixer};

/// One block of the decoder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layer {
    /// What looks at other tokens.
    pub mixer: Mixer,
    /// What works on each token alone.
    pub feed_forward: FeedForward,
    /// Norms of the residual stream.
    pub norms: Norms,
    /// A learnt scalar multiplies the layer's output (Gemma 4).
    pub output_scale: bool,
}

/// Which norms over `hidden_size` a layer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named as configurations name it"
)]
pub struct Norms {
    /// What each of them is.
    pub kind: Norm,
    /// Before the mixer.
    pub before_mixer: bool,
    /// After the mixer, before the residual is added (Gemma 2 and later, OLMo 2, GLM-4-0414).
    pub after_mixer: bool,
    /// Before the feed-forward network; absent where mixer and network run in parallel (Cohere).
    pub before_feed_forward: bool,
    /// After the feed-forward network, before the residual is added.
    pub after_feed_forward: bool,
}

impl Norms {
    /// Before the mixer and before the feed-forward network, as most models have it.
    pub const fn before(kind: Norm) -> Self {
        Self {
            kind,
            before_mixer: true,
            after_mixer: false,
            before_feed_forward: true,
            after_feed_forward: false,
        }
    }

    /// How many there are.
    pub fn count(self) -> u64 {
        let Self {
            kind: _,
            before_mixer,
            after_mixer,
            before_feed_forward,
            after_feed_forward,
        } = self;
        [
            before_mixer,
            after_mixer,
            before_feed_forward,
            after_feed_forward,
        ]
        .into_iter()
        .map(u64::from)
        .sum()
    }
}

/// A normalization of a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Norm {
    /// Root mean square, one weight per element.
    #[default]
    Rms,
    /// Mean and variance, a weight per element.
    LayerNorm,
    /// Mean and variance, a weight and a bias per element.
    LayerNormWithBias,
}

impl Norm {
    /// Parameters over `width` elements.
    pub fn parameters(self, width: u64) -> u64 {
        match self {
            Self::Rms | Self::LayerNorm => width,
            Self::LayerNormWithBias => width.saturating_mul(2),
        }
    }
}

//! What looks at other tokens: one file per kind.

mod attention;
mod compressed;
mod gated_delta;
mod kimi_delta;
mod latent;
mod lightning;
mod mamba2;

pub use attention::{Attention, BlockIndexer, Cache, QkNorm, Reach};
pub use compressed::CompressedAttention;
pub use gated_delta::GatedDeltaNet;
pub use kimi_delta::KimiDelta;
pub use latent::{Indexer, LatentAttention};
pub use lightning::LightningAttention;
pub use mamba2::Mamba2;

/// The token mixer of one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mixer {
    /// Nothing: a layer of only a feed-forward network.
    #[default]
    None,
    /// Softmax attention with a cache of keys and values (MHA, MQA, GQA; full or windowed).
    Attention(Attention),
    /// Multi-head latent attention, with a sparse indexer where the model has one (DeepSeek-V2 to V3.2, Kimi, GLM-5).
    Latent(LatentAttention),
    /// Sliding attention plus compressed entries (DeepSeek-V4).
    Compressed(CompressedAttention),
    /// Gated delta net (Qwen3-Next, Qwen3.5).
    GatedDelta(GatedDeltaNet),
    /// Kimi delta attention (Kimi Linear, K3).
    KimiDelta(KimiDelta),
    /// Mamba-2 (Nemotron-H, Granite-4-H).
    Mamba2(Mamba2),
    /// Lightning attention (MiniMax-M1).
    Lightning(LightningAttention),
    /// Attention and Mamba-2 side by side on the same input (Falcon-H1).
    AttentionAndMamba2(Attention, Mamba2),
}

impl Mixer {
    /// Parameters for vectors of `hidden_size`, norms inside the mixer included.
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Attention(attention) => attention.parameters(hidden_size),
            Self::Latent(latent) => latent.parameters(hidden_size),
            Self::Compressed(compressed) => compressed.parameters(hidden_size),
            Self::GatedDelta(delta) => delta.parameters(hidden_size),
            Self::KimiDelta(delta) => delta.parameters(hidden_size),
            Self::Mamba2(mamba) => mamba.parameters(hidden_size),
            Self::Lightning(lightning) => lightning.parameters(hidden_size),
            Self::AttentionAndMamba2(attention, mamba) => attention
                .parameters(hidden_size)
                .saturating_add(mamba.parameters(hidden_size)),
        }
    }

    /// The softmax attention with keys and values, where the mixer has one.
    pub fn attention(&self) -> Option<&Attention> {
        match self {
            Self::Attention(attention) | Self::AttentionAndMamba2(attention, _) => Some(attention),
            _ => None,
        }
    }

    /// Whether it keeps a state of fixed size instead of, or beside, a growing cache.
    pub fn is_recurrent(&self) -> bool {
        match self {
            Self::GatedDelta(_)
            | Self::KimiDelta(_)
            | Self::Mamba2(_)
            | Self::Lightning(_)
            | Self::AttentionAndMamba2(..) => true,
            Self::None | Self::Attention(_) | Self::Latent(_) | Self::Compressed(_) => false,
        }
    }
}

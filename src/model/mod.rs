//! What a model is: hyper-parameters, attention kinds, experts, parameter counts. Names are those of Hugging Face
//! configurations; [`from_config`] reads one.
//!
//! A [`Model`] is a list of [`Layer`]s, each a [`Mixer`] (what looks at other tokens) and a [`FeedForward`] (what does
//! not), plus what stands outside of the layers. Where layers differ, the layers differ here; engines never have to
//! know a family's pattern.

mod checkpoint;
mod config;
mod configuration;
mod count;
mod encoder;
mod family;
mod feed_forward;
mod layer;
pub mod mixer;
mod outside;
mod quantization;
mod read;
mod vision;

pub use checkpoint::{Attached, AttachedAs, Checkpoint, Container, FileTensor, TensorRole, Unread};
pub use config::Error;
pub use configuration::Configuration;
pub use count::Parameters;
pub use encoder::{Encoder, Shares, Tower, TowerKind, Vision};
pub use feed_forward::{Dense, Experts, FeedForward, HashRouting, Scoring, SharedExpert};
pub use layer::{Layer, Norm, Norms};
pub use mixer::Mixer;
pub use outside::{
    AltUp, BlockResiduals, HyperConnections, MultiTokenPrediction, PerLayerInputs, Positions,
    RopeFactors,
};
pub use quantization::{Format, Grouping, Method, Quantization, Scheme};
pub use read::{Published, from_config, from_fields, quantization_of};

use std::sync::Arc;

/// A model, as its configuration or file describes it. All sizes are bounded where they are read; arithmetic on
/// several of them must still saturate ([`product`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named as configurations name it"
)]
pub struct Model {
    /// What to call it.
    pub name: String,
    /// The language model's `model_type` ("deepseek_v3", "gemma3_text"); engines choose their architecture by it.
    pub model_type: String,
    /// The configuration's first `architectures` entry ("Mistral3ForConditionalGeneration"); empty where it has none.
    pub architecture: String,
    /// The outer `model_type` where the language model is nested in it ("mistral3").
    pub wrapper_type: Option<String>,
    /// Width of the residual stream.
    pub hidden_size: u64,
    /// Rows of the embedding.
    pub vocab_size: u64,
    /// Longest context the published model is meant for, its own context scaling (YaRN, ...) included.
    pub context_length: u64,
    /// `max_position_embeddings` as written; 0 where the configuration has no such field (ALiBi).
    pub max_position_embeddings: u64,
    /// Output head and embedding are one matrix.
    pub tie_word_embeddings: bool,
    /// The published checkpoint stores a head although the model ties it.
    pub stores_tied_head: bool,
    /// The output head has a bias (Phi-3.5-MoE).
    pub lm_head_bias: bool,
    /// The embedding's output is scaled (Gemma, Granite, MiniCPM).
    pub scaled_embedding: bool,
    /// A tanh caps the logits (`final_logit_softcapping`).
    pub final_logit_softcapping: bool,
    /// Activation of the feed-forward networks.
    pub activation: Activation,
    /// How positions enter.
    pub positions: Positions,
    /// Norm before the output head.
    pub final_norm: Norm,
    /// The main model's layers in order, prediction blocks not included.
    pub layers: Vec<Layer>,
    /// Blocks that predict further tokens (MTP, NextN).
    pub mtp: Option<MultiTokenPrediction>,
    /// A second embedding whose rows feed every layer (Gemma 3n, Gemma 4 E models).
    pub per_layer_inputs: Option<PerLayerInputs>,
    /// Several predicted residual streams (Gemma 3n).
    pub alt_up: Option<AltUp>,
    /// Several mixed residual streams (DeepSeek-V4).
    pub hyper_connections: Option<HyperConnections>,
    /// Attention over the residuals of earlier blocks (Kimi K3).
    pub block_residuals: Option<BlockResiduals>,
    /// Vision tower and projector.
    pub vision: Option<Vision>,
    /// Intermediate outputs of a vision tower that enter the first layers; they widen the input embeddings even where
    /// no image is used.
    pub deepstack: u64,
    /// Audio tower and projector, as far as known.
    pub audio: Option<Encoder>,
    /// A model that is no decoder of text (BERT, ResNet): its parameters in one number, no layers.
    pub other: Option<Encoder>,
    /// How the published weights are quantized, where they are.
    pub quantization: Option<Quantization>,
    /// The files it was opened from, tensor by tensor.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// The configuration that it was read from.
    pub configuration: Configuration,
    /// What is loaded beside it.
    pub attached: Attached,
    /// What had to be assumed because the files do not say it, each a whole sentence for the reader of a report.
    pub assumptions: Vec<String>,
    /// Equal for equal models; keys of caches are made of it.
    pub fingerprint: u64,
}

impl Model {
    /// Its files, where nothing is known of the model but what they hold: no layers, no caches.
    pub fn only_weights(&self) -> Option<&Checkpoint> {
        self.checkpoint
            .as_deref()
            .filter(|_| self.layers.is_empty())
    }

    /// A model of which nothing is known but what its files hold, for this reason.
    pub fn of_weights(
        name: String,
        model_type: String,
        checkpoint: Arc<Checkpoint>,
        reason: &str,
    ) -> Self {
        let model = Self {
            name,
            model_type,
            other: Some(Encoder {
                parameters: checkpoint.parameters(),
                ..Encoder::default()
            }),
            checkpoint: Some(checkpoint),
            assumptions: vec![format!("Nothing but the weights is counted: {reason}.")],
            ..Self::default()
        };
        model.sealed()
    }

    /// Its layers: those known, or those that the names of its tensors count.
    pub fn blocks(&self) -> u32 {
        match self.only_weights() {
            Some(file) => file.blocks,
            None => u32::try_from(self.layers.len()).unwrap_or(u32::MAX),
        }
    }
}

/// Activation between the matrices of a feed-forward network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Activation {
    /// SiLU; with a gate, SwiGLU.
    #[default]
    Silu,
    /// GELU, exact or by tanh; with a gate, GeGLU.
    Gelu,
    /// ReLU.
    Relu,
    /// Squared ReLU (Nemotron-H).
    Relu2,
    /// SwiGLU with clamped inputs and a scaled sigmoid (gpt-oss, MiniMax-M3).
    ClampedSwiglu,
    /// Kimi K3's scaled tanh unit.
    Situ,
}

/// The product, saturating at `u64::MAX`.
pub fn product(factors: &[u64]) -> u64 {
    factors
        .iter()
        .fold(1, |product: u64, factor| product.saturating_mul(*factor))
}

/// The sum, saturating at `u64::MAX`.
pub fn sum(terms: &[u64]) -> u64 {
    terms
        .iter()
        .fold(0, |sum: u64, term| sum.saturating_add(*term))
}

//! NVIDIA's Nemotron-H and 3 (Mamba-2 hybrids by pattern) and Nemotron Super (layers found by search).

use super::base;
use super::mixture::prediction;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{Attention, Mamba2};
use crate::model::{
    Dense, Experts, FeedForward, Layer, Mixer, Model, Norm, Norms, Scoring, SharedExpert,
};

/// Each layer is one of attention, Mamba-2, a dense network or experts, as a pattern spells it.
pub(super) fn hybrid(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let attention = attention(config, &model)?;
    let mamba = mamba(config)?;
    let experts = experts(config)?;
    for kind in kinds(config)? {
        model.layers.push(match kind {
            Kind::Mamba => mixer_layer(Mixer::Mamba2(mamba)),
            Kind::Attention => mixer_layer(Mixer::Attention(attention)),
            Kind::Dense => feed_forward_layer(FeedForward::Dense(dense(config)?)),
            Kind::Experts => feed_forward_layer(routed(config, experts.as_ref())?),
        });
    }
    // The prediction block is an attention layer and an expert layer with one joining projection
    // (`mtp_hybrid_override_pattern` "*E").
    if let Some(experts) = experts {
        let block = base::layer(
            Mixer::Attention(attention),
            FeedForward::Experts(Box::new(experts)),
            Norms::before(Norm::Rms),
        );
        model.mtp = prediction(config, &block, false)?;
    }
    Ok(model)
}

/// A word per layer.
const WORDS: &str = "layers_block_type";
/// A letter per layer.
const LETTERS: &str = "hybrid_override_pattern";
/// An object per layer.
const BLOCKS: &str = "block_configs";

/// What a layer consists of.
#[derive(Clone, Copy)]
enum Kind {
    Mamba,
    Attention,
    Dense,
    Experts,
}

/// The kinds of the layers: the letters of `hybrid_override_pattern`, or the words of `layers_block_type`.
fn kinds(config: &Config<'_>) -> Result<Vec<Kind>, Error> {
    if let Some(list) = config.list(WORDS)? {
        let depth = base::depth_or(config, list.len())?;
        let words = config.texts_per_layer(WORDS, depth)?.unwrap_or_default();
        let kind = |word: &&str| match *word {
            "mamba" => Ok(Kind::Mamba),
            "attention" => Ok(Kind::Attention),
            "mlp" => Ok(Kind::Dense),
            "moe" => Ok(Kind::Experts),
            _ => Err(unknown(config, WORDS, word)),
        };
        return words.iter().map(kind).collect();
    }
    let letters = config.text(LETTERS)?.ok_or_else(|| Error::Missing {
        field: LETTERS.to_owned(),
    })?;
    let depth = base::depth_or(config, letters.len())?;
    let cut = letters.get(..depth).ok_or_else(|| {
        let reason = format!("has {} letters for {depth} layers", letters.len());
        config.inconsistent(LETTERS, reason)
    })?;
    let kind = |letter| match letter {
        'M' => Ok(Kind::Mamba),
        '*' => Ok(Kind::Attention),
        '-' => Ok(Kind::Dense),
        'E' => Ok(Kind::Experts),
        other => Err(unknown(config, LETTERS, &other.to_string())),
    };
    cut.chars().map(kind).collect()
}

fn unknown(config: &Config<'_>, field: &str, kind: &str) -> Error {
    let kind: String = kind.chars().take(40).collect();
    config.inconsistent(field, format!("has a layer of unknown kind {kind:?}"))
}

fn mixer_layer(mixer: Mixer) -> Layer {
    let norms = Norms {
        before_feed_forward: false,
        ..Norms::before(Norm::Rms)
    };
    base::layer(mixer, FeedForward::None, norms)
}

fn feed_forward_layer(feed_forward: FeedForward) -> Layer {
    let norms = Norms {
        before_mixer: false,
        ..Norms::before(Norm::Rms)
    };
    base::layer(Mixer::None, feed_forward, norms)
}

fn attention(config: &Config<'_>, model: &Model) -> Result<Attention, Error> {
    let mut attention = base::attention(config, model)?;
    if let Some(head_dim) = config.positive("attention_head_dim", Limit::Width)? {
        attention.head_dim = head_dim;
        attention.v_head_dim = head_dim;
    }
    // The attention has no positions: the Mamba layers carry them.
    attention.rotary_dim = 0;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    Ok(attention)
}

fn mamba(config: &Config<'_>) -> Result<Mamba2, Error> {
    let heads = config.size("mamba_num_heads", Limit::Count)?;
    let head_dim = config.size("mamba_head_dim", Limit::Width)?;
    Ok(Mamba2 {
        d_inner: heads.saturating_mul(head_dim),
        num_heads: heads,
        d_state: config.size("ssm_state_size", Limit::Width)?,
        n_groups: config.size("n_groups", Limit::Count)?,
        d_conv: config.size("conv_kernel", Limit::Width)?,
        conv_bias: config.flag("use_conv_bias", true)?,
        proj_bias: config.flag("mamba_proj_bias", false)?,
        norm: true,
    })
}

fn dense(config: &Config<'_>) -> Result<Dense, Error> {
    Ok(Dense {
        intermediate_size: config.size("intermediate_size", Limit::Width)?,
        gated: false,
        bias: config.flag("mlp_bias", false)?,
    })
}

fn experts(config: &Config<'_>) -> Result<Option<Experts>, Error> {
    let Some(number) = config.positive("n_routed_experts", Limit::Count)? else {
        return Ok(None);
    };
    let width = config.size("moe_intermediate_size", Limit::Width)?;
    let count = config.count("n_shared_experts", Limit::Count)?.unwrap_or(0);
    let shared = config.positive("moe_shared_expert_intermediate_size", Limit::Width)?;
    Ok(Some(Experts {
        gated: false,
        correction_bias: true,
        correction_is_buffer: true,
        scoring: Scoring::Sigmoid,
        latent_size: config.positive("moe_latent_size", Limit::Width)?,
        shared: shared
            .filter(|_| count > 0)
            .map(|intermediate_size| SharedExpert {
                count,
                intermediate_size,
                gate: false,
            }),
        ..base::experts(config, number, width)?
    }))
}

fn routed(config: &Config<'_>, experts: Option<&Experts>) -> Result<FeedForward, Error> {
    let experts = experts.ok_or_else(|| {
        config.inconsistent(
            "n_routed_experts",
            "is missing, but some layers have experts",
        )
    })?;
    Ok(FeedForward::Experts(Box::new(experts.clone())))
}

/// Nemotron Super: `block_configs` says per layer whether there is attention, with which groups, and how wide the
/// network is.
pub(super) fn nas(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let attention = base::attention(config, &model)?;
    model.positions = base::positions(config, attention.rotary_dim)?;
    let blocks = config.per_layer(BLOCKS, base::depth(config)?)?;
    let blocks = blocks.ok_or_else(|| Error::Missing {
        field: BLOCKS.to_owned(),
    })?;
    for block in blocks {
        let block = config.element(BLOCKS, block)?;
        let mixer = nas_mixer(config, &block, attention)?;
        let feed_forward = nas_feed_forward(&block, model.hidden_size)?;
        let norms = Norms {
            before_mixer: mixer != Mixer::None,
            before_feed_forward: feed_forward != FeedForward::None,
            ..Norms::before(Norm::Rms)
        };
        model.layers.push(base::layer(mixer, feed_forward, norms));
    }
    Ok(model)
}

fn nas_mixer(
    config: &Config<'_>,
    block: &Config<'_>,
    attention: Attention,
) -> Result<Mixer, Error> {
    let Some(shape) = block.object("attention")? else {
        return Ok(Mixer::None);
    };
    if shape.flag("no_op", false)? {
        return Ok(Mixer::None);
    }
    if shape.flag("replace_with_linear", false)? {
        return Err(config.inconsistent("block_configs", "replaces attention by a linear layer"));
    }
    let per_group = shape.size("n_heads_in_group", Limit::Count)?;
    Ok(Mixer::Attention(Attention {
        num_key_value_heads: (attention.num_attention_heads / per_group).max(1),
        ..attention
    }))
}

fn nas_feed_forward(block: &Config<'_>, hidden_size: u64) -> Result<FeedForward, Error> {
    let Some(shape) = block.object("ffn")? else {
        return Ok(FeedForward::None);
    };
    if shape.flag("no_op", false)? {
        return Ok(FeedForward::None);
    }
    let factor = shape.number("ffn_mult")?.unwrap_or(0.0);
    if !(0.0..=1024.0).contains(&factor) {
        return Err(shape.inconsistent("ffn_mult", "is not from 0 to 1024"));
    }
    // The model's own `_ffn_mult_to_intermediate_size`: two thirds, up to a multiple of 256.
    let width = (2.0 * factor * hidden_size as f64 / 3.0) as u64;
    Ok(FeedForward::Dense(Dense::gated(
        width.next_multiple_of(256),
    )))
}

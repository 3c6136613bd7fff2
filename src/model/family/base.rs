//! What most families share.

use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{Attention, Indexer, Reach};
use crate::model::{
    Activation, Experts, FeedForward, Layer, Mixer, Model, Norm, Norms, Positions, RopeFactors,
};

/// Dimensions outside of the layers; the families fill in layers and what is special.
pub(super) fn model(config: &Config<'_>, tied: bool) -> Result<Model, Error> {
    let trained = config.positive("max_position_embeddings", Limit::Tokens)?;
    let longer = config
        .positive("model_max_length", Limit::Tokens)?
        .or(config.positive("seq_length", Limit::Tokens)?);
    Ok(Model {
        model_type: config.text("model_type")?.unwrap_or_default().to_owned(),
        hidden_size: config.size("hidden_size", Limit::Width)?,
        vocab_size: config.first_size(&["vocab_size", "padded_vocab_size"], Limit::Rows)?,
        context_length: trained.max(longer).unwrap_or_default(),
        max_position_embeddings: trained.unwrap_or_default(),
        tie_word_embeddings: config.flag("tie_word_embeddings", tied)?,
        activation: activation(config)?,
        ..Model::default()
    })
}

/// How many layers.
pub(super) fn depth(config: &Config<'_>) -> Result<usize, Error> {
    let layers = config.first_size(&["num_hidden_layers", "num_layers"], Limit::Layers)?;
    Ok(layers as usize)
}

/// How many layers; `absent` of them where only a list tells.
pub(super) fn depth_or(config: &Config<'_>, absent: usize) -> Result<usize, Error> {
    let layers = config.size_or("num_hidden_layers", Limit::Layers, absent as u64)?;
    if layers > Limit::Layers.most() {
        return Err(config.inconsistent("num_hidden_layers", "is more than any model has"));
    }
    Ok(layers as usize)
}

/// Activation of the feed-forward networks.
pub(super) fn activation(config: &Config<'_>) -> Result<Activation, Error> {
    let mut name = None;
    for field in [
        "hidden_act",
        "hidden_activation",
        "mlp_hidden_act",
        "activation_function",
    ] {
        name = name.or(config.text(field)?);
    }
    Ok(match name {
        Some("relu") => Activation::Relu,
        Some("relu2") => Activation::Relu2,
        Some("situ") => Activation::Situ,
        Some(name) if name.starts_with("gelu") => Activation::Gelu,
        _ => Activation::Silu,
    })
}

/// Softmax attention from the usual fields, without bias and norms.
pub(super) fn attention(config: &Config<'_>, model: &Model) -> Result<Attention, Error> {
    let heads = config.size("num_attention_heads", Limit::Count)?;
    let key_value = config.size_or("num_key_value_heads", Limit::Count, heads)?;
    if key_value > heads {
        return Err(config.inconsistent("num_key_value_heads", "exceeds `num_attention_heads`"));
    }
    let head_dim = match config.positive("head_dim", Limit::Width)? {
        Some(head_dim) => head_dim,
        None => (model.hidden_size / heads).max(1),
    };
    Ok(Attention {
        num_attention_heads: heads,
        num_key_value_heads: key_value,
        head_dim,
        v_head_dim: head_dim,
        rotary_dim: rotary_dim(config, head_dim)?,
        ..Attention::default()
    })
}

/// The object that describes the rotation, under its older or newer name.
fn rope<'a>(config: &Config<'a>) -> Result<Option<Config<'a>>, Error> {
    match config.object("rope_scaling")? {
        Some(scaling) => Ok(Some(scaling)),
        None => config.object("rope_parameters"),
    }
}

/// Rotated dimensions of a head of `head_dim`.
pub(super) fn rotary_dim(config: &Config<'_>, head_dim: u64) -> Result<u64, Error> {
    if let Some(dim) = config.positive("rotary_dim", Limit::Width)? {
        return Ok(dim.min(head_dim));
    }
    let mut factor = config.number("partial_rotary_factor")?;
    if factor.is_none()
        && let Some(rope) = rope(config)?
    {
        factor = rope.number("partial_rotary_factor")?;
    }
    match factor {
        None => Ok(head_dim),
        Some(factor) if (0.0..=1.0).contains(&factor) => Ok((head_dim as f64 * factor) as u64),
        Some(_) => Err(config.inconsistent("partial_rotary_factor", "must be from 0 to 1")),
    }
}

/// Tables of factors that come with the way the rotation is scaled, for heads with `rotary_dim` rotated dimensions.
pub(super) fn positions(config: &Config<'_>, rotary_dim: u64) -> Result<Positions, Error> {
    let Some(rope) = rope(config)? else {
        return Ok(Positions::Rotary);
    };
    let kind = match rope.text("rope_type")? {
        Some(kind) => Some(kind),
        None => rope.text("type")?,
    };
    let length = rotary_dim / 2;
    Ok(match kind {
        Some("llama3") => Positions::RotaryWithFactors(RopeFactors::One { length }),
        Some("longrope" | "su") => {
            Positions::RotaryWithFactors(RopeFactors::LongAndShort { length })
        }
        _ => Positions::Rotary,
    })
}

/// The window of `sliding_window`, where it is narrower than the context; wider ones change nothing (Phi-3).
pub(super) fn window(config: &Config<'_>, model: &Model) -> Result<Reach, Error> {
    let window = config.positive("sliding_window", Limit::Tokens)?;
    Ok(match window {
        Some(window) if model.context_length == 0 || window < model.context_length => {
            Reach::Window(window)
        }
        _ => Reach::Full,
    })
}

/// Which layers see only a window: `layer_types`, or all but every `period`-th.
pub(super) fn sliding_layers(
    config: &Config<'_>,
    depth: usize,
    period: u64,
) -> Result<Vec<bool>, Error> {
    if let Some(types) = config.texts_per_layer("layer_types", depth)? {
        return Ok(types.iter().map(|kind| *kind != "full_attention").collect());
    }
    let sliding = |layer: u64| !(layer + 1).is_multiple_of(period.max(1));
    Ok((0..depth as u64).map(sliding).collect())
}

/// Equal layers of attention and a feed-forward network.
pub(super) fn uniform(
    depth: usize,
    attention: Attention,
    feed_forward: &FeedForward,
    norms: Norms,
) -> Vec<Layer> {
    (0..depth)
        .map(|_| layer(Mixer::Attention(attention), feed_forward.clone(), norms))
        .collect()
}

/// A layer.
pub(super) fn layer(mixer: Mixer, feed_forward: FeedForward, norms: Norms) -> Layer {
    Layer {
        mixer,
        feed_forward,
        norms,
        output_scale: false,
    }
}

/// Norms before and after both mixer and feed-forward network.
pub(super) const AROUND: Norms = Norms {
    kind: Norm::Rms,
    before_mixer: true,
    after_mixer: true,
    before_feed_forward: true,
    after_feed_forward: true,
};

/// Norms after mixer and network only.
pub(super) const AFTER: Norms = Norms {
    before_mixer: false,
    before_feed_forward: false,
    ..AROUND
};

/// Experts with the usual choices of groups and weights; the family adds the rest.
pub(super) fn experts(config: &Config<'_>, num_experts: u64, width: u64) -> Result<Experts, Error> {
    let used = config.first_size(
        &[
            "num_experts_per_tok",
            "num_experts_per_token",
            "experts_per_token",
            "top_k_experts",
        ],
        Limit::Count,
    )?;
    let chosen = chosen_of(config, ("num_experts_per_tok", used), num_experts)?;
    let scaling = config.number("routed_scaling_factor")?.unwrap_or(1.0);
    Ok(Experts {
        moe_intermediate_size: width,
        n_group: config.size_or("n_group", Limit::Count, 1)?,
        topk_group: config.size_or("topk_group", Limit::Count, 1)?,
        norm_topk_prob: config.flag("norm_topk_prob", false)?,
        routed_scaling: (scaling - 1.0).abs() > f64::EPSILON,
        ..chosen
    })
}

/// Gated experts in one group, `used` of which serve each token; `field` is what says how many. Their width is not filled in.
pub(super) fn chosen_of(
    config: &Config<'_>,
    (field, used): (&'static str, u64),
    num_experts: u64,
) -> Result<Experts, Error> {
    if used > num_experts {
        return Err(config.inconsistent(field, "exceeds the number of experts"));
    }
    Ok(Experts {
        num_experts,
        num_experts_per_tok: used,
        gated: true,
        n_group: 1,
        topk_group: 1,
        ..Experts::default()
    })
}

/// The fields of a sparse-attention indexer.
pub(super) fn indexer(config: &Config<'_>) -> Result<Indexer, Error> {
    Ok(Indexer {
        index_n_heads: config.size("index_n_heads", Limit::Count)?,
        index_head_dim: config.size("index_head_dim", Limit::Width)?,
        index_topk: config.size("index_topk", Limit::Tokens)?,
        owned: true,
    })
}

//! Gemma 2 to 4.

use super::base;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{Attention, Cache, QkNorm, Reach};
use crate::model::{
    AltUp, Dense, FeedForward, Layer, Mixer, Model, Norm, PerLayerInputs, Positions, RopeFactors,
};

/// Model and attention of any Gemma: tied, scaled embedding.
fn start(config: &Config<'_>) -> Result<(Model, Attention), Error> {
    let mut model = base::model(config, true)?;
    model.scaled_embedding = true;
    model.final_logit_softcapping = config.number("final_logit_softcapping")?.is_some();
    model.final_norm = Norm::Rms;
    let mut attention = base::attention(config, &model)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    attention.logit_softcapping = config.number("attn_logit_softcapping")?.is_some();
    Ok((model, attention))
}

/// Layers with norms around everything, `attentions` one per layer.
fn layers(
    config: &Config<'_>,
    attentions: impl IntoIterator<Item = Attention>,
) -> Result<Vec<Layer>, Error> {
    let network = Dense::gated(config.size("intermediate_size", Limit::Width)?);
    let layer = |attention| {
        let feed_forward = FeedForward::Dense(network);
        base::layer(Mixer::Attention(attention), feed_forward, base::AROUND)
    };
    Ok(attentions.into_iter().map(layer).collect())
}

/// The attention of each layer: as given, or windowed.
fn windowed(
    config: &Config<'_>,
    model: &Model,
    attention: Attention,
    period: u64,
) -> Result<Vec<Attention>, Error> {
    let window = base::window(config, model)?;
    let sliding = base::sliding_layers(config, base::depth(config)?, period)?;
    let reach = |sliding| if sliding { window } else { Reach::Full };
    Ok(sliding
        .into_iter()
        .map(|sliding| Attention {
            reach: reach(sliding),
            ..attention
        })
        .collect())
}

/// Gemma 2: every second layer is windowed.
pub(super) fn gemma2(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, attention) = start(config)?;
    model.layers = layers(config, windowed(config, &model, attention, 2)?)?;
    Ok(model)
}

/// Gemma 3: norms on queries and keys, five windowed layers to a full one.
pub(super) fn gemma3(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qk_norm = QkNorm::PerHead;
    // Six is the default of transformers' Gemma3TextConfig.
    let period = config.size_or("sliding_window_pattern", Limit::Layers, 6)?;
    model.layers = layers(config, windowed(config, &model, attention, period)?)?;
    Ok(model)
}

/// Gemma 3n: per-layer inputs, several residual streams, last layers on the caches of earlier ones.
pub(super) fn gemma3n(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qk_norm = QkNorm::PerHead;
    // Four windowed layers to a full one: the default of transformers' Gemma3nTextConfig.
    let attentions = windowed(config, &model, attention, 5)?;
    model.layers = layers(config, shared_caches(config, attentions)?)?;
    model.per_layer_inputs = per_layer_inputs(config)?;
    model.alt_up = Some(AltUp {
        altup_num_inputs: config.size("altup_num_inputs", Limit::Count)?,
        laurel_rank: config.size("laurel_rank", Limit::Width)?,
    });
    Ok(model)
}

/// Gemma 4: full layers with heads of another width, in some sizes with values equal to keys; experts beside the
/// dense network, or per-layer inputs.
pub(super) fn gemma4(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qk_norm = QkNorm::PerHead;
    let full = full_attention(config, attention)?;
    // A proportional rotation turns whole heads by frequencies with a table of factors
    // (llama.cpp 0.6.0-dev `src/models/gemma4.cpp`).
    model.positions = Positions::RotaryWithFactors(RopeFactors::One {
        length: full.head_dim / 2,
    });
    let attentions = windowed(config, &model, attention, 6)?
        .into_iter()
        .map(|attention| match attention.reach {
            Reach::Full => full,
            _ => attention,
        });
    model.layers = layers(config, shared_caches(config, attentions.collect())?)?;
    for layer in &mut model.layers {
        layer.output_scale = true;
    }
    widen_sharing_layers(config, &mut model)?;
    add_experts(config, &mut model)?;
    model.per_layer_inputs = per_layer_inputs(config)?;
    Ok(model)
}

fn full_attention(config: &Config<'_>, sliding: Attention) -> Result<Attention, Error> {
    let head_dim = config.size_or("global_head_dim", Limit::Width, sliding.head_dim)?;
    let k_eq_v = config.flag("attention_k_eq_v", false)?;
    let heads = config.positive("num_global_key_value_heads", Limit::Count)?;
    // transformers' Gemma4TextAttention takes the other number of heads only together with shared keys and values.
    let heads = heads.filter(|_| k_eq_v);
    Ok(Attention {
        head_dim,
        v_head_dim: head_dim,
        rotary_dim: head_dim,
        num_key_value_heads: heads.unwrap_or(sliding.num_key_value_heads),
        k_eq_v,
        reach: Reach::Full,
        ..sliding
    })
}

/// The last `num_kv_shared_layers` layers read the cache of the last layer before them that sees as far.
fn shared_caches(
    config: &Config<'_>,
    mut attentions: Vec<Attention>,
) -> Result<Vec<Attention>, Error> {
    let shared = config.count("num_kv_shared_layers", Limit::Layers)?;
    let own = attentions
        .len()
        .saturating_sub(shared.unwrap_or(0) as usize);
    // As in transformers: where nothing would be left to share, nothing is shared.
    if own == 0 {
        return Ok(attentions);
    }
    let (owners, sharers) = attentions.split_at_mut(own);
    for attention in sharers {
        let owner = owners
            .iter()
            .rposition(|owner| owner.reach == attention.reach);
        if let Some(owner) = owner {
            attention.cache = Cache::SharedWith(owner);
        }
    }
    Ok(attentions)
}

/// E2B doubles the network of layers that share a cache.
fn widen_sharing_layers(config: &Config<'_>, model: &mut Model) -> Result<(), Error> {
    if !config.flag("use_double_wide_mlp", false)? {
        return Ok(());
    }
    for layer in &mut model.layers {
        let shares = layer
            .mixer
            .attention()
            .is_some_and(|attention| !attention.owns_cache());
        if let FeedForward::Dense(network) = &mut layer.feed_forward
            && shares
        {
            network.intermediate_size = network.intermediate_size.saturating_mul(2);
        }
    }
    Ok(())
}

/// 26B-A4B: experts beside the dense network of every layer.
fn add_experts(config: &Config<'_>, model: &mut Model) -> Result<(), Error> {
    if !config.flag("enable_moe_block", false)? {
        return Ok(());
    }
    let number = config.size("num_experts", Limit::Count)?;
    let width = config.first_size(
        &["moe_intermediate_size", "expert_intermediate_size"],
        Limit::Width,
    )?;
    let mut experts = base::experts(config, number, width)?;
    experts.router_scales = true;
    experts.norm_topk_prob = true;
    experts.fused_gate_up = true;
    for layer in &mut model.layers {
        if let FeedForward::Dense(network) = layer.feed_forward {
            experts.beside = Some(network);
            layer.feed_forward = FeedForward::Experts(Box::new(experts.clone()));
        }
    }
    Ok(())
}

fn per_layer_inputs(config: &Config<'_>) -> Result<Option<PerLayerInputs>, Error> {
    let Some(width) = config.positive("hidden_size_per_layer_input", Limit::Width)? else {
        return Ok(None);
    };
    Ok(Some(PerLayerInputs {
        vocab_size_per_layer_input: config.size("vocab_size_per_layer_input", Limit::Rows)?,
        hidden_size_per_layer_input: width,
    }))
}

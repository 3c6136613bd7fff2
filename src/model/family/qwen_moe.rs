//! Qwen's decoders with experts and ordinary attention.

use super::base;
use super::mixture::start;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{Attention, QkNorm};
use crate::model::{Dense, Experts, FeedForward, Layer, Mixer, Model, Norm, Norms, SharedExpert};

/// Qwen1.5-MoE and Qwen2: biases on queries, keys and values, a gated shared expert.
pub(super) fn qwen2(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qkv_bias = config.flag("qkv_bias", true)?;
    if config.flag("use_sliding_window", false)? {
        attention.reach = base::window(config, &model)?;
    }
    let shared = config.size("shared_expert_intermediate_size", Limit::Width)?;
    let experts = Experts {
        shared: Some(SharedExpert {
            count: 1,
            intermediate_size: shared,
            gate: true,
        }),
        ..base::experts(
            config,
            config.size("num_experts", Limit::Count)?,
            config.size("moe_intermediate_size", Limit::Width)?,
        )?
    };
    model.layers = layers(config, attention, &experts)?;
    Ok(model)
}

/// Qwen3: norms on queries and keys.
pub(super) fn qwen3(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    attention.qk_norm = QkNorm::PerHead;
    if config.flag("use_sliding_window", false)? {
        attention.reach = base::window(config, &model)?;
    }
    let experts = base::experts(
        config,
        config.size("num_experts", Limit::Count)?,
        config.size("moe_intermediate_size", Limit::Width)?,
    )?;
    model.layers = layers(config, attention, &experts)?;
    Ok(model)
}

/// Every `decoder_sparse_step`-th layer has experts, save those listed.
fn layers(
    config: &Config<'_>,
    attention: Attention,
    experts: &Experts,
) -> Result<Vec<Layer>, Error> {
    let step = config.size_or("decoder_sparse_step", Limit::Layers, 1)?;
    let dense_layers = config.indices("mlp_only_layers")?;
    let width = config.positive("intermediate_size", Limit::Width)?;
    let mut layers = Vec::new();
    for index in 0..base::depth(config)? as u64 {
        let sparse = !dense_layers.contains(&index) && (index + 1).is_multiple_of(step);
        let feed_forward = if sparse {
            FeedForward::Experts(Box::new(experts.clone()))
        } else {
            FeedForward::Dense(Dense::gated(width.ok_or_else(|| {
                config.inconsistent("intermediate_size", "is missing, but some layers are dense")
            })?))
        };
        let norms = Norms::before(Norm::Rms);
        layers.push(base::layer(
            Mixer::Attention(attention),
            feed_forward,
            norms,
        ));
    }
    Ok(layers)
}

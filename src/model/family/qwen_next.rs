//! Qwen3-Next and Qwen3.5: gated delta nets with a gated full attention in every fourth layer.

use super::base;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{Attention, GatedDeltaNet, QkNorm};
use crate::model::{
    Dense, Experts, FeedForward, Mixer, Model, MultiTokenPrediction, Norm, Norms, SharedExpert,
};

pub(super) fn read(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let attention = Mixer::Attention(Attention {
        qk_norm: QkNorm::PerHead,
        output_gate: config.flag("attn_output_gate", true)?,
        ..base::attention(config, &model)?
    });
    let delta = Mixer::GatedDelta(GatedDeltaNet {
        linear_num_key_heads: config.size("linear_num_key_heads", Limit::Count)?,
        linear_num_value_heads: config.size("linear_num_value_heads", Limit::Count)?,
        linear_key_head_dim: config.size("linear_key_head_dim", Limit::Width)?,
        linear_value_head_dim: config.size("linear_value_head_dim", Limit::Width)?,
        linear_conv_kernel_dim: config.size("linear_conv_kernel_dim", Limit::Width)?,
    });
    let feed_forward = feed_forward(config)?;
    let norms = Norms::before(Norm::Rms);
    for linear in linear_layers(config)? {
        let mixer = if linear { &delta } else { &attention };
        let layer = base::layer(mixer.clone(), feed_forward.clone(), norms);
        model.layers.push(layer);
    }
    model.mtp = prediction(config, attention, feed_forward)?;
    Ok(model)
}

/// `layer_types`, or all but every `full_attention_interval`-th.
fn linear_layers(config: &Config<'_>) -> Result<Vec<bool>, Error> {
    let interval = config.size_or("full_attention_interval", Limit::Layers, 4)?;
    base::sliding_layers(config, base::depth(config)?, interval)
}

fn feed_forward(config: &Config<'_>) -> Result<FeedForward, Error> {
    let Some(number) = config.positive("num_experts", Limit::Count)? else {
        let width = config.size("intermediate_size", Limit::Width)?;
        return Ok(FeedForward::Dense(Dense::gated(width)));
    };
    let width = config.size("moe_intermediate_size", Limit::Width)?;
    let shared = config.positive("shared_expert_intermediate_size", Limit::Width)?;
    Ok(FeedForward::Experts(Box::new(Experts {
        norm_topk_prob: config.flag("norm_topk_prob", true)?,
        shared: shared.map(|intermediate_size| SharedExpert {
            count: 1,
            intermediate_size,
            gate: true,
        }),
        ..base::experts(config, number, width)?
    })))
}

/// Qwen3-Next publishes one block and no field for it; Qwen3.5 has the field.
fn prediction(
    config: &Config<'_>,
    attention: Mixer,
    feed_forward: FeedForward,
) -> Result<Option<MultiTokenPrediction>, Error> {
    let blocks = match config.count("mtp_num_hidden_layers", Limit::Layers)? {
        Some(blocks) => blocks,
        // vLLM 0.33 `config/speculative.py` (qwen3_next_mtp) assumes one.
        None => config
            .count("num_nextn_predict_layers", Limit::Layers)?
            .unwrap_or(1),
    };
    if blocks == 0 {
        return Ok(None);
    }
    let layer = base::layer(attention, feed_forward, Norms::before(Norm::Rms));
    Ok(Some(MultiTokenPrediction {
        layers: vec![layer; blocks as usize],
        copies_embedding: config.flag("mtp_use_dedicated_embeddings", false)?,
        norms_per_block: 3,
        stored: true,
    }))
}

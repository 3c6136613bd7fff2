//! DeepSeek-V4: compressed attention, hyper-connections, hash routing in the first layers.

use super::base;
use super::mixture::{prediction, shared};
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::CompressedAttention;
use crate::model::{
    Experts, FeedForward, HashRouting, HyperConnections, Layer, Mixer, Model, Norm, Norms, Scoring,
};

pub(super) fn read(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let depth = base::depth(config)?;
    let ratios = config
        .numbers_per_layer("compress_ratios", depth)?
        .unwrap_or_else(|| vec![0; depth]);
    let hashed = config.count("num_hash_layers", Limit::Layers)?.unwrap_or(0);
    let attention = attention(config)?;
    let experts = experts(config)?;
    for (index, ratio) in (0_u64..).zip(ratios) {
        let mut experts = experts.clone();
        if index < hashed {
            experts.correction_bias = false;
            experts.hash_routing = Some(HashRouting {
                vocab_size: model.vocab_size,
            });
        }
        let mixer = compressed(config, attention, ratio)?;
        model.layers.push(layer(mixer, experts));
    }
    let block = layer(Mixer::Compressed(attention), experts);
    model.mtp = prediction(config, &block, false)?;
    model.hyper_connections = Some(HyperConnections {
        hc_mult: config.size("hc_mult", Limit::Count)?,
    });
    Ok(model)
}

fn layer(mixer: Mixer, experts: Experts) -> Layer {
    let feed_forward = FeedForward::Experts(Box::new(experts));
    base::layer(mixer, feed_forward, Norms::before(Norm::Rms))
}

fn attention(config: &Config<'_>) -> Result<CompressedAttention, Error> {
    Ok(CompressedAttention {
        num_attention_heads: config.size("num_attention_heads", Limit::Count)?,
        head_dim: config.size("head_dim", Limit::Width)?,
        qk_rope_head_dim: config.size("qk_rope_head_dim", Limit::Width)?,
        q_lora_rank: config.size("q_lora_rank", Limit::Width)?,
        o_groups: config.size("o_groups", Limit::Count)?,
        o_lora_rank: config.size("o_lora_rank", Limit::Width)?,
        sliding_window: config.size("sliding_window", Limit::Tokens)?,
        compress_ratio: 0,
        indexer: None,
    })
}

/// Only the densest compression has an indexer: the others are short enough to be read whole.
fn compressed(
    config: &Config<'_>,
    attention: CompressedAttention,
    ratio: u64,
) -> Result<Mixer, Error> {
    let mut attention = CompressedAttention {
        compress_ratio: ratio,
        ..attention
    };
    if attention.overlaps() {
        attention.indexer = Some(base::indexer(config)?);
    }
    Ok(Mixer::Compressed(attention))
}

fn experts(config: &Config<'_>) -> Result<Experts, Error> {
    let width = config.size("moe_intermediate_size", Limit::Width)?;
    let number = config.size("n_routed_experts", Limit::Count)?;
    Ok(Experts {
        correction_bias: true,
        scoring: Scoring::SqrtSoftplus,
        shared: shared(config, width)?,
        ..base::experts(config, number, width)?
    })
}

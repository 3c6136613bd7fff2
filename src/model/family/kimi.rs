//! Kimi Linear and K3: delta attention with a latent attention in every fourth layer.

use super::base;
use super::mixture::shared;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{KimiDelta, LatentAttention};
use crate::model::{
    BlockResiduals, Dense, Experts, FeedForward, Mixer, Model, Norm, Norms, Scoring,
};

pub(super) fn read(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let block = config.positive("attn_res_block_size", Limit::Layers)?;
    model.block_residuals = block.map(|attn_res_block_size| BlockResiduals {
        attn_res_block_size,
    });
    let linear = config
        .object("linear_attn_config")?
        .ok_or_else(|| Error::Missing {
            field: "linear_attn_config".to_owned(),
        })?;
    let delta = Mixer::KimiDelta(delta(&linear)?);
    let latent = Mixer::Latent(latent(config)?);
    // Layers are counted from one here.
    let full = linear.indices("full_attn_layers")?;
    let experts = FeedForward::Experts(Box::new(experts(config)?));
    let dense = FeedForward::Dense(Dense::gated(
        config.size("intermediate_size", Limit::Width)?,
    ));
    let first = config
        .count("first_k_dense_replace", Limit::Layers)?
        .unwrap_or(0);
    for number in 1..=base::depth(config)? as u64 {
        let mixer = if full.contains(&number) {
            &latent
        } else {
            &delta
        };
        let feed_forward = if number <= first { &dense } else { &experts };
        let norms = Norms::before(Norm::Rms);
        model
            .layers
            .push(base::layer(mixer.clone(), feed_forward.clone(), norms));
    }
    Ok(model)
}

fn delta(linear: &Config<'_>) -> Result<KimiDelta, Error> {
    Ok(KimiDelta {
        num_heads: linear.size("num_heads", Limit::Count)?,
        head_dim: linear.size("head_dim", Limit::Width)?,
        short_conv_kernel_size: linear.size("short_conv_kernel_size", Limit::Width)?,
        full_rank_gate: linear.flag("use_full_rank_gate", false)?,
    })
}

fn latent(config: &Config<'_>) -> Result<LatentAttention, Error> {
    Ok(LatentAttention {
        num_attention_heads: config.size("num_attention_heads", Limit::Count)?,
        q_lora_rank: config.positive("q_lora_rank", Limit::Width)?,
        kv_lora_rank: config.size("kv_lora_rank", Limit::Width)?,
        qk_nope_head_dim: config.size("qk_nope_head_dim", Limit::Width)?,
        qk_rope_head_dim: config.size("qk_rope_head_dim", Limit::Width)?,
        v_head_dim: config.size("v_head_dim", Limit::Width)?,
        output_gate: config.flag("mla_use_output_gate", false)?,
        sparse: None,
    })
}

fn experts(config: &Config<'_>) -> Result<Experts, Error> {
    let width = config.size("moe_intermediate_size", Limit::Width)?;
    let number = config.size("num_experts", Limit::Count)?;
    Ok(Experts {
        correction_bias: true,
        scoring: Scoring::Sigmoid,
        latent_size: config.positive("routed_expert_hidden_size", Limit::Width)?,
        latent_norm: config.flag("latent_moe_use_norm", false)?,
        norm_topk_prob: config.flag("moe_renormalize", false)?,
        shared: shared(config, width)?,
        ..base::experts(config, number, width)?
    })
}

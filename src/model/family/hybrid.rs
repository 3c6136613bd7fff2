//! Hybrids of attention and recurrent layers: Granite-4-H, Falcon-H1, MiniMax-M1.

use super::base;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{LightningAttention, Mamba2};
use crate::model::{
    Dense, Experts, FeedForward, Mixer, Model, Norm, Norms, Positions, SharedExpert,
};

/// The Mamba-2 fields that Granite and Falcon share; `d_inner` is theirs.
fn mamba(config: &Config<'_>, d_inner: u64, norm: bool) -> Result<Mamba2, Error> {
    Ok(Mamba2 {
        d_inner,
        num_heads: config.size("mamba_n_heads", Limit::Count)?,
        d_state: config.size("mamba_d_state", Limit::Width)?,
        n_groups: config.size("mamba_n_groups", Limit::Count)?,
        d_conv: config.size("mamba_d_conv", Limit::Width)?,
        conv_bias: config.flag("mamba_conv_bias", true)?,
        proj_bias: config.flag("mamba_proj_bias", false)?,
        norm,
    })
}

/// Granite-4-H: `layer_types` says which layers are attention; experts with an always-on network, or that alone.
pub(super) fn granite(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    model.scaled_embedding = config.number("embedding_multiplier")?.is_some();
    let mut attention = base::attention(config, &model)?;
    if config.text("position_embedding_type")? == Some("nope") {
        model.positions = Positions::None;
        attention.rotary_dim = 0;
    }
    let expand = config.size_or("mamba_expand", Limit::Count, 2)?;
    let mamba = mamba(config, expand.saturating_mul(model.hidden_size), true)?;
    let feed_forward = granite_feed_forward(config)?;
    let depth = base::depth(config)?;
    let types = config.texts_per_layer("layer_types", depth)?;
    for kind in types.unwrap_or_else(|| vec!["mamba"; depth]) {
        let mixer = match kind {
            "mamba" => Mixer::Mamba2(mamba),
            _ => Mixer::Attention(attention),
        };
        let norms = Norms::before(Norm::Rms);
        model
            .layers
            .push(base::layer(mixer, feed_forward.clone(), norms));
    }
    Ok(model)
}

fn granite_feed_forward(config: &Config<'_>) -> Result<FeedForward, Error> {
    let shared = config.size("shared_intermediate_size", Limit::Width)?;
    let Some(number) = config.positive("num_local_experts", Limit::Count)? else {
        return Ok(FeedForward::Dense(Dense::gated(shared)));
    };
    let width = config.size("intermediate_size", Limit::Width)?;
    Ok(FeedForward::Experts(Box::new(Experts {
        norm_topk_prob: true,
        fused_gate_up: true,
        shared: Some(SharedExpert {
            count: 1,
            intermediate_size: shared,
            gate: false,
        }),
        ..base::experts(config, number, width)?
    })))
}

/// Falcon-H1: attention and Mamba-2 side by side in every layer.
pub(super) fn falcon(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let attention = base::attention(config, &model)?;
    let expand = config.size_or("mamba_expand", Limit::Count, 2)?;
    let inner = config.positive("mamba_d_ssm", Limit::Width)?;
    let inner = inner.unwrap_or(expand.saturating_mul(model.hidden_size));
    let mamba = mamba(config, inner, config.flag("mamba_rms_norm", false)?)?;
    let network = Dense::gated(config.size("intermediate_size", Limit::Width)?);
    let layer = base::layer(
        Mixer::AttentionAndMamba2(attention, mamba),
        FeedForward::Dense(network),
        Norms::before(Norm::Rms),
    );
    model.layers = vec![layer; base::depth(config)?];
    Ok(model)
}

/// MiniMax-M1: lightning attention, a full one where `attn_type_list` is 1; experts everywhere.
pub(super) fn minimax_m1(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let attention = base::attention(config, &model)?;
    let lightning = LightningAttention {
        num_attention_heads: attention.num_attention_heads,
        head_dim: attention.head_dim,
    };
    let experts = base::experts(
        config,
        config.size("num_local_experts", Limit::Count)?,
        config.size("intermediate_size", Limit::Width)?,
    )?;
    let experts = FeedForward::Experts(Box::new(Experts {
        norm_topk_prob: true,
        ..experts
    }));
    let depth = base::depth(config)?;
    let kinds = config
        .numbers_per_layer("attn_type_list", depth)?
        .unwrap_or_else(|| vec![1; depth]);
    for kind in kinds {
        let mixer = match kind {
            0 => Mixer::Lightning(lightning),
            _ => Mixer::Attention(attention),
        };
        let norms = Norms::before(Norm::Rms);
        model
            .layers
            .push(base::layer(mixer, experts.clone(), norms));
    }
    Ok(model)
}

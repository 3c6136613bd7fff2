//! Multi-head latent attention with experts: DeepSeek-V2 to V3.2, Kimi K2, GLM-4.7-Flash, GLM-5.

use super::base;
use super::mixture::{dense_first, prediction, shared, sigmoid_experts};
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::LatentAttention;
use crate::model::{Dense, Experts, FeedForward, Layer, Mixer, Model, Norm, Norms};

/// The latent attention, or ordinary attention where there is no compression (DeepSeek-VL2-tiny).
fn mixer(config: &Config<'_>, model: &Model) -> Result<Mixer, Error> {
    let compressed = config.flag("use_mla", true)?;
    let rank = config.positive("kv_lora_rank", Limit::Width)?;
    let Some(kv_lora_rank) = rank.filter(|_| compressed) else {
        return Ok(Mixer::Attention(base::attention(config, model)?));
    };
    Ok(Mixer::Latent(LatentAttention {
        num_attention_heads: config.size("num_attention_heads", Limit::Count)?,
        q_lora_rank: config.positive("q_lora_rank", Limit::Width)?,
        kv_lora_rank,
        qk_nope_head_dim: config.size("qk_nope_head_dim", Limit::Width)?,
        qk_rope_head_dim: config.size("qk_rope_head_dim", Limit::Width)?,
        v_head_dim: config.size("v_head_dim", Limit::Width)?,
        output_gate: false,
        sparse: None,
    }))
}

/// A model of dense layers first, then experts, with prediction blocks where it has some.
fn read(
    config: &Config<'_>,
    experts: &Experts,
    sparse: bool,
    copies_embedding: bool,
) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let mut mixer = mixer(config, &model)?;
    if let Mixer::Latent(latent) = &mut mixer
        && sparse
    {
        latent.sparse = Some(base::indexer(config)?);
    }
    let dense = Dense::gated(config.size("intermediate_size", Limit::Width)?);
    let first = config.count("first_k_dense_replace", Limit::Layers)?;
    model.layers = dense_first(config, &mixer, first.unwrap_or(0), dense, experts)?;
    let block = Layer {
        mixer,
        feed_forward: FeedForward::Experts(Box::new(experts.clone())),
        norms: Norms::before(Norm::Rms),
        output_scale: false,
    };
    model.mtp = prediction(config, &block, copies_embedding)?;
    Ok(model)
}

/// MiniCPM3: dense layers, with scaled embedding, residuals and logits.
pub(super) fn minicpm3(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let mixer = mixer(config, &model)?;
    let dense = Dense::gated(config.size("intermediate_size", Limit::Width)?);
    let layer = base::layer(mixer, FeedForward::Dense(dense), Norms::before(Norm::Rms));
    model.layers = vec![layer; base::depth(config)?];
    model.scaled_embedding = true;
    Ok(model)
}

/// DeepSeek-V2: softmax scores, no correction.
pub(super) fn v2(config: &Config<'_>) -> Result<Model, Error> {
    let width = config.size("moe_intermediate_size", Limit::Width)?;
    let experts = Experts {
        shared: shared(config, width)?,
        ..base::experts(
            config,
            config.size("n_routed_experts", Limit::Count)?,
            width,
        )?
    };
    read(config, &experts, false, true)
}

fn routed(config: &Config<'_>) -> Result<Experts, Error> {
    sigmoid_experts(config, config.size("n_routed_experts", Limit::Count)?)
}

/// DeepSeek-V3 and Kimi K2.
pub(super) fn v3(config: &Config<'_>) -> Result<Model, Error> {
    read(config, &routed(config)?, false, true)
}

/// DeepSeek-V3.2: an indexer in every layer.
pub(super) fn v32(config: &Config<'_>) -> Result<Model, Error> {
    read(config, &routed(config)?, true, true)
}

/// GLM-4.7-Flash.
pub(super) fn glm4_moe_lite(config: &Config<'_>) -> Result<Model, Error> {
    read(config, &routed(config)?, false, true)
}

/// GLM-5: an indexer in the layers that `indexer_types` calls full, all of them where it is absent.
pub(super) fn glm_moe_dsa(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = read(config, &routed(config)?, true, false)?;
    let types = config.texts_per_layer("indexer_types", model.layers.len())?;
    for (layer, kind) in model.layers.iter_mut().zip(types.unwrap_or_default()) {
        if let Mixer::Latent(latent) = &mut layer.mixer
            && let Some(indexer) = &mut latent.sparse
        {
            indexer.owned = kind == "full";
        }
    }
    Ok(model)
}

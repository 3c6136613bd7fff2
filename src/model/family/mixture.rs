//! Decoders with experts and ordinary attention.

use super::base;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{Attention, BlockIndexer, QkNorm, Reach};
use crate::model::{
    Activation, Dense, Experts, FeedForward, Layer, Mixer, Model, MultiTokenPrediction, Norm,
    Norms, Scoring, SharedExpert,
};

/// Model and attention with their usual fields.
pub(super) fn start(config: &Config<'_>) -> Result<(Model, Attention), Error> {
    let mut model = base::model(config, false)?;
    let attention = base::attention(config, &model)?;
    model.positions = base::positions(config, attention.rotary_dim)?;
    Ok((model, attention))
}

/// Mixtral: experts of `intermediate_size` in every layer.
pub(super) fn mixtral(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.reach = base::window(config, &model)?;
    let experts = Experts {
        norm_topk_prob: true,
        ..base::experts(
            config,
            config.size("num_local_experts", Limit::Count)?,
            config.size("intermediate_size", Limit::Width)?,
        )?
    };
    fill(
        config,
        &mut model,
        attention,
        experts,
        Norms::before(Norm::Rms),
    )?;
    Ok(model)
}

/// Equal layers of attention and experts.
fn fill(
    config: &Config<'_>,
    model: &mut Model,
    attention: Attention,
    experts: Experts,
    norms: Norms,
) -> Result<(), Error> {
    let feed_forward = FeedForward::Experts(Box::new(experts));
    model.final_norm = norms.kind;
    model.layers = base::uniform(base::depth(config)?, attention, &feed_forward, norms);
    Ok(())
}

/// Phi-3.5-MoE: Mixtral with biases and layer norms.
pub(super) fn phimoe(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    attention.reach = base::window(config, &model)?;
    model.lm_head_bias = config.flag("lm_head_bias", false)?;
    let experts = base::experts(
        config,
        config.size("num_local_experts", Limit::Count)?,
        config.size("intermediate_size", Limit::Width)?,
    )?;
    let norms = Norms::before(Norm::LayerNormWithBias);
    fill(config, &mut model, attention, experts, norms)?;
    Ok(model)
}

/// OLMoE: norms over whole queries and keys, experts of `intermediate_size` in every layer.
pub(super) fn olmoe(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    attention.qk_norm = QkNorm::Full;
    let experts = base::experts(
        config,
        config.size("num_experts", Limit::Count)?,
        config.size("intermediate_size", Limit::Width)?,
    )?;
    let norms = Norms::before(Norm::Rms);
    fill(config, &mut model, attention, experts, norms)?;
    Ok(model)
}

/// dots.llm1: dense layers first, shared experts, norms on each head.
pub(super) fn dots1(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    attention.qk_norm = QkNorm::PerHead;
    let experts = sigmoid_experts(config, config.size("n_routed_experts", Limit::Count)?)?;
    let dense = Dense::gated(config.size("intermediate_size", Limit::Width)?);
    let first = config.count("first_k_dense_replace", Limit::Layers)?;
    let mixer = Mixer::Attention(attention);
    model.layers = dense_first(config, &mixer, first.unwrap_or(0), dense, &experts)?;
    Ok(model)
}

/// gpt-oss: sinks, biases everywhere, every second layer windowed.
pub(super) fn gpt_oss(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qkv_bias = config.flag("attention_bias", true)?;
    attention.o_bias = attention.qkv_bias;
    attention.sinks = true;
    model.activation = Activation::ClampedSwiglu;
    let experts = Experts {
        expert_bias: true,
        router_bias: true,
        scoring: Scoring::SoftmaxOfChosen,
        norm_topk_prob: true,
        fused_gate_up: true,
        ..base::experts(
            config,
            config.size("num_local_experts", Limit::Count)?,
            config.size("intermediate_size", Limit::Width)?,
        )?
    };
    fill(
        config,
        &mut model,
        attention,
        experts,
        Norms::before(Norm::Rms),
    )?;
    let window = base::window(config, &model)?;
    let sliding = base::sliding_layers(config, model.layers.len(), 2)?;
    reach(&mut model.layers, sliding, window);
    Ok(model)
}

/// Gives the layers that slide their window.
fn reach(layers: &mut [Layer], sliding: Vec<bool>, window: Reach) {
    for (layer, sliding) in layers.iter_mut().zip(sliding) {
        if let Mixer::Attention(attention) = &mut layer.mixer
            && sliding
        {
            attention.reach = window;
        }
    }
}

/// GLM-4.5 to 4.7: dense layers first, a shared expert, prediction blocks.
pub(super) fn glm4_moe(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    if config.flag("use_qk_norm", false)? {
        attention.qk_norm = QkNorm::PerHead;
    }
    let experts = sigmoid_experts(config, config.size("n_routed_experts", Limit::Count)?)?;
    let dense = Dense::gated(config.size("intermediate_size", Limit::Width)?);
    let first = config.count("first_k_dense_replace", Limit::Layers)?;
    let mixer = Mixer::Attention(attention);
    model.layers = dense_first(config, &mixer, first.unwrap_or(0), dense, &experts)?;
    let block = base::layer(
        mixer,
        FeedForward::Experts(Box::new(experts)),
        Norms::before(Norm::Rms),
    );
    model.mtp = prediction(config, &block, true)?;
    Ok(model)
}

/// Experts with sigmoid scores, a correction bias and shared experts of the same width.
pub(super) fn sigmoid_experts(config: &Config<'_>, number: u64) -> Result<Experts, Error> {
    let width = config.size("moe_intermediate_size", Limit::Width)?;
    Ok(Experts {
        correction_bias: true,
        scoring: Scoring::Sigmoid,
        shared: shared(config, width)?,
        ..base::experts(config, number, width)?
    })
}

/// `n_shared_experts` experts of `width` that every token uses.
pub(super) fn shared(config: &Config<'_>, width: u64) -> Result<Option<SharedExpert>, Error> {
    let count = match config.positive("n_shared_experts", Limit::Count)? {
        Some(count) => Some(count),
        None => config.positive("num_shared_experts", Limit::Count)?,
    };
    Ok(count.map(|count| SharedExpert {
        count,
        intermediate_size: width.saturating_mul(count),
        gate: false,
    }))
}

/// `first` layers with a dense network, the others with experts.
pub(super) fn dense_first(
    config: &Config<'_>,
    mixer: &Mixer,
    first: u64,
    dense: Dense,
    experts: &Experts,
) -> Result<Vec<Layer>, Error> {
    let layer = |index: u64| {
        let feed_forward = if index < first {
            FeedForward::Dense(dense)
        } else {
            FeedForward::Experts(Box::new(experts.clone()))
        };
        base::layer(mixer.clone(), feed_forward, Norms::before(Norm::Rms))
    };
    Ok((0..base::depth(config)? as u64).map(layer).collect())
}

/// `num_nextn_predict_layers` blocks of this layer behind a joining projection with three norms.
pub(super) fn prediction(
    config: &Config<'_>,
    block: &Layer,
    copies_embedding: bool,
) -> Result<Option<MultiTokenPrediction>, Error> {
    let blocks = config.positive("num_nextn_predict_layers", Limit::Layers)?;
    Ok(blocks.map(|blocks| MultiTokenPrediction {
        layers: vec![block.clone(); blocks as usize],
        copies_embedding,
        norms_per_block: 3,
        stored: true,
    }))
}

/// MiniMax-M2: norms over whole queries and keys.
pub(super) fn minimax_m2(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    if config.flag("use_qk_norm", false)? {
        attention.qk_norm = match config.text("qk_norm_type")? {
            Some("per_head") => QkNorm::PerHead,
            _ => QkNorm::Full,
        };
    }
    let experts = Experts {
        correction_bias: config.flag("use_routing_bias", false)?,
        scoring: Scoring::Sigmoid,
        norm_topk_prob: true,
        ..base::experts(
            config,
            config.size("num_local_experts", Limit::Count)?,
            config.size("intermediate_size", Limit::Width)?,
        )?
    };
    fill(
        config,
        &mut model,
        attention,
        experts,
        Norms::before(Norm::Rms),
    )?;
    Ok(model)
}

/// MiniMax-M3: dense layers first, a shared expert, block-sparse attention.
pub(super) fn minimax_m3(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    if config.flag("use_qk_norm", false)? {
        attention.qk_norm = QkNorm::PerHead;
    }
    model.activation = Activation::ClampedSwiglu;
    let mut experts = sigmoid_experts(config, config.size("num_local_experts", Limit::Count)?)?;
    experts.norm_topk_prob = true;
    experts.correction_bias = config.flag("use_routing_bias", false)?;
    let dense = Dense::gated(config.size("dense_intermediate_size", Limit::Width)?);
    let depth = base::depth(config)?;
    let first = config.count("first_k_dense_replace", Limit::Layers)?;
    let mixer = Mixer::Attention(attention);
    model.layers = dense_first(config, &mixer, first.unwrap_or(0), dense, &experts)?;
    let Some(sparse) = config.object("sparse_attention_config")? else {
        return Ok(model);
    };
    let indexer = BlockIndexer {
        num_heads: sparse.size("sparse_num_index_heads", Limit::Count)?,
        head_dim: sparse.size("sparse_index_dim", Limit::Width)?,
        block_size: sparse.size("sparse_block_size", Limit::Tokens)?,
        topk_blocks: sparse.size("sparse_topk_blocks", Limit::Tokens)?,
    };
    let owned = sparse
        .numbers_per_layer("sparse_attention_freq", depth)?
        .unwrap_or_else(|| vec![1; depth]);
    for (layer, owned) in model.layers.iter_mut().zip(owned) {
        if let Mixer::Attention(attention) = &mut layer.mixer {
            attention.block_indexer = (owned != 0).then_some(indexer);
        }
    }
    Ok(model)
}

/// Llama 4: chunked attention with rotation on three of four layers, full without on the fourth; experts in every
/// `interleave_moe_layer_step`-th.
pub(super) fn llama4(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    if config.flag("use_qk_norm", false)? {
        attention.qk_norm = QkNorm::Weightless;
    }
    let chunk = config.positive("attention_chunk_size", Limit::Tokens)?;
    let width = config.size("intermediate_size", Limit::Width)?;
    let experts = Experts {
        scoring: Scoring::Sigmoid,
        fused_gate_up: true,
        shared: Some(SharedExpert {
            count: 1,
            intermediate_size: width,
            gate: false,
        }),
        ..base::experts(
            config,
            config.size("num_local_experts", Limit::Count)?,
            width,
        )?
    };
    let dense = Dense::gated(config.size("intermediate_size_mlp", Limit::Width)?);
    let step = config.size_or("interleave_moe_layer_step", Limit::Layers, 1)?;
    for number in 1..=base::depth(config)? as u64 {
        let feed_forward = if number.is_multiple_of(step) {
            FeedForward::Experts(Box::new(experts.clone()))
        } else {
            FeedForward::Dense(dense)
        };
        // The default of transformers' Llama4TextConfig: every fourth layer has no rotation and sees everything.
        let attention = if number.is_multiple_of(4) {
            Attention {
                rotary_dim: 0,
                qk_norm: QkNorm::None,
                ..attention
            }
        } else {
            Attention {
                reach: chunk.map_or(Reach::Full, Reach::Chunk),
                ..attention
            }
        };
        let norms = Norms::before(Norm::Rms);
        model.layers.push(base::layer(
            Mixer::Attention(attention),
            feed_forward,
            norms,
        ));
    }
    Ok(model)
}

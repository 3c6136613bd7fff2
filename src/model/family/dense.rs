//! Decoders whose layers are all attention and one feed-forward network.

use super::base;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{Attention, QkNorm, Reach};
use crate::model::{Activation, Dense, FeedForward, Mixer, Model, Norm, Norms, Positions};

/// Model and attention with their usual fields.
fn start(config: &Config<'_>, tied: bool) -> Result<(Model, Attention), Error> {
    let mut model = base::model(config, tied)?;
    let attention = base::attention(config, &model)?;
    model.positions = base::positions(config, attention.rotary_dim)?;
    Ok((model, attention))
}

/// The model with equal layers around a gated network of `intermediate_size`.
fn finish(
    config: &Config<'_>,
    mut model: Model,
    attention: Attention,
    norms: Norms,
) -> Result<Model, Error> {
    let network = Dense {
        bias: config.flag("mlp_bias", false)?,
        ..Dense::gated(config.size("intermediate_size", Limit::Width)?)
    };
    let feed_forward = FeedForward::Dense(network);
    model.final_norm = norms.kind;
    model.layers = base::uniform(base::depth(config)?, attention, &feed_forward, norms);
    Ok(model)
}

/// Llama, and Mistral, which differs only by fields (`head_dim`, `sliding_window`).
pub(super) fn llama(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, false)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    attention.reach = base::window(config, &model)?;
    finish(config, model, attention, Norms::before(Norm::Rms))
}

/// SmolLM3: every fourth layer without positions.
pub(super) fn smollm3(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = llama(config)?;
    // The default of transformers' SmolLM3Config.
    let interval = config.size_or("no_rope_layer_interval", Limit::Layers, 4)?;
    for (layer, number) in model.layers.iter_mut().zip(1_u64..) {
        if let Mixer::Attention(attention) = &mut layer.mixer
            && number.is_multiple_of(interval)
        {
            attention.rotary_dim = 0;
        }
    }
    // The default of transformers' SmolLM3Config.
    model.tie_word_embeddings = config.flag("tie_word_embeddings", true)?;
    Ok(model)
}

/// Granite: Llama with scaled embedding, residuals and logits.
pub(super) fn granite(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = llama(config)?;
    model.scaled_embedding = config.number("embedding_multiplier")?.is_some();
    Ok(model)
}

/// InternLM 2 and 3: Llama with their own names for biases.
pub(super) fn internlm(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, false)?;
    attention.o_bias = config.flag("bias", false)?;
    attention.qkv_bias = config.flag("qkv_bias", attention.o_bias)?;
    finish(config, model, attention, Norms::before(Norm::Rms))
}

/// Qwen2, Qwen2.5 and the text models of Qwen2-VL and 2.5-VL: biases on queries, keys and values.
pub(super) fn qwen2(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, false)?;
    attention.qkv_bias = true;
    let window = qwen_window(config, &model)?;
    let full = config
        .count("max_window_layers", Limit::Layers)?
        .unwrap_or(0);
    let mut model = finish(config, model, attention, Norms::before(Norm::Rms))?;
    for layer in model.layers.iter_mut().skip(full as usize) {
        if let Mixer::Attention(attention) = &mut layer.mixer {
            attention.reach = window;
        }
    }
    Ok(model)
}

/// `sliding_window` counts only where `use_sliding_window` says so.
fn qwen_window(config: &Config<'_>, model: &Model) -> Result<Reach, Error> {
    if config.flag("use_sliding_window", false)? {
        base::window(config, model)
    } else {
        Ok(Reach::Full)
    }
}

/// Qwen3: norms on queries and keys.
pub(super) fn qwen3(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, false)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    attention.qk_norm = QkNorm::PerHead;
    attention.reach = qwen_window(config, &model)?;
    finish(config, model, attention, Norms::before(Norm::Rms))
}

/// Phi-3 and later.
pub(super) fn phi3(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config, false)?;
    attention.reach = base::window(config, &model)?;
    model.lm_head_bias = config.flag("lm_head_bias", false)?;
    finish(config, model, attention, Norms::before(Norm::Rms))
}

/// Baichuan 2: the larger one has no positions field and uses ALiBi.
pub(super) fn baichuan(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, mut attention) = start(config, false)?;
    if model.max_position_embeddings == 0 {
        model.positions = Positions::Alibi;
        attention.rotary_dim = 0;
    }
    finish(config, model, attention, Norms::before(Norm::Rms))
}

/// ChatGLM 2 and 3, with names of their own; half of each head is rotated.
pub(super) fn chatglm(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = base::model(config, false)?;
    let mut attention = base::attention(config, &model)?;
    if let Some(head_dim) = config.positive("kv_channels", Limit::Width)? {
        attention.head_dim = head_dim;
        attention.v_head_dim = head_dim;
    }
    attention.rotary_dim = attention.head_dim / 2;
    if config.flag("multi_query_attention", false)? {
        attention.num_key_value_heads = config.size("multi_query_group_num", Limit::Count)?;
    }
    let bias = config.flag("add_bias_linear", false)?;
    attention.qkv_bias = config.flag("add_qkv_bias", false)? || bias;
    attention.o_bias = bias;
    let kind = if config.flag("rmsnorm", true)? {
        Norm::Rms
    } else {
        Norm::LayerNormWithBias
    };
    let feed_forward = FeedForward::Dense(Dense {
        bias,
        ..Dense::gated(config.size("ffn_hidden_size", Limit::Width)?)
    });
    model.final_norm = kind;
    let depth = base::depth(config)?;
    model.layers = base::uniform(depth, attention, &feed_forward, Norms::before(kind));
    Ok(model)
}

/// GLM-4 (`glm`) and GLM-4-0414 (`glm4`, with norms after as well).
pub(super) fn glm(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, false)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    let norms = match model.model_type.as_str() {
        "glm4" => base::AROUND,
        _ => Norms::before(Norm::Rms),
    };
    finish(config, model, attention, norms)
}

/// OLMo 2 and 3: norms after instead of before, and over whole queries and keys; OLMo 3 adds windows.
pub(super) fn olmo(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, false)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    attention.qk_norm = QkNorm::Full;
    let window = base::window(config, &model)?;
    let mut model = finish(config, model, attention, base::AFTER)?;
    // Three windowed layers, then a full one: the default of transformers' Olmo3Config.
    let sliding = base::sliding_layers(config, model.layers.len(), 4)?;
    for (layer, sliding) in model.layers.iter_mut().zip(sliding) {
        if let Mixer::Attention(attention) = &mut layer.mixer
            && sliding
        {
            attention.reach = window;
        }
    }
    Ok(model)
}

/// EXAONE 4: norms after instead of before, and on each head; the larger one has windows.
pub(super) fn exaone4(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, false)?;
    attention.qk_norm = QkNorm::PerHead;
    let window = base::window(config, &model)?;
    let mut model = finish(config, model, attention, base::AFTER)?;
    if window != Reach::Full {
        unrotated_unless_windowed(config, &mut model, window)?;
    }
    Ok(model)
}

/// Three layers with a window and rotation, then one that sees everything without: the default of transformers'
/// Cohere2Config and Exaone4Config.
fn unrotated_unless_windowed(
    config: &Config<'_>,
    model: &mut Model,
    window: Reach,
) -> Result<(), Error> {
    let sliding = base::sliding_layers(config, model.layers.len(), 4)?;
    for (layer, sliding) in model.layers.iter_mut().zip(sliding) {
        if let Mixer::Attention(attention) = &mut layer.mixer {
            if sliding {
                attention.reach = window;
            } else {
                attention.rotary_dim = 0;
            }
        }
    }
    Ok(())
}

/// Seed-OSS: Llama with biases on queries, keys and values, and another for the output.
pub(super) fn seed_oss(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, false)?;
    // The defaults of transformers' SeedOssConfig.
    attention.qkv_bias = config.flag("attention_bias", true)?;
    attention.o_bias = config.flag("attention_out_bias", false)?;
    finish(config, model, attention, Norms::before(Norm::Rms))
}

/// Cohere's Command-R: attention and network in parallel behind one norm.
pub(super) fn cohere(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, true)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    if config.flag("use_qk_norm", false)? {
        attention.qk_norm = QkNorm::Full;
    }
    let norms = Norms {
        before_feed_forward: false,
        ..Norms::before(Norm::LayerNorm)
    };
    finish(config, model, attention, norms)
}

/// Command R7B and Command A: Command-R with windows.
pub(super) fn cohere2(config: &Config<'_>) -> Result<Model, Error> {
    let mut model = cohere(config)?;
    let window = base::window(config, &model)?;
    unrotated_unless_windowed(config, &mut model, window)?;
    Ok(model)
}

/// StableLM.
pub(super) fn stablelm(config: &Config<'_>) -> Result<Model, Error> {
    let (model, mut attention) = start(config, false)?;
    attention.qkv_bias = config.flag("use_qkv_bias", false)?;
    let norms = Norms {
        before_feed_forward: !config.flag("use_parallel_residual", false)?,
        ..Norms::before(Norm::LayerNormWithBias)
    };
    finish(config, model, attention, norms)
}

/// StarCoder2: biases and layer norms, a network without a gate.
pub(super) fn starcoder2(config: &Config<'_>) -> Result<Model, Error> {
    // The defaults of transformers' Starcoder2Config.
    let (mut model, mut attention) = start(config, true)?;
    let bias = config.flag("use_bias", true)?;
    attention.qkv_bias = bias;
    attention.o_bias = bias;
    attention.reach = base::window(config, &model)?;
    let network = FeedForward::Dense(Dense {
        intermediate_size: config.size("intermediate_size", Limit::Width)?,
        gated: false,
        bias,
    });
    model.activation = Activation::Gelu;
    let norms = Norms::before(Norm::LayerNormWithBias);
    model.final_norm = norms.kind;
    model.layers = base::uniform(base::depth(config)?, attention, &network, norms);
    Ok(model)
}

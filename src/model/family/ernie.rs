//! ERNIE 4.5: Llama's layers, the larger models with experts behind the first.

use super::base;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::Attention;
use crate::model::{Dense, Experts, FeedForward, Mixer, Model, Norm, Norms, SharedExpert};

/// Model, attention and dense network with their usual fields.
fn start(config: &Config<'_>) -> Result<(Model, Attention, Dense), Error> {
    // The default of transformers' Ernie4_5Config and Ernie4_5_MoeConfig.
    let mut model = base::model(config, true)?;
    let mut attention = base::attention(config, &model)?;
    model.positions = base::positions(config, attention.rotary_dim)?;
    let bias = config.flag("use_bias", false)?;
    attention.qkv_bias = bias;
    attention.o_bias = bias;
    let network = Dense {
        bias,
        ..Dense::gated(config.size("intermediate_size", Limit::Width)?)
    };
    Ok((model, attention, network))
}

/// Without experts.
pub(super) fn dense(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, attention, network) = start(config)?;
    let network = FeedForward::Dense(network);
    let norms = Norms::before(Norm::Rms);
    model.layers = base::uniform(base::depth(config)?, attention, &network, norms);
    Ok(model)
}

/// With experts from `moe_layer_start_index` to `moe_layer_end_index`, in every `moe_layer_interval`-th layer.
pub(super) fn mixture(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, attention, network) = start(config)?;
    let experts = FeedForward::Experts(Box::new(experts(config)?));
    let first = config.count("moe_layer_start_index", Limit::Layers)?;
    // -1 stands for the last layer there is.
    let last = config.number("moe_layer_end_index")?;
    let last = last.filter(|last| *last >= 0.0);
    let last = last.map_or(u64::MAX, |last| last as u64);
    let interval = config.size_or("moe_layer_interval", Limit::Layers, 1)?;
    let layer = |index: u64| {
        let sparse = (first.unwrap_or(0)..=last).contains(&index);
        let feed_forward = if sparse && (index + 1).is_multiple_of(interval) {
            experts.clone()
        } else {
            FeedForward::Dense(network)
        };
        base::layer(
            Mixer::Attention(attention),
            feed_forward,
            Norms::before(Norm::Rms),
        )
    };
    model.layers = (0..base::depth(config)? as u64).map(layer).collect();
    Ok(model)
}

fn experts(config: &Config<'_>) -> Result<Experts, Error> {
    let number = config.size("moe_num_experts", Limit::Count)?;
    let used = config.size("moe_k", Limit::Count)?;
    let chosen = base::chosen_of(config, ("moe_k", used), number)?;
    let width = config.size("moe_intermediate_size", Limit::Width)?;
    let shared = config.positive("moe_num_shared_experts", Limit::Count)?;
    Ok(Experts {
        moe_intermediate_size: width,
        norm_topk_prob: true,
        // Every checkpoint has it (`moe_statics` of transformers' Ernie4_5_MoeSparseMoeBlock); files may not.
        correction_bias: config.flag("moe_use_aux_free", true)?,
        shared: shared.map(|count| SharedExpert {
            count,
            intermediate_size: width.saturating_mul(count),
            gate: false,
        }),
        ..chosen
    })
}

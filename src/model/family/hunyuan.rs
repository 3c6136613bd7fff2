//! Hunyuan of the first generation: Llama's layers with norms on each head, behind the rotation; A13B has experts.

use super::base;
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::{Attention, QkNorm};
use crate::model::{Dense, Experts, FeedForward, Model, Norm, Norms, SharedExpert};

fn start(config: &Config<'_>) -> Result<(Model, Attention), Error> {
    let mut model = base::model(config, false)?;
    let mut attention = base::attention(config, &model)?;
    model.positions = base::positions(config, attention.rotary_dim)?;
    attention.qkv_bias = config.flag("attention_bias", false)?;
    attention.o_bias = attention.qkv_bias;
    // Whatever `use_qk_norm` says, transformers' HunYuanDenseV1Attention and llama.cpp's loader have them.
    attention.qk_norm = QkNorm::PerHead;
    Ok((model, attention))
}

/// Without experts.
pub(super) fn dense(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, attention) = start(config)?;
    let width = config.size("intermediate_size", Limit::Width)?;
    let network = FeedForward::Dense(Dense::gated(width));
    let norms = Norms::before(Norm::Rms);
    model.layers = base::uniform(base::depth(config)?, attention, &network, norms);
    Ok(model)
}

/// With experts, the same number of which serve each token in every layer, beside a shared one of `intermediate_size`.
pub(super) fn mixture(config: &Config<'_>) -> Result<Model, Error> {
    let (mut model, attention) = start(config)?;
    let depth = base::depth(config)?;
    let shared = config.size("intermediate_size", Limit::Width)?;
    let width = same_in_all(config, "moe_intermediate_size", Limit::Width)?;
    let used = same_in_all(config, "moe_topk", Limit::Count)?;
    let number = config.size("num_experts", Limit::Count)?;
    let chosen = base::chosen_of(config, ("moe_topk", used), number)?;
    let count = same_in_all(config, "num_shared_expert", Limit::Count)?;
    let experts = Experts {
        moe_intermediate_size: width,
        norm_topk_prob: true,
        shared: Some(SharedExpert {
            count,
            intermediate_size: shared.saturating_mul(count),
            gate: false,
        }),
        ..chosen
    };
    let network = FeedForward::Experts(Box::new(experts));
    let norms = Norms::before(Norm::Rms);
    model.layers = base::uniform(depth, attention, &network, norms);
    Ok(model)
}

/// A number that is given once, or listed for every layer and the same in all, as the converter asks
/// (`conversion/hunyuan.py`).
fn same_in_all(config: &Config<'_>, field: &'static str, limit: Limit) -> Result<u64, Error> {
    let all = config.one_or_several(field, limit)?;
    let Some((&first, rest)) = all.split_first() else {
        return config.size(field, limit);
    };
    if first == 0 || rest.iter().any(|other| *other != first) {
        return Err(config.inconsistent(field, "must be the same number in all layers"));
    }
    Ok(first)
}

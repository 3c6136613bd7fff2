//! Ling and Ring of the second generation: dense layers first, a shared expert, norms on each head.

use super::base;
use super::generic;
use super::mixture::{dense_first, start};
use crate::model::config::{Config, Error, Limit};
use crate::model::mixer::QkNorm;
use crate::model::{Dense, Experts, Mixer, Model, Scoring, SharedExpert};

/// The second generation; of the first, which has the same type and no norms on queries and keys, only the fields are
/// read.
pub(super) fn read(config: &Config<'_>) -> Result<Model, Error> {
    if !config.flag("use_qk_norm", false)? {
        let model_type = config.text("model_type")?.unwrap_or_default();
        let mut model = generic::read(config, model_type, None)?;
        let sentence = "Nothing is known of the first generation of this type: layers, caches and graphs are taken from the \
                        fields of its configuration alone.";
        model.assumptions.insert(0, sentence.to_owned());
        return Ok(model);
    }
    let (mut model, mut attention) = start(config)?;
    attention.qkv_bias = config.flag("use_qkv_bias", false)?;
    attention.o_bias = config.flag("use_bias", false)?;
    attention.qk_norm = QkNorm::PerHead;
    let width = config.size("moe_intermediate_size", Limit::Width)?;
    let count = config.positive("num_shared_experts", Limit::Count)?;
    let shared = config.positive("moe_shared_expert_intermediate_size", Limit::Width)?;
    let experts = Experts {
        correction_bias: config.flag("moe_router_enable_expert_bias", true)?,
        scoring: Scoring::Sigmoid,
        shared: count.map(|count| SharedExpert {
            count,
            intermediate_size: shared.unwrap_or(width).saturating_mul(count),
            gate: false,
        }),
        ..base::experts(config, config.size("num_experts", Limit::Count)?, width)?
    };
    let dense = Dense::gated(config.size("intermediate_size", Limit::Width)?);
    let first = config.count("first_k_dense_replace", Limit::Layers)?;
    let mixer = Mixer::Attention(attention);
    model.layers = dense_first(config, &mixer, first.unwrap_or(0), dense, &experts)?;
    Ok(model)
}

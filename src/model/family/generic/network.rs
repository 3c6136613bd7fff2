//! Feed-forward networks and experts by the usual fields.

use super::fields::Fields;
use crate::model::config::{Config, Error, Limit};
use crate::model::family::mixture;
use crate::model::{
    Activation, Dense, Experts, FeedForward, Model, MultiTokenPrediction, Scoring, SharedExpert,
};

const WIDTH: [&str; 7] = [
    "intermediate_size",
    "ffn_hidden_size",
    "n_inner",
    "ffn_dim",
    "d_ff",
    "inner_hidden_size",
    "hidden_dim",
];

const NUMBER: [&str; 7] = [
    "num_experts",
    "n_routed_experts",
    "num_local_experts",
    "moe_num_experts",
    "num_moe_experts",
    "num_routed_experts",
    "n_experts",
];

const USED: [&str; 8] = [
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "top_k_experts",
    "moe_topk",
    "moe_top_k",
    "moe_k",
    "num_selected_experts",
];

const EXPERT_WIDTH: [&str; 4] = [
    "moe_intermediate_size",
    "expert_intermediate_size",
    "moe_ffn_hidden_size",
    "expert_ffn_hidden_size",
];

const SHARED: [&str; 4] = [
    "n_shared_experts",
    "num_shared_experts",
    "num_shared_expert",
    "moe_num_shared_experts",
];

const SHARED_WIDTH: [&str; 3] = [
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
];

/// The networks of all layers.
pub(super) struct Networks {
    /// Width of the dense network by layer; 0 where there is none.
    widths: Vec<u64>,
    dense: Dense,
    experts: Option<Experts>,
    /// Which layers have experts.
    sparse: Vec<bool>,
}

impl Networks {
    pub(super) fn read(
        fields: &Fields<'_, '_>,
        model: &Model,
        depth: usize,
    ) -> Result<Self, Error> {
        let gated = gated(fields, model.activation)?;
        let experts = experts(fields, gated)?;
        let widths = match fields.per_layer(&WIDTH, Limit::Width, depth)? {
            Some(widths) => widths,
            None if experts.is_some() => vec![0; depth],
            None => {
                // The default of GPT-2 and its kin (`n_inner` of transformers' GPT2Config).
                fields.assume("It is not said how wide feed-forward networks are: four times the hidden size is assumed.");
                vec![model.hidden_size.saturating_mul(4); depth]
            }
        };
        let sparse = match experts {
            Some(_) => sparse(fields, depth)?,
            None => vec![false; depth],
        };
        let bias = fields.flag(&["mlp_bias", "use_bias", "bias"])?;
        Ok(Self {
            widths,
            dense: Dense {
                intermediate_size: 0,
                gated,
                bias: bias.unwrap_or(false),
            },
            experts,
            sparse,
        })
    }

    /// The network of a layer.
    pub(super) fn layer(&self, index: usize) -> FeedForward {
        if let Some(experts) = &self.experts
            && self.sparse.get(index) == Some(&true)
        {
            return FeedForward::Experts(Box::new(experts.clone()));
        }
        match self.widths.get(index) {
            None | Some(0) => FeedForward::None,
            Some(width) => FeedForward::Dense(Dense {
                intermediate_size: *width,
                ..self.dense
            }),
        }
    }
}

/// Networks with SiLU nearly always have a gate, those with another activation nearly never.
fn gated(fields: &Fields<'_, '_>, activation: Activation) -> Result<bool, Error> {
    // `is_gated_act` of transformers' T5Config; files of weights are read into it where they tell.
    if let Some(gated) = fields.flag(&["is_gated_act"])? {
        return Ok(gated);
    }
    let gated = activation == Activation::Silu;
    let matrices = if gated { "three" } else { "two" };
    fields.assume(format!(
        "No field says how many matrices a feed-forward network has: by its activation, {matrices} are assumed."
    ));
    Ok(gated)
}

/// The experts, where there are several.
fn experts(fields: &Fields<'_, '_>, gated: bool) -> Result<Option<Experts>, Error> {
    let Some(number) = fields
        .number(&NUMBER, Limit::Count)?
        .filter(|number| *number > 1)
    else {
        return Ok(None);
    };
    let config = fields.config;
    let used = match fields.number(&USED, Limit::Count)? {
        Some(used) if used <= number => used,
        Some(_) => {
            let reason = "exceeds the number of experts";
            return Err(config.inconsistent("num_experts_per_tok", reason));
        }
        None => {
            // As in GShard and Mixtral.
            fields.assume("It is not said how many experts a token uses: two are assumed.");
            2
        }
    };
    let width = match fields.number(&EXPERT_WIDTH, Limit::Width)? {
        Some(width) => width,
        None => fields
            .number(&WIDTH, Limit::Width)?
            .ok_or_else(|| Error::Missing {
                field: "moe_intermediate_size".to_owned(),
            })?,
    };
    let sigmoid = config.text("scoring_func")? == Some("sigmoid");
    Ok(Some(Experts {
        num_experts: number,
        num_experts_per_tok: used,
        moe_intermediate_size: width,
        gated,
        n_group: config.size_or("n_group", Limit::Count, 1)?,
        topk_group: config.size_or("topk_group", Limit::Count, 1)?,
        norm_topk_prob: config.flag("norm_topk_prob", false)?,
        shared: shared(fields, width)?,
        scoring: if sigmoid {
            Scoring::Sigmoid
        } else {
            Scoring::Softmax
        },
        correction_bias: sigmoid,
        ..Experts::default()
    }))
}

fn shared(fields: &Fields<'_, '_>, width: u64) -> Result<Option<SharedExpert>, Error> {
    let count = fields.number(&SHARED, Limit::Count)?;
    let joint = fields.number(&SHARED_WIDTH, Limit::Width)?;
    let intermediate_size = match (count, joint) {
        (_, Some(joint)) => joint,
        (Some(count), None) => width.saturating_mul(count),
        (None, None) => return Ok(None),
    };
    Ok(Some(SharedExpert {
        count: count.unwrap_or(1),
        intermediate_size,
        gate: false,
    }))
}

/// Which layers have experts: all but the first, every so many, or those that a list names.
fn sparse(fields: &Fields<'_, '_>, depth: usize) -> Result<Vec<bool>, Error> {
    let config = fields.config;
    if let Some(kinds) = config.texts_per_layer("mlp_layer_types", depth)? {
        return Ok(kinds.iter().map(|kind| *kind != "dense").collect());
    }
    // A list has one for each layer with experts.
    if let Some(list) = config.get("moe_layer_freq")
        && list.is_array()
    {
        let list = config.numbers_per_layer("moe_layer_freq", depth)?;
        return Ok(list.iter().flatten().map(|experts| *experts != 0).collect());
    }
    let first = [
        "first_k_dense_replace",
        "num_dense_layers",
        "moe_layer_start_index",
    ];
    let first = fields.number(&first, Limit::Layers)?.unwrap_or(0);
    let period = [
        "decoder_sparse_step",
        "interleave_moe_layer_step",
        "expert_layer_period",
        "moe_layer_freq",
        "moe_layer_interval",
    ];
    let period = fields.number(&period, Limit::Layers)?.unwrap_or(1);
    // transformers 5.24.0 `configuration_jamba.py` counts from an offset, the others up to the period.
    let offset = config.count("expert_layer_offset", Limit::Layers)?;
    let offset = offset.unwrap_or(period.saturating_sub(1));
    let dense = config.indices("mlp_only_layers")?;
    let sparse = |index: u64| index >= first && index % period == offset && !dense.contains(&index);
    Ok((0..depth as u64).map(sparse).collect())
}

/// Prediction blocks like the last layer.
pub(super) fn prediction(
    config: &Config<'_>,
    model: &Model,
) -> Result<Option<MultiTokenPrediction>, Error> {
    match model.layers.last() {
        Some(layer) => mixture::prediction(config, layer, false),
        None => Ok(None),
    }
}

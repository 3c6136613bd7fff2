//! Models of families that nothing is known of: what the usual fields say, with a sentence for each thing assumed.

mod fields;
mod layers;
mod mixer;
mod network;
mod recurrent;

use fields::Fields;
use mixer::Mixers;
use network::Networks;

use super::base;
use crate::model::config::{Config, Error, Limit};
use crate::model::{Model, Norm, Norms, Positions};
use crate::plain::quoted;

/// Spellings of the width of the residual stream.
const HIDDEN: [&str; 6] = [
    "hidden_size",
    "n_embd",
    "d_model",
    "n_embed",
    "model_dim",
    "dim",
];

/// Spellings of the number of layers.
const LAYERS: [&str; 4] = ["num_hidden_layers", "n_layer", "n_layers", "num_layers"];

/// Spellings of the longest context.
const CONTEXT: [&str; 8] = [
    "max_position_embeddings",
    "n_positions",
    "max_sequence_length",
    "max_seq_len",
    "max_seq_length",
    "seq_length",
    "n_ctx",
    "model_max_length",
];

/// A model by the usual names of fields. `model_type` is one that no family reads, `nearest` the known one that is
/// spelt most like it.
pub(super) fn read(
    config: &Config<'_>,
    model_type: &str,
    nearest: Option<String>,
) -> Result<Model, Error> {
    let fields = Fields::new(config);
    let nothing = |missing: &'static str, nearest: Option<String>| Error::Family {
        model_type: quoted(model_type),
        nearest,
        missing,
    };
    let Some(hidden_size) = fields.number(&HIDDEN, Limit::Width)? else {
        return Err(nothing("hidden_size", nearest));
    };
    let Some(depth) = depth(&fields)? else {
        return Err(nothing("num_hidden_layers", nearest));
    };
    let mut model = outside(&fields, model_type, hidden_size)?;
    let Some(mut mixers) = Mixers::read(&fields, &model, depth)? else {
        return Err(nothing("num_attention_heads", nearest));
    };
    model.positions = positions(&fields, &mut mixers)?;
    let networks = Networks::read(&fields, &model, depth)?;
    let norms = norms(&fields)?;
    model.final_norm = norms.kind;
    model.layers = layers::read(&fields, &mut mixers, &networks, norms, depth)?;
    model.mtp = network::prediction(config, &model)?;
    model.assumptions = fields.assumed();
    Ok(model)
}

/// How many layers: a number, or as many as are listed.
fn depth(fields: &Fields<'_, '_>) -> Result<Option<usize>, Error> {
    if let Some(depth) = fields.number(&LAYERS, Limit::Layers)? {
        return Ok(Some(depth as usize));
    }
    for field in layers::NAMED {
        let listed = fields.config.list(field)?.map_or(0, <[_]>::len);
        if (1..=Limit::Layers.most() as usize).contains(&listed) {
            return Ok(Some(listed));
        }
    }
    Ok(None)
}

/// Dimensions outside of the layers.
fn outside(fields: &Fields<'_, '_>, model_type: &str, hidden_size: u64) -> Result<Model, Error> {
    let vocab_size = fields.number(&["vocab_size", "padded_vocab_size", "n_vocab"], Limit::Rows)?;
    if vocab_size.is_none() {
        fields.assume("It is not said how large the vocabulary is: neither embedding nor output head are counted.");
    }
    let context = fields.number(&CONTEXT, Limit::Tokens)?;
    if context.is_none() {
        fields.assume("It is not said how long the model's context is.");
    }
    let tied = fields.flag(&["tie_word_embeddings"])?;
    if tied.is_none() {
        // transformers 5.24.0 `configuration_utils.py`: the default, which saved configurations leave out.
        fields
            .assume("It is not said whether the output head is the embedding: it is taken to be.");
    }
    let config = fields.config;
    Ok(Model {
        model_type: model_type.to_owned(),
        hidden_size,
        vocab_size: vocab_size.unwrap_or_default(),
        context_length: context.unwrap_or_default(),
        max_position_embeddings: context.unwrap_or_default(),
        tie_word_embeddings: tied.unwrap_or(true),
        lm_head_bias: config.flag("lm_head_bias", false)?,
        scaled_embedding: config.number("embedding_multiplier")?.is_some(),
        final_logit_softcapping: config.number("final_logit_softcapping")?.is_some(),
        activation: base::activation(config)?,
        ..Model::default()
    })
}

/// How positions enter, by the fields that go with each way.
fn positions(fields: &Fields<'_, '_>, mixers: &mut Mixers) -> Result<Positions, Error> {
    let kind = fields.config.text("position_embedding_type")?;
    let alibi = fields.flag(&["alibi", "use_alibi"])? == Some(true) || kind == Some("alibi");
    if alibi {
        mixers.unrotated();
        return Ok(Positions::Alibi);
    }
    let learnt = matches!(kind, Some("absolute" | "learned" | "learned_absolute"));
    if learnt || kind == Some("nope") {
        if learnt {
            fields.assume("The model learnt its positions: their table is not counted where no file lists it.");
        }
        mixers.unrotated();
        return Ok(Positions::None);
    }
    base::positions(fields.config, mixers.rotary_dim())
}

/// Norms before mixer and network; their kind by the name of their epsilon.
fn norms(fields: &Fields<'_, '_>) -> Result<Norms, Error> {
    let has = |names: &[&str]| names.iter().any(|name| fields.config.get(name).is_some());
    let layer = ["layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon"];
    let kind = if has(&["rms_norm_eps"]) || !has(&layer) {
        Norm::Rms
    } else {
        Norm::LayerNormWithBias
    };
    let parallel = [
        "use_parallel_residual",
        "parallel_attn",
        "parallel_residual",
    ];
    Ok(Norms {
        before_feed_forward: fields.flag(&parallel)? != Some(true),
        ..Norms::before(kind)
    })
}

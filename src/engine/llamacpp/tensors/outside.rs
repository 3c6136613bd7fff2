//! Embedding, head, and what serves all blocks.

use super::build::Build;
use super::{Architecture, Layer, Stored};
use crate::model::{Norm, Positions, RopeFactors, product};

/// Everything that is no block's.
pub(super) fn tensors(build: &mut Build<'_>) {
    let model = build.model;
    let width = build.width();
    build.outside(
        Layer::Input,
        "token_embd.weight",
        &[width, model.vocab_size],
        Stored::Plain,
    );
    build.outside(
        Layer::Output,
        "output_norm.weight",
        &[width],
        Stored::Single,
    );
    if model.final_norm == Norm::LayerNormWithBias {
        build.outside(Layer::Output, "output_norm.bias", &[width], Stored::Single);
    }
    if !model.tie_word_embeddings {
        build.outside(
            Layer::Output,
            "output.weight",
            &[width, model.vocab_size],
            Stored::Plain,
        );
    }
    if model.lm_head_bias {
        build.outside(
            Layer::Output,
            "output.bias",
            &[model.vocab_size],
            Stored::Single,
        );
    }
    rope_factors(build);
    per_layer_inputs(build);
    streams(build);
}

fn rope_factors(build: &mut Build<'_>) {
    let Positions::RotaryWithFactors(factors) = build.model.positions else {
        return;
    };
    let (names, length): (&[&str], u64) = match factors {
        RopeFactors::One { length } => (&["rope_freqs.weight"], length),
        RopeFactors::LongAndShort { length } => (
            &["rope_factors_long.weight", "rope_factors_short.weight"],
            length,
        ),
    };
    for name in names {
        build.outside(Layer::EveryBlock, name, &[length], Stored::Single);
    }
}

/// The second embedding of Gemma's E models; its table has the rows of the first (`src/models/gemma3n.cpp`,
/// `gemma4.cpp`).
fn per_layer_inputs(build: &mut Build<'_>) {
    let Some(inputs) = build.model.per_layer_inputs else {
        return;
    };
    let per_layer = inputs.hidden_size_per_layer_input;
    let all_layers = product(&[per_layer, build.model.layers.len() as u64]);
    build.outside(
        Layer::Input,
        "per_layer_token_embd.weight",
        &[all_layers, build.model.vocab_size],
        Stored::Plain,
    );
    build.outside(
        Layer::Block(0),
        "per_layer_model_proj.weight",
        &[build.width(), all_layers],
        Stored::Plain,
    );
    build.outside(
        Layer::Block(0),
        "per_layer_proj_norm.weight",
        &[per_layer],
        Stored::Single,
    );
}

/// Mixing of several residual streams before the head.
fn streams(build: &mut Build<'_>) {
    let width = build.width();
    if let Some(alt_up) = build.model.alt_up {
        let further = alt_up.altup_num_inputs.saturating_sub(1);
        for name in ["altup_proj.weight", "altup_unembd_proj.weight"] {
            build.outside(Layer::Output, name, &[width, width, further], Stored::Plain);
        }
    }
    if let Some(connections) = build.model.hyper_connections {
        let streams = connections.hc_mult;
        build.outside(
            Layer::Output,
            "output_hc_fn.weight",
            &[product(&[streams, width]), streams],
            Stored::Plain,
        );
        build.outside(
            Layer::Output,
            "output_hc_base.weight",
            &[streams],
            Stored::Single,
        );
        build.outside(
            Layer::Output,
            "output_hc_scale.weight",
            &[1],
            Stored::Single,
        );
    }
    if build.architecture == Architecture::KimiK3 {
        build.outside(
            Layer::Output,
            "output_res_score.weight",
            &[width],
            Stored::Single,
        );
    }
}

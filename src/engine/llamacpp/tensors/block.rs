//! One block: norms, mixer, feed-forward network.

use super::build::Build;
use super::{Architecture, attention, feed_forward, recurrent};
use crate::model::{FeedForward, Layer, Mixer, MultiTokenPrediction, Norm, Norms, product};

/// Every block, prediction blocks last where the file holds them: in files of some architectures always, in others
/// where they are to be loaded.
pub(super) fn tensors(build: &mut Build<'_>, prediction: bool) {
    let model = build.model;
    for (index, layer) in (0..).zip(&model.layers) {
        build.enter(index, true);
        block(build, layer);
    }
    let Some(mtp) = &model.mtp else { return };
    if !mtp.stored || !(prediction || build.architecture.keeps_prediction_blocks()) {
        return;
    }
    for (index, layer) in (model.layers.len() as u32..).zip(&mtp.layers) {
        build.enter(index, prediction);
        block(build, layer);
        joining(build, mtp);
    }
}

/// What joins a prediction block to the main model.
fn joining(build: &mut Build<'_>, mtp: &MultiTokenPrediction) {
    let (width, vocab) = (build.width(), build.model.vocab_size);
    build.weight("nextn.eh_proj", &[product(&[2, width]), width]);
    for name in ["nextn.enorm", "nextn.hnorm", "nextn.shared_head_norm"] {
        build.norm(name, Norm::Rms, width);
    }
    if mtp.copies_embedding {
        build.weight("nextn.embed_tokens", &[width, vocab]);
        build.weight("nextn.shared_head_head", &[width, vocab]);
    }
}

fn block(build: &mut Build<'_>, layer: &Layer) {
    norms(build, layer);
    match &layer.mixer {
        Mixer::None => {}
        Mixer::Attention(heads) => attention::grouped(build, heads),
        Mixer::Latent(latent) => attention::latent(build, latent),
        Mixer::Compressed(compressed) => attention::compressed(build, compressed),
        Mixer::GatedDelta(delta) => recurrent::gated_delta(build, delta),
        Mixer::KimiDelta(delta) => recurrent::kimi_delta(build, delta),
        Mixer::Mamba2(mamba) => recurrent::mamba2(build, mamba),
        Mixer::Lightning(lightning) => recurrent::lightning(build, lightning),
        Mixer::AttentionAndMamba2(heads, mamba) => {
            attention::grouped(build, heads);
            recurrent::mamba2(build, mamba);
        }
    }
    match &layer.feed_forward {
        FeedForward::None => {}
        FeedForward::Dense(dense) => feed_forward::dense(build, dense),
        FeedForward::Experts(experts) => feed_forward::experts(build, experts),
    }
    streams(build, layer);
}

/// The norms of the residual stream under the names each architecture has for them.
fn norms(build: &mut Build<'_>, layer: &Layer) {
    let width = build.width();
    let Norms {
        kind,
        before_mixer,
        after_mixer,
        before_feed_forward,
        after_feed_forward,
    } = layer.norms;
    // A layer of one part only has one norm, whichever part it is.
    let one_part = matches!(
        build.architecture,
        Architecture::NemotronH | Architecture::NemotronHMoe
    );
    if before_mixer || (one_part && before_feed_forward) {
        build.norm("attn_norm", kind, width);
    }
    // A prediction block has both parts even there (`src/models/nemotron-h-moe.cpp`).
    if after_mixer || (one_part && before_mixer && before_feed_forward) {
        build.norm("post_attention_norm", kind, width);
    }
    if before_feed_forward && !one_part {
        let name = match build.architecture {
            Architecture::GptOss
            | Architecture::Qwen3Next
            | Architecture::Qwen35
            | Architecture::Qwen35Moe
            | Architecture::Glm4Moe
            | Architecture::SeedOss => "post_attention_norm",
            // The loader asks for this one without the usual suffix (`src/models/falcon-h1.cpp`).
            Architecture::FalconH1 => {
                build.named("ffn_norm", &[width], super::Stored::Single);
                return;
            }
            _ => "ffn_norm",
        };
        build.norm(name, kind, width);
    }
    if after_feed_forward {
        build.norm("post_ffw_norm", kind, width);
    }
}

/// Scales, second embeddings and further residual streams.
fn streams(build: &mut Build<'_>, layer: &Layer) {
    let width = build.width();
    if layer.output_scale {
        build.single("layer_output_scale", &[1]);
    }
    if let Some(inputs) = build.model.per_layer_inputs {
        let per_layer = inputs.hidden_size_per_layer_input;
        build.weight("inp_gate", &[width, per_layer]);
        build.weight("proj", &[per_layer, width]);
        build.single("post_norm", &[width]);
    }
    if let Some(alt_up) = build.model.alt_up {
        let (streams, rank) = (alt_up.altup_num_inputs, alt_up.laurel_rank);
        // The converter keeps the two small coefficient matrices in 32 bits.
        build.single("altup_correct_coef", &[streams, streams]);
        build.single("altup_correct_scale", &[width]);
        build.single(
            "altup_predict_coef",
            &[streams, product(&[streams, streams])],
        );
        build.weight("altup_router", &[width, streams]);
        build.single("altup_router_norm", &[width]);
        build.weight("laurel_l", &[width, rank]);
        build.weight("laurel_r", &[rank, width]);
        build.single("laurel_post_norm", &[width]);
    }
    if let Some(connections) = build.model.hyper_connections {
        let streams = connections.hc_mult;
        let outputs = product(&[streams.saturating_add(2), streams]);
        for site in ["hc_attn", "hc_ffn"] {
            build.weight(
                &format!("{site}_fn"),
                &[product(&[streams, width]), outputs],
            );
            build.single(&format!("{site}_base"), &[outputs]);
            build.single(&format!("{site}_scale"), &[3]);
        }
    }
    if build.architecture == Architecture::KimiK3 {
        build.single("attn_res_score", &[width]);
        build.single("ffn_res_score", &[width]);
    }
}

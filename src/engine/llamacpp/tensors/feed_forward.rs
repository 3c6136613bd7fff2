//! Feed-forward networks and experts.

use super::build::Build;
use super::{Architecture, Stored};
use crate::model::{Dense, Experts, product};

/// One network for all tokens.
pub(super) fn dense(build: &mut Build<'_>, network: &Dense) {
    let width = build.width();
    let inner = network.intermediate_size;
    if network.gated && fuses_gate(build.architecture) {
        build.linear("ffn_up", width, product(&[2, inner]), network.bias);
    } else {
        if network.gated {
            build.linear("ffn_gate", width, inner, network.bias);
        }
        build.linear("ffn_up", width, inner, network.bias);
    }
    build.linear("ffn_down", inner, width, network.bias);
}

/// Gate and up are one matrix, as in the checkpoint (`src/models/{phi3,chatglm,glm4}.cpp`, 0.6.0-dev).
fn fuses_gate(architecture: Architecture) -> bool {
    matches!(
        architecture,
        Architecture::Phi3 | Architecture::ChatGlm | Architecture::Glm4
    )
}

/// A router, its experts, and what runs beside them.
pub(super) fn experts(build: &mut Build<'_>, experts: &Experts) {
    let width = build.width();
    let count = experts.num_experts;
    build.single("ffn_gate_inp", &[width, count]);
    build.bias("ffn_gate_inp", &[count], experts.router_bias);
    build.bias("exp_probs_b", &[count], experts.correction_bias);
    if let Some(routing) = experts.hash_routing {
        build.named(
            "ffn_gate_tid2eid.weight",
            &[experts.num_experts_per_tok, routing.vocab_size],
            Stored::Integer,
        );
    }
    routed(build, experts);
    latent_projections(build, experts);
    if let Some(shared) = experts.shared {
        let inner = shared.intermediate_size;
        if experts.gated {
            build.weight("ffn_gate_shexp", &[width, inner]);
        }
        build.weight("ffn_up_shexp", &[width, inner]);
        build.weight("ffn_down_shexp", &[inner, width]);
        if shared.gate {
            build.single("ffn_gate_inp_shexp", &[width]);
        }
    }
    if let Some(beside) = &experts.beside {
        dense(build, beside);
        // Norms and scales of the two paths (`src/models/gemma4.cpp`, 0.6.0-dev).
        build.single("pre_ffw_norm_2", &[width]);
        build.single("post_ffw_norm_1", &[width]);
        build.single("post_ffw_norm_2", &[width]);
        build.named("ffn_gate_inp.scale", &[width], Stored::Single);
        build.named("ffn_down_exps.scale", &[count], Stored::Single);
    }
}

fn routed(build: &mut Build<'_>, experts: &Experts) {
    let width = experts.expert_width(build.width());
    let inner = experts.moe_intermediate_size;
    let count = experts.num_experts;
    if build.architecture == Architecture::Gemma4 {
        build.weight("ffn_gate_up_exps", &[width, product(&[2, inner]), count]);
    } else {
        if experts.gated {
            build.weight("ffn_gate_exps", &[width, inner, count]);
            build.bias("ffn_gate_exps", &[inner, count], experts.expert_bias);
        }
        build.weight("ffn_up_exps", &[width, inner, count]);
        build.bias("ffn_up_exps", &[inner, count], experts.expert_bias);
    }
    build.weight("ffn_down_exps", &[inner, width, count]);
    build.bias("ffn_down_exps", &[width, count], experts.expert_bias);
}

/// Projections to and from the width that experts work on.
fn latent_projections(build: &mut Build<'_>, experts: &Experts) {
    let Some(latent) = experts.latent_size else {
        return;
    };
    let width = build.width();
    let (down, up) = if build.architecture == Architecture::KimiK3 {
        ("ffn_routed_down", "ffn_routed_up")
    } else {
        ("ffn_latent_down", "ffn_latent_up")
    };
    build.weight(down, &[width, latent]);
    build.weight(up, &[latent, width]);
    if experts.latent_norm {
        build.single("ffn_routed_norm", &[latent]);
    }
}

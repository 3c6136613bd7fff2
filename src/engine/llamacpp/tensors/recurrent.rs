//! Mixers with a state of fixed size.

use super::build::Build;
use super::{Architecture, Stored};
use crate::model::mixer::{GatedDeltaNet, KimiDelta, LightningAttention, Mamba2};
use crate::model::{Norm, product, sum};

/// Qwen3-Next and Qwen3.5 (`src/models/qwen3next.cpp`, `qwen35.cpp`, 0.6.0-dev).
pub(super) fn gated_delta(build: &mut Build<'_>, delta: &GatedDeltaNet) {
    let width = build.width();
    let heads = delta.linear_num_value_heads;
    build.weight("attn_qkv", &[width, delta.conv_width()]);
    build.weight("attn_gate", &[width, delta.value_width()]);
    build.single(
        "ssm_conv1d",
        &[delta.linear_conv_kernel_dim, delta.conv_width()],
    );
    build.bias("ssm_dt", &[heads], true);
    build.named("ssm_a", &[heads], Stored::Single);
    if build.architecture == Architecture::Qwen3Next {
        build.weight("ssm_ba", &[width, product(&[2, heads])]);
    } else {
        build.weight("ssm_beta", &[width, heads]);
        build.weight("ssm_alpha", &[width, heads]);
    }
    build.norm("ssm_norm", Norm::Rms, delta.linear_value_head_dim);
    build.weight("ssm_out", &[delta.value_width(), width]);
}

/// Kimi K3 (`src/models/kimi-k3.cpp`, 0.6.0-dev).
pub(super) fn kimi_delta(build: &mut Build<'_>, delta: &KimiDelta) {
    let width = build.width();
    let inner = delta.width();
    for part in ["q", "k", "v"] {
        build.single(
            &format!("ssm_conv1d_{part}"),
            &[delta.short_conv_kernel_size, 1, inner],
        );
        build.weight(&format!("attn_{part}"), &[width, inner]);
    }
    build.weight("ssm_f_a", &[width, delta.head_dim]);
    build.weight("ssm_f_b", &[delta.head_dim, inner]);
    build.weight("ssm_beta", &[width, delta.num_heads]);
    build.named("ssm_a", &[delta.num_heads], Stored::Single);
    build.bias("ssm_dt", &[inner], true);
    if delta.full_rank_gate {
        build.weight("ssm_g", &[width, inner]);
    } else {
        build.weight("ssm_g_a", &[width, delta.head_dim]);
        build.weight("ssm_g_b", &[delta.head_dim, inner]);
    }
    build.norm("ssm_norm", Norm::Rms, delta.head_dim);
    build.weight("attn_output", &[inner, width]);
}

/// Mamba-2 (`src/models/nemotron-h.cpp`, `granite-hybrid.cpp`, `falcon-h1.cpp`, 0.6.0-dev).
pub(super) fn mamba2(build: &mut Build<'_>, mamba: &Mamba2) {
    let width = build.width();
    build.linear("ssm_in", width, mamba.in_width(), mamba.proj_bias);
    build.single("ssm_conv1d", &[mamba.d_conv, mamba.conv_width()]);
    build.bias("ssm_conv1d", &[mamba.conv_width()], mamba.conv_bias);
    build.bias("ssm_dt", &[mamba.num_heads], true);
    build.named("ssm_a", &[1, mamba.num_heads], Stored::Single);
    build.named("ssm_d", &[1, mamba.num_heads], Stored::Single);
    if mamba.norm {
        let group = mamba.d_inner.checked_div(mamba.n_groups).unwrap_or(0);
        build.single("ssm_norm", &[group, mamba.n_groups]);
    }
    build.linear("ssm_out", mamba.d_inner, width, mamba.proj_bias);
}

/// MiniMax-M1 (`src/models/minimax-01.cpp`, 0.6.0-dev).
pub(super) fn lightning(build: &mut Build<'_>, lightning: &LightningAttention) {
    let width = build.width();
    let inner = lightning.width();
    build.single("attn_norm_2", &[inner]);
    build.weight("attn_qkv", &[width, sum(&[inner, inner, inner])]);
    build.weight("attn_gate", &[width, inner]);
    build.weight("attn_output", &[inner, width]);
}

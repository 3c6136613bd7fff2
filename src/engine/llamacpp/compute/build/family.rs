//! Which architecture is built how (`src/models/*.cpp` 0.6.0-dev).

use super::experts::Routing;
use super::hybrid::HybridStyle;
use super::latent::LatentStyle;
use super::transformer::{PositionScales, SOFTMAX, SOFTMAX_NORMALIZED, Style};
use crate::engine::llamacpp::compute::Exactness;
use crate::engine::llamacpp::compute::plan::GraphPlan;
use crate::engine::llamacpp::kv_cache::is_other_with_windows;
use crate::model::{Activation, Mixer, Scoring};

/// Which builder, and how.
pub(super) enum Family {
    Transformer(Style),
    Latent(LatentStyle),
    Hybrid(HybridStyle),
    Sparse,
    Compressed,
    BlockSparse,
    Gemma4,
    Kimi,
    Lightning,
    Gemma3n,
}

/// The builder of an architecture; the nearest where it has none.
pub(super) fn family(plan: &GraphPlan) -> Family {
    known_family(plan).unwrap_or_else(|| {
        let has = |wanted: fn(&Mixer) -> bool| {
            let mut blocks = plan.blocks.iter();
            blocks.any(|block| wanted(&block.layer.mixer))
        };
        if has(|mixer| matches!(mixer, Mixer::Latent(_))) {
            Family::Latent(LatentStyle::default())
        } else if has(Mixer::is_recurrent) {
            Family::Hybrid(HybridStyle::default())
        } else {
            Family::Transformer(Style {
                windows: is_other_with_windows(&plan.architecture),
                ..Style::default()
            })
        }
    })
}

fn known_family(plan: &GraphPlan) -> Option<Family> {
    let qwen = HybridStyle {
        axes: 1,
        rows_last: true,
        routing: Some(SOFTMAX_NORMALIZED),
        ..HybridStyle::default()
    };
    Some(match plan.architecture.as_str() {
        "deepseek2" => Family::Latent(LatentStyle::default()),
        "minicpm3" => Family::Latent(LatentStyle { scaled: true }),
        "deepseek32" | "glm-dsa" => Family::Sparse,
        "deepseek4" => Family::Compressed,
        "gemma4" => Family::Gemma4,
        "kimi-k3" => Family::Kimi,
        "minimax-01" => Family::Lightning,
        "minimax-m3" => Family::BlockSparse,
        "gemma3n" => Family::Gemma3n,
        "qwen3next" => Family::Hybrid(qwen),
        "qwen35" | "qwen35moe" => Family::Hybrid(HybridStyle { axes: 4, ..qwen }),
        "nemotron_h" | "nemotron_h_moe" => Family::Hybrid(HybridStyle {
            rows_last: true,
            scores_first: true,
            ..HybridStyle::default()
        }),
        "falcon-h1" => Family::Hybrid(HybridStyle::default()),
        "granitehybrid" => Family::Hybrid(HybridStyle {
            scaled: true,
            routing: Some(SOFTMAX_NORMALIZED),
            ..HybridStyle::default()
        }),
        _ => return style(plan).map(Family::Transformer),
    })
}

/// Architectures whose graphs have operations, or an order of them, that no measured graph has: the gate of Qwen2's
/// shared expert, norms behind the rotation, corrected softmax scores, a network without a gate behind layer norms.
const UNMEASURED: [&str; 5] = [
    "qwen2moe",
    "hunyuan-dense",
    "hunyuan-moe",
    "ernie4_5-moe",
    "starcoder2",
];

/// Whether the architecture has its own graph here, of operations that were measured in it or in another.
pub(in crate::engine::llamacpp::compute) fn exactness(plan: &GraphPlan) -> Exactness {
    // Files of DeepSeek-V2 with keys and values in one matrix are built as MiniCPM3's: nobody measured one.
    let old = plan.architecture == "deepseek2"
        && plan
            .blocks
            .iter()
            .any(|block| block.weights.get("attn_kv_b.weight").is_some());
    let unmeasured = UNMEASURED.contains(&plan.architecture.as_str());
    if known_family(plan).is_some() && !old && !unmeasured {
        Exactness::Emulated
    } else {
        Exactness::Approximate
    }
}

/// What an architecture's graph does beyond what the model says; `None` where it is not known.
fn style(plan: &GraphPlan) -> Option<Style> {
    let bare = Style::default();
    let softmax = Style {
        routing: Some(SOFTMAX_NORMALIZED),
        ..bare
    };
    Some(match plan.architecture.as_str() {
        // Older models have no scale in their files, and the loader takes none then (`src/models/mistral3.cpp`).
        "mistral3" if plan.trunk.scaled_positions => Style {
            position_scales: PositionScales::All,
            ..softmax
        },
        "llama" | "qwen3moe" | "mistral3" | "ernie4_5-moe" => softmax,
        "qwen2" | "qwen3" | "glm4moe" | "smollm3" | "deci" | "chatglm" | "internlm2"
        | "baichuan" | "stablelm" | "seed_oss" | "ernie4_5" | "dots1" | "bailingmoe2"
        | "starcoder2" => bare,
        "qwen2moe" | "olmoe" => Style {
            routing: Some(SOFTMAX),
            ..bare
        },
        "hunyuan-dense" | "hunyuan-moe" => Style {
            norms_after_rotation: true,
            ..softmax
        },
        "glm4" => Style {
            pinned_last_norm: true,
            ..bare
        },
        "minimax-m2" => Style {
            normalized_experts: true,
            ..bare
        },
        "qwen2vl" => Style { axes: 4, ..bare },
        "qwen3vl" | "qwen3vlmoe" => Style {
            axes: 4,
            deepstack: plan.trunk.deepstack,
            ..softmax
        },
        "phi3" | "phimoe" => Style {
            scaled_queries: true,
            residual_first: true,
            ..softmax
        },
        "granite" | "granitemoe" => Style {
            scaled_embedding: true,
            scaled_residual: true,
            scaled_logits: true,
            ..softmax
        },
        "command-r" => Style {
            scaled_logits: true,
            ..bare
        },
        _ => return windowed_style(plan),
    })
}

/// The same for architectures whose windows have a cache of their own.
fn windowed_style(plan: &GraphPlan) -> Option<Style> {
    let bare = Style {
        windows: true,
        ..Style::default()
    };
    Some(match plan.architecture.as_str() {
        "llama4" => Style {
            position_scales: PositionScales::Unrotated,
            routing: Some(Routing {
                scoring: Scoring::Sigmoid,
                normalized: false,
                scaled: false,
                weights_first: true,
                activation: Activation::Silu,
            }),
            ..bare
        },
        "gemma2" => Style {
            scaled_embedding: true,
            scaled_queries: true,
            capped_logits: true,
            ..bare
        },
        "gemma3" => Style {
            scaled_rows: true,
            scaled_queries: true,
            capped_logits: plan.trunk.capped_logits,
            ..bare
        },
        "gpt-oss" => Style {
            rows_after_blocks: true,
            routing: Some(Routing {
                scoring: Scoring::SoftmaxOfChosen,
                normalized: false,
                scaled: false,
                weights_first: false,
                activation: Activation::ClampedSwiglu,
            }),
            ..bare
        },
        "olmo2" | "exaone4" => bare,
        "cohere2" => Style {
            scaled_logits: true,
            ..bare
        },
        _ => return None,
    })
}

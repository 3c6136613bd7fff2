//! Parts of layers in a few words.

use crate::model::mixer::{Attention, Cache, Indexer, Reach};
use crate::model::{FeedForward, Mixer};
use crate::projection::grouped;

/// What looks at other tokens.
pub(super) fn mixer(mixer: &Mixer) -> String {
    match mixer {
        Mixer::None => "none".to_owned(),
        Mixer::Attention(kind) => attention(kind),
        Mixer::Latent(latent) => {
            let queries = latent
                .q_lora_rank
                .map(|rank| format!(", queries of rank {rank}"))
                .unwrap_or_default();
            format!(
                "latent attention, {} heads, rank {} + {} rotated{queries}{}",
                latent.num_attention_heads,
                latent.kv_lora_rank,
                latent.qk_rope_head_dim,
                indexer(latent.sparse)
            )
        }
        Mixer::Compressed(compressed) => {
            let entries = match compressed.compress_ratio {
                0 => String::new(),
                ratio => format!(", entries of {ratio} tokens"),
            };
            format!(
                "compressed attention, {} heads of {}, window {}{entries}{}",
                compressed.num_attention_heads,
                compressed.head_dim,
                grouped(compressed.sliding_window),
                indexer(compressed.indexer)
            )
        }
        Mixer::GatedDelta(delta) => format!(
            "gated delta net, {} value heads of {}",
            delta.linear_num_value_heads, delta.linear_value_head_dim
        ),
        Mixer::KimiDelta(delta) => {
            format!(
                "Kimi delta attention, {} heads of {}",
                delta.num_heads, delta.head_dim
            )
        }
        Mixer::Mamba2(mamba) => mamba2(mamba.num_heads, mamba.d_state),
        Mixer::Lightning(kind) => {
            format!(
                "lightning attention, {} heads of {}",
                kind.num_attention_heads, kind.head_dim
            )
        }
        Mixer::AttentionAndMamba2(kind, mamba) => format!(
            "{} beside {}",
            attention(kind),
            mamba2(mamba.num_heads, mamba.d_state)
        ),
    }
}

fn attention(kind: &Attention) -> String {
    let reach = match kind.reach {
        Reach::Full => String::new(),
        Reach::Window(tokens) => format!(", window {}", grouped(tokens)),
        Reach::Chunk(tokens) => format!(", chunks of {}", grouped(tokens)),
    };
    let cache = match kind.cache {
        Cache::Own => String::new(),
        Cache::SharedWith(layer) => format!(", cache of layer {layer}"),
    };
    let sinks = if kind.sinks { ", sinks" } else { "" };
    let blocks = kind.block_indexer.map_or_else(String::new, |indexer| {
        format!(", {} blocks of {}", indexer.topk_blocks, indexer.block_size)
    });
    format!(
        "attention, {} heads of {}, {} for keys and values{reach}{cache}{sinks}{blocks}",
        kind.num_attention_heads, kind.head_dim, kind.num_key_value_heads
    )
}

fn mamba2(heads: u64, state: u64) -> String {
    format!("Mamba-2, {heads} heads, state {state}")
}

fn indexer(indexer: Option<Indexer>) -> String {
    indexer.map_or_else(String::new, |indexer| {
        format!(", best {} tokens", grouped(indexer.index_topk))
    })
}

/// What works on each token alone.
pub(super) fn feed_forward(network: &FeedForward) -> String {
    match network {
        FeedForward::None => "none".to_owned(),
        FeedForward::Dense(dense) => format!("dense {}", grouped(dense.intermediate_size)),
        FeedForward::Experts(experts) => {
            let shared = experts.shared.map_or_else(String::new, |shared| {
                format!(", shared {}", grouped(shared.intermediate_size))
            });
            let beside = experts.beside.map_or_else(String::new, |dense| {
                format!(", dense {} beside", grouped(dense.intermediate_size))
            });
            format!(
                "{} experts of {}, {} per token{shared}{beside}",
                experts.num_experts,
                grouped(experts.moe_intermediate_size),
                experts.num_experts_per_tok
            )
        }
    }
}

//! Which caches a model's layers have.

use crate::engine::llamacpp::tensors::Architecture;
use crate::model::mixer::{Attention, CompressedAttention, LatentAttention, Reach};
use crate::model::{Mixer, Model, product};

/// One cache of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct LayerCache {
    /// Which layer.
    pub(in super::super) layer: usize,
    /// What kind.
    pub(in super::super) kind: Kind,
    /// Elements of a row of keys.
    pub(in super::super) k_width: u64,
    /// Elements of a row of values.
    pub(in super::super) v_width: u64,
    /// The same where values lie transposed (without flash attention).
    pub(in super::super) v_width_transposed: u64,
}

/// What a cache holds, which decides how many rows it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Kind {
    /// Keys and values of the whole context.
    Full,
    /// Keys and values of a sliding window of so many tokens.
    Window(u64),
    /// One compressed vector per token in place of keys and values (MLA).
    Latent,
    /// Keys of a sparse attention's indexer.
    Indexer,
    /// Keys of a block-sparse attention's indexer, with values that nothing reads.
    BlockIndexer,
    /// The window of a compressed attention, keys only.
    CompressedWindow(u64),
    /// Entries that stand for so many tokens each.
    Compressed(u64),
    /// The indexer over such entries.
    CompressedIndexer(u64),
}

/// Whether window layers get a cache of their own (`hparams.swa_type` in `src/models/*.cpp`, 0.6.0-dev). All other
/// architectures keep the whole context, whatever the configuration says of a window (Mistral, Phi-3, Qwen2).
pub(in super::super) fn has_windows(architecture: Architecture, model: &Model) -> bool {
    match architecture {
        Architecture::Gemma2
        | Architecture::Gemma3
        | Architecture::Gemma3n
        | Architecture::Gemma4
        | Architecture::GptOss
        | Architecture::Llama4
        | Architecture::Olmo2
        | Architecture::Cohere2 => true,
        // Only the model of 64 layers (`src/models/exaone4.cpp`).
        Architecture::Exaone4 => model.layers.len() == 64,
        // Nothing else of it need be known.
        Architecture::Unknown => is_other_with_windows(&model.model_type),
        _ => false,
    }
}

/// The same by the engine's name of an architecture that has no place of its own here.
pub(in super::super) fn is_other_with_windows(name: &str) -> bool {
    OTHERS_WITH_WINDOWS.contains(&name)
}

const OTHERS_WITH_WINDOWS: [&str; 13] = [
    "afmoe",
    "cohere2moe",
    "exaone-moe",
    "granite_swa",
    "laguna",
    "maple",
    "mellum",
    "mimo2",
    "muse-glimmer",
    "plamo3",
    "smallthinker",
    "spark2_5",
    "step35",
];

/// Every cache of the model, by layer.
pub(in super::super) fn caches(model: &Model, architecture: Architecture) -> Vec<LayerCache> {
    let windowed = has_windows(architecture, model);
    // Its cache has no filter for layers without attention, so that transposed values pad those too.
    let unfiltered = architecture == Architecture::Deci;
    let widest = widest_values(model);
    let mut caches = Vec::with_capacity(model.layers.len());
    for (layer, block) in model.layers.iter().enumerate() {
        match &block.mixer {
            Mixer::Attention(attention) | Mixer::AttentionAndMamba2(attention, _) => {
                plain(layer, attention, windowed, widest, &mut caches);
            }
            Mixer::Latent(latent) if architecture.expands_latents() => {
                caches.push(expanded(layer, latent));
            }
            Mixer::Latent(latent) => latents(layer, latent, &mut caches),
            Mixer::Compressed(compressed) => compresseds(layer, compressed, &mut caches),
            Mixer::None if unfiltered => caches.push(LayerCache {
                layer,
                kind: Kind::Full,
                k_width: 0,
                v_width: 0,
                v_width_transposed: widest,
            }),
            Mixer::None
            | Mixer::GatedDelta(_)
            | Mixer::KimiDelta(_)
            | Mixer::Mamba2(_)
            | Mixer::Lightning(_) => {}
        }
    }
    caches
}

/// Elements of the widest row of values (`n_embd_v_gqa_max`).
fn widest_values(model: &Model) -> u64 {
    let widths = model
        .layers
        .iter()
        .filter_map(|layer| layer.mixer.attention().map(Attention::v_width));
    widths.max().unwrap_or(0)
}

fn plain(
    layer: usize,
    attention: &Attention,
    windowed: bool,
    widest: u64,
    caches: &mut Vec<LayerCache>,
) {
    if !attention.owns_cache() {
        return;
    }
    let kind = match attention.reach {
        Reach::Window(tokens) | Reach::Chunk(tokens) if windowed => Kind::Window(tokens),
        Reach::Full | Reach::Window(_) | Reach::Chunk(_) => Kind::Full,
    };
    caches.push(LayerCache {
        layer,
        kind,
        k_width: attention.k_width(),
        v_width: attention.v_width(),
        v_width_transposed: widest,
    });
    if let Some(indexer) = attention.block_indexer {
        // `llama_kv_cache_msa` changes the heads to one and the width of keys, but not that of values.
        caches.push(LayerCache {
            layer,
            kind: Kind::BlockIndexer,
            k_width: indexer.head_dim,
            v_width: attention.v_head_dim,
            v_width_transposed: attention.v_head_dim,
        });
    }
}

fn keys(layer: usize, kind: Kind, width: u64) -> LayerCache {
    LayerCache {
        layer,
        kind,
        k_width: width,
        v_width: 0,
        v_width_transposed: 0,
    }
}

/// Keys and values of every head of a latent attention.
fn expanded(layer: usize, latent: &LatentAttention) -> LayerCache {
    let v_width = product(&[latent.num_attention_heads, latent.v_head_dim]);
    LayerCache {
        layer,
        kind: Kind::Full,
        k_width: product(&[latent.num_attention_heads, latent.qk_head_dim()]),
        v_width,
        v_width_transposed: v_width,
    }
}

fn latents(layer: usize, latent: &LatentAttention, caches: &mut Vec<LayerCache>) {
    caches.push(keys(layer, Kind::Latent, latent.latent_width()));
    if let Some(indexer) = latent.sparse.filter(|indexer| indexer.owned) {
        caches.push(keys(layer, Kind::Indexer, indexer.index_head_dim));
    }
}

fn compresseds(layer: usize, compressed: &CompressedAttention, caches: &mut Vec<LayerCache>) {
    let window = Kind::CompressedWindow(compressed.sliding_window);
    caches.push(keys(layer, window, compressed.head_dim));
    let ratio = compressed.compress_ratio;
    if ratio == 0 {
        return;
    }
    caches.push(keys(layer, Kind::Compressed(ratio), compressed.head_dim));
    if let Some(indexer) = compressed.indexer {
        caches.push(keys(
            layer,
            Kind::CompressedIndexer(ratio),
            indexer.index_head_dim,
        ));
    }
}

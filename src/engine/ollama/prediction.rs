//! How much Ollama believes that a model takes, before it starts anything. It decides where the model goes and how large
//! its batch is; what is taken in the end is another matter.

use crate::engine::llamacpp::base::File;
use crate::model::{Mixer, Model, product};

/// `PredictServerVRAM`, `llm/llama_server.go` v0.33.0-rc2: the file, and a cache of every layer in f16 whatever the
/// format, the windows or the kind of attention, with heads as wide as the model divided by their number.
pub(super) fn predicted(model: &Model, file: &File, context: u64) -> u64 {
    let heads = most_heads(model);
    let width = model.hidden_size.checked_div(heads).unwrap_or(0);
    let cache = product(&[2, file.blocks, fewest_kv_heads(model), width, context, 2]);
    file.bytes.get().saturating_add(cache)
}

/// The largest `attention.head_count` of the file.
fn most_heads(model: &Model) -> u64 {
    let heads = model.layers.iter().map(|layer| match &layer.mixer {
        Mixer::Attention(attention) | Mixer::AttentionAndMamba2(attention, _) => {
            attention.num_attention_heads
        }
        Mixer::Latent(latent) => latent.num_attention_heads,
        Mixer::Compressed(compressed) => compressed.num_attention_heads,
        Mixer::None
        | Mixer::GatedDelta(_)
        | Mixer::KimiDelta(_)
        | Mixer::Mamba2(_)
        | Mixer::Lightning(_) => 0,
    });
    heads.max().unwrap_or(0)
}

/// The smallest `attention.head_count_kv` of the file, where none counts as one.
///
/// The converter writes one head for latent attention, and a list with zeros where layers have no attention
/// (Nemotron-H, Granite-4-H, Kimi Linear); gated delta nets and lightning attention share the number of the attention
/// layers (`convert_hf_to_gguf.py`, 0.6.0-dev).
fn fewest_kv_heads(model: &Model) -> u64 {
    let heads = model.layers.iter().filter_map(|layer| match &layer.mixer {
        Mixer::Attention(attention) | Mixer::AttentionAndMamba2(attention, _) => {
            Some(attention.num_key_value_heads)
        }
        Mixer::Latent(_) | Mixer::Compressed(_) => Some(1),
        Mixer::None | Mixer::Mamba2(_) | Mixer::KimiDelta(_) => Some(0),
        Mixer::GatedDelta(_) | Mixer::Lightning(_) => None,
    });
    heads.min().unwrap_or(0).max(1)
}

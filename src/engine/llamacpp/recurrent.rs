//! States of recurrent layers and of V4's compressors: always f32, a fixed size per sequence whatever the context.
//!
//! Rules: `src/llama-memory-recurrent.cpp`, `n_embd_r` and `n_embd_s` in `src/llama-hparams.cpp`, and
//! `llama_dsv4_comp_state` in `src/llama-kv-cache-dsv4.cpp` (0.6.0-dev).

use super::config::{Config, Shape};
use super::placement::Sliced;
use super::tensors::Architecture;
use crate::model::mixer::CompressedAttention;
use crate::model::{Mixer, Model};
use crate::units::Bytes;

/// Bytes of an element.
const F32: u64 = 4;

/// The state of one layer for one sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LayerState {
    /// Which layer.
    pub(super) layer: usize,
    /// Elements of the convolution's or compressor's window.
    pub(super) window: u64,
    /// Elements of the matrix state, or of the compressor's weights.
    pub(super) matrix: u64,
}

/// Equal states of several layers on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// The GPU; `None` is main memory.
    pub(super) home: Option<usize>,
    /// Elements of one row, both parts.
    pub(super) elements: u64,
    /// Rows: sequences and their rollback states.
    pub(super) rows: u64,
    /// How many layers.
    pub(super) layers: u64,
    /// All of it.
    pub(super) bytes: Bytes,
}

/// Whether the engine keeps rollback states (`llm_arch_supports_rs_rollback`, `src/llama-arch.cpp` 0.6.0-dev); for all
/// other architectures it keeps none, whatever is asked for.
pub(super) fn rolls_back(architecture: Architecture) -> bool {
    matches!(
        architecture,
        Architecture::KimiK3
            | Architecture::Qwen35
            | Architecture::Qwen35Moe
            | Architecture::DeepSeek4
            | Architecture::NemotronH
            | Architecture::NemotronHMoe
    )
}

/// Every state of the model, by layer.
pub(super) fn states(model: &Model) -> Vec<LayerState> {
    let mut states = Vec::new();
    for (layer, block) in model.layers.iter().enumerate() {
        let mut push = |window, matrix| {
            states.push(LayerState {
                layer,
                window,
                matrix,
            });
        };
        match &block.mixer {
            Mixer::GatedDelta(delta) => push(delta.conv_state(), delta.matrix_state()),
            Mixer::KimiDelta(delta) => push(delta.conv_state(), delta.matrix_state()),
            Mixer::Mamba2(mamba) | Mixer::AttentionAndMamba2(_, mamba) => {
                push(mamba.conv_state(), mamba.ssm_state());
            }
            Mixer::Lightning(lightning) => push(0, lightning.matrix_state()),
            Mixer::Compressed(compressed) => {
                for elements in compressors(compressed) {
                    push(elements, elements);
                }
            }
            Mixer::None | Mixer::Attention(_) | Mixer::Latent(_) => {}
        }
    }
    states
}

/// Elements of each compressor's state, held twice: once for values and once for their weights. Entries of ratio 4
/// overlap, which doubles both the rows and their width.
fn compressors(compressed: &CompressedAttention) -> impl Iterator<Item = u64> {
    let ratio = compressed.compress_ratio;
    let factor = if compressed.overlaps() { 2 } else { 1 };
    let elements = move |width: u64| (factor * factor * ratio).saturating_mul(width);
    let main = (ratio > 0).then(|| elements(compressed.head_dim));
    let indexer = compressed
        .indexer
        .filter(|_| ratio > 0)
        .map(|indexer| elements(indexer.index_head_dim));
    main.into_iter().chain(indexer)
}

/// Every state, grouped.
pub(super) fn groups(
    states: &[LayerState],
    rolls_back: bool,
    config: &Config,
    shape: Shape,
    homes: &[Option<usize>],
    sliced: Option<&Sliced>,
) -> Vec<Group> {
    let rollback = if rolls_back { config.rollback } else { 0 };
    let rows = shape.sequences.saturating_mul(rollback.saturating_add(1));
    let mut groups: Vec<Group> = Vec::with_capacity(4);
    for state in states {
        let home = if config.kv_offload {
            homes.get(state.layer).copied().flatten()
        } else {
            None
        };
        let whole = (state.window, state.matrix);
        let parts: Vec<(Option<usize>, (u64, u64))> = match sliced.filter(|_| home.is_some()) {
            None => vec![(home, whole)],
            Some(sliced) => (0..sliced.shares.len())
                .map(|gpu| (Some(gpu), sliced.state(state.layer, gpu).unwrap_or(whole)))
                .collect(),
        };
        for (home, (window, matrix)) in parts {
            let elements = window.saturating_add(matrix);
            let bytes = Bytes::new(elements.saturating_mul(F32)) * rows;
            match groups
                .iter_mut()
                .find(|group| (group.home, group.elements) == (home, elements))
            {
                Some(known) => {
                    known.layers += 1;
                    known.bytes += bytes;
                }
                None => groups.push(Group {
                    home,
                    elements,
                    rows,
                    layers: 1,
                    bytes,
                }),
            }
        }
    }
    groups
}

//! Caches of keys and values: which layers have which, and what they take.
//!
//! Follows `llama_model::create_memory` and the caches it makes (`src/llama-kv-cache*.cpp`, 0.6.0-dev): every layer
//! with a cache gets one tensor of keys and, unless keys and values are one latent vector, one of values, of
//! `cells × streams` rows each, on the device of the layer.

mod layers;

pub(super) use layers::{Kind, LayerCache, caches, has_windows, is_other_with_windows};

use super::config::{Config, Shape, padded};
use super::placement::Sliced;
use crate::quant::Type;
use crate::units::Bytes;

/// Tensors of a quantized type on a CUDA device end with room for the rest of a row of this many elements
/// (`MATRIX_ROW_PADDING`, `ggml/src/ggml-cuda/ggml-cuda.cu`, 0.6.0-dev).
const MATRIX_ROW_PADDING: u64 = 512;

/// Alignment of tensors in a CUDA buffer (`ggml_backend_cuda_buffer_type_get_alignment`).
const ALIGNMENT: u64 = 128;

/// Equal caches of several layers on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// What kind of cache.
    pub(super) kind: Kind,
    /// The GPU; `None` is main memory.
    pub(super) home: Option<usize>,
    /// Rows per stream.
    pub(super) cells: u64,
    /// Streams.
    pub(super) streams: u64,
    /// Bytes of one row of keys.
    pub(super) k_row: Bytes,
    /// Bytes of one row of values; zero where there are none.
    pub(super) v_row: Bytes,
    /// How many layers.
    pub(super) layers: u64,
    /// All of it.
    pub(super) bytes: Bytes,
}

/// What each kind of cache is sized by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cells {
    shape: Shape,
    swa_full: bool,
}

impl Cells {
    /// Sizes for this configuration.
    pub(super) fn new(config: &Config, shape: Shape) -> Self {
        Self {
            shape,
            swa_full: config.swa_full,
        }
    }

    /// Rows per stream, and streams, of a cache.
    pub(super) fn of(self, kind: Kind) -> (u64, u64) {
        let Shape {
            context: _,
            cells,
            streams,
            sequences,
            batch: _,
            micro_batch,
            outputs: _,
        } = self.shape;
        match kind {
            Kind::Full | Kind::Latent | Kind::Indexer | Kind::BlockIndexer => (cells, streams),
            // `llama_kv_cache_iswa`: in a shared cache every sequence needs its window.
            Kind::Window(window) => {
                let windows = if streams == 1 { sequences } else { 1 };
                (
                    self.window(cells, window.saturating_mul(windows), micro_batch),
                    streams,
                )
            }
            // `llama_kv_cache_dsv4`: one stream per sequence even where the cache is shared.
            Kind::CompressedWindow(window) => (self.window(cells, window, micro_batch), sequences),
            Kind::Compressed(ratio) | Kind::CompressedIndexer(ratio) => {
                (padded(cells.div_ceil(ratio.max(1)).max(1)), sequences)
            }
        }
    }

    fn window(self, cells: u64, window: u64, micro_batch: u64) -> u64 {
        if self.swa_full {
            cells
        } else {
            padded(cells.min(window.saturating_add(micro_batch)))
        }
    }
}

/// Every cache, grouped; devices in the order in which layers use them.
pub(super) fn groups(
    caches: &[LayerCache],
    config: &Config,
    shape: Shape,
    homes: &[Option<usize>],
    sliced: Option<&Sliced>,
) -> Vec<Group> {
    let cells = Cells::new(config, shape);
    let mut groups: Vec<Group> = Vec::with_capacity(8);
    for cache in caches {
        let LayerCache {
            layer,
            kind,
            k_width,
            v_width,
            v_width_transposed,
        } = *cache;
        let home = if config.kv_offload {
            homes.get(layer).copied().flatten()
        } else {
            None
        };
        let (rows, streams) = cells.of(kind);
        // Without flash attention values lie transposed, and all layers take the width of the widest.
        let v_width = if config.flash == super::config::Flash::Off {
            v_width_transposed
        } else {
            v_width
        };
        let cells_in_all = rows.saturating_mul(streams);
        for (home, k_width, v_width) in parts(layer, kind, home, (k_width, v_width), sliced) {
            let k = tensor(config.cache_k, k_width, cells_in_all, home);
            let v = tensor(config.cache_v, v_width, cells_in_all, home);
            let group = Group {
                kind,
                home,
                cells: rows,
                streams,
                k_row: row(config.cache_k, k_width),
                v_row: row(config.cache_v, v_width),
                layers: 1,
                bytes: k + v,
            };
            add(&mut groups, group);
        }
    }
    groups
}

fn add(groups: &mut Vec<Group>, group: Group) {
    let same = |other: &&mut Group| {
        (other.kind, other.home, other.k_row, other.v_row)
            == (group.kind, group.home, group.k_row, group.v_row)
    };
    match groups.iter_mut().find(same) {
        Some(known) => {
            known.layers += 1;
            known.bytes += group.bytes;
        }
        None if group.bytes == Bytes::ZERO => {}
        None => groups.push(group),
    }
}

/// The devices of a cache with the width of its rows there: one, or every GPU where tensors are split over them.
fn parts(
    layer: usize,
    kind: Kind,
    home: Option<usize>,
    (k, v): (u64, u64),
    sliced: Option<&Sliced>,
) -> Vec<(Option<usize>, u64, u64)> {
    let Some(sliced) = sliced.filter(|_| home.is_some()) else {
        return vec![(home, k, v)];
    };
    (0..sliced.shares.len())
        .map(|gpu| {
            // Only plain keys and values are split; every GPU keeps all of any other cache.
            let plain = matches!(kind, Kind::Full | Kind::Window(_));
            let (k, v) = plain
                .then(|| sliced.cache(layer, gpu))
                .flatten()
                .unwrap_or((k, v));
            (Some(gpu), k, v)
        })
        .collect()
}

/// Bytes of a row; a width that is no whole number of blocks (which the engine refuses) is rounded up.
fn row(kind: Type, width: u64) -> Bytes {
    Bytes::new(
        width
            .div_ceil(kind.block_elements())
            .saturating_mul(kind.block_bytes()),
    )
}

/// Bytes of a cache tensor as a device allocates it.
fn tensor(kind: Type, width: u64, rows: u64, home: Option<usize>) -> Bytes {
    let bytes = row(kind, width) * rows;
    let rest = width % MATRIX_ROW_PADDING;
    if home.is_some() && kind.is_quantized() && rest != 0 && bytes != Bytes::ZERO {
        (bytes + row(kind, MATRIX_ROW_PADDING - rest)).align_up(ALIGNMENT)
    } else {
        bytes
    }
}

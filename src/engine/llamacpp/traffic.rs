//! What llama.cpp reads and computes per token, from the tensors as placed.

use std::sync::Arc;

use super::accepted::accepted;
use super::auto;
use super::compute::Purpose;
use super::config::{Config, Flash};
use super::kv_cache::{Cells, Kind};
use super::notes;
use super::parts::{Parts, parts};
use super::placed::Placed;
use super::placement::{Device, Share};
use super::subject::Subject;
use super::tensors::{Layer, Row};
use crate::engine::Inputs;
use crate::engine::traffic::{CacheRead, DeviceTraffic, Together, Traffic, WeightRead};
use crate::model::mixer::{Attention, Cache, LatentAttention};
use crate::model::{FeedForward, Mixer, Model, product};
use crate::projection::{Category, Part};
use crate::quant::Type;
use crate::units::Bytes;

/// Batches from this size on are computed on a GPU although their weights are in main memory
/// (`GGML_OP_OFFLOAD_MIN_BATCH`, `ggml/src/ggml-cuda/ggml-cuda.cu` 0.6.0-dev).
const OFFLOAD_BATCH: u64 = 32;

/// The traffic of a plan; `None` where the engine would not start.
pub(super) fn traffic(inputs: &Inputs<'_>) -> Option<Traffic> {
    let (subject, mut config) = accepted(inputs)?;
    let fitted = auto::choose(&subject, &mut config, &mut Vec::new());
    let spilled = auto::spilled(&subject, fitted.as_ref());
    let placed = subject.place(&config, &spilled).ok()?;
    let shape = config.shape(subject.trained);
    let parts = parts(&subject, &config, shape, &placed, Purpose::Allocation);
    Some(of(&subject, &config, &placed, &parts))
}

/// The traffic of what is placed, and of what is loaded beside it.
pub(super) fn of(
    subject: &Subject<'_>,
    config: &Config,
    placed: &Placed,
    parts: &Parts,
) -> Traffic {
    let shape = config.shape(subject.trained);
    let weights: Arc<Vec<DeviceTraffic>> = subject
        .inputs
        .memo
        .get(&placed.fingerprint(), || weights(subject, placed));
    let mut devices = Vec::clone(&weights);
    caches(subject, config, placed, &mut devices);
    states(subject, config, placed, &mut devices);
    if let Some(sliced) = &placed.sliced {
        slice(&mut devices, &sliced.shares);
    }
    beside(parts, &mut devices);
    let host = devices.pop().unwrap_or_default();
    let machine = subject.inputs.machine;
    let nodes = machine.nodes.max(1) as usize;
    let mut gpus = vec![DeviceTraffic::default(); machine.gpus.len().saturating_mul(nodes)];
    for (device, traffic) in subject.devices.iter().zip(devices) {
        if let Some(slot) = gpus.get_mut(device.index) {
            *slot = traffic;
        }
    }
    Traffic {
        uploads_from: (config.op_offload && !subject.devices.is_empty()).then_some(OFFLOAD_BATCH),
        gpus,
        together: if placed.sliced.is_some() {
            Together::AtOnce
        } else {
            Together::InTurn
        },
        host,
        context: shape.cells,
        slots: shape.sequences,
        shared_cache: shape.streams == 1,
        micro_batch: shape.micro_batch,
        file_bytes: subject.table.file_bytes() + files_beside(subject, parts),
        pages: pages(subject, config, placed),
        spills: notes::spills(machine),
    }
}

/// Weights beside the model, where they are held. Each token reads adapters with the matrices they change; a projector
/// is read for images, and a draft in steps of its own.
fn beside(parts: &Parts, devices: &mut [DeviceTraffic]) {
    let gpus = devices.len().saturating_sub(1);
    for (position, device) in devices.iter_mut().enumerate() {
        let home = (position < gpus).then_some(position);
        device.resident += parts.of(Category::Weights, home);
        let adapters = parts.weights(Part::Adapter, home);
        if adapters > Bytes::ZERO {
            let format = Type::F16;
            device.weights.push(WeightRead {
                format,
                bytes: adapters,
                // The most numbers there can be of factors that are not quantized.
                elements: adapters.get() / format.block_bytes(),
                used: 1,
                of: 1,
            });
        }
    }
}

/// Files beside the model's; prediction blocks are in that.
fn files_beside(subject: &Subject<'_>, parts: &Parts) -> Bytes {
    let homes = (0..subject.devices.len()).map(Some).chain([None]);
    let others =
        homes.map(|home| parts.weights(Part::Projector, home) + parts.weights(Part::Adapter, home));
    let draft = subject.companion.as_ref().map(|draft| draft.file_bytes());
    others.sum::<Bytes>() + draft.unwrap_or_default()
}

/// Weights in main memory that the system can drop.
fn pages(subject: &Subject<'_>, config: &Config, placed: &Placed) -> Bytes {
    let loader = subject.loader(config);
    if loader.locks {
        return Bytes::ZERO;
    }
    subject.host_weights(loader, placed).mapped
}

/// The work of the one GPU that stood for all, in proportion to the weights that each of them holds.
fn slice(devices: &mut [DeviceTraffic], shares: &[Share]) {
    let whole: Bytes = shares.iter().map(|share| share.bytes).sum();
    let Some(all) = devices.first().cloned() else {
        return;
    };
    for (device, share) in devices.iter_mut().zip(shares) {
        let part = |bytes: Bytes| bytes.mul_ratio(share.bytes.get(), whole.get().max(1));
        let count = |number: u64| part(Bytes::new(number)).get();
        *device = all.clone();
        device.state_bytes = part(all.state_bytes);
        device.resident = share.bytes;
        for read in &mut device.weights {
            read.bytes = part(read.bytes);
            read.elements = count(read.elements);
        }
        for cache in &mut device.caches {
            cache.cell_bytes = count(cache.cell_bytes);
            cache.cell_operations = count(cache.cell_operations);
        }
    }
}

/// Weights of every GPU used, the host last.
fn weights(subject: &Subject<'_>, placed: &Placed) -> Vec<DeviceTraffic> {
    let model = subject.inputs.model;
    let placement = &placed.placement;
    let host = subject.devices.len();
    let mut devices = vec![DeviceTraffic::default(); host + 1];
    let slot = |device: Device| device.gpu().unwrap_or(host);
    let rows = &subject.table.rows;
    for (row, device) in rows.iter().zip(&placement.rows) {
        let Some(traffic) = device.and_then(|device| devices.get_mut(slot(device))) else {
            continue;
        };
        traffic.resident += row.bytes;
        // A tied embedding is read as the head, here unless a copy of it is elsewhere.
        let is_head = subject.table.tied
            && row.tensor.name == EMBEDDING
            && !placement.copies.iter().any(|(index, _)| {
                rows.get(*index)
                    .is_some_and(|copied| copied.tensor.name == EMBEDDING)
            });
        if is_head || !is_lookup(row) {
            add(traffic, row, model, is_head);
        }
    }
    for (index, device) in &placement.copies {
        let (Some(row), Some(traffic)) = (rows.get(*index), devices.get_mut(slot(*device))) else {
            continue;
        };
        traffic.resident += row.bytes;
        add(traffic, row, model, true);
    }
    for (layer, device) in model.layers.iter().zip(&placement.blocks) {
        if let Some(traffic) = devices.get_mut(slot(*device)) {
            traffic.layers += 1;
            traffic.expert_layers +=
                u64::from(matches!(layer.feed_forward, FeedForward::Experts(_)));
        }
    }
    devices
}

const EMBEDDING: &str = "token_embd.weight";

/// Rows looked up by token: nothing to speak of is read.
fn is_lookup(row: &Row) -> bool {
    row.tensor.layer == Layer::Input || row.kind == Type::I32
}

fn add(traffic: &mut DeviceTraffic, row: &Row, model: &Model, head: bool) {
    let (used, of) = match row.tensor.layer {
        Layer::Block(block) if row.is_routed() => experts(model, block),
        _ => (1, 1),
    };
    let is_head = head || row.tensor.layer == Layer::Output;
    let is_matrix = row.tensor.dimensions() > 1;
    let elements = if is_matrix && !is_head {
        row.tensor.elements()
    } else {
        0
    };
    let known = traffic.weights.iter_mut().find(|read| {
        (read.format, read.used, read.of) == (row.kind, used, of)
            && (read.elements == 0) == (elements == 0)
    });
    match known {
        Some(read) => {
            read.bytes += row.bytes;
            read.elements = read.elements.saturating_add(elements);
        }
        None => traffic.weights.push(WeightRead {
            format: row.kind,
            bytes: row.bytes,
            elements,
            used,
            of,
        }),
    }
}

/// Experts that a token uses in a block, and all of them.
fn experts(model: &Model, block: u32) -> (u64, u64) {
    match model
        .layers
        .get(block as usize)
        .map(|layer| &layer.feed_forward)
    {
        Some(FeedForward::Experts(experts)) => {
            (experts.num_experts_per_tok, experts.num_experts.max(1))
        }
        _ => (1, 1),
    }
}

/// Caches, on the devices of their layers.
fn caches(subject: &Subject<'_>, config: &Config, placed: &Placed, devices: &mut [DeviceTraffic]) {
    let model = subject.inputs.model;
    let cells = Cells::new(config, config.shape(subject.trained));
    let host = subject.devices.len();
    for cache in subject.layer_caches() {
        let home = placed.home(cache.layer).filter(|_| config.kv_offload);
        let Some(traffic) = devices.get_mut(home.unwrap_or(host)) else {
            continue;
        };
        let v_width = match (cache.kind, config.flash) {
            // Its values are never read.
            (Kind::BlockIndexer, _) => 0,
            (_, Flash::Off) => cache.v_width_transposed,
            _ => cache.v_width,
        };
        let readers = readers(model, cache.layer);
        let bytes = |kind: Type, width: u64| {
            let blocks = width.div_ceil(kind.block_elements());
            blocks.saturating_mul(kind.block_bytes())
        };
        let cell_bytes = bytes(config.cache_k, cache.k_width)
            .saturating_add(bytes(config.cache_v, v_width))
            .saturating_mul(readers);
        let (most_cells, tokens_per_cell) = reach(cache.kind, cells);
        let operations = operations(model, cache.layer, cache.kind).saturating_mul(readers);
        let by_processor = home.is_some() && lacks_kernel(config, cache.kind);
        let same = |read: &&mut CacheRead| {
            (read.most_cells, read.tokens_per_cell, read.by_processor)
                == (most_cells, tokens_per_cell, by_processor)
        };
        match traffic.caches.iter_mut().find(same) {
            Some(read) => {
                read.cell_bytes = read.cell_bytes.saturating_add(cell_bytes);
                read.cell_operations = read.cell_operations.saturating_add(operations);
            }
            None => traffic.caches.push(CacheRead {
                cell_bytes,
                cell_operations: operations,
                tokens_per_cell,
                most_cells,
                by_processor,
            }),
        }
    }
}

/// Attention over a cache that GPUs hold goes to the processor: there is no fused kernel for one of its types
/// (`ggml_cuda_get_best_fattn_kernel`, `ggml/src/ggml-cuda/fattn.cu` 0.6.0-dev), and the plan asks for fused attention
/// or needs it for quantized values.
fn lacks_kernel(config: &Config, kind: Kind) -> bool {
    let indexes = matches!(
        kind,
        Kind::Indexer | Kind::BlockIndexer | Kind::CompressedIndexer(_)
    );
    let fused = match config.flash {
        Flash::On => true,
        Flash::Auto => config.cache_v.is_quantized(),
        Flash::Off => false,
    };
    fused && !indexes && [config.cache_k, config.cache_v].contains(&Type::IQ4_NL)
}

/// Layers that read the cache of this one, itself included.
fn readers(model: &Model, owner: usize) -> u64 {
    let shared = |layer: &&crate::model::Layer| {
        let attention = layer.mixer.attention();
        attention.is_some_and(|attention| attention.cache == Cache::SharedWith(owner))
    };
    1 + model.layers.iter().filter(shared).count() as u64
}

/// Most cells that one token reads, and the tokens that each stands for. Attention goes over every cell in use, those
/// that a mask hides included (`llama_kv_cache::get_n_kv`, `src/llama-kv-cache.cpp` 0.6.0-dev).
fn reach(kind: Kind, cells: Cells) -> (u64, u64) {
    let (rows, _) = cells.of(kind);
    match kind {
        Kind::Compressed(ratio) | Kind::CompressedIndexer(ratio) => (rows, ratio.max(1)),
        _ => (rows, 1),
    }
}

/// Two operations per element of a query that meets a key, and of a value that is added up.
fn operations(model: &Model, layer: usize, kind: Kind) -> u64 {
    let Some(layer) = model.layers.get(layer) else {
        return 0;
    };
    let indexer = |heads: u64, width: u64| product(&[2, heads, width]);
    match (&layer.mixer, kind) {
        (
            Mixer::Attention(Attention {
                block_indexer: Some(index),
                ..
            }),
            Kind::BlockIndexer,
        ) => indexer(index.num_heads, index.head_dim),
        (Mixer::Attention(attention) | Mixer::AttentionAndMamba2(attention, _), _) => product(&[
            2,
            attention.num_attention_heads,
            attention.head_dim.saturating_add(attention.v_head_dim),
        ]),
        (
            Mixer::Latent(LatentAttention {
                sparse: Some(index),
                ..
            }),
            Kind::Indexer,
        ) => indexer(index.index_n_heads, index.index_head_dim),
        (Mixer::Latent(latent), Kind::Full) => product(&[
            2,
            latent.num_attention_heads,
            latent.qk_head_dim().saturating_add(latent.v_head_dim),
        ]),
        (Mixer::Latent(latent), _) => product(&[
            2,
            latent.num_attention_heads,
            latent.latent_width().saturating_add(latent.kv_lora_rank),
        ]),
        (Mixer::Compressed(compressed), Kind::CompressedIndexer(_)) => {
            compressed.indexer.map_or(0, |index| {
                indexer(index.index_n_heads, index.index_head_dim)
            })
        }
        (Mixer::Compressed(compressed), _) => {
            product(&[4, compressed.num_attention_heads, compressed.head_dim])
        }
        _ => 0,
    }
}

/// Recurrent states of one sequence, on the devices of their layers.
fn states(subject: &Subject<'_>, config: &Config, placed: &Placed, devices: &mut [DeviceTraffic]) {
    /// Bytes of an element of a state.
    const F32: u64 = 4;
    let host = subject.devices.len();
    for state in subject.layer_states() {
        let home = placed.home(state.layer).filter(|_| config.kv_offload);
        if let Some(traffic) = devices.get_mut(home.unwrap_or(host)) {
            let elements = state.window.saturating_add(state.matrix);
            traffic.state_bytes += Bytes::new(elements.saturating_mul(F32));
        }
    }
}

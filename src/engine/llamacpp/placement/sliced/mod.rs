//! Tensors of which every GPU holds a part: the meta device of split mode "tensor"
//! (`llama_meta_device_get_split_state` in `src/llama-model.cpp`, `ggml/src/ggml-backend-meta.cpp`, 0.6.0-dev).

mod grain;
mod rule;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::{Device, Placement, Share};
use crate::engine::llamacpp::tensors::{Architecture, Layer, Row, TensorTable};
use crate::model::mixer::Reach;
use crate::model::{Mixer, Model};
use crate::quant::Type;
use crate::units::Bytes;

use grain::{Grain, Segment};
use rule::{Axis, Rule};

/// Rows of a quantized type on a GPU end with room for the rest of so many elements (`MATRIX_ROW_PADDING`).
const GPU_ROW: u64 = 512;
/// Alignment of tensors in a CUDA buffer (`ggml_backend_cuda_buffer_type_get_alignment`).
const GPU_ALIGNMENT: u64 = 128;

/// Parts of weights, caches and states by GPU.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine::llamacpp) struct Sliced {
    /// Weights per GPU.
    pub(in crate::engine::llamacpp) shares: Vec<Share>,
    /// Of those, tensors that every GPU holds whole.
    pub(in crate::engine::llamacpp) mirrored: Bytes,
    caches: Vec<Option<Widths>>,
    states: Vec<Option<Widths>>,
}

/// Elements per GPU: of a row of keys and one of values, or of the two parts of a state.
#[derive(Clone, Debug, PartialEq)]
struct Widths {
    first: Vec<u64>,
    second: Vec<u64>,
}

impl Sliced {
    /// Slices a placement whose only GPU stands for all of them.
    pub(in crate::engine::llamacpp) fn new(
        placement: &Placement,
        table: &TensorTable,
        model: &Model,
        shares: &[f64],
        gpus: usize,
    ) -> Self {
        let rules = Slicer::new(table, model, shares, gpus);
        let mut sliced = Self {
            shares: vec![Share::default(); gpus],
            mirrored: Bytes::ZERO,
            caches: Vec::new(),
            states: Vec::new(),
        };
        let originals = table.rows.iter().zip(&placement.rows);
        let originals = originals.filter(|(_, device)| matches!(device, Some(Device::Gpu(_))));
        for (row, _) in originals {
            let head = row.tensor.name == "output.weight";
            sliced.add(row, rules.weight(row).as_ref(), head);
        }
        for (index, device) in &placement.copies {
            if let (Some(row), Device::Gpu(_)) = (table.rows.get(*index), device) {
                // A tied head keeps the name of the embedding, which no rule splits.
                sliced.add(row, None, true);
            }
        }
        for layer in 0..model.layers.len() {
            sliced.caches.push(rules.cache(layer));
            sliced.states.push(rules.state(layer));
        }
        let blocks = placement.gpus.first().map_or(0, |share| share.blocks);
        for share in &mut sliced.shares {
            share.blocks = blocks;
        }
        sliced
    }

    fn add(&mut self, row: &Row, parts: Option<&Parts>, copied: bool) {
        for (index, share) in self.shares.iter_mut().enumerate() {
            let bytes = match parts {
                None => row.gpu_bytes,
                Some(parts) => parts.bytes(row, index),
            };
            share.bytes += bytes;
            if copied && parts.is_none() {
                share.copied += bytes;
            }
        }
        if parts.is_none() {
            self.mirrored += row.gpu_bytes;
        }
    }

    /// Elements of a row of keys and one of values of a layer's cache on one GPU; `None` where each holds all of it.
    pub(in crate::engine::llamacpp) fn cache(
        &self,
        layer: usize,
        gpu: usize,
    ) -> Option<(u64, u64)> {
        pair(&self.caches, layer, gpu)
    }

    /// The same of the two parts of a recurrent state.
    pub(in crate::engine::llamacpp) fn state(
        &self,
        layer: usize,
        gpu: usize,
    ) -> Option<(u64, u64)> {
        pair(&self.states, layer, gpu)
    }
}

fn pair(all: &[Option<Widths>], layer: usize, gpu: usize) -> Option<(u64, u64)> {
    let widths = all.get(layer)?.as_ref()?;
    Some((*widths.first.get(gpu)?, *widths.second.get(gpu)?))
}

/// The parts of one tensor.
struct Parts {
    axis: usize,
    /// Extent along the axis per GPU.
    extents: Vec<u64>,
}

impl Parts {
    /// What a GPU allocates for its part.
    fn bytes(&self, row: &Row, gpu: usize) -> Bytes {
        let mut shape = row.tensor.shape;
        let extent = self.extents.get(gpu).copied().unwrap_or(0);
        if let Some(along) = shape.get_mut(self.axis) {
            *along = extent;
        }
        if extent == 0 {
            return Bytes::ZERO;
        }
        allocated(row.kind, &shape)
    }
}

fn allocated(kind: Type, shape: &[u64; 4]) -> Bytes {
    let bytes = kind.shape_bytes(shape).unwrap_or(Bytes::new(u64::MAX));
    let [row, ..] = shape;
    let padding = match row % GPU_ROW {
        rest if rest != 0 && kind.is_quantized() => {
            (GPU_ROW - rest) / kind.block_elements() * kind.block_bytes()
        }
        _ => 0,
    };
    (bytes + Bytes::new(padding)).align_up(GPU_ALIGNMENT)
}

/// What decides about parts.
struct Slicer<'a> {
    model: &'a Model,
    architecture: Architecture,
    /// Cumulative shares of the GPUs in plan order; all zero = evenly.
    shares: Vec<f32>,
    gpus: usize,
    /// Types of tensors that others are split along with, by block and name.
    references: BTreeMap<(u32, &'static str), Type>,
    /// For each layer, how many of its kind lie before it.
    before: Vec<usize>,
}

impl<'a> Slicer<'a> {
    fn new(table: &TensorTable, model: &'a Model, shares: &[f64], gpus: usize) -> Self {
        let mut references = BTreeMap::new();
        for row in &table.rows {
            if let Layer::Block(block) = row.tensor.layer
                && let Some(name) = rule::reference(block_name(&row.tensor.name))
            {
                references.insert((block, name), row.kind);
            }
        }
        let kinds: Vec<(bool, bool)> = (0..model.layers.len())
            .map(|layer| {
                (
                    is_recurrent(model, layer),
                    is_windowed(model, table.architecture, layer),
                )
            })
            .collect();
        let before = kinds.iter().enumerate();
        let before = before
            .map(|(layer, kind)| {
                kinds
                    .iter()
                    .take(layer)
                    .filter(|other| *other == kind)
                    .count()
            })
            .collect();
        let mut padded: Vec<f32> = shares.iter().map(|share| *share as f32).collect();
        padded.resize(gpus, 0.0);
        Self {
            model,
            architecture: table.architecture,
            shares: padded,
            gpus: gpus.max(1),
            references,
            before,
        }
    }

    /// The parts of a weight; `None`: every GPU holds it whole.
    fn weight(&self, row: &Row) -> Option<Parts> {
        let (layer, name) = match row.tensor.layer {
            Layer::Block(block) => (block as usize, block_name(&row.tensor.name)),
            _ => (0, row.tensor.name.as_str()),
        };
        let rule = Rule::of(name, row, self.architecture)?;
        let block = match rule.reference {
            // The tensor itself.
            [] => row.kind.block_elements(),
            names => self.block_elements(layer, names)?,
        };
        let [along, ..] = match rule.axis {
            Axis::Inputs => [row.tensor.shape[0]],
            Axis::Outputs => [row.tensor.shape[1]],
        };
        let grain = Grain::new(self.model, self.architecture, layer, block, self.gpus);
        let segments = grain.segments(name, along);
        let rotation = match row.tensor.layer {
            Layer::Block(_) => self.rotation(layer),
            _ => self.model.layers.len() % self.gpus,
        };
        Some(Parts {
            axis: match rule.axis {
                Axis::Inputs => 0,
                Axis::Outputs => 1,
            },
            extents: self.spread(&segments, rotation),
        })
    }

    /// Rows of a layer's keys and values.
    fn cache(&self, layer: usize) -> Option<Widths> {
        let attention = self.model.layers.get(layer)?.mixer.attention()?;
        let block = self.block_elements(layer, &["attn_output.weight"])?;
        let grain = Grain::new(self.model, self.architecture, layer, block, self.gpus);
        let spread = |name, width| self.spread(&grain.segments(name, width), self.rotation(layer));
        Some(Widths {
            first: spread("cache_k", attention.k_width()),
            second: spread("cache_v", attention.v_width()),
        })
    }

    /// The convolution's and the matrix's part of a layer's state.
    fn state(&self, layer: usize) -> Option<Widths> {
        let Mixer::GatedDelta(delta) = &self.model.layers.get(layer)?.mixer else {
            return None;
        };
        let block = self.block_elements(layer, &["ssm_out.weight"])?;
        let grain = Grain::new(self.model, self.architecture, layer, block, self.gpus);
        let spread = |name, width| self.spread(&grain.segments(name, width), self.rotation(layer));
        Some(Widths {
            first: spread("cache_r", delta.conv_state()),
            second: spread("cache_s", delta.matrix_state()),
        })
    }

    fn block_elements(&self, layer: usize, names: &[&'static str]) -> Option<u64> {
        let block = u32::try_from(layer).ok()?;
        names
            .iter()
            .find_map(|name| self.references.get(&(block, *name)))
            .map(|kind| kind.block_elements())
    }

    /// Rounding falls on another GPU in each layer of a kind.
    fn rotation(&self, layer: usize) -> usize {
        self.before.get(layer).copied().unwrap_or(0) % self.gpus
    }

    /// Extents per GPU. Arithmetic is in single precision where the engine's is.
    fn spread(&self, segments: &[Segment], rotation: usize) -> Vec<u64> {
        let mut scan: Vec<f32> = Vec::with_capacity(self.gpus);
        for place in 0..self.gpus {
            let share = self.shares.get((place + rotation) % self.gpus);
            let before = scan.last().copied().unwrap_or(0.0);
            scan.push(before + share.copied().unwrap_or(0.0));
        }
        let all = scan.last().copied().unwrap_or(0.0);
        let mut extents = vec![0_u64; self.gpus];
        for segment in segments {
            let mut low = 0;
            for place in 0..self.gpus {
                let high = if place + 1 == self.gpus {
                    segment.elements
                } else if all == 0.0 {
                    segment.elements.saturating_mul(place as u64 + 1) / self.gpus as u64
                } else {
                    let share = scan.get(place).copied().unwrap_or(0.0);
                    (segment.elements as f32 * share / all) as u64
                };
                let high = if place + 1 == self.gpus {
                    high
                } else {
                    (high - high % segment.grain.max(1)).max(low)
                };
                if let Some(extent) = extents.get_mut((place + rotation) % self.gpus) {
                    *extent = extent
                        .saturating_add(high.saturating_sub(low).saturating_mul(segment.repeats));
                }
                low = high;
            }
        }
        extents
    }
}

/// What follows "blk.N.".
fn block_name(name: &str) -> &str {
    name.strip_prefix("blk.")
        .and_then(|rest| rest.split_once('.'))
        .map_or(name, |(_, rest)| rest)
}

fn is_recurrent(model: &Model, layer: usize) -> bool {
    let layer = model.layers.get(layer);
    layer.is_some_and(|layer| matches!(layer.mixer, Mixer::GatedDelta(_)))
}

/// Layers whose window the engine knows (`is_swa_impl`).
fn is_windowed(model: &Model, architecture: Architecture, layer: usize) -> bool {
    let attention = model
        .layers
        .get(layer)
        .and_then(|layer| layer.mixer.attention());
    crate::engine::llamacpp::kv_cache::has_windows(architecture, model)
        && attention.is_some_and(|attention| attention.reach != Reach::Full)
}

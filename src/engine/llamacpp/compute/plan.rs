//! The model as a graph builder meets it: blocks with their weights, what stands outside of them, devices.

use std::sync::{Arc, OnceLock};

use crate::model::{Activation, AltUp, Layer, Mixer, Model, Norm, PerLayerInputs, product};

use super::backend::VECTOR_KERNEL_CELLS;
use super::draft::{CPU, Draft, Weight};
use super::linear::STEP;
use super::segments::Segments;
use super::shorten::{Ends, Extent, Repeat, Shortened, shorten};
use super::tensor::Stage;
use super::{GraphConfig, GraphLoad, PlacedWeight};

/// Weights by what follows the block in their name ("attn_q.weight"), in [`order`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Weights(pub(super) Vec<(Box<str>, Weight)>);

impl Weights {
    /// The weight of this name.
    pub(super) fn get(&self, name: &str) -> Option<Weight> {
        self.find(name).map(|(_, weight)| weight)
    }

    /// The weight of this name, and its position among all.
    pub(super) fn find(&self, name: &str) -> Option<(usize, Weight)> {
        let named = |(own, _): &(Box<str>, Weight)| order(own).cmp(&order(name));
        let index = self.0.binary_search_by(named).ok()?;
        self.0.get(index).map(|(_, weight)| (index, *weight))
    }

    fn collect(named: &[(&str, Weight)], renamed: impl Fn(u8) -> u8) -> Self {
        let weights = named.iter().map(|&(name, weight)| {
            let backend = renamed(weight.backend);
            (name.into(), Weight { backend, ..weight })
        });
        Self(weights.collect())
    }
}

/// The order of names: by length first, so that most are told apart without reading them.
fn order(name: &str) -> (usize, &str) {
    (name.len(), name)
}

/// One block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// What it computes.
    pub(super) layer: Layer,
    /// Its position in the model.
    pub(super) index: usize,
    /// Its position among the blocks that are emulated; results name it by that.
    pub(super) place: usize,
    /// Its weights.
    pub(super) weights: Weights,
    /// Backend of the block.
    pub(super) backend: u8,
    /// Backend of its caches.
    pub(super) cache: u8,
}

/// What a graph needs of a model besides its blocks.
#[derive(Clone, Debug, Hash)]
pub(super) struct Trunk {
    pub(super) hidden_size: u64,
    pub(super) activation: Activation,
    pub(super) final_norm: Norm,
    pub(super) per_layer_inputs: Option<PerLayerInputs>,
    pub(super) alt_up: Option<AltUp>,
    pub(super) deepstack: u64,
    /// Blocks between residuals that later ones attend to; 0: none do.
    pub(super) residual_blocks: u64,
    /// Residual streams.
    pub(super) streams: u64,
    pub(super) capped_logits: bool,
    /// Queries are scaled by their position.
    pub(super) scaled_positions: bool,
    /// Blocks of the whole model.
    pub(super) blocks: u64,
    /// Widest values of any block.
    pub(super) v_width: u64,
}

/// The graphs of a placed model, to be built for a load. Blocks that change nothing are left out.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a placement"
)]
pub(in crate::engine::llamacpp) struct GraphPlan {
    pub(super) architecture: String,
    /// The blocks predict further tokens from hidden states.
    pub(super) prediction: bool,
    pub(super) trunk: Trunk,
    /// The blocks that are emulated.
    pub(super) blocks: Vec<Block>,
    /// Weights outside of blocks, by full name.
    pub(super) outside: Weights,
    /// GPUs that are emulated.
    pub(super) gpus: u8,
    /// For each GPU the one that is emulated in its place.
    pub(super) stand_ins: Vec<u8>,
    /// How much of it was to be kept.
    pub(super) extent: Extent,
    /// Nothing is left out.
    pub(super) is_whole: bool,
    /// Places of blocks after which memory must be the same for what is left out not to matter.
    pub(super) repeats: Vec<Repeat>,
    pub(super) all_offloaded: bool,
    pub(super) pipeline: bool,
    pub(super) kv_offload: bool,
    pub(super) op_offload: bool,
    pub(super) compute_capability: u32,
    /// Every block and every weight of a block is on a GPU.
    pub(super) all_on_gpus: bool,
    /// Buffers that are known; plans of the same content share them.
    pub(super) segments: Arc<Segments>,
    /// The same with less left out, once it had to be made.
    pub(super) longer: OnceLock<Box<GraphPlan>>,
}

impl GraphPlan {
    /// The plan of a configuration, short of blocks and GPUs that should not change anything.
    pub(in crate::engine::llamacpp) fn new(config: &GraphConfig<'_>, extent: Extent) -> Self {
        let placement = config.placement;
        let gpus = placement.gpus.min(usize::from(CPU) - 1);
        let (drafts, mut outside) = drafts(config, gpus);
        outside.sort_unstable_by_key(|(name, _)| order(name));
        let how = (extent, placement.kv_offload);
        let Shortened {
            kept,
            stand_ins,
            repeats,
        } = shorten(&drafts, gpus, ends(&outside), how);
        let emulated = stand_ins.iter().max().map_or(0, |&most| most + 1);
        let renamed = |backend: u8| {
            let stand_in = stand_ins.get(usize::from(backend));
            stand_in.copied().unwrap_or(emulated)
        };
        let blocks = kept.iter().enumerate().filter_map(|(place, &index)| {
            let draft = drafts.get(index)?;
            let backend = renamed(draft.backend);
            Some(Block {
                layer: draft.layer.clone(),
                index,
                place,
                weights: Weights::collect(&draft.weights, renamed),
                backend,
                cache: if placement.kv_offload {
                    backend
                } else {
                    emulated
                },
            })
        });
        Self {
            architecture: config.architecture.to_owned(),
            prediction: config.prediction,
            trunk: Trunk::of(config.model),
            blocks: blocks.collect(),
            outside: Weights::collect(&outside, renamed),
            gpus: emulated,
            all_on_gpus: drafts.iter().all(|draft| {
                let mut weights = draft.weights.iter();
                draft.backend < CPU && weights.all(|(_, weight)| weight.backend < CPU)
            }),
            extent,
            is_whole: kept.len() == drafts.len() && usize::from(emulated) == gpus,
            stand_ins,
            repeats: in_places(&repeats, &kept),
            all_offloaded: placement.all_offloaded,
            pipeline: gpus > 1
                && placement.all_offloaded
                && placement.may_pipeline
                && placement.kv_offload,
            kv_offload: placement.kv_offload,
            op_offload: placement.op_offload,
            compute_capability: placement.compute_capability,
            segments: Arc::default(),
            longer: OnceLock::new(),
        }
    }
}

impl GraphPlan {
    /// What was left out mattered, of some load.
    pub(in crate::engine::llamacpp) fn fell_short(&self) -> bool {
        self.longer.get().is_some()
    }

    /// A stage whose block is named by its position in the model; `whole`: it is already.
    pub(super) fn named(&self, stage: Stage, whole: bool) -> Stage {
        if whole {
            return stage;
        }
        let place = stage.block.and_then(|block| usize::try_from(block).ok());
        let block = place.and_then(|place| self.blocks.get(place));
        let block = block.and_then(|block| u32::try_from(block.index).ok());
        Stage { block, ..stage }
    }

    /// Steps of cells at which sizes bend or kernels change.
    pub(super) fn breakpoints(&self) -> impl Iterator<Item = i64> {
        let chosen = self.blocks.iter().filter_map(|block| {
            let Mixer::Latent(latent) = &block.layer.mixer else {
                return None;
            };
            let chosen = latent.sparse?.index_topk.div_ceil(STEP);
            i64::try_from(chosen).ok()
        });
        chosen.chain(i64::try_from(VECTOR_KERNEL_CELLS / STEP).ok())
    }

    /// The contexts around this one, in steps, for which nothing grows; `None` where there is no compressed attention,
    /// whose entries grow by steps of their own.
    pub(super) fn plateau(&self, load: &GraphLoad, steps: i64) -> Option<(i64, i64)> {
        let ratios = self
            .blocks
            .iter()
            .filter_map(|block| match &block.layer.mixer {
                Mixer::Compressed(own) => Some(own.compress_ratio.max(1)),
                _ => None,
            });
        let ratio = ratios.filter(|ratio| *ratio > 1).min();
        let compressed = self
            .blocks
            .iter()
            .any(|block| matches!(block.layer.mixer, Mixer::Compressed(_)));
        if !compressed {
            return None;
        }
        // Entries are padded as cells are, so a ratio of four grows every four steps, and others more seldom.
        let group = ratio.and_then(|ratio| i64::try_from(ratio).ok());
        let group = group
            .filter(|_| load.window_cells < load.cells)
            .unwrap_or(1);
        let low = steps - (steps - 1).rem_euclid(group);
        Some((low, low.saturating_add(group - 1)))
    }

    /// Some block has a state, which takes other operations for one token than for many.
    pub(super) fn is_recurrent(&self) -> bool {
        let mut blocks = self.blocks.iter();
        blocks.any(|block| block.layer.mixer.is_recurrent())
    }

    /// Some block weighs each token of a sequence by its distance from each other, which takes most where all are of one
    /// sequence.
    pub(super) fn grows_with_steps(&self) -> bool {
        let mut blocks = self.blocks.iter();
        blocks.any(|block| matches!(block.layer.mixer, Mixer::Lightning(_)))
    }
}

impl Trunk {
    fn of(model: &Model) -> Self {
        let attentions = model
            .layers
            .iter()
            .filter_map(|layer| layer.mixer.attention());
        Self {
            hidden_size: model.hidden_size,
            activation: model.activation,
            final_norm: model.final_norm,
            per_layer_inputs: model.per_layer_inputs,
            alt_up: model.alt_up,
            residual_blocks: model
                .block_residuals
                .map_or(0, |residuals| residuals.attn_res_block_size),
            deepstack: model.deepstack,
            streams: model
                .hyper_connections
                .map_or(1, |connections| connections.hc_mult.min(MOST_STREAMS)),
            capped_logits: model.final_logit_softcapping,
            scaled_positions: model.model_type == "ministral3",
            blocks: model.layers.len() as u64,
            v_width: attentions
                .map(|own| product(&[own.num_key_value_heads, own.v_head_dim]))
                .max()
                .unwrap_or(0),
        }
    }
}

/// More residual streams than any model has; the engine takes four only (`build_hc_pre`, `src/models/deepseek4.cpp`
/// 0.6.0-dev).
const MOST_STREAMS: u64 = 16;

/// Where a graph begins and ends.
fn ends(outside: &[(&str, Weight)]) -> Ends {
    let named = |wanted: &str| {
        let mut weights = outside.iter();
        let found = weights.find(|(name, _)| *name == wanted);
        found.map(|(_, weight)| weight.backend)
    };
    let norm = named("output_norm.weight");
    let head = named("output.weight").or(norm).unwrap_or(CPU);
    Ends {
        head,
        moved: named("token_embd.weight").is_some_and(|embedding| embedding != CPU)
            || norm.is_some_and(|norm| norm != head),
    }
}

/// Blocks by their position among those that are kept.
fn in_places(repeats: &[Repeat], kept: &[usize]) -> Vec<Repeat> {
    let place = |block: &usize| kept.binary_search(block).ok();
    let repeats = repeats.iter();
    repeats
        .map(|repeat| repeat.iter().filter_map(place).collect())
        .collect()
}

/// Every block with its weights, and the weights outside of blocks.
fn drafts<'a>(config: &GraphConfig<'a>, gpus: usize) -> (Vec<Draft<'a>>, Vec<(&'a str, Weight)>) {
    let backend = |gpu: Option<usize>| {
        gpu.filter(|&gpu| gpu < gpus)
            .and_then(|gpu| u8::try_from(gpu).ok())
            .unwrap_or(CPU)
    };
    let blocks = config.placement.blocks;
    let layers = config.model.layers.iter().enumerate();
    let mut drafts: Vec<Draft<'a>> = layers
        .map(|(index, layer)| Draft {
            layer,
            weights: Vec::with_capacity(24),
            backend: backend(blocks.get(index).copied().flatten()),
        })
        .collect();
    let mut outside = Vec::new();
    for placed in config.weights {
        let PlacedWeight {
            name,
            shape,
            format,
            gpu,
        } = *placed;
        let weight = Weight {
            dtype: format,
            ne: shape,
            backend: backend(gpu),
        };
        match split_name(name) {
            Some((block, rest)) => {
                if let Some(draft) = drafts.get_mut(block) {
                    draft.weights.push((rest, weight));
                }
            }
            None => outside.push((head_name(&outside, name), weight)),
        }
    }
    for draft in &mut drafts {
        draft.weights.sort_unstable_by_key(|(name, _)| order(name));
    }
    (drafts, outside)
}

/// A second copy of the embedding is the head of a model that ties both.
fn head_name<'a>(outside: &[(&'a str, Weight)], name: &'a str) -> &'a str {
    let known = outside.iter().any(|(other, _)| *other == name);
    if known && name == "token_embd.weight" {
        "output.weight"
    } else {
        name
    }
}

/// "blk.12.attn_q.weight" as 12 and "attn_q.weight".
fn split_name(name: &str) -> Option<(usize, &str)> {
    let (block, rest) = name.strip_prefix("blk.")?.split_once('.')?;
    Some((block.parse().ok()?, rest))
}

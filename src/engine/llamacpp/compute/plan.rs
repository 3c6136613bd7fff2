//! The model as a graph builder meets it: blocks with their weights, runs of equal blocks shortened.

use crate::model::Layer;

use super::{GraphConfig, PlacedWeight};
use crate::quant::Type;

/// A weight of a block or of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Weight {
    pub(super) dtype: Type,
    pub(super) ne: [u64; 4],
    /// GPU, or the number of GPUs for main memory.
    pub(super) backend: u8,
}

/// Weights by what follows the block in their name ("attn_q.weight"), sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Weights<'a>(Vec<(&'a str, Weight)>);

impl Weights<'_> {
    /// The weight of this name.
    pub(super) fn get(&self, name: &str) -> Option<Weight> {
        let index = self.0.binary_search_by(|(own, _)| (*own).cmp(name)).ok()?;
        self.0.get(index).map(|(_, weight)| *weight)
    }
}

/// One block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block<'a> {
    /// What it computes.
    pub(super) layer: &'a Layer,
    /// Its position in the model.
    pub(super) index: usize,
    /// Its weights.
    pub(super) weights: Weights<'a>,
    /// Backend of the block.
    pub(super) backend: u8,
    /// Backend of its caches.
    pub(super) cache: u8,
}

impl Block<'_> {
    /// Whether the graph around both is the same.
    fn is_like(&self, other: &Self) -> bool {
        self.backend == other.backend
            && self.cache == other.cache
            && self.layer == other.layer
            && self.weights == other.weights
    }
}

/// A model's blocks and what stands outside of them.
pub(super) struct Plan<'a> {
    /// The blocks that are emulated.
    pub(super) blocks: Vec<Block<'a>>,
    /// Weights outside of blocks, by full name.
    pub(super) outside: Weights<'a>,
}

impl<'a> Plan<'a> {
    /// All blocks of a configuration.
    pub(super) fn new(config: &GraphConfig<'a>) -> Self {
        let cpu = u8::try_from(config.placement.gpus).unwrap_or(u8::MAX - 1);
        let backend = |gpu: Option<usize>| {
            gpu.and_then(|gpu| u8::try_from(gpu).ok())
                .filter(|&gpu| gpu < cpu)
                .unwrap_or(cpu)
        };
        let mut by_block: Vec<Weights<'a>> = vec![Weights::default(); config.model.layers.len()];
        let mut outside = Weights::default();
        for PlacedWeight {
            name,
            shape,
            format,
            gpu,
        } in config.weights
        {
            let weight = Weight {
                dtype: *format,
                ne: *shape,
                backend: backend(*gpu),
            };
            match split_name(name) {
                Some((block, rest)) => {
                    if let Some(weights) = by_block.get_mut(block) {
                        weights.0.push((rest, weight));
                    }
                }
                None => outside.0.push((name, weight)),
            }
        }
        outside.0.sort_unstable_by_key(|(name, _)| *name);
        let blocks = config
            .model
            .layers
            .iter()
            .zip(by_block)
            .enumerate()
            .map(|(index, (layer, mut weights))| {
                weights.0.sort_unstable_by_key(|(name, _)| *name);
                let own = backend(config.placement.blocks.get(index).copied().flatten());
                Block {
                    layer,
                    index,
                    weights,
                    backend: own,
                    cache: if config.placement.kv_offload {
                        own
                    } else {
                        cpu
                    },
                }
            })
            .collect();
        Self { blocks, outside }
    }
}

/// "blk.12.attn_q.weight" as 12 and "attn_q.weight".
fn split_name(name: &str) -> Option<(usize, &str)> {
    let (block, rest) = name.strip_prefix("blk.")?.split_once('.')?;
    Some((block.parse().ok()?, rest))
}

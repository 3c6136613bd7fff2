//! What header and tensors say together, asked by key and by name.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::metadata::Metadata;
use crate::model::FileTensor;

/// Metadata of an architecture, and the shapes of the tensors.
pub(super) struct Facts<'a> {
    pub(super) architecture: &'a str,
    metadata: &'a Metadata,
    shapes: HashMap<&'a str, [u64; 4]>,
    /// What follows `blk.N.` in the name of any tensor.
    in_blocks: BTreeSet<&'a str>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(
        architecture: &'a str,
        metadata: &'a Metadata,
        tensors: &'a [FileTensor],
    ) -> Self {
        let in_block = |tensor: &'a FileTensor| {
            let (_, name) = tensor.name.strip_prefix("blk.")?.split_once('.')?;
            Some(name)
        };
        Self {
            architecture,
            metadata,
            shapes: tensors
                .iter()
                .map(|tensor| (tensor.name.as_str(), tensor.shape))
                .collect(),
            in_blocks: tensors.iter().filter_map(in_block).collect(),
        }
    }

    /// The value of a key of the architecture.
    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        self.metadata.get(&format!("{}.{key}", self.architecture))
    }

    /// Elements of a list, or a value that is the same for all layers, as whole numbers.
    pub(super) fn list(&self, key: &str) -> Option<Vec<u64>> {
        let number = |value: &Value| match value {
            Value::Bool(flag) => Some(u64::from(*flag)),
            // Some writers use a signed kind for what cannot be negative.
            other => other.as_u64(),
        };
        match self.value(key)? {
            Value::Array(list) => list.iter().map(number).collect(),
            value => number(value).map(|number| vec![number]),
        }
    }

    /// One number; of a list, which has one per layer, the largest.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.list(key)?.into_iter().max()
    }

    /// A number other than zero, which stands for nothing.
    pub(super) fn positive(&self, key: &str) -> Option<u64> {
        self.number(key).filter(|number| *number > 0)
    }

    /// A switch.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.value(key)?.as_bool()
    }

    /// Whether there is a tensor of this full name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.shapes.contains_key(name)
    }

    /// Whether a block has the tensor.
    pub(super) fn block_has(&self, block: u64, name: &str) -> bool {
        self.has(&format!("blk.{block}.{name}"))
    }

    /// Whether any block has the tensor.
    pub(super) fn some_block_has(&self, name: &str) -> bool {
        self.in_blocks.contains(name)
    }

    /// An extent of a tensor, by its full name.
    pub(super) fn extent(&self, name: &str, axis: usize) -> Option<u64> {
        self.shapes.get(name)?.get(axis).copied()
    }

    /// An extent of a tensor in the first block that has it.
    pub(super) fn block_extent(&self, name: &str, axis: usize) -> Option<u64> {
        (0..self.all_blocks()).find_map(|block| self.extent(&format!("blk.{block}.{name}"), axis))
    }

    /// Blocks in the file, prediction blocks included. No file has more than the most layers of a configuration, so
    /// that a claim costs nothing.
    pub(super) fn all_blocks(&self) -> u64 {
        self.positive("block_count").unwrap_or(0).min(10_000)
    }

    /// Blocks of the main model.
    pub(super) fn blocks(&self) -> u64 {
        let prediction = self.number("nextn_predict_layers").unwrap_or(0);
        self.all_blocks().saturating_sub(prediction)
    }

    /// Prediction blocks that the file holds.
    pub(super) fn prediction_blocks(&self) -> u64 {
        let own = self.blocks();
        let joins = |block: &u64| self.block_has(*block, "nextn.eh_proj.weight");
        (own..self.all_blocks()).filter(joins).count() as u64
    }

    /// A value per block of the main model: that of the list, or the same for all.
    pub(super) fn per_block(&self, key: &str) -> Option<Vec<u64>> {
        let blocks = self.blocks() as usize;
        let list = self.list(key)?;
        match list.as_slice() {
            [same] => Some(vec![*same; blocks]),
            all => all.get(..blocks).map(<[u64]>::to_vec),
        }
    }

    /// Elements of the vocabulary's list, where no tensor tells.
    pub(super) fn tokens(&self) -> Option<u64> {
        self.metadata.elements("tokenizer.ggml.tokens")
    }
}

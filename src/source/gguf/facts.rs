//! What header and tensors say together, asked by key and by name.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::error::shown;
use super::metadata::{Entry, Metadata};
use crate::model::FileTensor;

/// Most blocks: as many layers as a configuration may have, so that a claim costs nothing.
const MOST: u64 = 10_000;

/// Metadata of an architecture, and the shapes of the tensors.
pub(super) struct Facts<'a> {
    pub(super) architecture: &'a str,
    metadata: &'a Metadata,
    shapes: HashMap<&'a str, [u64; 4]>,
    /// What follows `blk.N.` in the name of any tensor.
    in_blocks: HashSet<&'a str>,
    /// One more than the highest number of a block that a tensor is named for.
    named_blocks: u64,
    /// Keys that were asked for and hold no number where they should, with what they hold.
    odd: RefCell<BTreeMap<String, String>>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(
        architecture: &'a str,
        metadata: &'a Metadata,
        tensors: &'a [FileTensor],
    ) -> Self {
        let in_block = |tensor: &'a FileTensor| {
            let (number, name) = tensor.name.strip_prefix("blk.")?.split_once('.')?;
            Some((number.parse::<u64>().ok()?, name))
        };
        let blocks = || tensors.iter().filter_map(in_block);
        Self {
            architecture,
            metadata,
            shapes: tensors
                .iter()
                .map(|tensor| (tensor.name.as_str(), tensor.shape))
                .collect(),
            in_blocks: blocks().map(|(_, name)| name).collect(),
            named_blocks: blocks()
                .map(|(number, _)| number.saturating_add(1))
                .max()
                .unwrap_or(0),
            odd: RefCell::default(),
        }
    }

    /// A key of the architecture as the file has it.
    pub(super) fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// The value of a key of the architecture.
    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        self.metadata.get(&self.key(key))
    }

    /// Elements of a list, or a value that is the same for all layers, as whole numbers.
    pub(super) fn list(&self, key: &str) -> Option<Vec<u64>> {
        let number = |value: &Value| match value {
            Value::Bool(flag) => Some(u64::from(*flag)),
            // Some writers use a signed kind for what cannot be negative.
            other => other.as_u64(),
        };
        let value = self.value(key)?;
        let numbers = match value {
            Value::Array(list) => list.iter().map(number).collect(),
            value => number(value).map(|number| vec![number]),
        };
        if numbers.is_none() {
            let key = key.to_owned();
            self.odd.borrow_mut().insert(key, told(value));
        }
        numbers
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

    /// Blocks in the file, prediction blocks included: as many as it says, or as its tensors are named for where it says
    /// nothing that can be.
    pub(super) fn all_blocks(&self) -> u64 {
        let said = self.positive(BLOCKS).filter(|blocks| *blocks <= MOST);
        said.unwrap_or(self.named_blocks.min(MOST))
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

    /// That a key of the architecture is not there, or what it holds instead of a number above zero.
    pub(super) fn lacking(&self, key: &str) -> String {
        lacking(self.metadata, &self.key(key))
    }

    /// What metadata and tensors do not agree on, and what was there and could not be used, each a whole sentence; without
    /// what was said already.
    pub(super) fn doubts(&self, said: &[String]) -> Vec<String> {
        let mut doubts: Vec<String> = self.doubt_on_blocks().into_iter().collect();
        let odd = self.odd.borrow();
        let is_new = |key: &&String| {
            let name = shown(self.key(key).as_bytes());
            *key != BLOCKS && !said.iter().any(|said| said.contains(&name))
        };
        let odd = odd.keys().filter(is_new);
        doubts.extend(odd.map(|key| format!("{}: it is left out of account.", self.lacking(key))));
        doubts
    }

    /// Why the number of blocks is none that can be.
    pub(super) fn lacking_blocks(&self) -> Option<String> {
        match self.positive(BLOCKS) {
            None => Some(self.lacking(BLOCKS)),
            Some(said) if said > MOST => {
                let name = shown(self.key(BLOCKS).as_bytes());
                Some(format!("{name} is {said}, more than any model has"))
            }
            Some(_) => None,
        }
    }

    fn doubt_on_blocks(&self) -> Option<String> {
        let named = match self.named_blocks {
            0 => "no block".to_owned(),
            1 => "1 block".to_owned(),
            more => format!("{more} blocks"),
        };
        if let Some(lack) = self.lacking_blocks() {
            return (self.named_blocks > 0).then(|| {
                format!("{lack}: layers are those of the {named} that its tensors are named for.")
            });
        }
        let all = self.all_blocks();
        (self.blocks() > self.named_blocks || self.named_blocks > all).then(|| {
            format!(
                "{} is {all}, but the file has tensors for {named}: layers and caches are counted as the key says, \
                 weights as they are there.",
                shown(self.key(BLOCKS).as_bytes())
            )
        })
    }
}

/// How many blocks there are.
pub(super) const BLOCKS: &str = "block_count";

/// That a key is not there, or what it holds instead of a number above zero.
pub(super) fn lacking(metadata: &Metadata, key: &str) -> String {
    let name = shown(key.as_bytes());
    let found = match metadata.entry_of(key) {
        None => return format!("{name} is missing"),
        Some(Entry::Value(value)) => told(value),
        Some(Entry::List(count)) => format!("(a list of {count})"),
        Some(Entry::Text(count)) => format!("(a text of {count} bytes)"),
    };
    format!("{name} is there, but its value {found} is not a positive number")
}

/// A value as it is told: short, and without what steers.
fn told(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("(a list of {})", list.len()),
        Value::String(text) => shown(text.as_bytes()),
        other => other.to_string(),
    }
}

//! LoRA adapters as PEFT saves them.

use std::sync::Arc;

use serde_json::Value;

use super::error::{Error, Reason};
use super::{LIMIT, header, tensors, text};
use crate::model::{Checkpoint, Container};
use crate::source::access::{Collection, Entry};

/// What describes an adapter.
pub const CONFIG: &str = "adapter_config.json";

const WEIGHTS: &str = "adapter_model.safetensors";

/// The same as PyTorch's archive, from before safetensors.
const ARCHIVE: &str = "adapter_model.bin";

/// Is this a file of an adapter: by its own name, or as weights that an adapter's configuration lies beside?
pub fn is_of_adapter(file: &str, entries: &[Entry]) -> bool {
    let configured = || entries.iter().any(|entry| entry.name == CONFIG);
    file == CONFIG || [WEIGHTS, ARCHIVE].contains(&file) && (entries.is_empty() || configured())
}

/// An adapter for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// What kind (`peft_type`: "LORA").
    pub kind: String,
    /// Its rank, the largest where modules differ.
    pub rank: Option<u64>,
    /// The modules it changes, or a pattern of their names.
    pub targets: Vec<String>,
    /// Modules that are stored whole.
    pub saved_modules: Vec<String>,
    /// The model it is for.
    pub base: Option<String>,
    /// Its tensors; absent where the file is not there or cannot be read.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// What had to be left open, each a whole sentence.
    pub assumptions: Vec<String>,
}

/// Reads the adapter of a folder.
///
/// # Errors
/// What is wrong with its configuration.
pub fn adapter(collection: &dyn Collection) -> Result<Adapter, Error> {
    let of_config = |reason: Reason| reason.of(CONFIG);
    let config = text::read(collection, CONFIG, LIMIT).and_then(|text| text::parse(&text));
    let config = config.map_err(of_config)?;
    if !config.is_object() {
        return Err(of_config(Reason::Shape("is not an object".to_owned())));
    }
    let kind = config
        .get("peft_type")
        .and_then(Value::as_str)
        .unwrap_or("LORA");
    let base = config
        .get("base_model_name_or_path")
        .and_then(Value::as_str);
    let mut adapter = Adapter {
        kind: kind.chars().take(40).collect(),
        rank: rank(&config),
        targets: names(config.get("target_modules")),
        saved_modules: names(config.get("modules_to_save")),
        base: base
            .filter(|base| !base.is_empty())
            .map(|base| base.chars().take(400).collect()),
        checkpoint: None,
        assumptions: Vec::new(),
    };
    match weights(collection) {
        Ok(Some((checkpoint, newer))) => {
            adapter.checkpoint = Some(Arc::new(checkpoint));
            adapter.assumptions.extend(newer);
        }
        Ok(None) => {}
        Err(error) => adapter
            .assumptions
            .push(format!("The adapter's weights cannot be used: {error}.")),
    }
    Ok(adapter)
}

/// The tensors, and what is to be said of them.
fn weights(collection: &dyn Collection) -> Result<Option<(Checkpoint, Option<String>)>, Error> {
    let entries = collection.entries().map_err(Error::Listing)?;
    let find = |name: &str| entries.iter().find(|entry| entry.name == name);
    if find(WEIGHTS).is_none() {
        let archive = find(ARCHIVE).map(|archive| {
            let tensors = super::archives(std::slice::from_ref(archive), None);
            Checkpoint::new(Container::PyTorch, None, tensors)
        });
        return Ok(archive.map(|archive| (archive, None)));
    }
    let of_weights = |reason: Reason| reason.of(WEIGHTS);
    let file = collection
        .open(WEIGHTS)
        .map_err(|error| of_weights(error.into()))?;
    let stored = header::read(file.as_ref()).map_err(of_weights)?;
    let label = tensors::main_type(&stored);
    let tensors = tensors::of(&stored, None);
    let checkpoint = Checkpoint::new(Container::Safetensors, label, tensors);
    Ok(Some((checkpoint, tensors::newer(&stored))))
}

/// `r`, and what single modules have instead.
fn rank(config: &Value) -> Option<u64> {
    let patterns = config.get("rank_pattern").and_then(Value::as_object);
    let own = patterns.into_iter().flat_map(|patterns| patterns.values());
    let all = own.chain(config.get("r")).filter_map(Value::as_u64);
    all.filter(|rank| *rank > 0).max()
}

/// A list of names, or one.
fn names(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

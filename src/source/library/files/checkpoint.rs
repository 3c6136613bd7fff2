//! Folders of checkpoints as Hugging Face has them: a configuration, and weights in one or several files.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Origin, Weights};
use crate::source::access::LocalFolder;
use crate::source::checkpoint;
use crate::source::library::Kind;
use crate::source::library::scan::{Item, SMALL, Scan};
use crate::store;

/// Lists the checkpoint or adapter that a folder is, if it is one.
pub(super) fn read(folder: &Path, items: &[Item], origin: &Origin, scan: &mut Scan<'_>) {
    let has = |name: &str| items.iter().any(|item| item.name == name);
    let adapter = has(checkpoint::ADAPTER) && !has(checkpoint::CONFIG);
    // Mistral's own form has `params.json`.
    if !adapter && !has(checkpoint::CONFIG) && !has(checkpoint::PARAMS) {
        return;
    }
    if !items.iter().any(|item| checkpoint::is_weights(&item.name)) {
        // A configuration alone is nothing that was kept here.
        return;
    }
    // Links that lead nowhere are told one by one already; what is missing without them is told by the reader.
    let local = LocalFolder::new(folder);
    let files = match checkpoint::weights_of(&local) {
        Ok(files) if files.is_empty() => return,
        Ok(files) => files,
        Err(reason) => {
            scan.broken(folder, reason.to_string());
            return;
        }
    };
    let archive = files
        .iter()
        .all(|file| !file.name.ends_with(".safetensors"));
    let kind = if archive {
        Kind::PyTorch
    } else {
        Kind::Safetensors
    };
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.name)).collect();
    if let Some(weights) = Weights::of_files(kind, folder, paths, scan) {
        let form = (!adapter).then(|| form(&folder.join(checkpoint::CONFIG)));
        weights.with_quant(form.flatten()).found(origin, scan);
    }
}

/// What a configuration says about the form of the weights.
fn form(config: &Path) -> Option<String> {
    let text = store::read(config, SMALL).ok()?;
    let config: Value = serde_json::from_str(&text).ok()?;
    let text = config.get("text_config");
    let fields = || std::iter::once(&config).chain(text);
    let quantized = fields().find_map(|fields| {
        // MLX writes `quantization` without a method.
        let written = fields.get("quantization_config");
        written.or_else(|| fields.get("quantization"))
    });
    if let Some(quantized) = quantized {
        let method = quantized.get("quant_method").and_then(Value::as_str);
        let bits = quantized.get("bits").and_then(Value::as_u64);
        return match (method, bits) {
            (Some(method), Some(bits)) => Some(format!("{method} {bits}-bit")),
            (Some(method), None) => Some(method.to_owned()),
            (None, Some(bits)) => Some(format!("{bits}-bit")),
            (None, None) => None,
        };
    }
    let named = |name: &str| fields().find_map(|fields| fields.get(name)?.as_str());
    let element = named("torch_dtype").or_else(|| named("dtype"))?;
    Some(match element {
        "bfloat16" => "BF16".to_owned(),
        "float16" => "F16".to_owned(),
        "float32" => "F32".to_owned(),
        other => other.to_owned(),
    })
}

//! Folders of checkpoints as Hugging Face has them: a configuration, and weights in one or several files.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Origin, Part, Weights, missing};
use crate::source::library::scan::{Item, ItemKind, SMALL, Scan};
use crate::source::library::{Kind, label};
use crate::store;

/// Lists the checkpoint that a folder is, if it is one.
pub(super) fn read(folder: &Path, items: &[Item], origin: &Origin, scan: &mut Scan<'_>) {
    let has = |name: &str| items.iter().any(|item| item.name == name);
    // Mistral's own form has `params.json`.
    if !has("config.json") && !has("params.json") {
        return;
    }
    let Some((kind, files)) = weights(items) else {
        return;
    };
    if let Some(reason) = incomplete(&files) {
        scan.broken(folder, reason);
        return;
    }
    let paths: Vec<PathBuf> = files.into_iter().map(|item| item.path.clone()).collect();
    if let Some(weights) = Weights::of_files(kind, folder, paths, scan) {
        weights
            .with_quant(form(&folder.join("config.json")))
            .found(origin, scan);
    }
}

/// The files with weights. Where a folder has several sets, transformers takes safetensors before archives
/// (`modeling_utils.py`), and the consolidated form is another copy of the same.
fn weights(items: &[Item]) -> Option<(Kind, Vec<&Item>)> {
    let set = |wanted: &dyn Fn(&str) -> bool| -> Vec<&Item> {
        let files = items.iter().filter(|item| item.kind != ItemKind::Folder);
        files.filter(|item| wanted(&item.name)).collect()
    };
    let is_tensors = |name: &str| name.ends_with(".safetensors");
    let sets = [
        (
            Kind::Safetensors,
            set(&|name| {
                is_tensors(name)
                    && !name.starts_with("consolidated")
                    && !name.starts_with("adapter_model")
            }),
        ),
        (
            Kind::Safetensors,
            set(&|name| is_tensors(name) && name.starts_with("consolidated")),
        ),
        (
            Kind::PyTorch,
            set(&|name| {
                name.starts_with("pytorch_model")
                    && Path::new(name)
                        .extension()
                        .is_some_and(|ending| ending == "bin")
            }),
        ),
    ];
    sets.into_iter().find(|(_, files)| !files.is_empty())
}

/// Why the files are not all there.
fn incomplete(files: &[&Item]) -> Option<String> {
    if files.iter().any(|item| item.kind == ItemKind::BrokenLink) {
        return Some("some of its files are links that lead nowhere".to_owned());
    }
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut total = 0;
    for item in files {
        let stem = item.name.rsplit_once('.').map_or("", |(stem, _)| stem);
        if let Some((_, number, of)) = label::split(stem) {
            total = total.max(of);
            parts.push((number, item));
        }
    }
    missing(&parts, total)
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

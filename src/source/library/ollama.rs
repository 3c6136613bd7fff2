//! Ollama: manifests that list layers by digest, and blobs of that name.
//!
//! Source: ollama/ollama `envconfig/config.go` (`OLLAMA_MODELS`, `~/.ollama/models`), `manifest/paths.go` (blobs are
//! `blobs/sha256-<64 hex digits>`), `types/model/name.go` (`manifests/<host>/<namespace>/<model>/<tag>`),
//! `scripts/install.sh` (the service's home is `/usr/share/ollama`), `server/images.go` (media types of layers),
//! `server/download.go` (`-partial`).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::{Origin, Weights};
use super::scan::{self, DEPTH, Item, ItemKind, SMALL, Scan};
use super::{Kind, Places, Shelf};
use crate::hardware::Os;
use crate::store;
use crate::units::Bytes;

/// Ollama.
pub(super) struct Ollama;

impl Shelf for Ollama {
    fn name(&self) -> &'static str {
        "Ollama"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let own = places
            .variable("OLLAMA_MODELS")
            .or_else(|| places.below_home(".ollama/models"));
        let service =
            (places.os == Os::Linux).then(|| places.root.join("usr/share/ollama/.ollama/models"));
        own.into_iter().chain(service).collect()
    }

    fn read(&self, root: &Path, scan: &mut Scan<'_>) {
        read(root, scan);
    }
}

/// Does a folder look like Ollama's?
pub(super) fn is_store(folder: &Path) -> bool {
    folder.join("manifests").is_dir() && folder.join("blobs").is_dir()
}

/// Reads a folder with manifests and blobs.
pub(super) fn read(root: &Path, scan: &mut Scan<'_>) {
    let manifests = root.join("manifests");
    if manifests.is_dir() {
        walk(&manifests, &mut Vec::new(), &root.join("blobs"), scan);
    }
    let blobs = root.join("blobs");
    if blobs.is_dir() {
        for item in scan.list(&blobs) {
            if let ItemKind::File(bytes) = item.kind
                && item.name.ends_with("-partial")
            {
                // The file has its full size from the beginning, so how much of it is there cannot be said.
                let reason = format!("its download of {} is not finished", Bytes::new(bytes));
                scan.broken(&item.path, reason);
            }
        }
    }
}

/// Walks `<host>/<namespace>/<model>/<tag>`.
fn walk(folder: &Path, name: &mut Vec<String>, blobs: &Path, scan: &mut Scan<'_>) {
    for item in scan.list(folder) {
        match item.kind {
            ItemKind::Folder if name.len() < DEPTH => {
                name.push(item.name);
                walk(&item.path, name, blobs, scan);
                name.pop();
            }
            // Files of the system (.DS_Store) are none.
            ItemKind::File(_) if !item.name.starts_with('.') => manifest(&item, name, blobs, scan),
            _ => {}
        }
    }
}

/// The layers of one model that are files to open.
#[derive(Default)]
struct Layers {
    models: Vec<PathBuf>,
    projector: Option<PathBuf>,
    missing: Option<(PathBuf, String)>,
    tensors: bool,
}

fn manifest(item: &Item, name: &[String], blobs: &Path, scan: &mut Scan<'_>) {
    let Some(text) = scan.text(&item.path) else {
        return;
    };
    let manifest: Value = match serde_json::from_str(&text) {
        Ok(manifest) => manifest,
        Err(error) => {
            scan.broken(&item.path, format!("its manifest is no JSON ({error})"));
            return;
        }
    };
    let layers = layers(&manifest, blobs);
    if let Some((missing, flaw)) = layers.missing {
        let blob = missing.file_name().unwrap_or_default().to_string_lossy();
        scan.broken(
            &item.path,
            format!("its blob {blob} cannot be used: {flaw}"),
        );
        return;
    }
    let Some(first) = layers.models.first() else {
        if layers.tensors {
            scan.broken(
                &item.path,
                "it is stored tensor by tensor, not as a GGUF file",
            );
        }
        // Anything else runs in the cloud: there is a name here and nothing to load.
        return;
    };
    let Some(weights) = Weights::of_files(Kind::Gguf, first, layers.models.clone(), scan) else {
        return;
    };
    let config = manifest
        .get("config")
        .and_then(|config| blob(config, blobs));
    weights
        .with_digest(digest(first))
        .with_quant(config.and_then(|path| file_type(&path)))
        .with_projector(layers.projector)
        .found(&origin(name, &item.name), scan);
}

fn layers(manifest: &Value, blobs: &Path) -> Layers {
    let mut layers = Layers::default();
    let listed = manifest.get("layers").and_then(Value::as_array);
    for layer in listed.into_iter().flatten() {
        let kind = layer.get("mediaType").and_then(Value::as_str);
        let kind = kind.and_then(|kind| kind.strip_prefix("application/vnd.ollama.image."));
        let model = match kind {
            Some("model") => true,
            Some("projector") => false,
            Some("tensor") => {
                layers.tensors = true;
                continue;
            }
            _ => continue,
        };
        let Some(path) = blob(layer, blobs) else {
            continue;
        };
        if !path.is_file() {
            let flaw = scan::flaw(&path).unwrap_or_else(|| "it is no file".to_owned());
            layers.missing.get_or_insert((path, flaw));
        } else if model {
            layers.models.push(path);
        } else {
            layers.projector.get_or_insert(path);
        }
    }
    layers
}

/// The blob of a layer. A digest of another form could lead out of the folder.
fn blob(layer: &Value, blobs: &Path) -> Option<PathBuf> {
    let digest = layer.get("digest")?.as_str()?;
    let hex = digest
        .strip_prefix("sha256:")
        .or_else(|| digest.strip_prefix("sha256-"))?;
    let valid = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    valid.then(|| blobs.join(format!("sha256-{hex}")))
}

fn digest(blob: &Path) -> Option<String> {
    let name = blob.file_name()?.to_str()?;
    Some(name.strip_prefix("sha256-")?.to_ascii_lowercase())
}

/// What Ollama calls the form of the weights.
fn file_type(config: &Path) -> Option<String> {
    let text = store::read(config, SMALL).ok()?;
    let config: Value = serde_json::from_str(&text).ok()?;
    let form = config.get("file_type")?.as_str()?;
    (!form.is_empty() && form != "unknown").then(|| form.to_owned())
}

/// The name as Ollama prints it: without its own host and namespace.
fn origin(name: &[String], tag: &str) -> Origin {
    let short = match name {
        [host, space, model] if host == "registry.ollama.ai" && space == "library" => model.clone(),
        [host, rest @ ..] if host == "registry.ollama.ai" => rest.join("/"),
        _ => name.join("/"),
    };
    let repository = match name {
        [host, owner, model] if host == "hf.co" || host == "huggingface.co" => {
            Some(format!("{owner}/{model}"))
        }
        _ => None,
    };
    Origin {
        title: Some(format!("{short}:{tag}")),
        repository,
        revision: None,
    }
}

//! Folders of checkpoints as Hugging Face has them: a configuration, and weights in one or several files.

use std::path::{Path, PathBuf};

use super::{Origin, Weights};
use crate::source::access::LocalFolder;
use crate::source::checkpoint;
use crate::source::library::Kind;
use crate::source::library::scan::{Item, Scan};

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
        weights.found(origin, scan);
    }
}

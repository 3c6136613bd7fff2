//! Folders of files: which of them belong together as a model.

mod checkpoint;
mod gguf;
mod weights;

use std::path::Path;

pub(super) use weights::Weights;

use super::scan::{Item, ItemKind, Scan};
use super::{hugging_face, ollama};
use crate::units::Bytes;

/// What a library knows about the models of a folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// What it calls the model.
    pub(super) title: Option<String>,
    /// The repository that they come from.
    pub(super) repository: Option<String>,
    /// Its commit.
    pub(super) revision: Option<String>,
}

/// Lists the models of a folder and of the folders in it.
pub(super) fn walk(folder: &Path, origin: &Origin, depth: usize, scan: &mut Scan<'_>) {
    walk_with(folder, origin, depth, &[], scan);
}

/// `projectors` stand in the folders above it.
fn walk_with(
    folder: &Path,
    origin: &Origin,
    depth: usize,
    projectors: &[Item],
    scan: &mut Scan<'_>,
) {
    let items = scan.list(folder);
    let is_folder = |name: &str| {
        let mut folders = items.iter().filter(|item| item.kind == ItemKind::Folder);
        folders.any(|item| item.name == name)
    };
    if is_folder("manifests") && is_folder("blobs") {
        ollama::read(folder, scan);
        return;
    }
    // A pipeline of several models that draws pictures (diffusers): none of them is a language model.
    if items.iter().any(|item| item.name == "model_index.json") {
        return;
    }
    complain(&items, scan);
    let own = gguf::projectors(&items);
    gguf::read(&items, &own, projectors, origin, scan);
    checkpoint::read(folder, &items, origin, scan);
    // Files of one repository belong together across its folders; elsewhere folders have nothing to do with each other.
    let handed_down = if origin.repository.is_none() {
        &[]
    } else if own.is_empty() {
        projectors
    } else {
        &own
    };
    for item in &items {
        if item.kind != ItemKind::Folder || item.name.starts_with('.') {
            continue;
        }
        if hugging_face::is_repository(&item.name) {
            hugging_face::repository(item, scan);
        } else if depth > 1 {
            walk_with(&item.path, origin, depth - 1, handed_down, scan);
        }
    }
}

/// Endings that programs give to downloads while they last: Hugging Face, llama.cpp, LM Studio, browsers.
const UNFINISHED: [&str; 6] = [
    ".incomplete",
    ".downloadInProgress",
    ".part",
    ".partial",
    ".downloading",
    ".crdownload",
];

/// Lists links that lead nowhere and downloads that were not finished.
fn complain(items: &[Item], scan: &mut Scan<'_>) {
    for item in items {
        match item.kind {
            ItemKind::BrokenLink(broken) if is_weights(&item.name) => {
                scan.broken(&item.path, broken.reason(&item.path));
            }
            ItemKind::File(bytes) if is_unfinished(&item.name) => {
                not_finished(&item.path, Bytes::new(bytes), scan);
            }
            _ => {}
        }
    }
}

fn is_unfinished(name: &str) -> bool {
    let ended = UNFINISHED.iter().find_map(|end| name.strip_suffix(end));
    // GPT4All: `incompleteDownloadPath`, v3.10.0 gpt4all-chat/src/modellist.cpp.
    let named = ended.or_else(|| name.strip_prefix("incomplete-"));
    named.is_some_and(is_weights)
}

/// Does a name end as files with weights do?
fn is_weights(name: &str) -> bool {
    let ending = Path::new(name).extension().unwrap_or_default();
    ["gguf", "safetensors", "bin"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// Lists a download that was not finished.
pub(super) fn not_finished(path: &Path, so_far: Bytes, scan: &mut Scan<'_>) {
    scan.broken(
        path,
        format!("its download is not finished ({so_far} so far)"),
    );
}

/// A part of a split file: its number and the file.
type Part<'a> = (u32, &'a Item);

/// Which of these parts are missing, in words.
fn missing(parts: &[Part<'_>], total: u32) -> Option<String> {
    let there = |number: u32| parts.iter().any(|(part, _)| *part == number);
    let mut missing = (1..=total).filter(|number| !there(*number));
    let first = missing.next()?;
    let more = missing.count();
    Some(match more {
        0 => format!("part {first} of {total} is not there"),
        _ => format!("part {first} of {total} and {more} more are not there"),
    })
}

//! The cache of Hugging Face's libraries: `models--owner--name` with `refs`, `snapshots` and `blobs`.
//!
//! Source: `huggingface_hub` `constants.py` (`HF_HOME`, `HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE`, `XDG_CACHE_HOME`) and
//! its guide "Understand caching": files of a snapshot are links to blobs, which are named after their etag, the
//! SHA-256 of large files; where links are not possible (Windows), a snapshot has the files themselves. llama.cpp
//! keeps its downloads the same way (0.6.0-dev `common/hf-cache.cpp`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{self, Origin};
use super::scan::{DEPTH, Item, ItemKind, Scan};
use super::{Places, Shelf};
use crate::units::Bytes;

/// The cache of Hugging Face's libraries.
pub(super) struct HuggingFace;

impl Shelf for HuggingFace {
    fn name(&self) -> &'static str {
        "Hugging Face"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let named = places
            .variable("HF_HUB_CACHE")
            .or_else(|| places.variable("HUGGINGFACE_HUB_CACHE"));
        let home = || {
            places.variable("HF_HOME").or_else(|| {
                // Like this on every system, Windows and macOS too.
                let cache = places.xdg("XDG_CACHE_HOME", ".cache")?;
                Some(cache.join("huggingface"))
            })
        };
        named
            .or_else(|| Some(home()?.join("hub")))
            .into_iter()
            .collect()
    }

    fn read(&self, root: &Path, scan: &mut Scan<'_>) {
        for item in scan.list(root) {
            if item.kind == ItemKind::Folder && is_repository(&item.name) {
                repository(&item, scan);
            }
        }
    }
}

/// Is this the name of a cached model? Data sets and spaces have other prefixes.
pub(super) fn is_repository(name: &str) -> bool {
    name.starts_with("models--")
}

/// The name of a repository by that of its folder.
fn name_of(folder: &str) -> String {
    let name = folder.trim_start_matches("models--");
    name.replacen("--", "/", 1)
}

/// The repository of a revision or of a blob in the cache.
pub(super) fn repository_of(path: &Path) -> Option<String> {
    let kept = path.parent()?;
    if !kept.ends_with("snapshots") && !kept.ends_with("blobs") {
        return None;
    }
    let folder = kept.parent()?.file_name()?.to_str()?;
    is_repository(folder).then(|| name_of(folder))
}

/// Reads the folder of one repository.
pub(super) fn repository(folder: &Item, scan: &mut Scan<'_>) {
    let name = name_of(&folder.name);
    unfinished(&folder.path.join("blobs"), scan);
    // Whatever else leads to this folder leads to the same models.
    let listed = scan.list(&folder.path);
    let Some(snapshots) = listed
        .iter()
        .find(|item| item.name == "snapshots" && item.kind == ItemKind::Folder)
    else {
        return;
    };
    let snapshots = scan.list(&snapshots.path);
    for snapshot in chosen(&folder.path.join("refs"), &snapshots, scan) {
        let origin = Origin {
            title: None,
            repository: Some(name.clone()),
            revision: Some(snapshot.name.clone()),
        };
        files::walk(&snapshot.path, &origin, DEPTH, scan);
    }
}

/// The snapshots that references name; where there are no references, the newest.
fn chosen<'a>(refs: &Path, snapshots: &'a [Item], scan: &mut Scan<'_>) -> Vec<&'a Item> {
    let mut named = BTreeMap::new();
    references(refs, DEPTH, &mut named, scan);
    let folders = || {
        snapshots
            .iter()
            .filter(|item| item.kind == ItemKind::Folder)
    };
    let current: Vec<&Item> = folders()
        .filter(|item| named.contains_key(&item.name))
        .collect();
    if !current.is_empty() {
        return current;
    }
    let time = |item: &&Item| {
        fs::metadata(&item.path)
            .and_then(|meta| meta.modified())
            .ok()
    };
    folders().max_by_key(time).into_iter().collect()
}

/// Commits by the references that name them. References of pull requests are in folders (`refs/refs/pr/1`).
fn references(
    folder: &Path,
    depth: usize,
    named: &mut BTreeMap<String, String>,
    scan: &mut Scan<'_>,
) {
    if !folder.is_dir() {
        return;
    }
    for item in scan.list(folder) {
        match item.kind {
            ItemKind::Folder if depth > 1 => references(&item.path, depth - 1, named, scan),
            ItemKind::File(_) => {
                if let Some(commit) = scan.text(&item.path) {
                    named.insert(commit.trim().to_owned(), item.name);
                }
            }
            ItemKind::Folder | ItemKind::BrokenLink(_) => {}
        }
    }
}

/// Lists downloads that were not finished.
fn unfinished(blobs: &Path, scan: &mut Scan<'_>) {
    if !blobs.is_dir() {
        return;
    }
    for item in scan.list(blobs) {
        if let ItemKind::File(bytes) = item.kind
            && item.name.ends_with(".incomplete")
        {
            files::not_finished(&item.path, Bytes::new(bytes), scan);
        }
    }
}

/// The SHA-256 of a file of a snapshot, which is the name of the blob that it links to.
pub(super) fn digest(path: &Path) -> Option<String> {
    let target = fs::read_link(path).ok()?;
    if target.parent()?.file_name()? != "blobs" {
        return None;
    }
    let name = target.file_name()?.to_str()?;
    let hex = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_and_blobs_are_called_by_their_repository() {
        let named = |path: &str| repository_of(Path::new(path));
        let expected = Some("acme/Small--Llama".to_owned());
        assert_eq!(
            named("/hub/models--acme--Small--Llama/snapshots/0a1b"),
            expected
        );
        assert_eq!(
            named("/hub/models--acme--Small--Llama/blobs/0a1b.incomplete"),
            expected
        );
        assert_eq!(
            named("/hub/models--acme--Llama/snapshots/0a1b/m.gguf"),
            None
        );
        assert_eq!(named("/home/me/snapshots/0a1b"), None);
    }
}

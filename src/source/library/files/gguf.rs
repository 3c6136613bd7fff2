//! GGUF files of a folder: parts of split ones, and the projector that belongs to each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Origin, Part, Weights, is_unfinished, missing};
use crate::source::gguf;
use crate::source::library::scan::{Item, ItemKind, Scan};
use crate::source::library::{Kind, label};
use crate::store;

/// The projectors among the files of a folder.
pub(super) fn projectors(items: &[Item]) -> Vec<Item> {
    let files = items.iter().filter(|item| is_gguf(item));
    files
        .filter(|item| label::is_projector(&item.name))
        .cloned()
        .collect()
}

/// Lists the GGUF models among the files of a folder. Projectors of its own come before those of the folders above.
pub(super) fn read(
    items: &[Item],
    own: &[Item],
    above: &[Item],
    origin: &Origin,
    scan: &mut Scan<'_>,
) {
    let mut models: BTreeMap<(&str, u32), Vec<Part<'_>>> = BTreeMap::new();
    for item in items.iter().filter(|item| is_gguf(item)) {
        if label::is_projector(&item.name) || label::is_companion(&item.name) {
            continue;
        }
        let stem = stem(&item.name);
        let (name, number, total) = label::split(stem).unwrap_or((stem, 1, 0));
        let parts = models.entry((name, total)).or_default();
        parts.push((number, item));
    }
    let mut bases: Vec<_> = models.keys().map(|(name, _)| label::base(name)).collect();
    bases.sort_unstable();
    bases.dedup();
    let alone = bases.len() <= 1;
    for ((name, total), mut parts) in models {
        parts.sort_unstable_by_key(|(number, _)| *number);
        let Some((_, first)) = parts.first() else {
            continue;
        };
        if let Some(reason) = missing(&parts, total) {
            scan.broken(&first.path, reason);
            continue;
        }
        let files: Vec<PathBuf> = parts.iter().map(|(_, item)| item.path.clone()).collect();
        let projector = projector(name, own, alone).or_else(|| projector(name, above, alone));
        let address = address(&first.path);
        let known = Origin {
            repository: origin.repository.clone().or(address),
            ..origin.clone()
        };
        if let Some(weights) = Weights::of_files(Kind::Gguf, &first.path, files, scan) {
            weights.with_projector(projector).found(&known, scan);
        }
    }
}

/// A file that is meant as a model; a download that has the ending already is told as what it is.
fn is_gguf(item: &Item) -> bool {
    matches!(item.kind, ItemKind::File(_))
        && gguf::is_named(Path::new(&item.name))
        && !is_unfinished(&item.name)
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The projector of a model: one whose name begins as the model's does, or any where the folder has one model only.
/// Among several, the one whose elements are nearest in size to the model's, as llama.cpp chooses
/// (`find_best_sibling`, 0.6.0-dev `common/download.cpp`).
fn projector(model: &str, projectors: &[Item], alone: bool) -> Option<PathBuf> {
    let base = label::base(model);
    let named = |item: &&Item| {
        let other = label::base(stem(&item.name));
        !other.is_empty() && (base.starts_with(&other) || other.starts_with(&base))
    };
    let far = |item: &&Item| bits(stem(&item.name)).abs_diff(bits(model));
    let best = projectors.iter().filter(named).min_by_key(far);
    let best = best.or_else(|| projectors.iter().filter(|_| alone).min_by_key(far));
    best.map(|item| item.path.clone())
}

/// The first number of the form of a file's weights; 0 where its name has none.
fn bits(stem: &str) -> u32 {
    let form = gguf::label::of_name(stem).unwrap_or_default();
    let digits: String = form
        .chars()
        .skip_while(|letter| !letter.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(0)
}

/// Where older builds of llama.cpp downloaded a file from: `url` of the `.json` beside it.
fn address(file: &Path) -> Option<String> {
    /// Such a file has three short fields.
    const LIMIT: u64 = 1 << 16;
    let mut beside = file.as_os_str().to_owned();
    beside.push(".json");
    let text = store::read(Path::new(&beside), LIMIT).ok()?;
    let fields: serde_json::Value = serde_json::from_str(&text).ok()?;
    let url = fields.get("url")?.as_str()?;
    let (_, path) = url.split_once("://")?;
    let mut parts = path.split('/').skip(1);
    let (owner, name, resolve) = (parts.next()?, parts.next()?, parts.next()?);
    (resolve == "resolve").then(|| format!("{owner}/{name}"))
}

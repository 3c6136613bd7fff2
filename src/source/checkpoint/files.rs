//! Which files of a folder are the model's weights. Repositories often hold them twice: for transformers and as their
//! makers had them (`consolidated.safetensors`, `original/`), or as safetensors and as PyTorch archives. One set is
//! taken, in the order in which transformers 5.24.0 looks for them (`modeling_utils.py`, `_get_resolved_checkpoint_files`).

use super::error::{Error, Reason};
use super::index::Index;
use crate::model::Container;
use crate::source::access::{Collection, Entry};

/// Files that are one copy of the weights.
pub(super) struct Set {
    pub(super) container: Container,
    pub(super) files: Vec<Entry>,
    /// Bytes of all tensors, where an index says so.
    pub(super) total_size: Option<u64>,
}

impl Set {
    fn has(&self, file: &str) -> bool {
        self.files.iter().any(|entry| entry.name == file)
    }
}

const ADAPTER: &str = "adapter_model.";

/// Names of whole copies, the first one first.
const COPIES: [(Container, &str, &str); 4] = [
    (Container::Safetensors, ".safetensors", "model"),
    (Container::Safetensors, ".safetensors", "consolidated"),
    (Container::PyTorch, ".bin", "pytorch_model"),
    (Container::PyTorch, ".pth", "consolidated"),
];

/// The weights among files, where there are any.
pub(super) fn choose(collection: &dyn Collection, entries: &[Entry]) -> Result<Option<Set>, Error> {
    if let Some(set) = copy(collection, entries, |_| true)? {
        return Ok(Some(set));
    }
    let files = others(entries);
    Ok((!files.is_empty()).then_some(Set {
        container: Container::Safetensors,
        files,
        total_size: None,
    }))
}

/// Weights that somebody asks for by the name of a file.
pub(super) enum Asked {
    /// A copy of the weights that the configuration describes.
    Copy(Set),
    /// A file that only lies beside them.
    Alone(Set),
}

/// The weights that a file stands for: the copy it is a part of, or itself; `None` where there is no such file.
pub(super) fn asked(
    collection: &dyn Collection,
    entries: &[Entry],
    file: &str,
) -> Result<Option<Asked>, Error> {
    let Some(entry) = entries.iter().find(|entry| entry.name == file) else {
        return Ok(None);
    };
    match copy(collection, entries, |set| set.has(file)) {
        Ok(Some(set)) => return Ok(Some(Asked::Copy(set))),
        Err(error) if is_of_copy(file) => return Err(error),
        Ok(None) | Err(_) => {}
    }
    let archive = !file.ends_with(".safetensors");
    let alone = Set {
        container: if archive {
            Container::PyTorch
        } else {
            Container::Safetensors
        },
        files: vec![entry.clone()],
        total_size: None,
    };
    let is_all = matches!(others(entries).as_slice(), [only] if only.name == file)
        && copy(collection, entries, |_| true).is_ok_and(|copy| copy.is_none());
    Ok(Some(if is_all {
        Asked::Copy(alone)
    } else {
        Asked::Alone(alone)
    }))
}

/// The first whole copy that is wanted.
fn copy(
    collection: &dyn Collection,
    entries: &[Entry],
    wanted: impl Fn(&Set) -> bool,
) -> Result<Option<Set>, Error> {
    let mut incomplete = None;
    for (container, ending, stem) in COPIES {
        match named(collection, entries, ending, stem) {
            Ok(Some((files, total_size))) => {
                let set = Set {
                    container,
                    files,
                    total_size,
                };
                if wanted(&set) {
                    return Ok(Some(set));
                }
            }
            Ok(None) => {}
            // Another copy may be whole.
            Err(error) => incomplete = incomplete.or(Some(error)),
        }
    }
    incomplete.map_or(Ok(None), Err)
}

/// Is this the name of a file of a copy?
fn is_of_copy(file: &str) -> bool {
    COPIES.iter().any(|(_, ending, stem)| {
        let middle = file
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_suffix(ending));
        middle.is_some_and(|middle| middle.is_empty() || is_number_of(middle))
    })
}

/// Weights that are no copy by their names.
fn others(entries: &[Entry]) -> Vec<Entry> {
    let others = entries.iter().filter(|entry| is_weights(&entry.name));
    others.cloned().collect()
}

/// safetensors of any other name in the folder itself.
fn is_weights(name: &str) -> bool {
    name.ends_with(".safetensors") && !name.contains('/') && !name.starts_with(ADAPTER)
}

type Parts = (Vec<Entry>, Option<u64>);

/// The copy whose files begin with `stem`: by its index, in one file, or in numbered ones.
fn named(
    collection: &dyn Collection,
    entries: &[Entry],
    ending: &str,
    stem: &str,
) -> Result<Option<Parts>, Error> {
    let find = |name: &str| entries.iter().find(|entry| entry.name == name);
    let name = format!("{stem}{ending}.index.json");
    if find(&name).is_some() {
        let index = Index::read(collection, &name).map_err(|reason| reason.of(&name))?;
        let files: Result<Vec<Entry>, Error> = index
            .files()
            .map(|file| find(file).cloned().ok_or_else(|| Reason::Missing.of(file)))
            .collect();
        // An index alone, where nobody fetched the weights, hides no other copy.
        let none = index.files().all(|file| find(file).is_none());
        return match files {
            Err(error) if none && find(&format!("{stem}{ending}")).is_none() => Err(error),
            Err(_) if none => {
                Ok(find(&format!("{stem}{ending}")).map(|one| (vec![one.clone()], None)))
            }
            files => files.map(|files| Some((files, index.total_size()))),
        };
    }
    if let Some(one) = find(&format!("{stem}{ending}")) {
        return Ok(Some((vec![one.clone()], None)));
    }
    Ok(numbered(entries, ending, stem)?.map(|files| (files, None)))
}

/// `model-00001-of-00002.safetensors`, `consolidated.00.pth`: all of a set, in order.
fn numbered(entries: &[Entry], ending: &str, stem: &str) -> Result<Option<Vec<Entry>>, Error> {
    let mut files = Vec::new();
    let mut count = None;
    for entry in entries {
        let middle = entry
            .name
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_suffix(ending));
        let Some(middle) = middle.filter(|middle| is_number_of(middle)) else {
            continue;
        };
        count = count.or(middle.split_once("-of-").map(|(_, count)| count.to_owned()));
        files.push(entry.clone());
    }
    if let Some(count) = count {
        let whole = count.parse::<usize>().unwrap_or(0).min(files.len() + 1);
        for number in 1..=whole {
            let width = count.len();
            let name = format!("{stem}-{number:0width$}-of-{count}{ending}");
            if !files.iter().any(|entry| entry.name == name) {
                return Err(Reason::Missing.of(&name));
            }
        }
    }
    Ok((!files.is_empty()).then_some(files))
}

/// "-00001-of-00002", ".00": a number, and of how many.
fn is_number_of(middle: &str) -> bool {
    let parts = middle.strip_prefix(['-', '.']).unwrap_or_default();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    match parts.split_once("-of-") {
        Some((number, count)) => digits(number) && digits(count),
        None => digits(parts),
    }
}

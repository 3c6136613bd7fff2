//! The models of a repository, by the names of its files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::model::Container;
use crate::source::access::Entry;

/// One thing to load: a file, or the files of a split one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What it is for.
    pub role: Role,
    /// Kind of the files.
    pub container: Container,
    /// What people call it: the quantization in its name, else the name.
    pub label: String,
    /// Its files in order. The first one stands for all.
    pub files: Vec<String>,
    /// Bytes of all files.
    pub bytes: u64,
    /// Files of a split one that are not there.
    pub missing: u64,
}

impl Choice {
    /// The quantization in its name, which others may have too; else its name.
    pub(super) fn quantization(&self) -> String {
        let first = self.files.first().map(String::as_str).unwrap_or_default();
        let (prefix, _) = split(stem(first, ".gguf").unwrap_or(first));
        label(prefix)
    }

    /// The folder of its files, with a slash at its end where it is not the repository's own.
    pub(super) fn folder(&self) -> &str {
        let first = self.files.first().map(String::as_str).unwrap_or_default();
        let end = first.rfind('/').map_or(0, |slash| slash + 1);
        first.get(..end).unwrap_or_default()
    }
}

/// What files are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A model.
    Model,
    /// A projector that comes with a model (mmproj).
    Projector,
    /// A small model that drafts for the one it comes with.
    Draft,
    /// Statistics that a quantizer reads.
    Imatrix,
}

/// `name-00001-of-00009`, as splits of GGUF and safetensors are named. Some publishers count from zero, some write the
/// second number wider than the first.
static SPLIT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(.*)-([0-9]{5,6})-of-([0-9]{5,6})$").ok());

/// Quantizations and float formats as they stand in names of files.
static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) (?:^|[^a-z0-9])
        ( (?:UD-)? (?: I?Q[1-8](?:_[a-z0-9]+)* | TQ[12]_[a-z0-9]+ | (?:MXFP|NVFP)[4-8](?:_[a-z0-9]+)* )
        | BF16 | FP?16 | FP?32 )
        (?:$|[^a-z0-9_])",
    )
    .ok()
});

/// The models among files, the smallest first; then what comes with them.
pub(super) fn choices(files: &[Entry]) -> Vec<Choice> {
    let mut choices = gguf(files);
    choices.extend(checkpoint(files));
    choices.sort_by(|a, b| (a.role, a.bytes, &a.files).cmp(&(b.role, b.bytes, &b.files)));
    tell_apart(&mut choices);
    choices
}

/// A file's name without the ending, taken apart where it is one of several: prefix, number, count.
fn split(stem: &str) -> (&str, Option<(u64, u64)>) {
    let parts = SPLIT.as_ref().and_then(|split| split.captures(stem));
    let part = |index| parts.as_ref().and_then(|parts| parts.get(index));
    let number = |index| part(index)?.as_str().parse::<u64>().ok();
    match (part(1), number(2), number(3)) {
        (Some(prefix), Some(at), Some(count)) => (prefix.as_str(), Some((at, count))),
        _ => (stem, None),
    }
}

/// The name without its ending, where it has this one.
fn stem<'a>(name: &'a str, ending: &str) -> Option<&'a str> {
    let start = name.len().checked_sub(ending.len())?;
    let found = name.get(start..)?;
    found
        .eq_ignore_ascii_case(ending)
        .then(|| name.get(..start))?
}

/// The files of one model in the making.
#[derive(Default)]
struct Group {
    files: Vec<String>,
    bytes: u64,
    missing: u64,
}

/// Files that belong together, by the name they share.
fn grouped<'a>(
    files: impl Iterator<Item = (&'a str, &'a Entry)>,
) -> BTreeMap<(&'a str, u64), Group> {
    let mut groups: BTreeMap<(&str, u64), Group> = BTreeMap::new();
    for (stem, entry) in files {
        let (prefix, part) = split(stem);
        let count = part.map_or(0, |(_, count)| count);
        let group = groups.entry((prefix, count)).or_default();
        group.files.push(entry.name.clone());
        group.bytes = group.bytes.saturating_add(entry.bytes);
        group.missing = count.saturating_sub(group.files.len() as u64);
    }
    for group in groups.values_mut() {
        group.files.sort_unstable();
    }
    groups
}

fn gguf(files: &[Entry]) -> Vec<Choice> {
    let named = files
        .iter()
        .filter_map(|entry| Some((stem(&entry.name, ".gguf")?, entry)));
    let groups = grouped(named).into_iter();
    groups
        .map(|((prefix, _), group)| Choice {
            role: role(prefix),
            container: Container::Gguf,
            label: label(prefix),
            files: group.files,
            bytes: group.bytes,
            missing: group.missing,
        })
        .collect()
}

/// As the engine tells models from what comes with them (`gguf_filename_is_model` in llama.cpp's common/download.cpp,
/// 0.6.0-dev).
fn role(prefix: &str) -> Role {
    let name = prefix.rsplit('/').next().unwrap_or(prefix);
    if name.contains("mmproj") {
        Role::Projector
    } else if name.contains("imatrix") {
        Role::Imatrix
    } else if ["mtp-", "eagle3-", "dflash-", "dspark-"]
        .iter()
        .any(|mark| name.contains(mark))
    {
        Role::Draft
    } else {
        Role::Model
    }
}

/// The quantization in a name, the last one where there are several, else in the name of its folder; else the name.
fn label(prefix: &str) -> String {
    let found = prefix.rsplit('/').find_map(last_label);
    found.unwrap_or_else(|| prefix.rsplit('/').next().unwrap_or(prefix).to_owned())
}

fn last_label(text: &str) -> Option<String> {
    let pattern = LABEL.as_ref()?;
    let (mut last, mut from) = (None, 0);
    // What ends one may begin the next.
    while let Some(found) = pattern
        .captures_at(text, from)
        .and_then(|found| found.get(1))
    {
        last = Some(found.as_str().to_ascii_uppercase());
        from = found.end();
    }
    last
}

/// Several of one label and role are called by their names.
fn tell_apart(choices: &mut [Choice]) {
    let mut seen: BTreeMap<(Role, String), u32> = BTreeMap::new();
    for choice in choices.iter() {
        *seen.entry((choice.role, choice.label.clone())).or_default() += 1;
    }
    for choice in choices {
        let key = (choice.role, choice.label.clone());
        if seen.get(&key).is_some_and(|count| *count > 1)
            && let Some(first) = choice.files.first()
        {
            let (prefix, _) = split(stem(first, ".gguf").unwrap_or(first));
            choice.label = prefix.to_owned();
        }
    }
}

/// The checkpoint in the repository's own folder: what `transformers` would load. Copies in other forms
/// (`consolidated`, `original/`) are left out where it is there.
fn checkpoint(files: &[Entry]) -> Option<Choice> {
    let found = tensors(files, ".safetensors", Container::Safetensors);
    found.or_else(|| tensors(files, ".bin", Container::PyTorch))
}

fn tensors(files: &[Entry], ending: &str, container: Container) -> Option<Choice> {
    let own = files.iter().filter(|entry| !entry.name.contains('/'));
    let named = own.filter_map(|entry| Some((stem(&entry.name, ending)?, entry)));
    let mut groups = grouped(named);
    // The names that transformers looks for come first (`SAFE_WEIGHTS_NAME` and the like in utils/__init__.py, 4.57).
    let rank = |(prefix, count): &(&str, u64)| match (*prefix, container) {
        ("model", Container::Safetensors) | ("pytorch_model", Container::PyTorch) => {
            Some(*count.min(&1))
        }
        ("consolidated", Container::Safetensors) => Some(2),
        ("adapter_model", _) => Some(3),
        // Training leaves other archives (`training_args.bin`, `optimizer.bin`).
        (_, Container::PyTorch) => None,
        _ => Some(4),
    };
    let best = groups
        .keys()
        .copied()
        .filter(|key| rank(key).is_some())
        .min_by_key(|key| (rank(key), key.1, key.0))?;
    let group = groups.remove(&best)?;
    Some(Choice {
        role: Role::Model,
        container,
        label: container.name().to_owned(),
        files: group.files,
        bytes: group.bytes,
        missing: group.missing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[(&str, u64)]) -> Vec<(Role, String, usize, u64, u64)> {
        let files: Vec<Entry> = names
            .iter()
            .map(|(name, bytes)| Entry {
                name: (*name).to_owned(),
                bytes: *bytes,
            })
            .collect();
        choices(&files)
            .into_iter()
            .map(|choice| {
                (
                    choice.role,
                    choice.label,
                    choice.files.len(),
                    choice.bytes,
                    choice.missing,
                )
            })
            .collect()
    }

    #[test]
    fn labels_are_what_people_ask_for() {
        for (prefix, expected) in [
            ("Qwen3-8B-Q4_K_M", "Q4_K_M"),
            ("Qwen3-8B-UD-Q4_K_XL", "UD-Q4_K_XL"),
            ("UD-IQ1_S/DeepSeek-R1-UD-IQ1_S", "UD-IQ1_S"),
            ("Q2_K_L/model", "Q2_K_L"),
            ("gemma-3-12b-it-q4_0", "Q4_0"),
            ("llama-2-7b.Q8_0", "Q8_0"),
            ("gpt-oss-20b-mxfp4", "MXFP4"),
            ("model-BF16", "BF16"),
            ("mmproj-F16", "F16"),
            ("Phi-3-mini-4k-instruct-fp16", "FP16"),
            ("Q4_0-to-Q8_0", "Q8_0"),
            ("tinyllama", "tinyllama"),
            ("folder/tinyllama", "tinyllama"),
            ("QwQ-32B", "QwQ-32B"),
        ] {
            assert_eq!(label(prefix), expected, "{prefix}");
        }
    }

    #[test]
    fn files_of_one_model_are_one_choice() {
        let found = found(&[
            ("UD-Q2_K_XL/R1-UD-Q2_K_XL-00001-of-00003.gguf", 50),
            ("UD-Q2_K_XL/R1-UD-Q2_K_XL-00002-of-00003.gguf", 49),
            ("UD-Q2_K_XL/R1-UD-Q2_K_XL-00003-of-00003.gguf", 1),
            ("R1-Q8_0-00001-of-00002.gguf", 300),
            ("R1-IQ1_M.GGUF", 10),
            ("imatrix_unsloth.gguf", 5),
            ("mmproj-BF16.gguf", 7),
            ("mmproj-F32.gguf", 14),
            ("README.md", 1),
        ]);
        let expected = [
            (Role::Model, "IQ1_M", 1, 10, 0),
            (Role::Model, "UD-Q2_K_XL", 3, 100, 0),
            (Role::Model, "Q8_0", 1, 300, 1),
            (Role::Projector, "BF16", 1, 7, 0),
            (Role::Projector, "F32", 1, 14, 0),
            (Role::Imatrix, "imatrix_unsloth", 1, 5, 0),
        ];
        let expected = expected.map(|(a, b, c, d, e)| (a, b.to_owned(), c, d, e));
        assert_eq!(found, expected);
    }

    #[test]
    fn two_models_of_one_quantization_go_by_their_names() {
        let found = found(&[("a-Q4_0.gguf", 1), ("b-Q4_0.gguf", 2), ("a-Q8_0.gguf", 3)]);
        let labels: Vec<_> = found.iter().map(|choice| choice.1.as_str()).collect();
        assert_eq!(labels, ["a-Q4_0", "b-Q4_0", "Q8_0"]);
    }

    #[test]
    fn a_checkpoint_is_counted_once() {
        let one = |names: &[(&str, u64)]| {
            let found = found(names);
            assert_eq!(found.len(), 1, "{found:?}");
            found
                .into_iter()
                .next()
                .map(|choice| (choice.1, choice.2, choice.3, choice.4))
        };
        let twice = [
            ("consolidated.safetensors", 100),
            ("model-00001-of-00002.safetensors", 50),
            ("model-00002-of-00002.safetensors", 50),
            ("original/consolidated.00.pth", 100),
            ("original/model.safetensors", 100),
            ("pytorch_model.bin", 100),
        ];
        assert_eq!(one(&twice), Some(("safetensors".to_owned(), 2, 100, 0)));
        // Counted from zero, with one file more than the count.
        let zero = [
            ("model-00000-of-00002.safetensors", 1),
            ("model-00001-of-00002.safetensors", 1),
            ("model-00002-of-00002.safetensors", 1),
        ];
        assert_eq!(one(&zero), Some(("safetensors".to_owned(), 3, 3, 0)));
        let wide = [("model-00001-of-000163.safetensors", 1)];
        assert_eq!(one(&wide), Some(("safetensors".to_owned(), 1, 1, 162)));
        let mistral = [("consolidated.safetensors", 9), ("tokenizer.bin", 1)];
        assert_eq!(one(&mistral), Some(("safetensors".to_owned(), 1, 9, 0)));
        let old = [("pytorch_model.bin", 8), ("training_args.bin", 1)];
        assert_eq!(one(&old), Some(("PyTorch".to_owned(), 1, 8, 0)));
        assert_eq!(found(&[("training_args.bin", 1), ("scheduler.bin", 1)]), []);
    }
}

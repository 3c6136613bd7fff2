//! Which files a model consists of, by their names and sizes.

use std::path::Path;

use super::access::{Collection as _, Entry, LocalFolder};
use super::{checkpoint, gguf};

/// The files of the model at a path: the parts of a split file, or what a folder holds of configuration and weights.
/// What cannot be listed is left out.
pub fn of(path: &Path) -> Vec<Entry> {
    if path.is_dir() {
        return of_folder(path, None);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some((before, count)) = split(&name) {
        let ending = format!("-of-{count}.gguf");
        let folder = LocalFolder::new(folder.unwrap_or(Path::new(".")));
        let entries = folder.entries().unwrap_or_default().into_iter();
        return entries
            .filter(|entry| {
                entry
                    .name
                    .strip_prefix(before)
                    .and_then(|rest| rest.strip_suffix(&ending))
                    .is_some_and(is_number)
            })
            .collect();
    }
    if !gguf::is_meant(path) {
        return of_folder(folder.unwrap_or(Path::new(".")), Some(&name));
    }
    let size = path.metadata().map_or(0, |metadata| metadata.len());
    vec![Entry {
        name: name.into_owned(),
        bytes: size,
    }]
}

/// The files of the checkpoint that a folder is, or that a file in it stands for; where there is none, the GGUF files of
/// the folder.
fn of_folder(path: &Path, file: Option<&str>) -> Vec<Entry> {
    let folder = LocalFolder::new(path);
    let files = checkpoint::files(&folder, file).unwrap_or_default();
    if !files.is_empty() || file.is_some() {
        return files;
    }
    let mut entries = folder.entries().unwrap_or_default();
    entries.retain(|entry| gguf::is_named(Path::new(&entry.name)));
    entries
}

/// What stands before the number of a part ("model-"), and the count of parts as written ("00009").
pub(super) fn split(name: &str) -> Option<(&str, &str)> {
    let (rest, count) = name.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let at = rest.rfind('-')? + 1;
    let (before, number) = (rest.get(..at)?, rest.get(at..)?);
    (is_number(number) && is_number(count)).then_some((before, count))
}

/// Five digits, as llama.cpp writes them (0.6.0-dev `src/llama.cpp`, `llama_split_path`).
fn is_number(text: &str) -> bool {
    text.len() == 5 && text.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        folder
    }

    fn names(path: &Path) -> Vec<String> {
        of(path).into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn a_split_file_has_its_parts_and_no_others() {
        let parts = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"];
        let folder = folder(&[
            parts[0],
            parts[1],
            "m-00001-of-00003.gguf",
            "mm-00001-of-00002.gguf",
            "m.gguf",
        ]);
        assert_eq!(names(&folder.path().join(parts[1])), parts);
        assert_eq!(names(&folder.path().join("m.gguf")), ["m.gguf"]);
    }

    #[test]
    fn a_folder_has_its_configuration_and_weights() {
        let folder = folder(&[
            "config.json",
            "model.safetensors",
            "README.md",
            "tokenizer.json",
        ]);
        let expected = ["config.json", "model.safetensors"];
        assert_eq!(names(folder.path()), expected);
        assert_eq!(names(&folder.path().join("config.json")), expected);
    }
}

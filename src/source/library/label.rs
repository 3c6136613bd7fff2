//! What names of files say.

use crate::source::gguf::label::{form, words};

/// Where a file stands in a split model: its common name, its number from one, and how many there are.
///
/// The names are those of `llama_split_path` (llama.cpp 0.6.0-dev `src/llama.cpp`) and of Hugging Face's shards.
pub(super) fn split(stem: &str) -> Option<(&str, u32, u32)> {
    let (rest, total) = stem.rsplit_once("-of-")?;
    let (name, number) = rest.rsplit_once('-')?;
    let count = |text: &str| {
        let digits = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    let (number, total) = (count(number)?, count(total)?);
    (number >= 1 && number <= total).then_some((name, number, total))
}

/// Is this the file of a vision or audio tower that stands beside a model? llama.cpp finds them the same way
/// (`gguf_filename_is_model`, 0.6.0-dev `common/download.cpp`).
pub(super) fn is_projector(name: &str) -> bool {
    name.to_ascii_lowercase().contains("mmproj")
}

/// Is this a GGUF file that is no model by itself: statistics of activations, or a drafting head? As above.
pub(super) fn is_companion(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["imatrix", "mtp-", "eagle3-", "dflash-", "dspark-"]
        .iter()
        .any(|mark| name.contains(mark))
}

/// The words of a file's name that tell which model it belongs to.
pub(super) fn base(stem: &str) -> Vec<String> {
    let stem = split(stem).map_or(stem, |(name, _, _)| name);
    let name = stem.to_ascii_uppercase();
    words(&name)
        .flat_map(|word| {
            let end = form(word).unwrap_or(word.len());
            word.get(..end).unwrap_or_default().split('_')
        })
        .filter(|word| !matches!(*word, "" | "MMPROJ" | "MODEL" | "GGUF" | "UD"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_split_models_are_numbered() {
        assert_eq!(split("a-b-00002-of-00009"), Some(("a-b", 2, 9)));
        for name in [
            "a-00000-of-00009",
            "a-00010-of-00009",
            "a-1-of-2",
            "a-of-00009",
            "a",
        ] {
            assert_eq!(split(name), None, "{name}");
        }
    }
}

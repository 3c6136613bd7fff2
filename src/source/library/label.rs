//! What names of files say.

/// The form of a GGUF file's weights by its name: "Q4_K_M", "UD-Q4_K_XL", "IQ2_XXS", "BF16".
pub(super) fn quant(name: &str) -> Option<String> {
    let name = name.to_ascii_uppercase();
    let mut found = None;
    let mut previous = "";
    for word in words(&name) {
        if let Some(at) = form(word) {
            // Unsloth's dynamic mixtures.
            let prefix = if previous == "UD" { "UD-" } else { "" };
            let form = word.get(at..).unwrap_or_default();
            found = Some(format!("{prefix}{form}"));
        }
        previous = word;
    }
    found
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(['-', '.', ' '])
}

/// Where the form begins in a word. Some names join it with `_`, which forms have in them too: try every one.
fn form(word: &str) -> Option<usize> {
    let mut starts = std::iter::once(0).chain(word.match_indices('_').map(|(at, _)| at + 1));
    starts.find(|at| word.get(*at..).is_some_and(is_form))
}

/// Is this a file type of llama.cpp (`llama_ftype`, 0.6.0-dev), or one of its mixtures by another name?
fn is_form(word: &str) -> bool {
    let mut parts = word.split('_');
    let first = parts.next().unwrap_or_default();
    let known = match first {
        "F16" | "F32" | "BF16" => return parts.next().is_none(),
        "MXFP4" | "NVFP4" => return parts.all(|part| part == "MOE"),
        _ => ["IQ", "TQ", "Q"]
            .into_iter()
            .find_map(|kind| first.strip_prefix(kind)),
    };
    let digit = |text: &str| text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest: Vec<&str> = parts.collect();
    let kind = |part: &&str| {
        digit(part) || matches!(*part, "K" | "S" | "M" | "L" | "XL" | "XS" | "XXS" | "NL")
    };
    known.is_some_and(digit) && !rest.is_empty() && rest.len() <= 3 && rest.iter().all(kind)
}

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
    fn names_say_how_weights_are_stored() {
        for (name, expect) in [
            ("Qwen3-8B-Q4_K_M", Some("Q4_K_M")),
            ("DeepSeek-R1-UD-IQ1_S", Some("UD-IQ1_S")),
            ("Qwen3-30B-A3B-UD-Q4_K_XL", Some("UD-Q4_K_XL")),
            ("mistral-7b-instruct-v0.2.Q5_0", Some("Q5_0")),
            ("ggml-model-q4_0", Some("Q4_0")),
            ("Model_Q3_K_S", Some("Q3_K_S")),
            ("gpt-oss-20b-mxfp4", Some("MXFP4")),
            ("gpt-oss-120b-MXFP4_MOE", Some("MXFP4_MOE")),
            ("Llama-3.2-1B-Instruct-BF16", Some("BF16")),
            ("gpt4all-falcon-newbpe-q4_0", Some("Q4_0")),
            ("bitnet-TQ2_0", Some("TQ2_0")),
            ("Q-learning", None),
            ("model", None),
            ("", None),
        ] {
            assert_eq!(quant(name).as_deref(), expect, "{name}");
        }
    }

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

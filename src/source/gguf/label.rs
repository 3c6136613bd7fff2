//! What the form of a file's weights is called: one rule for lists, inspections, plans and exports.

mod borne_out;

use self::borne_out::Matrices;
use super::metadata::Metadata;
use crate::model::FileTensor;

/// Names of `general.file_type` (`llama_ftype` in `include/llama.h`, 0.6.0-dev) by number; "" for numbers that are no longer given.
const NAMES: [&str; 42] = [
    "F32",
    "F16",
    "Q4_0",
    "Q4_1",
    "",
    "",
    "",
    "Q8_0",
    "Q5_0",
    "Q5_1",
    "Q2_K",
    "Q3_K_S",
    "Q3_K_M",
    "Q3_K_L",
    "Q4_K_S",
    "Q4_K_M",
    "Q5_K_S",
    "Q5_K_M",
    "Q6_K",
    "IQ2_XXS",
    "IQ2_XS",
    "Q2_K_S",
    "IQ3_XS",
    "IQ3_XXS",
    "IQ1_S",
    "IQ4_NL",
    "IQ3_S",
    "IQ3_M",
    "IQ2_S",
    "IQ2_M",
    "IQ4_XS",
    "IQ1_M",
    "BF16",
    "",
    "",
    "",
    "TQ1_0",
    "TQ2_0",
    "MXFP4_MOE",
    "NVFP4",
    "Q1_0",
    "Q2_0",
];

/// What the name of a file says, else what its header says, where the tensors bear it out; else what most of them are.
/// Names tell more: headers call every dynamic mixture by one type of it.
pub(super) fn of(stem: &str, metadata: &Metadata, tensors: &[FileTensor]) -> Option<String> {
    let matrices = Matrices::of(tensors);
    let claims = [of_name(stem), said(metadata)];
    let mut claims = claims.into_iter().flatten();
    claims
        .find(|claim| matrices.bear_out(claim))
        .or_else(|| matrices.name())
}

/// The name of the file's type, where the header says one that has a name.
fn said(metadata: &Metadata) -> Option<String> {
    let number = usize::try_from(metadata.number("general.file_type")?).ok()?;
    let name = NAMES.get(number).filter(|name| !name.is_empty())?;
    Some((*name).to_owned())
}

/// The form of a GGUF file's weights by its name: "Q4_K_M", "UD-Q4_K_XL", "IQ2_XXS", "BF16".
pub(in crate::source) fn of_name(name: &str) -> Option<String> {
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

/// The words of a name that may be forms.
pub(in crate::source) fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(['-', '.', ' '])
}

/// Where the form begins in a word. Some names join it with `_`, which forms have in them too: try every one.
pub(in crate::source) fn form(word: &str) -> Option<usize> {
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
            assert_eq!(of_name(name).as_deref(), expect, "{name}");
        }
    }
}

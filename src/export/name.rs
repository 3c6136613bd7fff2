//! File names that every system takes.

use super::Export;

/// Longest stem, well within the 255 bytes that file systems allow with letters of up to four bytes.
const MAX_LETTERS: usize = 56;

/// "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M".
pub(super) fn stem(export: &Export<'_>) -> String {
    let model = tame(&export.report.model);
    let file_type = tame(export.file_type());
    let stem = match (model.as_str(), file_type.as_str()) {
        ("", "") => "launch".to_owned(),
        (model, "") => format!("{model}-launch"),
        ("", file_type) => format!("model-{file_type}"),
        (model, file_type) => format!("{model}-{file_type}"),
    };
    stem.chars().take(MAX_LETTERS).collect()
}

/// Letters, digits, `-`, `_` and inner dots; anything else becomes one `-`.
fn tame(text: &str) -> String {
    let mut tamed = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_alphanumeric() || matches!(letter, '_' | '.') {
            tamed.push(letter);
        } else if !tamed.ends_with('-') {
            tamed.push('-');
        }
    }
    tamed.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::tame;

    #[test]
    fn tames() {
        for (text, expected) in [
            (
                "DeepSeek-R1 (Distill)/Qwen:32B",
                "DeepSeek-R1-Distill-Qwen-32B",
            ),
            ("../../etc/passwd", "etc-passwd"),
            ("深度求索 v3", "深度求索-v3"),
            ("a\nb\0c", "a-b-c"),
            ("...", ""),
        ] {
            assert_eq!(tame(text), expected);
        }
    }
}

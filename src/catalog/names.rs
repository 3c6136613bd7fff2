//! Forgiving comparison of product names, and what to suggest where it fails.

use crate::hardware::Vendor;
use crate::units::Bytes;

/// Words that say nothing about which product of a vendor is meant.
const BRAND: &[&str] = &[
    "nvidia",
    "geforce",
    "rtx",
    "gtx",
    "rx",
    "amd",
    "radeon",
    "instinct",
    "intel",
    "arc",
    "r",
    "tm",
    "graphics",
    "apple",
    "tesla",
    "quadro",
    "jetson",
    "data",
    "center",
    "gpu",
    "generation",
    "edition",
    "chip",
    "core",
];

/// Most bytes of what may be a slip of the keyboard; comparing costs the square of it.
pub(super) const LONGEST_NAME: usize = 200;

/// A name in lower-case words, split also where letters meet digits ("RTX4090 24GB" is rtx, 4090, 24, gb).
fn tokens(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = None;
    for letter in name.chars().flat_map(char::to_lowercase) {
        let kind = (letter.is_alphabetic(), letter.is_numeric());
        if kind == (false, false) {
            previous = None;
            continue;
        }
        match words.last_mut() {
            Some(word) if previous == Some(kind) => word.push(letter),
            _ => words.push(letter.to_string()),
        }
        previous = Some(kind);
    }
    words
}

/// The words that tell products apart.
pub(super) fn telling(name: &str) -> Vec<String> {
    let mut words = tokens(name);
    words.retain(|word| !BRAND.contains(&word.as_str()));
    words
}

/// The vendor that the brand words of a name belong to, where it has any.
pub(super) fn vendor(name: &str) -> Option<Vendor> {
    tokens(name).iter().find_map(|word| match word.as_str() {
        "nvidia" | "geforce" | "rtx" | "gtx" | "tesla" | "quadro" | "jetson" => {
            Some(Vendor::Nvidia)
        }
        "amd" | "radeon" | "rx" | "instinct" => Some(Vendor::Amd),
        "intel" | "arc" => Some(Vendor::Intel),
        "apple" => Some(Vendor::Apple),
        _ => None,
    })
}

/// How many telling words `name` has beyond the wanted ones; absent if it lacks one of them.
/// Words may be left out but not exchanged, so that "A100" is not found in a name with "H100" and an "A" elsewhere.
pub(super) fn distance(wanted: &[String], name: &str) -> Option<usize> {
    if wanted.is_empty() {
        return None;
    }
    let mut wanted = wanted.iter().peekable();
    let mut beyond = 0;
    for word in telling(name) {
        if wanted.next_if(|next| **next == word).is_none() {
            beyond += 1;
        }
    }
    wanted.next().is_none().then_some(beyond)
}

/// Takes a memory size ("24 GB") out of telling words.
pub(super) fn take_size(words: &mut Vec<String>) -> Option<Bytes> {
    let at = words
        .windows(2)
        .position(|pair| matches!(pair, [_, unit] if unit == "gb" || unit == "gib"))?;
    let gib = words.get(at)?.parse().ok()?;
    words.drain(at..at + 2);
    Some(Bytes::from_gib(gib))
}

/// Up to three names that come near, the nearest first.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let plain = |name: &str| telling(name).join(" ");
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let wanted = plain(name);
    let mut scored: Vec<(f64, &str)> = known
        .map(|known| (strsim::jaro_winkler(&wanted, &plain(known)), known))
        // Below this nothing a person would recognise as meant.
        .filter(|(score, _)| *score >= 0.6)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
        .into_iter()
        .take(3)
        .map(|(_, known)| known.to_owned())
        .collect()
}

/// "; did you mean ...?", or nothing.
pub(super) fn suggestion(nearest: &[String]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", either(nearest))
    }
}

/// "`a`, `b` or `c`".
pub(super) fn either(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

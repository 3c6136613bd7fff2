//! Finding a model by what a person types.

use super::super::names::LONGEST_NAME;
use super::Entry;

/// How alike two words must be to count as a slip of the keyboard (Jaro-Winkler; "deepsek" and "deepseek" have 0.97,
/// "llama" and "gemma" 0.6).
const SLIP: f64 = 0.9;

/// Entries that match every word of the query, the best first.
pub(super) fn search<'a>(entries: &'a [Entry], query: &str) -> Vec<&'a Entry> {
    let words = words(query);
    let squashed: String = words.concat();
    let mut found: Vec<(u32, &Entry)> = entries
        .iter()
        .filter_map(|entry| Some((score(entry, &words, &squashed)?, entry)))
        .collect();
    // Stable: equal scores keep the order of the listing.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// How well an entry matches; `None` where a word of the query is nowhere in it.
fn score(entry: &Entry, query: &[String], squashed: &str) -> Option<u32> {
    let name = words(&format!("{} {}", entry.title, entry.id));
    let id: String = words(&entry.id).concat();
    // Billions of parameters, as people call the size of a model.
    let size = entry.total_parameters.saturating_add(500_000_000) / 1_000_000_000;
    let about = words(&format!(
        "{} {size}b {} {}",
        entry.family,
        entry.publisher.as_deref().unwrap_or_default(),
        entry.hf_repo.as_deref().unwrap_or_default(),
    ));
    let mut score = if id == squashed {
        100
    } else if !squashed.is_empty() && id.starts_with(squashed) {
        50
    } else {
        0
    };
    for word in query {
        score += word_score(word, &name, &id).or_else(|| {
            let known = about.iter().any(|other| other.starts_with(word.as_str()));
            known.then_some(2)
        })?;
    }
    // Of two models that match alike, the plainer name is meant.
    Some(score.saturating_mul(100).saturating_sub(id.len() as u32))
}

/// How well one word of the query is found in a name: as a word, as the beginning of one, across words, misspelt.
fn word_score(word: &str, name: &[String], squashed: &str) -> Option<u32> {
    if name.iter().any(|other| other == word) {
        return Some(10);
    }
    if name.iter().any(|other| other.starts_with(word)) {
        return Some(6);
    }
    if squashed.contains(word) {
        return Some(4);
    }
    let slip = |other: &String| {
        word.len() >= 4 && other.len() >= 4 && strsim::jaro_winkler(word, other) >= SLIP
    };
    name.iter().any(slip).then_some(1)
}

/// Lower-case words of letters, digits and points ("qwen2.5", "32b").
fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '.')
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Up to three ids that a wrong one may have meant.
pub(super) fn nearest<'a>(ids: impl Iterator<Item = &'a str>, wrong: &str) -> Vec<String> {
    if wrong.len() > LONGEST_NAME {
        return Vec::new();
    }
    let wanted = words(wrong).concat();
    let mut scored: Vec<(f64, &str)> = ids
        .map(|id| (likeness(&wanted, &words(id).concat()), id))
        // Below this nothing a person would recognise as meant.
        .filter(|(likeness, _)| *likeness >= 0.6)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let nearest = scored.into_iter().take(3);
    nearest.map(|(_, id)| id.to_owned()).collect()
}

/// How alike two ids are; one that holds the other whole is alike by more than its letters.
fn likeness(wanted: &str, id: &str) -> f64 {
    let alike = strsim::normalized_damerau_levenshtein(wanted, id);
    if wanted.len() >= 3 && id.contains(wanted) {
        0.8 + alike / 5.0
    } else {
        alike
    }
}

/// A key that sorts by family and title, numbers by value ("7B" before "32B").
pub(super) fn order(entry: &Entry) -> Vec<(u64, String)> {
    let text = format!("{}\u{1}{}\u{1}{}", entry.family, entry.title, entry.id);
    let mut key: Vec<(u64, String)> = Vec::new();
    let mut rest = text.to_lowercase();
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| letter.is_ascii_digit());
        let letters: String = rest.drain(..digits.unwrap_or(rest.len())).collect();
        let end = rest.find(|letter: char| !letter.is_ascii_digit());
        let number: String = rest.drain(..end.unwrap_or(rest.len())).collect();
        key.push((0, letters));
        if let Ok(number) = number.parse() {
            key.push((number, String::new()));
        }
    }
    key
}

//! Layers that are alike, told once.

use indexmap::IndexMap;
use serde::Serialize;

use super::words;
use crate::model::Model;

/// Layers that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerKind {
    /// How many there are.
    pub count: u64,
    /// Which: "0–2, 61", "every 6th from 5".
    pub which: String,
    /// What looks at other tokens.
    pub mixer: String,
    /// What works on each token alone.
    pub feed_forward: String,
}

/// The layers of a model, those that are alike together, in the order in which they first appear.
pub(super) fn of(model: &Model) -> Vec<LayerKind> {
    let mut kinds: IndexMap<(String, String), Vec<usize>> = IndexMap::new();
    for (index, layer) in model.layers.iter().enumerate() {
        let words = (
            words::mixer(&layer.mixer),
            words::feed_forward(&layer.feed_forward),
        );
        kinds.entry(words).or_default().push(index);
    }
    kinds
        .into_iter()
        .map(|((mixer, feed_forward), places)| LayerKind {
            count: places.len() as u64,
            which: which(&places),
            mixer,
            feed_forward,
        })
        .collect()
}

/// Places, in few words.
fn which(places: &[usize]) -> String {
    /// More runs than this are told by how they begin.
    const MOST: usize = 4;
    if let (Some(first), Some(second)) = (places.first(), places.get(1)) {
        let step = second - first;
        let even = places
            .windows(2)
            .all(|pair| matches!(pair, [a, b] if b - a == step));
        if step > 1 && even && places.len() > 2 {
            return format!("every {} from {first}", ordinal(step));
        }
    }
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for place in places {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == *place => *end = *place,
            _ => runs.push((*place, *place)),
        }
    }
    let mut text: Vec<String> = runs
        .iter()
        .take(MOST)
        .map(|(from, to)| {
            if from == to {
                from.to_string()
            } else {
                format!("{from}–{to}")
            }
        })
        .collect();
    if runs.len() > MOST {
        text.push("…".to_owned());
    }
    text.join(", ")
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_in_few_words() {
        for (places, expected) in [
            (&[0, 1, 2][..], "0–2"),
            (&[0], "0"),
            (&[0, 1, 2, 61], "0–2, 61"),
            (&[5, 11, 17, 23], "every 6th from 5"),
            (&[1, 3, 5], "every 2nd from 1"),
            (&[0, 2], "0, 2"),
            (&[0, 1, 3, 4, 6, 7, 9, 10, 12, 13], "0–1, 3–4, 6–7, 9–10, …"),
            (&[], ""),
        ] {
            assert_eq!(which(places), expected);
        }
        assert_eq!(ordinal(12), "12th");
        assert_eq!(ordinal(23), "23rd");
    }
}

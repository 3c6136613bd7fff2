//! The rows of `presets/quality.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{Effect, Evidence, Spread};

/// Built into the program: a mistake in it fails the test below, and means no evidence here.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| parse().unwrap_or_default());

/// Evidence by format.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) weights: Vec<Evidence>,
    pub(super) caches: Vec<Evidence>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    weights: Vec<Row>,
    caches: Vec<Row>,
}

/// Each measure as low, median, high, number of values, number of sources.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    format: String,
    #[serde(default)]
    reference: bool,
    perplexity_percent: Option<(f64, f64, f64, u32, u32)>,
    divergence: Option<(f64, f64, f64, u32, u32)>,
    points: Option<(f64, f64, f64, u32, u32)>,
}

fn parse() -> Result<Table, toml::de::Error> {
    let file: File = toml::from_str(include_str!("../../presets/quality.toml"))?;
    let evidence = |rows: Vec<Row>| rows.into_iter().map(Row::evidence).collect();
    Ok(Table {
        weights: evidence(file.weights),
        caches: evidence(file.caches),
    })
}

impl Row {
    fn evidence(self) -> Evidence {
        let spread = |(low, median, high, values, sources)| Spread {
            low,
            median,
            high,
            values,
            sources,
        };
        let perplexity_percent = self.perplexity_percent.map(spread);
        let divergence = self.divergence.map(spread);
        let points = self.points.map(spread);
        Evidence {
            format: self.format,
            is_reference: self.reference,
            effect: effect(perplexity_percent, divergence, points),
            perplexity_percent,
            divergence,
            points,
        }
    }
}

/// Most that each of the first four words allows: percent of perplexity, divergence, points lost. The first are what
/// publications call noise (points under 0.5 come out positive as often as negative), the last of them where answers
/// are reported to loop (1-bit recipes); those between divide what lies between by eye, and are ours.
const STEPS: [(Effect, [f64; 3]); 4] = [
    (Effect::Indistinguishable, [0.5, 0.01, 0.5]),
    (Effect::Slight, [3.0, 0.05, 1.5]),
    (Effect::Visible, [10.0, 0.15, 4.0]),
    (Effect::Heavy, [60.0, 0.6, 12.0]),
];

/// The word for the worst median of the measures there are.
fn effect(
    perplexity: Option<Spread>,
    divergence: Option<Spread>,
    points: Option<Spread>,
) -> Effect {
    let losses = [
        perplexity.map(|spread| spread.median),
        divergence.map(|spread| spread.median),
        points.map(|spread| -spread.median),
    ];
    let within = |bounds: &[f64; 3]| {
        let mut measures = losses.iter().zip(bounds);
        measures.all(|(loss, bound)| loss.is_none_or(|loss| loss <= *bound))
    };
    let step = STEPS.iter().find(|(_, bounds)| within(bounds));
    step.map_or(Effect::Broken, |(word, _)| *word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let table = parse().expect("presets/quality.toml is well-formed");
        for evidence in table.weights.iter().chain(&table.caches) {
            let measures = [
                evidence.perplexity_percent,
                evidence.divergence,
                evidence.points,
            ];
            let is_known = measures.iter().any(Option::is_some);
            assert!(is_known || evidence.is_reference, "{}", evidence.format);
            for spread in measures.into_iter().flatten() {
                assert!(spread.low <= spread.median && spread.median <= spread.high);
                assert!(spread.sources >= 1 && spread.sources <= spread.values);
            }
        }
    }

    #[test]
    fn the_worst_measure_decides() {
        let spread = |median| {
            Some(Spread {
                low: median,
                median,
                high: median,
                values: 1,
                sources: 1,
            })
        };
        assert_eq!(effect(None, None, None), Effect::Indistinguishable);
        assert_eq!(
            effect(spread(0.4), None, spread(0.4)),
            Effect::Indistinguishable
        );
        assert_eq!(
            effect(spread(0.4), spread(0.02), spread(0.0)),
            Effect::Slight
        );
        assert_eq!(effect(spread(0.4), None, spread(-5.0)), Effect::Heavy);
        assert_eq!(effect(spread(61.0), None, None), Effect::Broken);
    }
}

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

/// Upper bounds of the median for each of the first four words: percent of perplexity, divergence, points lost.
const STEPS: [(Effect, f64, f64, f64); 4] = [
    (Effect::Indistinguishable, 0.5, 0.01, 0.3),
    (Effect::Slight, 3.0, 0.05, 1.0),
    (Effect::Visible, 10.0, 0.15, 3.0),
    (Effect::Heavy, 60.0, 0.6, 12.0),
];

/// The word by the worst of the measures there are.
fn effect(
    perplexity: Option<Spread>,
    divergence: Option<Spread>,
    points: Option<Spread>,
) -> Effect {
    let measures = [
        (perplexity.map(|spread| spread.median), 0),
        (divergence.map(|spread| spread.median), 1),
        (points.map(|spread| -spread.median), 2),
    ];
    let word = |value: f64, measure: usize| {
        let step = STEPS.iter().find(|(_, perplexity, divergence, points)| {
            let bounds = [perplexity, divergence, points];
            bounds.get(measure).is_some_and(|bound| value <= **bound)
        });
        step.map_or(Effect::Broken, |step| step.0)
    };
    measures
        .into_iter()
        .filter_map(|(value, measure)| Some(word(value?, measure)))
        .max()
        .unwrap_or(Effect::Indistinguishable)
}

//! What a format costs in quality: published measurements by format, never a score of our own.

mod table;

use std::fmt;

use serde::Serialize;

/// What was measured of one format against 16 bits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The format as engines spell it ("Q4_K_M", "q8_0/q8_0").
    pub format: String,
    /// Others are compared with it.
    pub is_reference: bool,
    /// Rise of perplexity on wikitext-2 in percent.
    pub perplexity_percent: Option<Spread>,
    /// Mean Kullback-Leibler divergence of the next token.
    pub divergence: Option<Spread>,
    /// Points gained or lost on MMLU or an average of several benchmarks.
    pub points: Option<Spread>,
    /// All of it in a word.
    pub effect: Effect,
}

/// Published values of one measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub low: f64,
    /// The middle one.
    pub median: f64,
    /// The largest.
    pub high: f64,
    /// How many.
    pub values: u32,
    /// From how many publications.
    pub sources: u32,
}

/// How much a format is felt, by the median of what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Within the noise of measurements.
    Indistinguishable,
    /// Measurable, hardly felt.
    Slight,
    /// Felt in difficult tasks.
    Visible,
    /// Felt everywhere.
    Heavy,
    /// Answers fall apart.
    Broken,
}

/// What the formats of a plan cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Bits per weight of the file: the order of search, since fewer bits of one kind never mean more.
    pub bits_per_weight: f64,
    /// Evidence on the weights' format; `None`: no measurements.
    pub weights: Option<&'static Evidence>,
    /// That is not their own format, of which nothing was measured, but the one of about as many bits per weight.
    pub weights_by_bits: bool,
    /// Evidence on the cache's formats; `None`: no measurements.
    pub cache: Option<&'static Evidence>,
}

/// Every weight format with measurements, the least quantized first.
pub fn weights() -> &'static [Evidence] {
    &table::TABLE.weights
}

/// Every pair of formats of cached keys and values with measurements.
pub fn caches() -> &'static [Evidence] {
    &table::TABLE.caches
}

/// What was measured of a weight format, in any case of letters; `None`: nothing.
pub fn of_weights(word: &str) -> Option<&'static Evidence> {
    let mut rows = weights().iter();
    rows.find(|row| row.format.eq_ignore_ascii_case(word))
}

/// What was measured of formats of cached keys and values; `None`: nothing.
pub fn of_cache(keys: &str, values: &str) -> Option<&'static Evidence> {
    let mut rows = caches().iter();
    rows.find(|row| {
        row.format
            .split_once('/')
            .is_some_and(|(k, v)| k.eq_ignore_ascii_case(keys) && v.eq_ignore_ascii_case(values))
    })
}

impl Evidence {
    /// The measures in one line: "perplexity +1.4 % (1.2 to 2.8, 6 values of 4 publications)".
    pub fn text(&self) -> String {
        let measures = [
            ("perplexity", self.perplexity_percent, " %", 1),
            ("divergence", self.divergence, "", 4),
            ("benchmarks", self.points, " points", 1),
        ];
        let told: Vec<String> = measures
            .into_iter()
            .filter_map(|(name, spread, unit, digits)| {
                let Spread {
                    low,
                    median,
                    high,
                    values,
                    sources,
                } = spread?;
                let count = |count: u32, one: &str| {
                    let plural = if count == 1 { "" } else { "s" };
                    format!("{count} {one}{plural}")
                };
                let (values, sources) = (count(values, "value"), count(sources, "publication"));
                Some(format!(
                    "{name} {median:+.digits$}{unit} ({low:+.digits$} to {high:+.digits$}, {values} of {sources})"
                ))
            })
            .collect();
        told.join("; ")
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Indistinguishable => "indistinguishable",
            Self::Slight => "slight",
            Self::Visible => "visible",
            Self::Heavy => "heavy",
            Self::Broken => "broken",
        })
    }
}

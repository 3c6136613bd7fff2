//! The table of losses is what the published rows say, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::quality::{self, Effect, Evidence, Spread};
use serde::Deserialize;

/// A row of `tests/data/oracle/quality.jsonl`.
#[derive(Deserialize)]
struct Row {
    kind: String,
    format: String,
    measure: String,
    value: f64,
    source: String,
}

fn rows() -> Vec<Row> {
    include_str!("../data/oracle/quality.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

fn spread(rows: &[&Row]) -> Spread {
    let mut values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    values.sort_by(f64::total_cmp);
    let sources: BTreeSet<&str> = rows.iter().map(|row| row.source.as_str()).collect();
    let middle = values.len() / 2;
    Spread {
        low: values[0],
        median: if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        },
        high: values[values.len() - 1],
        values: u32::try_from(values.len()).unwrap(),
        sources: u32::try_from(sources.len()).unwrap(),
    }
}

fn measure(evidence: &Evidence, name: &str) -> Option<Spread> {
    match name {
        "perplexity_percent" => evidence.perplexity_percent,
        "divergence" => evidence.divergence,
        "points" => evidence.points,
        other => panic!("no measure {other}"),
    }
}

#[test]
fn the_table_follows_from_the_rows() {
    let rows = rows();
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        let key = (row.kind.as_str(), row.format.as_str(), row.measure.as_str());
        groups.entry(key).or_default().push(row);
    }
    let mut measures = 0;
    for ((kind, format, name), rows) in &groups {
        let evidence = match *kind {
            "weights" => quality::of_weights(format),
            _ => format
                .split_once('/')
                .and_then(|(keys, values)| quality::of_cache(keys, values)),
        };
        let evidence = evidence.unwrap_or_else(|| panic!("{format} is in the table"));
        let found = measure(evidence, name).unwrap_or_else(|| panic!("{format} has {name}"));
        let expected = spread(rows);
        // The table has four decimals.
        for (found, expected) in [
            (found.low, expected.low),
            (found.median, expected.median),
            (found.high, expected.high),
        ] {
            assert!(
                (found - expected).abs() <= 6e-5,
                "{format} {name}: {found}, {expected}"
            );
        }
        let counts = (found.values, found.sources);
        assert_eq!(
            counts,
            (expected.values, expected.sources),
            "{format} {name}"
        );
        measures += 1;
    }
    let all = quality::weights().iter().chain(quality::caches());
    let told: usize = all
        .map(|evidence| {
            let measures = [
                evidence.perplexity_percent,
                evidence.divergence,
                evidence.points,
            ];
            measures.iter().flatten().count()
        })
        .sum();
    assert_eq!(told, measures, "nothing in the table is without rows");
}

#[test]
fn words_follow_the_evidence() {
    for (format, effect) in [
        ("F16", Effect::Indistinguishable),
        ("q8_0", Effect::Indistinguishable),
        ("Q4_K_M", Effect::Slight),
        ("Q3_K_M", Effect::Visible),
        ("Q2_K", Effect::Heavy),
        ("IQ1_S", Effect::Broken),
    ] {
        let evidence = quality::of_weights(format).expect("measured");
        assert_eq!(evidence.effect, effect, "{format}");
    }
    assert!(quality::of_weights("TQ1_0").is_none(), "nobody measured it");
    assert!(quality::of_cache("q4_1", "q4_1").is_none());
}

/// Names in the table that look like file types are file types.
#[test]
fn formats_are_those_of_engines() {
    let known = quality::weights()
        .iter()
        .filter(|evidence| evidence.format.parse::<FileType>().is_ok());
    assert!(known.count() >= 25);
}

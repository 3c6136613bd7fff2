//! Counts that follow from the configurations against those that were published.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::model::Model;
use serde_json::{Map, Value};

/// One row of published and independently computed counts.
struct Row {
    model: Model,
    check: String,
    counts: Value,
}

fn rows() -> Vec<Row> {
    let catalog = ModelCatalog::embedded();
    let text = include_str!("../../data/models/parameters.jsonl");
    let read = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let preset = catalog.find(row["model"].as_str().unwrap()).unwrap();
        Row {
            model: preset.model(&Map::new()).unwrap(),
            check: row["check"].as_str().unwrap().to_owned(),
            counts: row,
        }
    };
    text.lines().map(read).collect()
}

/// The number in brackets before or after some words of a check.
fn number_after(check: &str, words: &str) -> u64 {
    let Some((_, rest)) = check.split_once(words) else {
        return 0;
    };
    let digits: String = rest
        .chars()
        .skip_while(|letter| !letter.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(0)
}

/// How far the published figure may be from what the checkpoint stores, and what it counts beside; `None` where the
/// row says that its figure was not reproduced.
fn expectation(row: &Row) -> Option<(u64, u64)> {
    let check = row.check.as_str();
    let scales = row.counts["fp8_scales"].as_u64().unwrap_or(0);
    if check.starts_with("exact") {
        let counted = if check.contains("fp8 scales") {
            scales
        } else {
            0
        };
        return Some((0, counted));
    }
    if check.ends_with("= fp8 block scales") {
        return Some((0, number_after(check, "+")));
    }
    if check.starts_with("within") {
        return Some((number_after(check, "within"), 0));
    }
    None
}

#[test]
fn equal_the_published_counts() {
    let rows = rows();
    let (mut exact, mut near) = (0, 0);
    let mut failures = Vec::new();
    println!(
        "{:<42} {:>18} {:>18} {:>16}  check",
        "model", "stored", "published", "active"
    );
    for row in &rows {
        let name = &row.model.name;
        let stored = row.model.stored_parameters();
        let published = row.counts["published"].as_u64();
        println!(
            "{name:<42} {stored:>18} {:>18} {:>16}  {}",
            published.map_or_else(|| "-".to_owned(), |count| count.to_string()),
            row.model.parameters().active(),
            row.check
        );
        let Some((tolerance, beside)) = expectation(row) else {
            continue;
        };
        let published = published.unwrap();
        match published.abs_diff(stored + beside) {
            0 => exact += 1,
            difference if difference <= tolerance => near += 1,
            difference => failures.push(format!("{name} differs by {difference}")),
        }
    }
    println!(
        "{exact} exact, {near} within their stated buffers, {} rows",
        rows.len()
    );
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(exact >= 149, "only {exact} rows are exact");
}

#[test]
fn equal_the_reference_by_part() {
    for Row {
        model,
        check,
        counts: row,
    } in rows()
    {
        let parameters = model.parameters();
        // The reference leaves out the unused keys and values of layers that share a cache, and says how many.
        let unused = number_after(&check, "k/v of KV-shared layers");
        let expect = |field: &str, found: u64| {
            if let Some(expected) = row[field].as_u64() {
                assert_eq!(found, expected, "{field} of {}", model.name);
            }
        };
        expect("params_text", parameters.text() - unused);
        expect("params_active", parameters.active() - unused);
        let uncopied = check.contains("without its embedding/head copies");
        let copies = if uncopied {
            2 * parameters.embedding
        } else {
            0
        };
        expect("params_mtp", parameters.mtp + copies);
        expect("params_vision", parameters.vision);
        let part = |name: &str, found: u64| {
            if let Some(expected) = row["breakdown"][name].as_u64() {
                assert_eq!(found, expected, "{name} of {}", model.name);
            }
        };
        part("embed", parameters.embedding);
        part("experts", parameters.experts);
        // The reference files latent projections and lone always-on networks under shared experts.
        let of = |name: &str| row["breakdown"][name].as_u64().unwrap_or(0);
        if row["breakdown"].is_object() {
            let networks = parameters.dense + parameters.router + parameters.shared;
            let expected = of("dense_ffn") + of("router") + of("shared");
            assert_eq!(networks, expected, "{}", model.name);
        }
    }
}

#[test]
fn classes_sum_to_the_whole() {
    for Row { model, .. } in rows() {
        let parameters = model.parameters();
        assert!(parameters.active() <= parameters.text(), "{}", model.name);
        assert!(parameters.text() <= parameters.total(), "{}", model.name);
        assert!(
            parameters.idle_experts <= parameters.experts,
            "{}",
            model.name
        );
    }
}

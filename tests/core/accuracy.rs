//! Measured allocations against projections: the gates of this project's promise.
#![expect(clippy::print_stdout, reason = "the tables are what is asked for")]

use std::path::Path;

use plimsoll::accuracy::{Accuracy, What};
use plimsoll::catalog::models::ModelCatalog;

fn read(files: &[&str]) -> Accuracy {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/oracle");
    let catalog = ModelCatalog::embedded();
    let mut accuracy = Accuracy::default();
    for file in files {
        let text = std::fs::read_to_string(folder.join(file)).expect("the rows are there");
        accuracy.read(&text, &catalog);
    }
    println!("{accuracy}");
    accuracy
}

/// Weights and caches within 0.5 %, as printed; compute buffers of older and other builds differ for stated reasons.
#[test]
fn public_logs_agree_or_say_why() {
    let accuracy = read(&["public_logs.jsonl"]);
    assert!(accuracy.logs.len() > 30, "{}", accuracy.logs.len());
    for line in &accuracy.logs {
        let compute = line.what.starts_with("Compute");
        let tolerance = if compute { 0.05 } else { 0.005 };
        assert!(
            line.error() <= tolerance || compute && line.reason.is_some(),
            "{} {}: {:.2} for {:.2} MiB",
            line.log,
            line.what,
            line.projected,
            line.reported
        );
    }
}

/// Every row, every buffer: nothing is left out, and nothing is off by more than a thousandth.
#[test]
fn buffers_agree_with_the_engine() {
    let accuracy = read(&["llamacpp_mem.jsonl"]);
    assert_eq!(accuracy.errors(What::Cache).count(), 2_641);
    assert!(accuracy.without_preset.is_empty());
    assert_eq!(accuracy.other, 0);
    assert_eq!(accuracy.refusals.len(), 7);
    assert!(accuracy.refusals.iter().all(|(_, agrees)| *agrees));
    assert!(accuracy.refused.is_empty(), "{:?}", accuracy.refused);
    for what in What::ALL {
        let errors = accuracy.errors(what);
        assert!(errors.worst() <= 0.001, "{what:?}: {:.4}", errors.worst());
        assert!(errors.quantile(0.95) <= 0.000_1, "{what:?}");
    }
}

#[test]
fn choices_agree_with_the_engines_fit() {
    let accuracy = read(&["llamacpp_fit.jsonl"]);
    assert_eq!(accuracy.decisions.len(), 205);
    let agree = accuracy.decisions.iter().filter(|row| row.agrees()).count();
    assert!(agree >= 203, "{agree} of 205");
}

/// Many settings at once, for every architecture that a preset maps to.
#[test]
fn buffers_agree_under_mixed_settings() {
    let accuracy = read(&["llamacpp_sweep.jsonl"]);
    assert_eq!(accuracy.errors(What::Cache).count(), 192);
    assert!(accuracy.refused.is_empty(), "{:?}", accuracy.refused);
    for what in [
        What::Cache,
        What::GpuCompute,
        What::HostCompute,
        What::Weights,
    ] {
        let errors = accuracy.errors(what);
        assert!(errors.worst() <= 0.001, "{what:?}: {:.4}", errors.worst());
    }
}

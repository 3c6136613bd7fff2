//! Errors by family and buffer, and the table of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Buffers;
use super::row::{Kind, Row};

/// One comparison.
pub(crate) struct Sample {
    pub(crate) kind: Kind,
    pub(crate) arch: String,
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) projected: f64,
    pub(crate) reported: f64,
    /// Smaller values count as this one.
    pub(crate) floor: f64,
}

impl Sample {
    pub(crate) fn error(&self) -> f64 {
        let difference = (self.projected - self.reported).abs();
        // The oracle's figures have four decimals.
        if difference < 0.001 {
            return 0.0;
        }
        difference / self.reported.max(self.floor).max(0.01)
    }
}

/// Errors of totals and parts of a device count against at least this.
const FLOOR_MIB: f64 = 256.0;

#[derive(Default)]
pub(crate) struct Errors {
    samples: Vec<Sample>,
}

impl Errors {
    pub(crate) fn push(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// Compares every buffer of a device.
    pub(crate) fn add(
        &mut self,
        row: &Row,
        name: &str,
        device: &str,
        projected: Buffers,
        reported: Buffers,
    ) {
        let host = device == "host";
        for (what, projected, reported) in [
            (
                if host { "host weights" } else { "gpu weights" },
                projected.model,
                reported.model,
            ),
            (
                if host { "host caches" } else { "gpu caches" },
                projected.context,
                reported.context,
            ),
            (
                if host { "host compute" } else { "gpu compute" },
                projected.compute,
                reported.compute,
            ),
            ("output", projected.output, reported.output),
            ("total", projected.total(), reported.total()),
        ] {
            if what == "output" && !host {
                continue;
            }
            self.push(Sample {
                kind: row.kind(),
                arch: row.arch.clone(),
                what,
                name: format!("{name} {device}"),
                projected,
                reported,
                floor: FLOOR_MIB,
            });
        }
    }

    fn sorted(&self, wanted: impl Fn(&Sample) -> bool) -> Vec<f64> {
        let mut errors: Vec<f64> = self
            .samples
            .iter()
            .filter(|sample| wanted(sample))
            .map(Sample::error)
            .collect();
        errors.sort_by(f64::total_cmp);
        errors
    }

    pub(crate) fn worst(&self, kind: Kind, what: &str) -> f64 {
        let errors = self.sorted(|sample| sample.kind == kind && sample.what == what);
        errors.last().copied().unwrap_or(0.0)
    }

    pub(crate) fn median(&self, kind: Kind, what: &str) -> f64 {
        quantile(
            &self.sorted(|sample| sample.kind == kind && sample.what == what),
            0.5,
        )
    }

    /// The worst error of any compute buffer, by architecture.
    pub(super) fn worst_compute(&self) -> BTreeMap<&str, f64> {
        let mut worst = BTreeMap::new();
        for sample in &self.samples {
            if matches!(sample.what, "gpu compute" | "host compute") {
                let known: &mut f64 = worst.entry(sample.arch.as_str()).or_default();
                *known = known.max(sample.error());
            }
        }
        worst
    }

    /// Median, 95th percentile and worst error in percent, by architecture and buffer, and the worst totals.
    pub(crate) fn table(&self) -> String {
        let mut table = String::new();
        let whats: BTreeSet<&str> = self.samples.iter().map(|sample| sample.what).collect();
        let mut archs: BTreeMap<&str, usize> = BTreeMap::new();
        for sample in &self.samples {
            if sample.what == "cache" {
                *archs.entry(&sample.arch).or_default() += 1;
            }
        }
        let _ = write!(table, "{:<16}{:>6}", "error in %", "rows");
        for what in &whats {
            let _ = write!(table, "{what:>24}");
        }
        let _ = writeln!(table, "   (median / 95th / worst)");
        let all = self
            .samples
            .iter()
            .filter(|sample| sample.what == "cache")
            .count();
        let rows = archs.iter().map(|(arch, rows)| (Some(*arch), *rows));
        for (arch, rows) in rows.chain([(None, all)]) {
            let _ = write!(table, "{:<16}{rows:>6}", arch.unwrap_or("all"));
            for what in &whats {
                let errors = self.sorted(|sample| {
                    sample.what == *what && arch.is_none_or(|arch| sample.arch == arch)
                });
                let cell = format!(
                    "{:.2} / {:.2} / {:.2}",
                    100.0 * quantile(&errors, 0.5),
                    100.0 * quantile(&errors, 0.95),
                    100.0 * errors.last().copied().unwrap_or(0.0)
                );
                let _ = write!(table, "{cell:>24}");
            }
            table.push('\n');
        }
        self.worst_rows(&mut table, "total");
        self.worst_rows(&mut table, "cache");
        table
    }

    fn worst_rows(&self, table: &mut String, what: &str) {
        let _ = writeln!(table, "worst ten of {what}:");
        let mut samples: Vec<&Sample> = self
            .samples
            .iter()
            .filter(|sample| sample.what == what)
            .collect();
        samples.sort_by(|a, b| b.error().total_cmp(&a.error()));
        for sample in samples.iter().take(10) {
            let _ = writeln!(
                table,
                "{:>8.2} %  {:>12.2} for {:>12.2} MiB  {}",
                100.0 * sample.error(),
                sample.projected,
                sample.reported,
                sample.name
            );
        }
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let index = (last as f64 * share).round() as usize;
    sorted.get(index).copied().unwrap_or(0.0)
}

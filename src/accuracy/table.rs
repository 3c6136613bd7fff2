//! Tables of errors.

use std::collections::BTreeMap;
use std::fmt;

use super::samples::{Errors, Sample, What};
use super::{Accuracy, Decision, LogLine, Size};
use crate::table::Table;

/// Most rows shown one by one.
const SHOWN: usize = 10;

/// Up to this the tables say 0.00 %.
const EXACT: f64 = 0.000_05;

/// Above this a compute buffer of a public log is told with its reason.
const TOLD: f64 = 0.05;

impl fmt::Display for Accuracy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.samples.is_empty() {
            summary(out, self)?;
            buffers(out, &self.samples)?;
        }
        if !self.refusals.is_empty() || !self.refused.is_empty() {
            refusals(out, self)?;
        }
        if !self.decisions.is_empty() {
            decisions(out, &self.decisions)?;
        }
        if !self.sizes.is_empty() {
            sizes(out, &self.sizes)?;
        }
        if !self.logs.is_empty() {
            logs(out, &self.logs)?;
        }
        for (model, rows) in &self.without_preset {
            writeln!(
                out,
                "{rows} rows of {model} left out: no preset describes it"
            )?;
        }
        if self.other > 0 {
            writeln!(
                out,
                "{} lines hold no measurement of a known kind",
                self.other
            )?;
        }
        Ok(())
    }
}

/// What is promised of a device as a whole: share of the figures, in percent off.
const TARGETS: [(&str, f64, f64); 3] = [
    ("median", 0.5, 0.5),
    ("95th percentile", 0.95, 2.0),
    ("worst", 1.0, 6.0),
];

/// The promise, and whether it is kept.
fn summary(out: &mut fmt::Formatter<'_>, accuracy: &Accuracy) -> fmt::Result {
    let errors = accuracy.errors(What::Device);
    writeln!(
        out,
        "Devices as a whole: {} figures, errors against at least 256 MiB",
        errors.count()
    )?;
    let mut table = Table::new(&["", ">off by", ">target", ""]);
    for (title, share, target) in TARGETS {
        let off = 100.0 * errors.quantile(share);
        let kept = if off <= target { "kept" } else { "MISSED" };
        table.row([
            title.to_owned(),
            format!("{off:.2} %"),
            format!("{target} %"),
            kept.to_owned(),
        ]);
    }
    writeln!(out, "{}", table.text())
}

fn buffers(out: &mut fmt::Formatter<'_>, samples: &[Sample]) -> fmt::Result {
    writeln!(
        out,
        "Buffers: errors in % (median / 95th percentile / worst), against at least 256 MiB, caches against themselves\n"
    )?;
    let mut families: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    let mut groups: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        families.entry(&sample.family).or_default().push(sample);
        for group in &sample.groups {
            groups.entry(group).or_default().push(sample);
        }
    }
    let mut table = with_head("by model family");
    for (family, samples) in &families {
        table.row(cells(family, samples));
    }
    let all: Vec<&Sample> = samples.iter().collect();
    table.row(cells("all", &all));
    writeln!(out, "{}", table.text())?;
    let mut table = with_head("by setting");
    for (group, samples) in &groups {
        table.row(cells(group, samples));
    }
    writeln!(out, "{}", table.text())?;
    for what in What::ALL {
        worst(out, what, samples)?;
    }
    Ok(())
}

fn with_head(title: &str) -> Table {
    let columns = What::ALL.map(|what| format!(">{}", what.label()));
    let head: Vec<&str> = [title, ">rows"]
        .into_iter()
        .chain(columns.iter().map(String::as_str))
        .collect();
    Table::new(&head)
}

fn cells(title: &str, samples: &[&Sample]) -> Vec<String> {
    let errors = |what: What| {
        let wanted = samples.iter().filter(|sample| sample.what == what);
        Errors::of(wanted.copied())
    };
    let mut cells = vec![title.to_owned(), errors(What::Cache).count().to_string()];
    cells.extend(What::ALL.map(|what| {
        let errors = errors(what);
        let percent = |error: f64| 100.0 * error;
        format!(
            "{:.2} / {:.2} / {:.2}",
            percent(errors.quantile(0.5)),
            percent(errors.quantile(0.95)),
            percent(errors.worst())
        )
    }));
    cells
}

fn worst(out: &mut fmt::Formatter<'_>, what: What, samples: &[Sample]) -> fmt::Result {
    let of_kind = samples.iter().filter(|sample| sample.what == what);
    let all = of_kind.clone().count();
    let mut wrong: Vec<&Sample> = of_kind.filter(|sample| sample.error() > 0.0).collect();
    if wrong.is_empty() {
        return writeln!(
            out,
            "{}: all {all} figures exact to what was reported",
            what.label()
        );
    }
    wrong.sort_by(|a, b| b.error().total_cmp(&a.error()));
    writeln!(
        out,
        "{}: {} figures of {all} differ, {} by more than 0.005 %; the worst {}:",
        what.label(),
        wrong.len(),
        wrong.iter().filter(|sample| sample.error() > EXACT).count(),
        wrong.len().min(SHOWN)
    )?;
    let mut table = Table::new(&[">off by", ">projected MiB", ">reported MiB", "row"]);
    for sample in wrong.into_iter().take(SHOWN) {
        table.row([
            format!("{:.4} %", 100.0 * sample.error()),
            format!("{:.2}", sample.projected),
            format!("{:.2}", sample.reported),
            sample.name.clone(),
        ]);
    }
    writeln!(out, "{}", table.text())
}

fn refusals(out: &mut fmt::Formatter<'_>, accuracy: &Accuracy) -> fmt::Result {
    let refusals = &accuracy.refusals;
    let agree = refusals.iter().filter(|(_, agrees)| *agrees).count();
    writeln!(out, "\nRefusals: {agree} of {} agree", refusals.len())?;
    for (name, _) in refusals.iter().filter(|(_, agrees)| !agrees) {
        writeln!(out, "  the engine refuses, the projection does not: {name}")?;
    }
    for reason in &accuracy.refused {
        writeln!(
            out,
            "  the projection refuses, the engine does not: {reason}"
        )?;
    }
    Ok(())
}

fn decisions(out: &mut fmt::Formatter<'_>, decisions: &[Decision]) -> fmt::Result {
    let agree = decisions.iter().filter(|row| row.agrees()).count();
    writeln!(
        out,
        "\nAutomatic fit: {agree} of {} choices are the engine's",
        decisions.len()
    )?;
    for row in decisions.iter().filter(|row| !row.agrees()).take(SHOWN) {
        writeln!(out, "  {}", row.name)?;
        writeln!(out, "    engine    {:?}", row.engine)?;
        writeln!(out, "    projected {:?}", row.projected)?;
    }
    Ok(())
}

fn sizes(out: &mut fmt::Formatter<'_>, sizes: &[Size]) -> fmt::Result {
    let exact = sizes.iter().filter(|row| row.error() == 0.0).count();
    let within = sizes.iter().filter(|row| row.error() <= 0.001).count();
    let worst = sizes.iter().map(Size::error).fold(0.0, f64::max);
    writeln!(
        out,
        "\nModel files: {exact} of {} to the byte, {within} within 0.1 %, worst {:.4} %",
        sizes.len(),
        100.0 * worst
    )?;
    let mut wrong: Vec<&Size> = sizes.iter().filter(|row| row.error() > 0.001).collect();
    wrong.sort_by(|a, b| b.error().total_cmp(&a.error()));
    for row in wrong.into_iter().take(SHOWN) {
        let (projected, reported) = (row.projected, row.reported);
        writeln!(out, "  {} {projected} for {reported} B", row.name)?;
    }
    Ok(())
}

fn logs(out: &mut fmt::Formatter<'_>, lines: &[LogLine]) -> fmt::Result {
    let near = lines.iter().filter(|line| line.error() <= 0.005).count();
    writeln!(
        out,
        "\nPublic logs: {near} of {} numbers within 0.5 %; the others (projected, reported in MiB):",
        lines.len()
    )?;
    let mut table = Table::new(&[
        ">off by",
        ">projected",
        ">reported",
        "log",
        "what",
        "reason",
    ]);
    for line in lines.iter().filter(|line| line.error() > 0.005) {
        let reason = match &line.reason {
            Some(reason) => reason,
            None if line.error() > TOLD => "unexplained",
            None => "",
        };
        table.row([
            format!("{:.2} %", 100.0 * line.error()),
            format!("{:.2}", line.projected),
            format!("{:.2}", line.reported),
            line.log.clone(),
            line.what.clone(),
            reason.to_owned(),
        ]);
    }
    out.write_str(&table.text())
}

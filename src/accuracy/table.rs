//! Tables of errors.

use std::collections::BTreeMap;
use std::fmt;

use super::samples::{Errors, Sample, What};
use super::{Accuracy, Decision, LogLine, Size};

/// Most rows shown one by one.
const SHOWN: usize = 10;

/// Below this the tables, too, say 0.00 %.
const EXACT: f64 = 0.000_05;

/// Above this a compute buffer of a public log is told with its reason.
const TOLD: f64 = 0.05;

impl fmt::Display for Accuracy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.samples.is_empty() {
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
    head(out, "by model family")?;
    for (family, samples) in &families {
        line(out, family, samples)?;
    }
    let all: Vec<&Sample> = samples.iter().collect();
    line(out, "all", &all)?;
    writeln!(out)?;
    head(out, "by setting")?;
    for (group, samples) in &groups {
        line(out, group, samples)?;
    }
    writeln!(out)?;
    for what in What::ALL {
        worst(out, what, samples)?;
    }
    Ok(())
}

fn head(out: &mut fmt::Formatter<'_>, title: &str) -> fmt::Result {
    write!(out, "{title:<26}{:>6}", "rows")?;
    for what in What::ALL {
        write!(out, "{:>22}", what.label())?;
    }
    writeln!(out)
}

fn line(out: &mut fmt::Formatter<'_>, title: &str, samples: &[&Sample]) -> fmt::Result {
    let errors = |what: What| {
        let wanted = samples.iter().filter(|sample| sample.what == what);
        Errors::of(wanted.copied())
    };
    write!(out, "{title:<26}{:>6}", errors(What::Cache).count())?;
    for what in What::ALL {
        let errors = errors(what);
        let percent = |error: f64| 100.0 * error;
        let cell = format!(
            "{:.2} / {:.2} / {:.2}",
            percent(errors.quantile(0.5)),
            percent(errors.quantile(0.95)),
            percent(errors.worst())
        );
        write!(out, "{cell:>22}")?;
    }
    writeln!(out)
}

fn worst(out: &mut fmt::Formatter<'_>, what: What, samples: &[Sample]) -> fmt::Result {
    let mut wrong: Vec<&Sample> = samples
        .iter()
        .filter(|sample| sample.what == what && sample.error() > EXACT)
        .collect();
    if wrong.is_empty() {
        return writeln!(out, "{}: every row within 0.005 %", what.label());
    }
    wrong.sort_by(|a, b| b.error().total_cmp(&a.error()));
    writeln!(
        out,
        "{}: {} figures differ by more, the worst {} (projected, reported in MiB):",
        what.label(),
        wrong.len(),
        wrong.len().min(SHOWN)
    )?;
    for sample in wrong.into_iter().take(SHOWN) {
        writeln!(
            out,
            "  {:>7.2} %  {:>12.2}  {:>12.2}  {}",
            100.0 * sample.error(),
            sample.projected,
            sample.reported,
            sample.name
        )?;
    }
    Ok(())
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
    for line in lines.iter().filter(|line| line.error() > 0.005) {
        let reason = match &line.reason {
            Some(reason) => reason,
            None if line.error() > TOLD => "unexplained",
            None => "",
        };
        writeln!(
            out,
            "  {:>7.2} %  {:>10.2}  {:>10.2}  {} {}  {reason}",
            100.0 * line.error(),
            line.projected,
            line.reported,
            line.log,
            line.what,
        )?;
    }
    Ok(())
}

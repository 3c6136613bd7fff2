//! What stands above a launch: what it is, what it will take, what to know. The same in every format.

use super::Export;
use crate::engine;
use crate::report::{DeviceKind, DeviceReport, Report, Verdict};
use crate::units::Bytes;

/// The lines, without a mark of comment, each free of control characters. An empty line parts paragraphs.
pub(super) fn lines(export: &Export<'_>) -> Vec<String> {
    let report = export.report;
    let file_type = match export.file_type() {
        "" => String::new(),
        file_type => format!(" {file_type}"),
    };
    let mut lines = vec![
        format!(
            "{}{file_type} on {} {}",
            report.model,
            engine::name(report.engine),
            report.engine_version
        ),
        format!(
            "Made by Plimsoll {} from a plan; change the plan and export again, or edit this file.",
            env!("CARGO_PKG_VERSION")
        ),
        String::new(),
        format!("Projected memory: {}", verdict(report)),
    ];
    let used =
        |device: &&DeviceReport| device.total() != Bytes::ZERO || device.kind == DeviceKind::Host;
    lines.extend(report.devices.iter().filter(used).map(device));
    if report.derived.file_bytes != Bytes::ZERO {
        lines.push(format!("  model file: {}", report.derived.file_bytes));
    }
    let mut paragraph = |head: &str, items: &[String]| {
        if !items.is_empty() {
            lines.push(String::new());
            lines.push(head.to_owned());
            lines.extend(items.iter().map(|item| format!("  {item}")));
        }
    };
    paragraph("Runs beside this one, and is counted:", &neighbours(export));
    paragraph("To know:", &export.launch.remarks);
    paragraph(
        "In the plan, but not in this launch:",
        &export.launch.not_expressible,
    );
    lines.into_iter().map(|line| on_one_line(&line)).collect()
}

fn device(device: &DeviceReport) -> String {
    let beside = device.beside.iter();
    let mut others: Vec<String> = beside
        .map(|neighbour| format!(", {} by {}", neighbour.bytes, neighbour.plan))
        .collect();
    let unplanned = device.in_use_by_others();
    if unplanned != Bytes::ZERO {
        others.push(format!(", {unplanned} in use by others"));
    }
    let others = others.concat();
    format!(
        "  {} {}: {} of {} usable{others}",
        device.id,
        device.name,
        device.total(),
        device.capacity
    )
}

/// Plans that run on the same machine: what is projected here holds while they do.
fn neighbours(export: &Export<'_>) -> Vec<String> {
    let plans = export.plan.beside.iter();
    let taken = export.report.notes.iter();
    let taken = taken.filter(|note| note.code == "port-taken");
    plans
        .map(|plan| format!("{plan}; start it first"))
        .chain(taken.map(|note| format!("WARNING: {}", note.message)))
        .collect()
}

fn verdict(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Tight if report.lower_bound => {
            "AT LEAST this much; only the weights are known, not whether it fits"
        }
        Verdict::Fits => "fits",
        Verdict::Tight => "fits, with less than the margin to spare",
        Verdict::Exceeds => "DOES NOT FIT",
        Verdict::Refused => "THE ENGINE WILL NOT START",
    }
}

/// Control characters and the line ends of Unicode as spaces: a comment must stay one.
fn on_one_line(text: &str) -> String {
    text.chars()
        .map(|letter| {
            if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') {
                ' '
            } else {
                letter
            }
        })
        .collect()
}

/// The header as lines of comment after a mark.
pub(super) fn comment<'a>(
    export: &Export<'_>,
    mark: &'a str,
    escape: impl Fn(&str) -> String + 'a,
) -> impl Iterator<Item = String> + 'a {
    lines(export)
        .into_iter()
        .map(move |line| format!("{mark} {}", escape(&line)).trim_end().to_owned())
}

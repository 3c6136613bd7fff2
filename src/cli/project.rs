//! `plimsoll project`: the report of a plan.

use std::fmt::Write as _;

use plimsoll::engine::name;
use plimsoll::plan::Value;
use plimsoll::projection::{Category, Part, Severity, grouped};
use plimsoll::report::{ContextLimit, DeviceKind, DeviceReport, Report, Verdict};
use plimsoll::table::Table;
use plimsoll::units::{Bytes, GIB};

use super::answer::{print_json, print_plain};
use super::expectations;
use super::opened::Opened;
use super::{Answer, Failure, PlanArguments};

/// Options of `project`.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    plan: PlanArguments,
    /// Print the report as one JSON object.
    #[arg(long)]
    json: bool,
    /// Say of every number why it is what it is.
    #[arg(long)]
    why: bool,
}

/// Prints the report.
pub(super) fn run(options: &Options) -> Result<Answer, Failure> {
    let opened = Opened::open(&options.plan)?;
    let report = opened.report_with_users()?;
    if options.json {
        print_json(&report)?;
    } else {
        print_plain(&text(&report, options.why))?;
    }
    Ok(match report.verdict {
        Verdict::Fits | Verdict::Tight => Answer::Yes,
        Verdict::Exceeds | Verdict::Refused => Answer::No,
    })
}

fn text(report: &Report, why: bool) -> String {
    let mut text = String::new();
    let Report {
        engine,
        engine_version,
        model,
        derived,
        ..
    } = report;
    line(
        &mut text,
        format_args!("{model} · {} {engine_version}", name(engine)),
    );
    line(&mut text, format_args!("{}\n", report.sentence()));
    if report.verdict == Verdict::Refused {
        line(
            &mut text,
            format_args!("The engine would not start; this is what the settings would need:"),
        );
    }
    text.push_str(&memory(report));
    if report.lower_bound {
        line(
            &mut text,
            format_args!("Totals are the least: only weights are known of this model."),
        );
    } else if grows(report) {
        line(
            &mut text,
            format_args!("A range grows as requests come; totals count its lower end."),
        );
    }
    line(&mut text, format_args!(""));
    if derived.file_bytes != Bytes::ZERO {
        line(&mut text, format_args!("{}", file(report)));
    }
    text.push_str(&limits(report));
    text.push_str(&expectations::lines(report));
    text.push_str(&notes(report));
    if why {
        text.push_str(&reasons(report));
    }
    text
}

/// How far the plan could go.
fn limits(report: &Report) -> String {
    let mut text = String::new();
    let derived = &report.derived;
    if let Some(limit) = report.context_limit() {
        let (what, tokens) = match limit {
            ContextLimit::Fits(tokens) => ("that fits", tokens),
            ContextLimit::KeepsMargin(tokens) => ("that keeps the margin", tokens),
            ContextLimit::Written(tokens) => ("that fits where the plan names it", tokens),
        };
        let tokens = match report.context_on_gpus() {
            Some(on_gpus) => format!(
                "{} tokens all on {}; {} with layers in RAM{}",
                grouped(on_gpus),
                gpus(report),
                grouped(tokens),
                at(derived.max_context_tokens_per_second)
            ),
            None => format!("{} tokens", grouped(tokens)),
        };
        line(&mut text, format_args!("longest context {what}: {tokens}"));
    }
    if let (Some(most), Some(each)) = (derived.max_batch, derived.max_batch_tokens_each) {
        let on_gpus = derived.max_batch_on_gpus.filter(|on_gpus| *on_gpus < most);
        let users = |users: u64| match users {
            1 => format!("1 user of {} tokens", grouped(each)),
            users => format!("{users} users of {} tokens each", grouped(each)),
        };
        let users = match on_gpus {
            Some(on_gpus) => format!(
                "{} all on {}; {most} with layers in RAM",
                users(on_gpus),
                gpus(report)
            ),
            None => users(most),
        };
        line(&mut text, format_args!("most users that fit: {users}"));
    }
    text
}

/// What all is on where nothing is in main memory.
fn gpus(report: &Report) -> &'static str {
    let devices = report.devices.iter();
    match devices
        .filter(|device| device.kind != DeviceKind::Host)
        .count()
    {
        0 | 1 => "the GPU",
        _ => "the GPUs",
    }
}

/// How fast that is, in two figures.
fn at(tokens_per_second: Option<f64>) -> String {
    match tokens_per_second {
        Some(rate) if rate >= 10.0 => format!(" at about {rate:.0} tokens/s"),
        Some(rate) => format!(" at about {rate:.1} tokens/s"),
        None => String::new(),
    }
}

/// The file's size, what of it is loaded, and how a cache grows, as far as it is known.
fn file(report: &Report) -> String {
    let derived = &report.derived;
    let mut figures = vec![format!("{} of tensors in the file", derived.file_bytes)];
    if derived.bits_per_weight > 0.0 {
        figures.push(format!(", {:.2} bits per weight", derived.bits_per_weight));
    }
    figures.push(format!("; {} loaded", derived.weights_bytes));
    if report.lower_bound {
        figures.push("; the cache is not known".to_owned());
    } else {
        let per_token = Bytes::new(derived.kv_bytes_per_token.max(0.0) as u64);
        figures.push(format!("; {per_token} per token of context"));
    }
    figures.concat()
}

/// One line each, and below it the change that mends it.
fn notes(report: &Report) -> String {
    let mut text = String::new();
    for note in &report.notes {
        let severity = match note.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "hint",
        };
        line(&mut text, format_args!("{severity}: {}", note.message));
        if let Some(fix) = &note.fix {
            let changes: Vec<String> = fix
                .set
                .iter()
                .map(|(name, value)| format!("--set {name}={}", written(value)))
                .collect();
            line(&mut text, format_args!("  try {}", changes.join(" ")));
        }
    }
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    writeln!(text, "{arguments}").ok();
}

/// GiB per category and device.
fn memory(report: &Report) -> String {
    let mut head = vec!["GiB".to_owned()];
    head.extend(
        report
            .devices
            .iter()
            .map(|device| format!(">{}", device.id)),
    );
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(&head);
    for share in shares() {
        let any = |bytes: fn(&DeviceReport, Share) -> Bytes| {
            let mut devices = report.devices.iter();
            devices.any(|device| bytes(device, share) != Bytes::ZERO)
        };
        if any(share_bytes) || any(growth) {
            let cells = report.devices.iter().map(|device| cell(device, share));
            table.row(std::iter::once(label(share)).chain(cells));
        }
    }
    row(&mut table, "total", report, |device| {
        device.total().get() as f64
    });
    for plan in neighbours(report) {
        row(&mut table, plan, report, |device| {
            let here = device.beside.iter().filter(|beside| beside.plan == plan);
            here.map(|beside| beside.bytes).sum::<Bytes>().get() as f64
        });
    }
    row(&mut table, "in use by others", report, |device| {
        device.in_use_by_others().get() as f64
    });
    row(&mut table, "capacity", report, |device| {
        device.capacity.get() as f64
    });
    row(&mut table, "free", report, |device| device.free() as f64);
    table.text()
}

/// What takes of the devices beside this plan, each once.
fn neighbours(report: &Report) -> Vec<&str> {
    let all = report.devices.iter().flat_map(|device| &device.beside);
    let mut plans: Vec<&str> = Vec::new();
    for plan in all.map(|beside| beside.plan.as_str()) {
        if !plans.contains(&plan) {
            plans.push(plan);
        }
    }
    plans
}

fn row(table: &mut Table, label: &str, report: &Report, bytes: impl Fn(&DeviceReport) -> f64) {
    let cells = report
        .devices
        .iter()
        .map(|device| format!("{:.2}", bytes(device) / GIB as f64));
    table.row(std::iter::once(label.to_owned()).chain(cells));
}

/// What a row shows: one category of one part.
type Share = (Category, Part);

/// In the order of rows.
fn shares() -> impl Iterator<Item = Share> {
    Category::ALL
        .into_iter()
        .flat_map(|category| Part::ALL.map(|part| (category, part)))
}

fn label((category, part): Share) -> String {
    match part {
        Part::Model => category.label().to_owned(),
        part => format!("{}, {}", category.label(), part.label()),
    }
}

fn share_bytes(device: &DeviceReport, share: Share) -> Bytes {
    device
        .terms
        .terms
        .iter()
        .filter(|term| (term.category, term.part) == share)
        .map(|term| term.bytes)
        .sum()
}

/// What is nothing at first and may become as much.
fn growth(device: &DeviceReport, share: Share) -> Bytes {
    let terms = device.terms.terms.iter();
    terms
        .filter(|term| (term.category, term.part) == share && term.bytes == Bytes::ZERO)
        .map(|term| term.range.1)
        .sum()
}

/// Is there a range in the table?
fn grows(report: &Report) -> bool {
    let mut devices = report.devices.iter();
    devices.any(|device| shares().any(|share| growth(device, share) != Bytes::ZERO))
}

/// GiB of a category: one number, or from what it is at first to what it may become.
fn cell(device: &DeviceReport, share: Share) -> String {
    let bytes = share_bytes(device, share);
    match growth(device, share) {
        Bytes::ZERO => format!("{:.2}", bytes.as_gib()),
        more => format!("{:.2} to {:.2}", bytes.as_gib(), (bytes + more).as_gib()),
    }
}

fn reasons(report: &Report) -> String {
    let mut text = String::new();
    for (figure, why) in report.speed.iter().flat_map(|speed| &speed.why) {
        let label = expectations::label(*figure);
        line(&mut text, format_args!("\nspeed {label}: {}", why.text()));
        line(&mut text, format_args!("  {}", why.source));
    }
    for device in &report.devices {
        for term in &device.terms.terms {
            let label = label((term.category, term.part));
            line(
                &mut text,
                format_args!(
                    "\n{} {label} {}: {}",
                    device.id,
                    term.bytes,
                    term.why.text()
                ),
            );
            let (low, high) = term.range;
            if low != high {
                line(&mut text, format_args!("  between {low} and {high}"));
            }
            line(&mut text, format_args!("  {}", term.why.source));
        }
    }
    text
}

/// A value as it is written after `--set`.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::Bool(on) => on.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            items.join(",")
        }
    }
}

//! Does it fit? One sentence, and the changes that would help most.

use eframe::egui::{FontSelection, RichText, Ui, text::LayoutJob};

use crate::app::format;
use crate::app::state::UiState;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{GRID, Tokens};
use crate::app::widgets;
use crate::engine;
use crate::plan::{Plan, Settings, Value};
use crate::projection::{Fix, Severity, grouped};
use crate::report::{DeviceReport, Report, Verdict};
use crate::units::Bytes;

use super::notes;

/// Most changes offered below the sentence.
const FIXES: usize = 3;

/// Shows the sentence, the figures beside it, and the changes that would help.
pub(super) fn verdict(
    ui: &mut Ui,
    texts: &Texts,
    report: &Report,
    plan: &mut Plan,
    state: &mut UiState,
) {
    let tokens = Tokens::of(ui);
    let (word, rest) = sentence(texts, report);
    let style = ui.style().clone();
    let mut job = LayoutJob::default();
    let heading = eframe::egui::TextStyle::Heading;
    for (text, colour) in [(word, tokens.verdict(report.verdict)), (&rest, tokens.text)] {
        RichText::new(text)
            .text_style(heading.clone())
            .color(colour)
            .append_to(
                &mut job,
                &style,
                FontSelection::Default,
                eframe::egui::Align::BOTTOM,
            );
    }
    ui.label(job);
    if report.verdict == Verdict::Refused {
        for note in report
            .notes
            .iter()
            .filter(|note| note.severity == Severity::Error)
        {
            ui.label(&note.message);
        }
    }
    widgets::fact(ui, figures(texts, report));
    fixes(ui, texts, report, plan, state);
}

/// The coloured word and what follows it.
fn sentence<'a>(texts: &'a Texts, report: &Report) -> (&'a str, String) {
    match report.verdict {
        Verdict::Refused => (texts.refused, String::new()),
        Verdict::Exceeds => match tightest(report) {
            Some(device) => {
                let over = format::gib_difference(device.free().saturating_neg(), 1);
                let device = format::device(device, texts);
                let rest = fill(texts.exceeds_by, &[("over", &over), ("device", &device)]);
                (texts.exceeds, rest)
            }
            None => (texts.exceeds, String::new()),
        },
        Verdict::Fits | Verdict::Tight => {
            let word = if report.verdict == Verdict::Fits {
                texts.fits
            } else {
                texts.tight
            };
            let Some(device) = tightest(report) else {
                return (word, String::new());
            };
            let free = format::gib_difference(device.free(), 1);
            let device = format::device(device, texts);
            let spare = if report.verdict == Verdict::Fits {
                texts.fits_with
            } else {
                texts.tight_with
            };
            (word, fill(spare, &[("free", &free), ("device", &device)]))
        }
    }
}

/// The device with least room, of those that are used: a GPU unless none is, or the host is over.
pub(super) fn tightest(report: &Report) -> Option<&DeviceReport> {
    let used = || {
        report
            .devices
            .iter()
            .filter(|device| device.total() != Bytes::ZERO)
    };
    let host = used().find(|device| device.kind == crate::report::DeviceKind::Host);
    let gpu = used()
        .filter(|device| device.kind != crate::report::DeviceKind::Host)
        .min_by_key(|device| device.free());
    match (gpu, host) {
        (Some(gpu), Some(host)) if host.free() < 0 && host.free() < gpu.free() => Some(host),
        (Some(gpu), _) => Some(gpu),
        (None, host) => host,
    }
}

fn figures(texts: &Texts, report: &Report) -> String {
    let derived = &report.derived;
    let mut figures = Vec::new();
    if derived.bits_per_weight > 0.0 {
        figures.push(fill(
            texts.file_figures,
            &[
                ("size", &derived.file_bytes.to_string()),
                ("bits", &format!("{:.2}", derived.bits_per_weight)),
            ],
        ));
    }
    if derived.kv_bytes_per_token > 0.0 {
        let kib = derived.kv_bytes_per_token / 1024.0;
        figures.push(fill(texts.per_token, &[("kib", &format!("{kib:.1}"))]));
    }
    if let Some(most) = derived.max_context_tokens {
        figures.push(fill(texts.longest_context, &[("count", &grouped(most))]));
    }
    figures.push(format!("{} {}", report.engine, report.engine_version));
    figures.join(" · ")
}

fn fixes(ui: &mut Ui, texts: &Texts, report: &Report, plan: &mut Plan, state: &mut UiState) {
    let mut fixes: Vec<Fix> = Vec::new();
    if report.verdict != Verdict::Fits {
        fixes.extend(report.notes.iter().filter_map(|note| note.fix.clone()));
    }
    if matches!(report.verdict, Verdict::Tight | Verdict::Exceeds) {
        fixes.extend(shorter_context(report, plan));
    }
    ui.add_space(GRID);
    ui.horizontal_wrapped(|ui| {
        // The row keeps its place where there is nothing to offer, so that the picture does not jump.
        ui.set_min_height(24.0);
        for fix in fixes.iter().take(FIXES) {
            let text = notes::fix_text(texts, plan, fix);
            if widgets::chip(ui, &text, false).clicked() {
                notes::apply(plan, state, fix);
            }
        }
    });
}

/// The longest context that fits, where that is less than the plan's.
fn shorter_context(report: &Report, plan: &Plan) -> Option<Fix> {
    let axis = engine::find(&plan.engine)?.axes().first()?.setting;
    let most = i64::try_from(report.derived.max_context_tokens?).ok()?;
    let Some(Value::Integer(now)) = report.settings.get(axis) else {
        return None;
    };
    let mut set = Settings::new();
    set.insert(axis.to_owned(), Value::Integer(most));
    (*now > most).then_some(Fix { set, gain: None })
}

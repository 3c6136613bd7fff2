//! Does it fit? One sentence, and the figures beside it.

use eframe::egui::{FontSelection, Label, RichText, Sense, Ui, text::LayoutJob};

use crate::app::format;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, Tokens};
use crate::engine::{self, Margin};
use crate::plan::Plan;
use crate::projection::{Severity, grouped};
use crate::report::{ContextLimit, Report, Verdict};

/// Shows the sentence and the figures beside it; where something is `unknown`, that instead.
pub(super) fn verdict(
    ui: &mut Ui,
    texts: &Texts,
    report: &Report,
    plan: &Plan,
    unknown: &[String],
) {
    let margin = Margin::of_plan(&plan.fit);
    if unknown.is_empty() {
        judged(ui, texts, report, margin);
    } else {
        let tokens = Tokens::of(ui);
        ui.heading(RichText::new(texts.unjudged).color(tokens.bad))
            .on_hover_text(texts.unjudged_help);
        for reason in unknown {
            ui.add(Label::new(RichText::new(reason).color(tokens.bad)).wrap());
        }
    }
    let figures = RichText::new(figures(texts, report, margin))
        .text_style(theme::small())
        .color(Tokens::of(ui).text_weak);
    ui.add(Label::new(figures).wrap().sense(Sense::hover()))
        .on_hover_text(texts.figures_help);
}

/// The sentence, and why an engine would refuse.
fn judged(ui: &mut Ui, texts: &Texts, report: &Report, margin: Margin) {
    let tokens = Tokens::of(ui);
    let (word, mut rest) = sentence(texts, report);
    let last = report.moments.last().map(|moment| moment.name);
    if report.verdict != Verdict::Refused && last.is_some_and(|last| last != report.peak) {
        rest = fill(texts.while_at_load, &[("sentence", &rest)]);
    }
    let style = ui.style().clone();
    let mut job = LayoutJob::default();
    let heading = eframe::egui::TextStyle::Heading;
    let colour = if report.margin_kept_by_engine() {
        // Nothing went wrong: the engine means it so.
        tokens.text
    } else {
        tokens.verdict(report.verdict)
    };
    for (text, colour) in [(word, colour), (&rest, tokens.text)] {
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
    let help = fill(help(texts, report), &[("margin", &margin.to_string())]);
    ui.label(job).on_hover_text(help);
    if report.verdict == Verdict::Refused {
        for note in report
            .notes
            .iter()
            .filter(|note| note.severity == Severity::Error)
        {
            ui.label(&note.message);
        }
    }
}

/// The coloured word and what follows it.
fn sentence<'a>(texts: &'a Texts, report: &Report) -> (&'a str, String) {
    match report.verdict {
        Verdict::Refused => (texts.refused, String::new()),
        Verdict::Exceeds => match report.tightest() {
            Some(device) => {
                let over = format::gib_difference(device.free().saturating_neg(), 1);
                let device = format::device(device, texts);
                let text = if report.lower_bound {
                    texts.exceeds_at_least
                } else {
                    texts.exceeds_by
                };
                let rest = fill(text, &[("over", &over), ("device", &device)]);
                (texts.exceeds, rest)
            }
            None => (texts.exceeds, String::new()),
        },
        Verdict::Tight if report.lower_bound => (texts.at_least, at_least(texts, report)),
        Verdict::Fits | Verdict::Tight => {
            let word = if report.verdict == Verdict::Fits {
                texts.fits
            } else {
                texts.tight
            };
            let Some(device) = report.tightest() else {
                return (word, String::new());
            };
            let free = format::gib_difference(device.free(), 1);
            let device = format::device(device, texts);
            let spare = if report.verdict == Verdict::Fits {
                texts.fits_with
            } else if report.margin_kept_by_engine() {
                texts.tight_by_fit
            } else {
                texts.tight_with
            };
            (word, fill(spare, &[("free", &free), ("device", &device)]))
        }
    }
}

/// How much of the fullest device is known to be needed.
fn at_least(texts: &Texts, report: &Report) -> String {
    let Some(device) = report.tightest() else {
        return String::new();
    };
    let used = i64::try_from(device.total().get()).unwrap_or(i64::MAX);
    let words = [
        ("used", format::gib_difference(used, 1)),
        ("device", format::device(device, texts)),
    ];
    let words: Vec<(&str, &str)> = words.iter().map(|(name, word)| (*name, &**word)).collect();
    fill(texts.at_least_of, &words)
}

/// What the sentence means.
fn help<'a>(texts: &'a Texts, report: &Report) -> &'a str {
    match report.verdict {
        Verdict::Fits => texts.fits_help,
        Verdict::Tight if report.margin_kept_by_engine() => texts.tight_by_fit_help,
        Verdict::Tight if report.lower_bound => texts.at_least_help,
        Verdict::Tight => texts.tight_help,
        Verdict::Exceeds => texts.exceeds_help,
        Verdict::Refused => texts.refused_help,
    }
}

fn figures(texts: &Texts, report: &Report, margin: Margin) -> String {
    let derived = &report.derived;
    let mut figures = Vec::new();
    if report.lower_bound {
        figures.push(texts.only_weights.to_owned());
    }
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
    if let Some(limit) = report.context_limit() {
        let (ContextLimit::Fits(most)
        | ContextLimit::KeepsMargin(most)
        | ContextLimit::Written(most)) = limit;
        // Main memory has no hidden user to keep something free for.
        let kept = report
            .devices
            .iter()
            .any(|device| device.kind != crate::report::DeviceKind::Host);
        let written = matches!(limit, ContextLimit::Written(_));
        let text = if written && report.context_on_gpus().is_none() {
            texts.longest_context_written
        } else if kept && margin != Margin::NONE && !report.margin_kept_by_engine() {
            texts.longest_context_kept
        } else {
            texts.longest_context
        };
        let margin = match margin {
            Margin::Bytes(bytes) => format::capacity(bytes),
            Margin::Percent(_) => margin.to_string(),
        };
        // What moves layers to main memory fits, and is not comfortable.
        let on_gpus = report.context_on_gpus();
        let comfortable = grouped(on_gpus.unwrap_or(most));
        figures.push(fill(text, &[("count", &comfortable), ("margin", &margin)]));
        if on_gpus.is_some() {
            let rate = report.derived.max_context_tokens_per_second;
            let text = match rate {
                Some(_) => texts.longest_context_in_ram_at,
                None => texts.longest_context_in_ram,
            };
            let rate = rate.map_or_else(String::new, format::rate);
            figures.push(fill(text, &[("count", &grouped(most)), ("rate", &rate)]));
        }
    }
    figures.push(format!(
        "{} {}",
        engine::name(report.engine),
        report.engine_version
    ));
    figures.join(" · ")
}

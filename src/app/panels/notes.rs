//! What a person should know about the plan, with a button where something can be changed for them.

use eframe::egui::{Frame, Label, Margin, RichText, Ui};

use crate::app::format;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, RADIUS, SECTION_GAP, Tokens};
use crate::app::widgets;
use crate::engine::{self, setting};
use crate::plan::Plan;
use crate::projection::{Fix, Gain, Note, Severity};
use crate::report::Report;

/// Shows the notes; nothing where there are none.
pub(super) fn notes(ui: &mut Ui, texts: &Texts, report: &Report, plan: &mut Plan) {
    if report.notes.is_empty() {
        return;
    }
    ui.add_space(SECTION_GAP);
    widgets::section(ui, texts.notes);
    for (index, note) in report.notes.iter().enumerate() {
        ui.push_id(index, |ui| note_ui(ui, texts, note, plan));
        ui.add_space(GRID / 2.0);
    }
}

fn note_ui(ui: &mut Ui, texts: &Texts, note: &Note, plan: &mut Plan) {
    let tokens = Tokens::of(ui);
    let (colour, word) = match note.severity {
        Severity::Error => (tokens.bad, texts.error),
        Severity::Warning => (tokens.warn, texts.warning),
        Severity::Hint => (tokens.accent, texts.hint),
    };
    Frame::new()
        .fill(tokens.field)
        .corner_radius(RADIUS)
        .inner_margin(Margin::symmetric(10, 8))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.horizontal_top(|ui| {
                widgets::dot(ui, colour);
                ui.vertical(|ui| {
                    ui.spacing_mut().item_spacing.y = 2.0;
                    let text = RichText::new(word)
                        .text_style(theme::small_strong())
                        .color(colour);
                    ui.add(Label::new(text));
                    ui.add(Label::new(&note.message).wrap());
                    if let Some(fix) = &note.fix
                        && widgets::wrapped_link(ui, &fix_text(texts, plan, fix)).clicked()
                    {
                        apply(plan, fix);
                    }
                });
            });
        });
}

/// "KV cache q8_0 · −2.1 GiB".
pub(super) fn fix_text(texts: &Texts, plan: &Plan, fix: &Fix) -> String {
    let engine = engine::find(&plan.engine);
    let told = fix.set.iter().map(|(name, value)| {
        let label = engine
            .and_then(|engine| setting::find(engine, name))
            .map_or(name.as_str(), |setting| setting.label);
        (label.to_owned(), format::value(value, texts))
    });
    let changes = format::settings(told).join(" + ");
    match fix.gain {
        Some(Gain::Bytes(bytes)) => {
            let saved = format::gib_difference(bytes.saturating_neg(), 1);
            format!("{changes} · {saved}")
        }
        Some(Gain::Tokens(tokens)) => {
            let tokens = fill(texts.tokens, &[("count", &format::integer(tokens))]);
            format!("{changes} · +{tokens}")
        }
        None => changes,
    }
}

/// Makes the change; it counts as the user's own.
pub(super) fn apply(plan: &mut Plan, fix: &Fix) {
    for (name, value) in &fix.set {
        plan.settings.insert(name.clone(), value.clone());
    }
}

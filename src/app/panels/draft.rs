//! The small model that drafts for the plan's model.

use eframe::egui::{Label, RichText, Ui, Vec2};

use crate::app::command::Queue;
use crate::app::state::UiState;
use crate::app::subject::Found;
use crate::app::texts::fill;
use crate::app::theme::{ROW, Tokens};
use crate::app::widgets;
use crate::plan::Plan;

use super::context::Inputs;
use super::model_list::{chosen_name, list};

/// Width of the field.
const WIDTH: f32 = 168.0;

/// Shows the choice of the draft model.
pub(super) fn draft(
    ui: &mut Ui,
    context: &Inputs<'_>,
    plan: &mut Plan,
    state: &mut UiState,
    queue: &mut Queue,
) {
    let texts = context.texts;
    let chosen = plan.draft.as_ref().and_then(chosen_name);
    let shown = chosen.as_deref().unwrap_or(texts.no_draft);
    let label = RichText::new(texts.draft);
    let field = widgets::row(ui, label, texts.draft_help, |ui| {
        let size = Vec2::new(WIDTH, ROW);
        widgets::field_of(ui, size, texts.draft, shown, "").on_hover_text(texts.draft_help)
    });
    let mut none = false;
    let below = |ui: &mut Ui| {
        if plan.draft.is_some() {
            ui.separator();
            none = widgets::link(ui, texts.remove_draft).clicked();
            if none {
                ui.close();
            }
        }
    };
    // A draft model has to know the same tokens.
    let vocabulary = context.subjects.model.ready().map(|model| model.vocab_size);
    let list_state = (&mut state.drafts, &mut state.draft_shelf);
    let taken = list(ui, &field, context, list_state, vocabulary, queue, below);
    if none {
        plan.draft = None;
    } else if taken.is_some() {
        plan.draft = taken;
    }
    match &context.subjects.draft {
        // Where there is a picture, it says so.
        Found::Failed(_) if context.live.good_report().is_some() => {}
        Found::Failed(reason) => {
            let text = fill(texts.draft_failed, &[("reason", reason)]);
            let text = RichText::new(text).color(Tokens::of(ui).bad);
            ui.add(Label::new(text).wrap());
        }
        Found::Waiting => {
            ui.spinner();
        }
        Found::Absent | Found::Ready(_) => {}
    }
}

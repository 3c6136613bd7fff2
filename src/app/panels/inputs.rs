//! The left side: everything that the user chooses, in the order people think.

use eframe::egui::{Frame, Margin, Panel, ScrollArea, Ui};

use crate::app::aside::Aside;
use crate::app::command::Queue;
use crate::app::state::UiState;
use crate::app::texts::Texts;
use crate::app::theme::{INPUTS_WIDTH, PANEL_MARGIN, SECTION_GAP, Tokens};
use crate::engine::ENGINES;
use crate::plan::Plan;

use super::context::Inputs;
use super::{machine, model, settings};
use crate::app::widgets;

/// Shows the inputs.
pub(crate) fn inputs(
    ui: &mut Ui,
    context: &Inputs<'_>,
    plan: &mut Plan,
    state: &mut UiState,
    queue: &mut Queue,
) {
    let frame = Frame::new().fill(Tokens::of(ui).panel);
    // Small windows: the picture in the middle is what people came for.
    let window = ui.ctx().content_rect().width();
    let most = (window * 0.28).clamp(248.0, 440.0);
    Panel::left("inputs")
        .frame(frame)
        .default_size(INPUTS_WIDTH.min(most))
        .size_range(248.0..=most)
        .show(ui, |ui| {
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                Frame::new()
                    .inner_margin(Margin::same(PANEL_MARGIN))
                    .show(ui, |ui| {
                        widgets::within(ui, |ui| {
                            machine::machine(ui, context, plan, state, queue);
                            ui.add_space(SECTION_GAP);
                            model::model(ui, context, plan, state, queue);
                            ui.add_space(SECTION_GAP);
                            engine(ui, context.texts, plan, &mut state.engines);
                            settings::settings(ui, context, plan);
                        });
                    });
            });
        });
}

fn engine(ui: &mut Ui, texts: &Texts, plan: &mut Plan, aside: &mut Aside) {
    widgets::section(ui, texts.engine);
    let names: Vec<&str> = ENGINES.iter().map(|engine| engine.name()).collect();
    let mut ids = ENGINES.iter().map(|engine| engine.id());
    let chosen = ids.position(|id| id.eq_ignore_ascii_case(&plan.engine));
    let clicked = ui
        .horizontal_wrapped(|ui| widgets::segmented(ui, &names, chosen.unwrap_or(usize::MAX)))
        .inner;
    let other = clicked.filter(|clicked| Some(*clicked) != chosen);
    if let Some(engine) = other.and_then(|index| ENGINES.get(index)) {
        aside.switch(plan, *engine);
    }
}

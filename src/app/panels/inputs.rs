//! The left side: everything that the user chooses, in the order people think.

use eframe::egui::{Frame, Margin, Panel, ScrollArea, Ui};

use crate::app::command::Queue;
use crate::app::library::Library;
use crate::app::live::Live;
use crate::app::state::UiState;
use crate::app::subject::Subjects;
use crate::app::texts::Texts;
use crate::app::theme::{INPUTS_WIDTH, PANEL_MARGIN, SECTION_GAP, Tokens};
use crate::engine::{self, ENGINES, meaning};
use crate::plan::Plan;

use super::{machine, model, settings};
use crate::app::widgets;

/// What the inputs look at.
pub(crate) struct Inputs<'a> {
    /// Words.
    pub(crate) texts: &'a Texts,
    /// What can be chosen.
    pub(crate) library: &'a Library,
    /// What was found.
    pub(crate) subjects: &'a Subjects,
    /// What follows from the plan.
    pub(crate) live: &'a Live,
    /// The machine is being looked at.
    pub(crate) detecting: bool,
}

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
                        machine::machine(ui, context, plan, state, queue);
                        ui.add_space(SECTION_GAP);
                        model::model(ui, context, plan, state, queue);
                        ui.add_space(SECTION_GAP);
                        engine(ui, context.texts, plan, state);
                        settings::settings(ui, context, plan, state);
                    });
            });
        });
}

/// Another engine takes over what it has a counterpart for, and what the user decided stays so.
fn engine(ui: &mut Ui, texts: &Texts, plan: &mut Plan, state: &mut UiState) {
    widgets::section(ui, texts.engine);
    let names: Vec<&str> = ENGINES.iter().map(|engine| engine.id()).collect();
    let chosen = names.iter().position(|name| *name == plan.engine);
    let clicked = ui
        .horizontal_wrapped(|ui| widgets::segmented(ui, &names, chosen.unwrap_or(usize::MAX)))
        .inner;
    if let Some(to) = clicked.and_then(|index| ENGINES.get(index)).copied() {
        if let Some(from) = engine::find(&plan.engine) {
            state.touched = meaning::counterparts(from, to, &state.touched);
        }
        meaning::switch(plan, to);
    }
}

//! The right side: exactly what will be saved, and what to know about it.

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{
    Frame, Label, Margin, Panel, RichText, ScrollArea, Stroke, TextBuffer, TextEdit, TextStyle, Ui,
};

use crate::app::command::{Command, Queue};
use crate::app::live::Live;
use crate::app::preferences::Preferences;
use crate::app::state::UiState;
use crate::app::texts::Texts;
use crate::app::theme::{GRID, LAUNCH_WIDTH, PANEL_MARGIN, RADIUS, Tokens};
use crate::app::widgets::{self, DropDown};
use crate::engine::{self, Engine};
use crate::export::{self, Exporter};
use crate::plan::Plan;

use super::{launch_options, notes};

/// Shows the launch and the notes.
pub(crate) fn launch(
    ui: &mut Ui,
    texts: &Texts,
    live: &Live,
    plan: &mut Plan,
    preferences: &mut Preferences,
    state: &mut UiState,
    queue: &mut Queue,
) {
    let frame = Frame::new().fill(Tokens::of(ui).panel);
    // Small windows: the picture in the middle is what people came for, however wide this was before.
    let window = ui.ctx().content_rect().width();
    let most = (window * 0.3).clamp(248.0, 560.0);
    Panel::right("launch")
        .frame(frame)
        .default_size(LAUNCH_WIDTH.min(most))
        .size_range(248.0..=most)
        .show(ui, |ui| {
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                Frame::new()
                    .inner_margin(Margin::same(PANEL_MARGIN))
                    .show(ui, |ui| {
                        widgets::within(ui, |ui| {
                            contents(ui, texts, live, plan, preferences, state, queue);
                        });
                    });
            });
        });
}

fn contents(
    ui: &mut Ui,
    texts: &Texts,
    live: &Live,
    plan: &mut Plan,
    preferences: &mut Preferences,
    state: &mut UiState,
    queue: &mut Queue,
) {
    widgets::section(ui, texts.launch);
    target(ui, texts, plan, preferences);
    ui.add_space(GRID);
    preview(ui, texts, live, plan);
    ui.add_space(GRID);
    buttons(ui, texts, live, state.types_paths, queue);
    launch_options::set_aside(ui, texts, &mut plan.launch, &mut state.set_aside);
    let usual_port = engine::find(&plan.engine).map_or(0, Engine::usual_port);
    launch_options::options(ui, texts, &mut plan.launch, usual_port);
    if let Some(report) = live.good_report() {
        notes::notes(ui, texts, report, plan);
    }
}

fn target(ui: &mut Ui, texts: &Texts, plan: &Plan, preferences: &mut Preferences) {
    let chosen = export::for_engine(&plan.engine)
        .find(|exporter| exporter.id() == preferences.target)
        .or_else(|| export::for_engine(&plan.engine).next());
    let Some(chosen) = chosen else { return };
    ui.spacing_mut().interact_size.y = 32.0;
    let exporters: Vec<&dyn Exporter> = export::for_engine(&plan.engine).collect();
    let list = DropDown {
        salt: "target",
        name: texts.launch_target,
        shown: chosen.label(),
        width: ui.available_width(),
        rows: exporters
            .iter()
            .map(|exporter| (exporter.label(), exporter.id()))
            .collect(),
        chosen: exporters
            .iter()
            .position(|exporter| exporter.id() == chosen.id()),
    };
    let (_, taken) = widgets::drop_down(ui, &list);
    if let Some(exporter) = taken.and_then(|index| exporters.get(index)) {
        exporter.id().clone_into(&mut preferences.target);
    }
    ui.spacing_mut().interact_size.y = crate::app::theme::ROW;
}

fn preview(ui: &mut Ui, texts: &Texts, live: &Live, plan: &Plan) {
    let tokens = Tokens::of(ui);
    // Notes keep their place on the screen whatever the launch says.
    let height = (ui.clip_rect().height() * 0.6).max(140.0);
    Frame::new()
        .fill(tokens.canvas)
        .stroke(Stroke::new(1.0, tokens.line))
        .corner_radius(RADIUS)
        .inner_margin(Margin::symmetric(10, 8))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ScrollArea::vertical()
                .max_height(height)
                .min_scrolled_height(height)
                .auto_shrink([false, false])
                .show(ui, |ui| match &live.launch {
                    Some(Ok(file)) => text(ui, texts, &file.text),
                    Some(Err(reason)) => {
                        ui.add(Label::new(RichText::new(reason).color(tokens.bad)).wrap());
                    }
                    None => {
                        let has_model = !plan.model.is_empty();
                        let text = match (has_model, &live.report) {
                            (false, _) => texts.launch_empty,
                            (true, Some(Err(_))) => texts.launch_refused,
                            (true, _) => texts.launch_waits,
                        };
                        widgets::fact(ui, text);
                    }
                });
        });
}

/// Text that can be selected and not changed; comments stand back. Long lines go on below, and are copied as in the
/// file.
fn text(ui: &mut Ui, texts: &Texts, launch: &str) {
    let mut shown = launch;
    let mut layouter = |ui: &Ui, text: &dyn TextBuffer, width: f32| {
        let job = coloured(ui, text.as_str(), width);
        ui.fonts_mut(|fonts| fonts.layout_job(job))
    };
    ui.add(
        TextEdit::multiline(&mut shown)
            .layouter(&mut layouter)
            .frame(Frame::NONE)
            .margin(Margin::ZERO)
            .desired_width(f32::INFINITY),
    )
    .accessible_name(texts.launch_preview);
}

fn coloured(ui: &Ui, launch: &str, width: f32) -> LayoutJob {
    let tokens = Tokens::of(ui);
    let font = TextStyle::Monospace.resolve(ui.style());
    let mut job = LayoutJob::default();
    job.wrap.max_width = width;
    for line in launch.split_inclusive('\n') {
        let start = line.trim_start().to_ascii_lowercase();
        let comment = ["#", "rem", "::", ";"]
            .iter()
            .any(|mark| start.starts_with(mark));
        let colour = if comment {
            tokens.text_weak
        } else {
            tokens.text
        };
        job.append(line, 0.0, TextFormat::simple(font.clone(), colour));
    }
    job
}

fn buttons(ui: &mut Ui, texts: &Texts, live: &Live, types_paths: bool, queue: &mut Queue) {
    let ready = matches!(live.launch, Some(Ok(_)));
    ui.add_enabled_ui(ready, |ui| {
        ui.horizontal_wrapped(|ui| {
            let save = Command::SaveLaunch;
            if widgets::primary(ui, save.text(texts))
                .on_hover_text(save.hover(texts, ui.ctx()))
                .clicked()
            {
                queue.send(save);
            }
            let copy = Command::CopyLaunch;
            if widgets::ghost(ui, copy.text(texts))
                .on_hover_text(copy.hover(texts, ui.ctx()))
                .clicked()
            {
                queue.send(copy);
            }
            // Without a desktop's dialog, the first button asks for a path as well.
            if types_paths {
                return;
            }
            ui.add_space(GRID);
            let typed = Command::TypeLaunchPath;
            if widgets::link(ui, typed.text(texts))
                .on_hover_text(typed.hover(texts, ui.ctx()))
                .clicked()
            {
                queue.send(typed);
            }
        });
    });
}

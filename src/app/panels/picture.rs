//! The centre: the verdict, then the picture that was chosen.

use eframe::egui::{
    Align, Button, CentralPanel, Frame, Layout, Margin, Rect, RichText, Role, ScrollArea, Stroke,
    Ui, UiBuilder, Vec2, WidgetInfo, pos2,
};

use crate::app::command::{Command, Queue};
use crate::app::format;
use crate::app::state::UiState;
use crate::app::subject::Found;
use crate::app::sweep::SweepKey;
use crate::app::tab::Tab;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{GRID, Tokens};
use crate::app::widgets;
use crate::plan::Plan;
use crate::report::Report;

use super::bars::Judge;
use super::context::Picture;
use super::{advice, bars, curves, inspection, moments, options, speed, table, verdict};

/// Shows the picture; returns a sweep that is wanted and not there yet.
pub(crate) fn picture(
    ui: &mut Ui,
    context: &Picture<'_>,
    plan: &mut Plan,
    state: &mut UiState,
    queue: &mut Queue,
) -> Option<SweepKey> {
    let frame = Frame::new().fill(Tokens::of(ui).canvas);
    let mut wanted = None;
    CentralPanel::no_frame().frame(frame).show(ui, |ui| {
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            Frame::new()
                .inner_margin(Margin::symmetric(22, 16))
                .show(ui, |ui| {
                    widgets::within(ui, |ui| match &context.live.report {
                        Some(Ok(report)) => {
                            wanted = report_ui(ui, context, report, plan, state, queue);
                        }
                        Some(Err(reason)) => {
                            problem(ui, context.texts, reason);
                            ui.add_space(3.0 * GRID);
                            inspection::inspection(ui, context, queue);
                        }
                        None => empty(ui, context, queue),
                    });
                });
        });
    });
    wanted
}

fn report_ui(
    ui: &mut Ui,
    context: &Picture<'_>,
    report: &Report,
    plan: &mut Plan,
    state: &mut UiState,
    queue: &mut Queue,
) -> Option<SweepKey> {
    let texts = context.texts;
    let unknown = uncounted(context);
    verdict::verdict(ui, texts, report, plan, &unknown);
    speed::speed(ui, texts, report);
    advice::advice(ui, context, report, plan, queue);
    tabs(ui, texts, state.tab, queue);
    ui.add_space(2.0 * GRID);
    match state.tab {
        Tab::Memory => {
            moments::moments(ui, texts, report, &mut state.moment);
            let devices = moments::devices(report, state.moment);
            let judge = match report.margin_kept_by_engine() {
                _ if report.lower_bound => Judge::OfLeast,
                _ if !unknown.is_empty() => Judge::Nobody,
                true => Judge::Engine,
                false => Judge::Plan,
            };
            bars::bars(ui, texts, devices, judge, &mut state.highlight);
            ui.add_space(3.0 * GRID);
            table::table(ui, texts, devices, &mut state.highlight);
            None
        }
        Tab::Curves => curves::curves(ui, context, report, plan, state),
        Tab::Options => {
            options::options(ui, context, queue);
            None
        }
        Tab::Model => {
            inspection::inspection(ui, context, queue);
            None
        }
    }
}

/// What should be counted and cannot be, and why: without it nobody can say whether the plan fits.
fn uncounted(context: &Picture<'_>) -> Vec<String> {
    let Picture {
        texts, subjects, ..
    } = context;
    let failed = [
        (subjects.draft.failure(), texts.draft_failed),
        (subjects.beside.failure(), texts.beside_failed),
    ];
    failed
        .into_iter()
        .filter_map(|(reason, text)| Some(fill(text, &[("reason", reason?)])))
        .collect()
}

fn tabs(ui: &mut Ui, texts: &Texts, chosen: Tab, queue: &mut Queue) {
    let tokens = Tokens::of(ui);
    let line = ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0 * GRID;
        ui.spacing_mut().button_padding.x = 0.0;
        for tab in Tab::ALL {
            let selected = tab == chosen;
            let name = tab.text(texts);
            let text = RichText::new(name);
            let text = text.color(if selected {
                tokens.text
            } else {
                tokens.text_weak
            });
            let command = Command::Show(tab);
            let response = ui.add(Button::new(text).frame(false));
            response.widget_info(|| WidgetInfo::selected(Role::Tab, true, selected, name));
            if selected {
                let rect = response.rect;
                let under = Rect::from_min_max(
                    pos2(rect.left(), rect.bottom() + 3.0),
                    pos2(rect.right(), rect.bottom() + 5.0),
                );
                ui.painter().rect_filled(under, 1.0, tokens.accent);
            }
            widgets::focus_ring(ui, response.rect, &response);
            let response = response.on_hover_text(command.hover(texts, ui.ctx()));
            if response.clicked() {
                queue.send(command);
            }
        }
    });
    let y = line.response.rect.bottom() + 4.5;
    let x = line.response.rect.left()..=line.response.rect.left() + ui.available_width();
    ui.painter().hline(x, y, Stroke::new(1.0, tokens.line));
}

/// Something is wrong with the plan itself.
fn problem(ui: &mut Ui, texts: &Texts, reason: &str) {
    let tokens = Tokens::of(ui);
    ui.heading(RichText::new(texts.no_report).color(tokens.bad));
    ui.add_space(GRID);
    ui.label(reason);
}

/// There is no model yet, or something is still being looked for.
fn empty(ui: &mut Ui, context: &Picture<'_>, queue: &mut Queue) {
    let texts = context.texts;
    let tokens = Tokens::of(ui);
    let height = (ui.clip_rect().height() - 2.0 * 16.0).max(260.0);
    let size = Vec2::new(ui.available_width(), height);
    let (_, rect) = ui.allocate_space(size);
    let rect = Rect::from_center_size(rect.center(), Vec2::new(rect.width().min(420.0), 240.0));
    let mut ui = ui.new_child(
        UiBuilder::new()
            .max_rect(rect)
            .layout(Layout::top_down(Align::Center)),
    );
    let (_, mark) = ui.allocate_space(Vec2::splat(72.0));
    widgets::mark(ui.painter(), mark.center(), 26.0, tokens.edge);
    ui.add_space(2.0 * GRID);
    let (title, help, may_choose) = match (&context.subjects.model, &context.subjects.machine) {
        (Found::Absent, _) => (texts.empty_title, machine_line(context), true),
        (Found::Failed(reason), _) => (texts.model_failed, reason.clone(), true),
        (_, Found::Failed(reason)) => (texts.machine_failed, reason.clone(), false),
        (Found::Waiting, _) => (texts.reading_model, String::new(), false),
        (Found::Ready(_), Found::Ready(_)) => (texts.searching, String::new(), false),
        (_, _) => (texts.detecting_title, String::new(), false),
    };
    ui.heading(title);
    ui.add_space(GRID);
    ui.label(RichText::new(help).color(tokens.text_weak));
    ui.add_space(3.0 * GRID);
    if may_choose && widgets::primary(&mut ui, texts.choose_a_model_button).clicked() {
        queue.send(Command::ChooseModel);
    }
}

/// What there is to plan for.
fn machine_line(context: &Picture<'_>) -> String {
    let texts = context.texts;
    let Some(machine) = context.subjects.machine.ready() else {
        return texts.empty_help.to_owned();
    };
    let ram = format::capacity(machine.host.ram);
    let gpus: Vec<String> = machine
        .gpus
        .iter()
        .map(|gpu| {
            let memory = format::capacity(gpu.memory.total);
            format!("{} ({memory})", format::product(&gpu.name))
        })
        .collect();
    match gpus.as_slice() {
        [] => fill(texts.empty_help_no_gpu, &[("ram", &ram)]),
        [first] => fill(texts.empty_help_one, &[("gpu", first), ("ram", &ram)]),
        [first, ..] => fill(
            texts.empty_help_many,
            &[
                ("count", &gpus.len().to_string()),
                ("gpu", first),
                ("ram", &ram),
            ],
        ),
    }
}

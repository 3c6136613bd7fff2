//! Settings that fit, side by side: a click takes them.

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{
    Align2, Color32, FontId, Label, Rect, Response, RichText, Role, ScrollArea, Sense, Stroke,
    TextStyle, Ui, Vec2, WidgetInfo, pos2,
};

use crate::app::command::{Command, Queue};
use crate::app::fitting::{Answer, Found};
use crate::app::format;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;
use crate::projection::grouped;
use crate::report::DeviceReport;

use super::context::Picture;

const ROW_HEIGHT: f32 = 28.0;
/// Height of what is given up, below the figures.
const REMARK_HEIGHT: f32 = 16.0;

/// A column of figures.
struct Column {
    title: String,
    width: f32,
    figure: fn(&Found) -> String,
}

/// Shows what was found.
pub(super) fn options(ui: &mut Ui, context: &Picture<'_>, queue: &mut Queue) {
    let texts = context.texts;
    let Some((answer, fresh)) = context.answer else {
        widgets::fact(ui, texts.searching);
        return;
    };
    match &**answer {
        Answer::Fits(found) => {
            let mut columns = columns(texts, found);
            narrow(ui, &mut columns, found);
            ScrollArea::horizontal()
                .auto_shrink([false, true])
                .show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    head(ui, texts, &columns);
                    for (place, option) in found.iter().enumerate() {
                        let chosen = option.settings == context.live.settings;
                        if row(ui, texts, &columns, option, place == 0, chosen).clicked() {
                            queue.send(Command::Take(place));
                        }
                    }
                });
            ui.add_space(2.0 * GRID);
            widgets::fact(ui, texts.options_help);
        }
        Answer::Impossible(impossible) => {
            // The row above says it too, with what to do about it.
            let message = if fresh {
                texts.no_options
            } else {
                &impossible.message
            };
            widgets::fact(ui, message);
        }
        Answer::Wrong(_) if is_least(context) => {
            // The row above says it too.
            widgets::fact(ui, texts.no_options_of_weights);
        }
        Answer::Wrong(reason) => {
            ui.colored_label(Tokens::of(ui).bad, reason);
        }
    }
}

/// Nothing is wrong: there is nothing to search.
fn is_least(context: &Picture<'_>) -> bool {
    let report = context.live.good_report();
    report.is_some_and(|report| report.lower_bound)
}

/// The columns that have something to say of these.
fn columns(texts: &Texts, found: &[Found]) -> Vec<Column> {
    let column = |title: &str, width: f32, figure: fn(&Found) -> String| Column {
        title: title.to_owned(),
        width,
        figure,
    };
    let mut columns = vec![
        column(texts.weights, 76.0, |found| {
            found.choice.figures.weights.clone()
        }),
        column(texts.context, 66.0, |found| {
            grouped(found.choice.figures.context_per_slot)
        }),
        column(texts.users, 46.0, |found| {
            found.choice.figures.slots.to_string()
        }),
        column(texts.cache_column, 76.0, |found| {
            found.choice.figures.cache_word()
        }),
        column(texts.layers_column, 62.0, |found| {
            let (on_gpu, layers) = found.choice.figures.gpu_layers;
            format!("{on_gpu}/{layers}")
        }),
    ];
    let experts = |found: &Found| found.choice.figures.expert_layers_in_ram > 0;
    if found.iter().any(experts) {
        columns.push(column(texts.experts_column, 62.0, |found| {
            found.choice.figures.expert_layers_in_ram.to_string()
        }));
    }
    columns.push(column(texts.speed_column, 74.0, |found| {
        let speed = found.report.speed.as_ref();
        speed.map_or_else(|| "–".to_owned(), |speed| format::range(speed.decode))
    }));
    let title = format!("{}, {}", texts.free_row, texts.gib);
    columns.push(column(&title, 72.0, |found| {
        let free = free(found);
        free.trim_end_matches(" GiB").to_owned()
    }));
    columns
}

/// Where the columns are wider than what is shown of them, each takes what its words need.
fn narrow(ui: &Ui, columns: &mut [Column], found: &[Found]) {
    let all: f32 = columns.iter().map(|column| column.width).sum();
    if all + 3.0 * GRID <= ui.available_width() {
        return;
    }
    let colour = Tokens::of(ui).text;
    let measure = |text: String, style: TextStyle| {
        let font = style.resolve(ui.style());
        ui.painter().layout_no_wrap(text, font, colour).size().x
    };
    for column in columns {
        let title = measure(column.title.clone(), theme::small());
        let figures = found.iter();
        let widths = figures.map(|found| measure((column.figure)(found), TextStyle::Body));
        column.width = widths.fold(title, f32::max) + 3.0 * GRID;
    }
}

fn free(found: &Found) -> String {
    let free = found.report.tightest().map(DeviceReport::free);
    format::gib_difference(free.unwrap_or_default(), 1)
}

fn line(ui: &mut Ui, columns: &[Column], height: f32, sense: Sense) -> (Response, Rect) {
    let figures: f32 = columns.iter().map(|column| column.width).sum();
    let width = ui.available_width().max(figures + 3.0 * GRID);
    let (rect, response) = ui.allocate_exact_size(Vec2::new(width, height), sense);
    let stroke = Stroke::new(1.0, Tokens::of(ui).line);
    ui.painter()
        .hline(rect.x_range(), rect.bottom() - 0.5, stroke);
    (response, rect)
}

/// Writes the cells of a row; the first stands at the left, figures end where their column ends.
fn cells<'a>(
    ui: &Ui,
    rect: Rect,
    columns: &[Column],
    cells: impl Iterator<Item = &'a str>,
    font: &FontId,
    colour: Color32,
) {
    let mut left = rect.left() + 8.0;
    for (index, (text, column)) in cells.zip(columns).enumerate() {
        let (x, align) = if index == 0 {
            (left, Align2::LEFT_CENTER)
        } else {
            (left + column.width, Align2::RIGHT_CENTER)
        };
        let at = pos2(x, rect.center().y);
        ui.painter().text(at, align, text, font.clone(), colour);
        left += column.width;
    }
}

/// Writes a line of small print, cut where it is too long.
fn small_print(ui: &Ui, rect: Rect, text: &str) {
    let weak = Tokens::of(ui).text_weak;
    let font = theme::small().resolve(ui.style());
    let mut job = LayoutJob::simple_singleline(text.to_owned(), font, weak);
    job.wrap = TextWrapping::truncate_at_width((rect.width() - 16.0).max(0.0));
    let galley = ui.painter().layout_job(job);
    let at = pos2(rect.left() + 8.0, rect.center().y - galley.size().y / 2.0);
    ui.painter().galley(at, galley, weak);
}

fn head(ui: &mut Ui, texts: &Texts, columns: &[Column]) {
    let (response, rect) = line(ui, columns, ROW_HEIGHT, Sense::hover());
    let titles: Vec<&str> = columns.iter().map(|column| column.title.as_str()).collect();
    let spoken = format!("{}, {}", titles.join(", "), texts.gives_up);
    response.widget_info(|| WidgetInfo::labeled(Role::RowHeader, true, &spoken));
    let font = theme::small().resolve(ui.style());
    let weak = Tokens::of(ui).text_weak;
    cells(ui, rect, columns, titles.into_iter(), &font, weak);
}

fn row(
    ui: &mut Ui,
    texts: &Texts,
    columns: &[Column],
    found: &Found,
    best: bool,
    chosen: bool,
) -> Response {
    let height = ROW_HEIGHT + REMARK_HEIGHT;
    let (response, rect) = line(ui, columns, height, Sense::click());
    let tokens = Tokens::of(ui);
    let spoken = format!("{}, {}", sentence(texts, found), free(found));
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, chosen, &spoken));
    if chosen {
        ui.painter().rect_filled(rect, 0.0, tokens.selection);
    } else if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, 0.0, tokens.field);
    }
    let said = found.choice.remark();
    let remark = if best && found.choice.gives_up.is_empty() {
        texts.best
    } else {
        &said
    };
    let figures: Vec<String> = columns
        .iter()
        .map(|column| (column.figure)(found))
        .collect();
    let figures = figures.iter().map(String::as_str);
    let font = TextStyle::Body.resolve(ui.style());
    let split = rect.top() + ROW_HEIGHT;
    cells(
        ui,
        rect.with_max_y(split),
        columns,
        figures,
        &font,
        tokens.text,
    );
    let below = Rect::from_x_y_ranges(rect.x_range(), split - 6.0..=rect.bottom() - 4.0);
    small_print(ui, below, remark);
    widgets::focus_ring(ui, rect.shrink(2.0), &response);
    response.on_hover_ui_at_pointer(|ui| details(ui, texts, found))
}

/// What a choice is, in one line.
pub(super) fn sentence(texts: &Texts, found: &Found) -> String {
    let figures = &found.choice.figures;
    let mut parts = Vec::new();
    if !figures.weights.is_empty() {
        parts.push(figures.weights.clone());
    }
    if figures.context_per_slot > 0 {
        let count = grouped(figures.context_per_slot);
        parts.push(fill(texts.tokens, &[("count", &count)]));
    }
    match figures.slots {
        0 => {}
        1 => parts.push(texts.one_user.to_owned()),
        users => parts.push(fill(texts.some_users, &[("count", &users.to_string())])),
    }
    if !figures.cache.0.is_empty() {
        parts.push(fill(texts.cache_in, &[("format", &figures.cache_word())]));
    }
    let (on_gpu, layers) = figures.gpu_layers;
    if layers > 0 && on_gpu >= layers && figures.expert_layers_in_ram == 0 {
        parts.push(texts.all_on_gpu.to_owned());
    } else if layers > 0 && on_gpu < layers {
        let (part, all) = (on_gpu.to_string(), layers.to_string());
        parts.push(fill(texts.part_on_gpu, &[("part", &part), ("all", &all)]));
    }
    if figures.expert_layers_in_ram > 0 {
        let count = figures.expert_layers_in_ram.to_string();
        parts.push(fill(texts.experts_in_ram, &[("count", &count)]));
    }
    if let Some(speed) = &found.report.speed {
        let range = format::range(speed.decode);
        parts.push(fill(texts.decode, &[("range", &range)]));
    }
    parts.join(", ")
}

/// All there is to say of a choice.
pub(super) fn details(ui: &mut Ui, texts: &Texts, found: &Found) {
    let Found { choice, report, .. } = found;
    ui.label(RichText::new(sentence(texts, found)).text_style(theme::strong()));
    let remark = choice.remark();
    if !remark.is_empty() {
        ui.add(Label::new(remark).wrap());
    }
    ui.add_space(GRID);
    for device in &report.devices {
        let name = format::device(device, texts);
        let free = format::gib_difference(device.free(), 2);
        let free = fill(texts.free, &[("free", &free)]);
        widgets::fact(ui, format!("{name}: {free}"));
    }
    ui.add_space(GRID);
    for (name, value) in &choice.set {
        widgets::fact(ui, format!("{name} = {}", format::value(value, texts)));
    }
    for name in &choice.unset {
        widgets::fact(ui, format!("{name}: {}", texts.automatic));
    }
}

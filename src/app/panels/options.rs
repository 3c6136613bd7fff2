//! Settings that fit, side by side: a click takes them.

use eframe::egui::{
    Align2, FontId, Label, Rect, Response, RichText, Role, Sense, Stroke, TextStyle, Ui, Vec2,
    WidgetInfo, pos2,
};

use crate::advisor::Choice;
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
/// Widths of the columns of figures; what is given up has the rest.
const WIDTHS: [f32; 5] = [88.0, 74.0, 52.0, 78.0, 84.0];

/// Shows what was found.
pub(super) fn options(ui: &mut Ui, context: &Picture<'_>, queue: &mut Queue) {
    let texts = context.texts;
    let Some((answer, fresh)) = context.answer else {
        widgets::fact(ui, texts.searching);
        return;
    };
    match &**answer {
        Answer::Fits(found) => {
            ui.spacing_mut().item_spacing.y = 0.0;
            head(ui, texts);
            for (place, option) in found.iter().enumerate() {
                let chosen = option.settings == context.live.settings;
                if row(ui, texts, option, place == 0, chosen).clicked() {
                    queue.send(Command::Take(place));
                }
            }
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
        Answer::Wrong(reason) => {
            ui.colored_label(Tokens::of(ui).bad, reason);
        }
    }
}

fn line(ui: &mut Ui, sense: Sense) -> (Response, Rect) {
    let size = Vec2::new(ui.available_width(), ROW_HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, sense);
    let stroke = Stroke::new(1.0, Tokens::of(ui).line);
    ui.painter()
        .hline(rect.x_range(), rect.bottom() - 0.5, stroke);
    (response, rect)
}

/// Writes the cells of a row; the first stands at the left, figures end where their column ends.
fn cells(ui: &Ui, rect: Rect, cells: [&str; 5], remark: &str, font: &FontId, weak: bool) {
    let tokens = Tokens::of(ui);
    let colour = if weak { tokens.text_weak } else { tokens.text };
    let mut left = rect.left() + 8.0;
    for (index, (text, width)) in cells.iter().zip(WIDTHS).enumerate() {
        let (x, align) = if index == 0 {
            (left, Align2::LEFT_CENTER)
        } else {
            (left + width, Align2::RIGHT_CENTER)
        };
        let at = pos2(x, rect.center().y);
        ui.painter().text(at, align, text, font.clone(), colour);
        left += width;
    }
    let left = left + 4.0 * GRID;
    let mut job = eframe::egui::text::LayoutJob::simple_singleline(
        remark.to_owned(),
        theme::small().resolve(ui.style()),
        tokens.text_weak,
    );
    let width = (rect.right() - left - 4.0).max(0.0);
    job.wrap = eframe::egui::text::TextWrapping::truncate_at_width(width);
    let galley = ui.painter().layout_job(job);
    let at = pos2(left, rect.center().y - galley.size().y / 2.0);
    ui.painter().galley(at, galley, tokens.text_weak);
}

fn head(ui: &mut Ui, texts: &Texts) {
    let (response, rect) = line(ui, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::RowHeader, true, texts.gives_up));
    let font = theme::small().resolve(ui.style());
    let free = format!("{}, {}", texts.free_row, texts.gib);
    let names = [
        texts.weights,
        texts.context,
        texts.users,
        texts.speed_column,
        &free,
    ];
    cells(ui, rect, names, texts.gives_up, &font, true);
}

fn row(ui: &mut Ui, texts: &Texts, found: &Found, best: bool, chosen: bool) -> Response {
    let (response, rect) = line(ui, Sense::click());
    let tokens = Tokens::of(ui);
    let figures = &found.choice.figures;
    let speed = found.report.speed.as_ref();
    let speed = speed.map_or_else(|| "–".to_owned(), |speed| format::range(speed.decode));
    let free = found.report.tightest().map(DeviceReport::free);
    let free = format::gib_difference(free.unwrap_or_default(), 1);
    let spoken = format!("{}, {free}", sentence(texts, found));
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, chosen, &spoken));
    if chosen {
        ui.painter().rect_filled(rect, 0.0, tokens.selection);
    } else if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, 0.0, tokens.field);
    }
    let Choice {
        gives_up, good_for, ..
    } = &found.choice;
    let remark = match (gives_up.as_str(), best) {
        ("", true) => texts.best,
        ("", false) => good_for,
        (gives_up, _) => gives_up,
    };
    let context = grouped(figures.context_per_slot);
    let users = figures.slots.to_string();
    let free = free.trim_end_matches(" GiB");
    let figures = [figures.weights.as_str(), &context, &users, &speed, free];
    let font = TextStyle::Body.resolve(ui.style());
    cells(ui, rect, figures, remark, &font, false);
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
    let (keys, values) = (&figures.cache.0, &figures.cache.1);
    if keys == values && !keys.is_empty() {
        parts.push(fill(texts.cache_in, &[("format", keys)]));
    } else if !keys.is_empty() {
        let both = format!("{keys}/{values}");
        parts.push(fill(texts.cache_in, &[("format", &both)]));
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
    for text in [&choice.good_for, &choice.gives_up] {
        if !text.is_empty() {
            ui.add(Label::new(text).wrap());
        }
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

//! The numbers behind the bars: a row per category, a column per device, GiB.

mod line;

use eframe::egui::{Align2, Role, ScrollArea, Ui, WidgetInfo, pos2, style::ScrollStyle};

use crate::app::format;
use crate::app::sweep::by_category;
use crate::app::texts::Texts;
use crate::app::theme::GRID;
use crate::app::widgets::Whose;
use crate::projection::{Category, DeviceTerms};
use crate::report::DeviceReport;
use crate::units::Bytes;

use super::why;
use line::{Columns, line};

const NAME_WIDTH: f32 = 148.0;
const FIGURE_WIDTH: f32 = 74.0;

/// Shows the table; a click on a row points its category out in the bars.
pub(super) fn table(
    ui: &mut Ui,
    texts: &Texts,
    devices: &[DeviceReport],
    highlight: &mut Option<Category>,
) {
    let figures = FIGURE_WIDTH * devices.len() as f32;
    // Names give way before figures do.
    let name = (ui.available_width() - figures - 16.0).clamp(NAME_WIDTH - 36.0, NAME_WIDTH);
    let columns = Columns {
        name,
        detail: (ui.available_width() - NAME_WIDTH - figures - 16.0).max(0.0),
        figure: FIGURE_WIDTH,
    };
    // A bar that is always seen where columns are out of sight, and does not lie over the last row.
    ui.spacing_mut().scroll = ScrollStyle {
        foreground_color: true,
        ..ScrollStyle::solid()
    };
    ScrollArea::horizontal()
        .auto_shrink([false, true])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            head(ui, texts, devices, columns);
            for category in categories(devices) {
                category_row(ui, texts, devices, columns, category, highlight);
            }
            total_row(ui, texts, devices, columns);
            in_use_row(ui, texts, devices, columns);
            beside_row(ui, texts, devices, columns);
            capacity_row(ui, texts, devices, columns);
            free_row(ui, texts, devices, columns);
        });
}

/// Categories that take memory somewhere, in order.
fn categories(devices: &[DeviceReport]) -> Vec<Category> {
    Category::ALL
        .into_iter()
        .filter(|category| {
            devices
                .iter()
                .any(|device| most_of(&device.terms, *category) != Bytes::ZERO)
        })
        .collect()
}

fn bytes_of(terms: &DeviceTerms, category: Category) -> Bytes {
    by_category(terms)
        .into_iter()
        .find(|(known, _)| *known == category)
        .map_or(Bytes::ZERO, |(_, bytes)| bytes)
}

/// Bytes at most, where it grows as the engine is used.
fn most_of(terms: &DeviceTerms, category: Category) -> Bytes {
    terms
        .terms
        .iter()
        .filter(|term| term.category == category)
        .map(|term| term.range.1)
        .sum()
}

fn head(ui: &mut Ui, texts: &Texts, devices: &[DeviceReport], columns: Columns) {
    let (response, line) = line(ui, devices, columns);
    response.widget_info(|| WidgetInfo::labeled(Role::RowHeader, true, texts.gib));
    let weak = line.tokens.text_weak;
    for (index, device) in devices.iter().enumerate() {
        line.figure(
            index,
            &format::device(device, texts),
            &line.small.clone(),
            weak,
        );
    }
    line.ground(false);
    let at = pos2(line.names + 8.0, line.rect.center().y);
    line.painter
        .text(at, Align2::LEFT_CENTER, texts.gib, line.small.clone(), weak);
}

fn category_row(
    ui: &mut Ui,
    texts: &Texts,
    devices: &[DeviceReport],
    columns: Columns,
    category: Category,
    highlight: &mut Option<Category>,
) {
    let (response, line) = line(ui, devices, columns);
    let name = texts.category(category);
    let figures: Vec<Bytes> = devices
        .iter()
        .map(|device| bytes_of(&device.terms, category))
        .collect();
    response.widget_info(|| {
        WidgetInfo::labeled(
            Role::Button,
            true,
            spoken(texts, name, line.devices, &figures),
        )
    });
    let lit = *highlight == Some(category) || response.hovered() || response.has_focus();
    if lit {
        line.light(line.rect);
    }
    line.detail(&detail(devices, category));
    for (index, bytes) in figures.iter().enumerate() {
        let terms = devices.get(index).map(|device| &device.terms);
        let most = terms.map_or(Bytes::ZERO, |terms| most_of(terms, category));
        if *bytes == Bytes::ZERO && most != Bytes::ZERO {
            let range = format!("0–{}", format::gib(most));
            let weak = line.tokens.text_weak;
            line.figure(index, &range, &line.body.clone(), weak);
        } else {
            line.bytes(index, *bytes, &line.body.clone());
        }
    }
    line.ground(lit);
    line.swatch(line.tokens.category(category));
    line.name(name, &line.body.clone(), 26.0);
    if response.clicked() {
        *highlight = if *highlight == Some(category) {
            None
        } else {
            Some(category)
        };
    }
    response.on_hover_ui_at_pointer(|ui| {
        for device in devices {
            if most_of(&device.terms, category) != Bytes::ZERO {
                why::segment(
                    ui,
                    texts,
                    &format::device(device, texts),
                    device,
                    Whose::Plan(category),
                );
                ui.add_space(2.0 * GRID);
            }
        }
    });
}

/// The reason of the category's largest term, which says most of it.
fn detail(devices: &[DeviceReport], category: Category) -> String {
    devices
        .iter()
        .flat_map(|device| &device.terms.terms)
        .filter(|term| term.category == category)
        .max_by_key(|term| (term.bytes, term.range.1))
        .map(|term| term.why.text())
        .unwrap_or_default()
}

fn in_use_row(ui: &mut Ui, texts: &Texts, devices: &[DeviceReport], columns: Columns) {
    let (response, line) = line(ui, devices, columns);
    let devices = devices.iter();
    let figures: Vec<Bytes> = devices.map(DeviceReport::in_use_by_others).collect();
    response.widget_info(|| {
        let spoken = spoken(texts, texts.in_use, line.devices, &figures);
        WidgetInfo::labeled(Role::Row, true, spoken)
    });
    line.detail(texts.by_others);
    for (index, bytes) in figures.iter().enumerate() {
        line.bytes(index, *bytes, &line.body.clone());
    }
    line.ground(false);
    line.swatch(line.tokens.in_use);
    line.name(texts.in_use, &line.body.clone(), 26.0);
}

/// What runs beside this plan; nothing where nothing does.
fn beside_row(ui: &mut Ui, texts: &Texts, devices: &[DeviceReport], columns: Columns) {
    let mut names: Vec<&str> = Vec::new();
    for neighbour in devices.iter().flat_map(|device| &device.beside) {
        if !names.contains(&neighbour.plan.as_str()) {
            names.push(&neighbour.plan);
        }
    }
    if names.is_empty() {
        return;
    }
    let (response, line) = line(ui, devices, columns);
    let taken = |device: &DeviceReport| device.beside.iter().map(|neighbour| neighbour.bytes).sum();
    let figures: Vec<Bytes> = devices.iter().map(taken).collect();
    response.widget_info(|| {
        let spoken = spoken(texts, texts.beside, line.devices, &figures);
        WidgetInfo::labeled(Role::Row, true, spoken)
    });
    line.detail(&names.join(", "));
    for (index, bytes) in figures.iter().enumerate() {
        line.bytes(index, *bytes, &line.body.clone());
    }
    line.ground(false);
    line.swatch(line.tokens.accent);
    line.name(texts.beside, &line.body.clone(), 26.0);
    response.on_hover_text(texts.beside_help);
}

fn total_row(ui: &mut Ui, texts: &Texts, devices: &[DeviceReport], columns: Columns) {
    let (response, line) = line(ui, devices, columns);
    let figures: Vec<Bytes> = devices.iter().map(DeviceReport::total).collect();
    response.widget_info(|| {
        let spoken = spoken(texts, texts.total, line.devices, &figures);
        WidgetInfo::labeled(Role::Row, true, spoken)
    });
    line.detail(texts.this_plan);
    for (index, bytes) in figures.iter().enumerate() {
        line.bytes(index, *bytes, &line.strong.clone());
    }
    line.ground(false);
    line.name(texts.total, &line.strong.clone(), 8.0);
}

fn capacity_row(ui: &mut Ui, texts: &Texts, devices: &[DeviceReport], columns: Columns) {
    let (response, line) = line(ui, devices, columns);
    let figures: Vec<Bytes> = devices.iter().map(|device| device.capacity).collect();
    response.widget_info(|| {
        let spoken = spoken(texts, texts.capacity, line.devices, &figures);
        WidgetInfo::labeled(Role::Row, true, spoken)
    });
    for (index, bytes) in figures.iter().enumerate() {
        line.bytes(index, *bytes, &line.body.clone());
    }
    line.ground(false);
    line.name(texts.capacity, &line.body.clone(), 8.0);
}

fn free_row(ui: &mut Ui, texts: &Texts, devices: &[DeviceReport], columns: Columns) {
    let (response, line) = line(ui, devices, columns);
    let figures: Vec<String> = devices
        .iter()
        .map(|device| format::gib_difference(device.free(), 2))
        .collect();
    response.widget_info(|| {
        let mut spoken = texts.free_row.to_owned();
        for (device, figure) in line.devices.iter().zip(&figures) {
            spoken.push_str(", ");
            spoken.push_str(&format::device(device, texts));
            spoken.push(' ');
            spoken.push_str(figure);
        }
        WidgetInfo::labeled(Role::Row, true, spoken)
    });
    for (index, (device, figure)) in devices.iter().zip(&figures).enumerate() {
        let colour = if device.free() < 0 {
            line.tokens.bad
        } else {
            line.tokens.text
        };
        let figure = figure.trim_end_matches(" GiB");
        line.figure(index, figure, &line.body.clone(), colour);
    }
    line.ground(false);
    line.name(texts.free_row, &line.body.clone(), 8.0);
}

/// A row for screen readers: "Weights, GPU 0 9.48 GiB, RAM 0.41 GiB".
fn spoken(texts: &Texts, name: &str, devices: &[DeviceReport], figures: &[Bytes]) -> String {
    let mut spoken = name.to_owned();
    for (device, bytes) in devices.iter().zip(figures) {
        spoken.push_str(", ");
        spoken.push_str(&format::device(device, texts));
        spoken.push(' ');
        spoken.push_str(&format::gib(*bytes));
        spoken.push_str(" GiB");
    }
    spoken
}

//! One bar per device. GPUs share one axis; main memory has its own where it is much larger.

use eframe::egui::{Align, Label, Layout, RichText, Sense, Ui, UiBuilder, Vec2};

use crate::app::format;
use crate::app::sweep::by_category;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets::{self, Axis, Segment, Whose};
use crate::projection::Category;
use crate::report::{DeviceKind, DeviceReport};
use crate::units::Bytes;

use super::why;

/// More GPUs than this get thin bars.
const ROOMY: usize = 4;
/// Widths of name and figure beside thin bars.
const COMPACT_NAME: f32 = 104.0;
const COMPACT_ROOM: f32 = 104.0;
/// Main memory that is so many times larger than the largest GPU gets an axis of its own.
const MUCH_LARGER: u64 = 2;

/// Who says what room is enough.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Judge {
    /// The plan.
    Plan,
    /// The engine, which keeps less on purpose.
    Engine,
    /// Nobody: something of the plan is not known.
    Nobody,
    /// Nobody, since more is needed than is counted.
    OfLeast,
}

/// Shows the bars; a click on a segment points its category out.
pub(super) fn bars(
    ui: &mut Ui,
    texts: &Texts,
    devices: &[DeviceReport],
    judge: Judge,
    highlight: &mut Option<Category>,
) {
    let full = |device: &DeviceReport| device.capacity.max(device.in_use + device.total());
    let is_host = |device: &&DeviceReport| device.kind == DeviceKind::Host;
    let gpus: Vec<&DeviceReport> = devices.iter().filter(|d| !is_host(d)).collect();
    let of_gpus = gpus.iter().map(|d| full(d)).max().unwrap_or_default();
    let of_host = devices
        .iter()
        .filter(is_host)
        .map(full)
        .max()
        .unwrap_or_default();
    let compact = gpus.len() > ROOMY;
    let height = if compact { 18.0 } else { 32.0 };
    let own_axis = gpus.is_empty() || of_host > of_gpus * MUCH_LARGER;
    for device in devices {
        let full = match (device.kind == DeviceKind::Host, own_axis) {
            (true, true) => of_host,
            (_, true) => of_gpus,
            (_, false) => of_gpus.max(of_host),
        };
        let axis = Axis { full, height };
        if compact {
            compact_device(ui, texts, device, axis, judge, highlight);
        } else {
            head(ui, texts, device, judge);
            device_bar(ui, texts, device, axis, highlight);
            ui.add_space(GRID);
        }
    }
}

/// Name, bar and room on one line, for machines with many GPUs.
fn compact_device(
    ui: &mut Ui,
    texts: &Texts,
    device: &DeviceReport,
    axis: Axis,
    judge: Judge,
    highlight: &mut Option<Category>,
) {
    let height = axis.height + 14.0;
    let (_, rect) = ui.allocate_space(Vec2::new(ui.available_width(), height));
    ui.add_space(-2.0);
    // The bar keeps a third, however little there is.
    let share = (rect.width() / 3.0).max(0.0);
    let (left, right) = (
        rect.left() + COMPACT_NAME.min(share),
        rect.right() - COMPACT_ROOM.min(share),
    );
    let parts = [
        rect.with_max_x(left),
        rect.with_min_x(left).with_max_x(right),
        rect.with_min_x(right),
    ];
    let [name, bar, room] = parts;
    let mut part = |rect, layout| ui.new_child(UiBuilder::new().max_rect(rect).layout(layout));
    let left = Layout::left_to_right(Align::Center);
    let title = RichText::new(format::device(device, texts)).text_style(theme::strong());
    part(name, left)
        .add(Label::new(title).truncate().sense(Sense::hover()))
        .on_hover_text(&device.name);
    let words = free_text(&part(room, left), texts, device, judge);
    part(room, Layout::right_to_left(Align::Center)).add(Label::new(words));
    device_bar(
        &mut part(bar, Layout::top_down(Align::Min)),
        texts,
        device,
        axis,
        highlight,
    );
}

fn device_bar(
    ui: &mut Ui,
    texts: &Texts,
    device: &DeviceReport,
    axis: Axis,
    highlight: &mut Option<Category>,
) {
    let name = format::device(device, texts);
    let categories = by_category(&device.terms);
    let labels = segment_labels(texts, device, &categories);
    let segments: Vec<Segment<'_>> = labels
        .iter()
        .map(|label| Segment {
            whose: label.whose,
            bytes: label.bytes,
            labels: [&label.long, &label.short],
            name: format!("{name}, {}", label.spoken),
        })
        .collect();
    let id = ui.scope_id().with(&device.id);
    let (responses, line) = widgets::bar(ui, id, axis, device.capacity, &segments, *highlight);
    line.on_hover_ui(|ui| why::load_line(ui, texts, device));
    for (segment, response) in segments.iter().zip(responses) {
        if response.clicked() {
            let category = segment.whose.category();
            *highlight = category.filter(|category| *highlight != Some(*category));
        }
        let why = |ui: &mut Ui| why::segment(ui, texts, &name, device, segment.whose);
        if response.has_focus() && !response.hovered() {
            response.show_tooltip_ui(why);
        } else {
            response.on_hover_ui(why);
        }
    }
}

/// How much is left, or over, in its colour.
fn free_text(ui: &Ui, texts: &Texts, device: &DeviceReport, judge: Judge) -> RichText {
    let tokens = Tokens::of(ui);
    let free = device.free();
    let (words, colour) = if free < 0 {
        let over = format::gib_difference(free.saturating_neg(), 2);
        (fill(texts.over, &[("over", &over)]), tokens.bad)
    } else {
        // An unused card is nobody's worry.
        let kept = device.total() != Bytes::ZERO;
        let tight = kept && Bytes::new(free.unsigned_abs()) < device.margin;
        let free = format::gib_difference(free, 2);
        let colour = match (judge, tight) {
            (Judge::Plan, true) => tokens.warn,
            (Judge::Plan | Judge::Engine, false) => tokens.good,
            (Judge::Engine, true) | (Judge::Nobody | Judge::OfLeast, _) => tokens.text,
        };
        let words = match judge {
            Judge::OfLeast if kept => texts.at_most_free,
            _ => texts.free,
        };
        (fill(words, &[("free", &free)]), colour)
    };
    RichText::new(words)
        .text_style(theme::small_strong())
        .color(colour)
}

fn head(ui: &mut Ui, texts: &Texts, device: &DeviceReport, judge: Judge) {
    let name = format::device(device, texts);
    ui.horizontal(|ui| {
        let product = format::product(&device.name);
        let title = if product == name {
            name.clone()
        } else {
            format!("{name} · {product}")
        };
        let words = free_text(ui, texts, device, judge);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            // The mark stands a little within the edge; figures end where it does.
            ui.add_space(16.0);
            ui.add(Label::new(words).sense(Sense::hover()))
                .on_hover_ui(|ui| why::load_line(ui, texts, device));
            if ui.available_width() > 300.0 {
                let total = format::capacity(device.capacity);
                widgets::fact(ui, fill(texts.of, &[("total", &total)]))
                    .on_hover_ui(|ui| why::load_line(ui, texts, device));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let title = RichText::new(title).text_style(theme::strong());
                ui.add(Label::new(title).truncate().sense(Sense::hover()))
                    .on_hover_text(&device.name);
            });
        });
    });
}

struct SegmentLabel {
    whose: Whose,
    bytes: Bytes,
    long: String,
    short: String,
    spoken: String,
}

fn segment_labels(
    texts: &Texts,
    device: &DeviceReport,
    categories: &[(Category, Bytes)],
) -> Vec<SegmentLabel> {
    let label = |whose: Whose, word: &str, bytes: Bytes| {
        let figure = format::gib_short(bytes);
        SegmentLabel {
            whose,
            bytes,
            long: format!("{word} {figure}"),
            spoken: format!("{word}, {bytes}"),
            short: figure,
        }
    };
    let mut labels = Vec::with_capacity(categories.len() + 1 + device.beside.len());
    let others = device.in_use_by_others();
    if others != Bytes::ZERO {
        labels.push(label(Whose::Others, texts.in_use, others));
    }
    let beside = device.beside.iter().enumerate();
    labels.extend(
        beside.map(|(place, neighbour)| {
            label(Whose::Beside(place), &neighbour.plan, neighbour.bytes)
        }),
    );
    let own = categories.iter();
    labels.extend(
        own.map(|(category, bytes)| {
            label(Whose::Plan(*category), texts.category(*category), *bytes)
        }),
    );
    labels
}

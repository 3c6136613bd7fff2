//! Why a number is what it is, under the pointer.

use eframe::egui::{Label, RichText, Ui};

use crate::app::format;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets::{self, Whose};
use crate::projection::{Term, grouped};
use crate::report::{DeviceKind, DeviceReport};
use crate::units::Bytes;

/// Most terms explained in one tooltip; the rest are summed.
const MOST: usize = 8;

/// Explains one part of a device's bar.
pub(super) fn segment(ui: &mut Ui, texts: &Texts, name: &str, device: &DeviceReport, whose: Whose) {
    let category = match whose {
        Whose::Plan(category) => category,
        Whose::Others => {
            title(ui, name, texts.in_use, device.in_use_by_others());
            widgets::fact(ui, texts.in_use_help);
            return;
        }
        Whose::Beside(place) => {
            if let Some(neighbour) = device.beside.get(place) {
                title(ui, name, &neighbour.plan, neighbour.bytes);
                widgets::fact(ui, texts.beside_help);
            }
            return;
        }
    };
    let terms: Vec<&Term> = device
        .terms
        .terms
        .iter()
        .filter(|term| term.category == category)
        .collect();
    let total = terms.iter().map(|term| term.bytes).sum();
    title(ui, name, texts.category(category), total);
    for term in terms.iter().take(MOST) {
        explain(ui, texts, term, terms.len() > 1);
    }
    let rest: Bytes = terms.iter().skip(MOST).map(|term| term.bytes).sum();
    if terms.len() > MOST {
        widgets::fact(ui, format!("… {rest}"));
    }
}

/// Explains what a device can hold, and what of it is spoken for.
pub(super) fn load_line(ui: &mut Ui, texts: &Texts, device: &DeviceReport) {
    let name = format::device(device, texts);
    ui.label(RichText::new(format!("{} · {name}", texts.load_line)).text_style(theme::strong()));
    widgets::fact(ui, &device.name);
    let mut line = |text: &str, name: &str, bytes: Bytes, kept: Bytes| {
        let values = [(name, bytes.to_string()), ("kept", kept.to_string())];
        let values: Vec<(&str, &str)> = values
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        ui.add(Label::new(fill(text, &values)).wrap());
    };
    let reserve = device.driver_total.saturating_sub(device.capacity);
    if reserve == Bytes::ZERO {
        line(texts.usable_all_help, "capacity", device.capacity, reserve);
    } else {
        line(texts.of_help, "total", device.driver_total, reserve);
        line(texts.usable_help, "capacity", device.capacity, reserve);
    }
    let others = device.in_use_by_others();
    line(texts.in_use_by_others, "size", others, reserve);
    for neighbour in &device.beside {
        let beside = format!("{}: {}", neighbour.bytes, neighbour.plan);
        line(&beside, "", Bytes::ZERO, reserve);
    }
    line(texts.taken_by_plan, "size", device.total(), reserve);
    // Main memory has no hidden user to keep something free for.
    if device.kind != DeviceKind::Host {
        line(texts.kept_help, "size", device.margin, reserve);
    }
}

fn title(ui: &mut Ui, device: &str, what: &str, bytes: Bytes) {
    let text = format!("{what} · {bytes}");
    ui.label(RichText::new(text).text_style(theme::strong()));
    widgets::fact(ui, format!("{device} · {}", grouped(bytes.get()) + " B"));
}

fn explain(ui: &mut Ui, texts: &Texts, term: &Term, several: bool) {
    ui.add_space(GRID);
    let text = term.why.text();
    let text = if several {
        format!("{} — {text}", term.bytes)
    } else {
        text
    };
    // What is not of the model itself says what it is of.
    let text = match texts.part(term.part) {
        Some(part) => format!("{part}: {text}"),
        None => text,
    };
    ui.add(Label::new(text).wrap());
    let (low, high) = term.range;
    if low != high {
        widgets::fact(ui, format!("{low} – {high}"));
    }
    let weak = Tokens::of(ui).text_weak;
    let source = RichText::new(term.why.source)
        .text_style(theme::small())
        .color(weak);
    ui.add(Label::new(source.italics()).wrap());
}

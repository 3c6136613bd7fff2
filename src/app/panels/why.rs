//! Why a number is what it is, under the pointer.

use eframe::egui::{Label, RichText, Ui};

use crate::app::texts::Texts;
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;
use crate::projection::{Category, Term, grouped};
use crate::report::DeviceReport;
use crate::units::Bytes;

/// Most terms explained in one tooltip; the rest are summed.
const MOST: usize = 8;

/// Explains one category on one device; no category: what others use.
pub(super) fn segment(
    ui: &mut Ui,
    texts: &Texts,
    name: &str,
    device: &DeviceReport,
    category: Option<Category>,
) {
    let Some(category) = category else {
        title(ui, name, texts.in_use, device.in_use);
        widgets::fact(ui, texts.in_use_help);
        return;
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
        explain(ui, term, terms.len() > 1);
    }
    let rest: Bytes = terms.iter().skip(MOST).map(|term| term.bytes).sum();
    if terms.len() > MOST {
        widgets::fact(ui, format!("… {rest}"));
    }
}

fn title(ui: &mut Ui, device: &str, what: &str, bytes: Bytes) {
    let text = format!("{what} · {bytes}");
    ui.label(RichText::new(text).text_style(theme::strong()));
    widgets::fact(ui, format!("{device} · {}", grouped(bytes.get()) + " B"));
}

fn explain(ui: &mut Ui, term: &Term, several: bool) {
    ui.add_space(GRID);
    let text = term.why.text();
    let text = if several {
        format!("{} — {text}", term.bytes)
    } else {
        text
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

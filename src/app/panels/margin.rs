//! Memory to keep free on each GPU: part of the plan, not of any engine.

use eframe::egui::{RichText, Ui};

use crate::app::texts::Texts;
use crate::app::theme::Tokens;
use crate::app::widgets::{self, NumberField};
use crate::engine::Margin;
use crate::hardware::Machine;
use crate::plan::{FitOptions, Plan};
use crate::units::{Bytes, MIB};

/// Most MiB that can be kept free.
const MOST_MIB: u64 = 1 << 20;
/// Most percent that a plan may keep free.
const MOST_PERCENT: u8 = 99;

/// Shows how much is kept free, in MiB or in percent of each GPU.
pub(super) fn margin(ui: &mut Ui, texts: &Texts, machine: &Machine, plan: &mut Plan) {
    let before = Margin::of_plan(&plan.fit);
    let set = plan.fit.margin_mib.is_some() || plan.fit.margin_percent.is_some();
    let card = machine.gpus.iter().map(|gpu| gpu.memory.usable).min();
    let card = card.unwrap_or_default();
    let mut chosen = None;
    widgets::row(ui, RichText::new(texts.margin), texts.margin_help, |ui| {
        if !set {
            ui.add_space(14.0 + ui.spacing().item_spacing.x);
        } else if widgets::reset(ui, texts.margin_reset, true).clicked() {
            chosen = Some(Margin::DEFAULT);
        }
        let percent = matches!(before, Margin::Percent(_));
        if widgets::chip(ui, "%", percent).clicked() && !percent {
            chosen = Some(Margin::Percent(percent_of(before.of(card), card)));
        }
        if widgets::chip(ui, "MiB", !percent).clicked() && percent {
            chosen = Some(Margin::Bytes(Bytes::from_mib(before.of(card).get() / MIB)));
        }
        if !set {
            ui.visuals_mut().override_text_color = Some(Tokens::of(ui).text_weak);
        }
        chosen = value(ui, texts, before).or(chosen);
    });
    match chosen {
        Some(chosen) if chosen != before => write(&mut plan.fit, chosen),
        _ => {}
    }
}

fn value(ui: &mut Ui, texts: &Texts, margin: Margin) -> Option<Margin> {
    let field = |speed: f64, most: f64| NumberField {
        name: texts.margin,
        range: (0.0, most),
        speed,
        decimals: 0,
        prefix: "",
        suffix: "",
    };
    match margin {
        Margin::Bytes(bytes) => {
            let mib = bytes.get() / MIB;
            let (_, mib) = field(16.0, MOST_MIB as f64).show(ui, mib as f64);
            mib.map(|mib| Margin::Bytes(Bytes::from_mib(mib as u64)))
        }
        Margin::Percent(percent) => {
            let field = field(0.1, f64::from(MOST_PERCENT));
            let (_, percent) = field.show(ui, f64::from(percent));
            percent.map(|percent| Margin::Percent(percent as u8))
        }
    }
}

fn write(fit: &mut FitOptions, margin: Margin) {
    (fit.margin_mib, fit.margin_percent) = match margin {
        Margin::DEFAULT => (None, None),
        Margin::Bytes(bytes) => (Some(bytes.get() / MIB), None),
        Margin::Percent(percent) => (None, Some(percent)),
    };
}

/// The nearest whole percent of a card.
fn percent_of(bytes: Bytes, card: Bytes) -> u8 {
    let percent = (bytes.as_gib() * 100.0 / card.as_gib().max(f64::MIN_POSITIVE)).round();
    (percent as u8).min(MOST_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_written_in_one_way() {
        let mut fit = FitOptions::default();
        for (margin, expected) in [
            (Margin::Percent(5), (None, Some(5))),
            (Margin::Bytes(Bytes::from_mib(512)), (Some(512), None)),
            (Margin::DEFAULT, (None, None)),
        ] {
            write(&mut fit, margin);
            assert_eq!((fit.margin_mib, fit.margin_percent), expected);
            assert_eq!(Margin::of_plan(&fit), margin);
        }
        assert_eq!(percent_of(Bytes::from_gib(1), Bytes::from_gib(24)), 4);
        assert_eq!(percent_of(Bytes::from_gib(1), Bytes::ZERO), MOST_PERCENT);
    }
}

//! How fast it would be, and what its formats cost: estimates, said as such.

use eframe::egui::{Label, RichText, Sense, Ui, Vec2};

use crate::app::format;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, Tokens};
use crate::app::widgets;
use crate::projection::Why;
use crate::quality::{Evidence, Spread};
use crate::report::Report;
use crate::speed::{Estimate, Figure, Speed};

/// Shows the estimates, on as many rows as they took before at this width, so that nothing below moves where there are
/// none.
pub(super) fn speed(ui: &mut Ui, texts: &Texts, report: &Report) {
    let width = ui.available_width();
    let key = ui.scope_id().with("rows of estimates");
    let kept = ui.data(|data| data.get_temp::<(f32, f32)>(key));
    let kept = kept.filter(|(known, _)| (known - width).abs() < 0.5);
    let kept = kept.map_or(16.0, |(_, height)| height);
    let height = ui
        .vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let rows = estimates(ui, texts, report);
            if rows < kept {
                ui.allocate_space(Vec2::new(0.0, kept - rows));
            }
            rows.max(kept)
        })
        .inner;
    ui.data_mut(|data| data.insert_temp(key, (width, height)));
}

/// The estimates, and how high they are.
fn estimates(ui: &mut Ui, texts: &Texts, report: &Report) -> f32 {
    let Some(speed) = &report.speed else {
        return 0.0;
    };
    let rows = ui.horizontal_wrapped(|ui| {
        ui.set_min_height(16.0);
        ui.spacing_mut().item_spacing.x = 0.0;
        let mut first = true;
        for (text, help, figure) in figures(texts, speed) {
            let text = if first { text } else { format!(" · {text}") };
            first = false;
            let text = RichText::new(text)
                .text_style(theme::small())
                .color(Tokens::of(ui).text_weak);
            let label = Label::new(text).sense(Sense::hover());
            let why = speed.why.iter().find(|(known, _)| *known == figure);
            ui.add(label)
                .on_hover_ui(|ui| explain(ui, texts, &help, why.map(|(_, why)| why)));
        }
    });
    rows.response.rect.height()
}

/// Each figure with what it means.
fn figures(texts: &Texts, speed: &Speed) -> Vec<(String, String, Figure)> {
    let rate =
        |template: &str, estimate: Estimate| fill(template, &[("range", &format::range(estimate))]);
    let time = |template: &str, estimate: Estimate| {
        fill(template, &[("range", &format::seconds(estimate, texts))])
    };
    let mut decode_help = rate(texts.decode_help, speed.decode_at_context);
    if let Some(all) = speed.decode_all {
        decode_help.push(' ');
        decode_help += &rate(texts.decode_all_help, all);
    }
    vec![
        (
            rate(texts.decode, speed.decode),
            decode_help,
            Figure::Decode,
        ),
        (
            rate(texts.prefill, speed.prefill),
            texts.prefill_help.to_owned(),
            Figure::Prefill,
        ),
        (
            time(texts.first_token, speed.first_token_seconds),
            texts.first_token_help.to_owned(),
            Figure::Prefill,
        ),
        (
            time(texts.loading, speed.load_seconds),
            time(texts.loading_help, speed.reload_seconds),
            Figure::Load,
        ),
    ]
}

fn explain(ui: &mut Ui, texts: &Texts, help: &str, why: Option<&Why>) {
    ui.add(Label::new(help).wrap());
    if let Some(why) = why {
        ui.add(Label::new(why.text()).wrap());
        let source = RichText::new(why.source)
            .text_style(theme::small())
            .color(Tokens::of(ui).text_weak);
        ui.add(Label::new(source.italics()).wrap());
    }
    widgets::fact(ui, texts.speed_help);
}

/// What a format costs, in a word, with the evidence under the pointer.
pub(super) fn quality(ui: &mut Ui, texts: &Texts, evidence: Option<&Evidence>) {
    let Some(evidence) = evidence else {
        widgets::fact(ui, texts.no_evidence);
        return;
    };
    // What others are compared with has nothing to be said of.
    if evidence.is_reference {
        return;
    }
    widgets::fact(ui, texts.effect(evidence.effect)).on_hover_ui(|ui| {
        let title = fill(texts.evidence_help, &[("format", &evidence.format)]);
        ui.add(Label::new(title).wrap());
        for (spread, template, signed) in [
            (
                &evidence.perplexity_percent,
                texts.evidence_perplexity,
                true,
            ),
            (&evidence.divergence, texts.evidence_divergence, false),
            (&evidence.points, texts.evidence_points, true),
        ] {
            if let Some(spread) = spread {
                widgets::fact(ui, spread_text(template, spread, signed));
            }
        }
    });
}

fn spread_text(template: &str, spread: &Spread, signed: bool) -> String {
    let number = |value: f64| {
        let text = if signed {
            format!("{value:+.2}")
        } else {
            format!("{value:.4}")
        };
        text.replace('-', "−")
    };
    let Spread {
        low,
        median,
        high,
        values,
        sources,
    } = spread;
    let range = if values > &1 {
        format!("{} ({} … {})", number(*median), number(*low), number(*high))
    } else {
        number(*median)
    };
    fill(
        template,
        &[
            ("range", &range),
            ("values", &values.to_string()),
            ("sources", &sources.to_string()),
        ],
    )
}

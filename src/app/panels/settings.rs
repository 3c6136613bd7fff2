//! The engine's settings in their groups, made from the engine's own description of them.

use eframe::egui::{CollapsingHeader, RichText, Ui};

use crate::app::pins;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, SECTION_GAP, Tokens};
use crate::app::widgets;
use crate::engine::meaning::Meaning;
use crate::engine::setting::{Group, Kind, Scope, Setting};
use crate::engine::{self, Engine};
use crate::plan::{Plan, Value};
use crate::report::Report;

use super::context::Inputs;
use super::experts;
use super::margin;
use super::setting_row::{Limit, Row, setting_row};
use super::speed;

/// Shows every setting of the plan's engine; nothing until model and machine are known, on which bounds depend.
pub(super) fn settings(ui: &mut Ui, context: &Inputs<'_>, plan: &mut Plan) {
    let (Some(model), Some(machine)) = (
        context.subjects.model.ready(),
        context.subjects.machine.ready(),
    ) else {
        return;
    };
    let Some(engine) = engine::find(&plan.engine) else {
        return;
    };
    let texts = context.texts;
    // Bounds and defaults see the settings as they were when the frame began.
    let before = plan.settings.clone();
    let scope = Scope {
        model,
        draft: context.subjects.draft.ready().map(|draft| &**draft),
        machine,
        settings: &before,
    };
    for (group, title) in [
        (Group::Quantization, texts.quantization),
        (Group::Offload, texts.offload),
        (Group::Load, texts.load),
    ] {
        ui.add_space(SECTION_GAP);
        widgets::section(ui, title);
        rows(ui, context, engine, group, &scope, plan);
        if group == Group::Offload {
            experts::experts(ui, context, plan);
        }
        if group == Group::Offload && !machine.gpus.is_empty() {
            margin::margin(ui, texts, machine, plan);
        }
    }
    ui.add_space(SECTION_GAP - GRID);
    let title = RichText::new(texts.advanced.to_uppercase())
        .text_style(theme::section())
        .extra_letter_spacing(0.7)
        .color(Tokens::of(ui).text_weak);
    CollapsingHeader::new(title)
        .id_salt("advanced")
        .show_unindented(ui, |ui| {
            rows(ui, context, engine, Group::Advanced, &scope, plan);
        });
}

fn rows(
    ui: &mut Ui,
    context: &Inputs<'_>,
    engine: &dyn Engine,
    group: Group,
    scope: &Scope<'_>,
    plan: &mut Plan,
) {
    let report = context.live.good_report();
    // The first thing that can be swept is the context, whose limit the report knows.
    let limited = engine.axes().first().map(|axis| axis.setting);
    for setting in engine
        .settings()
        .iter()
        .filter(|setting| setting.group == group)
        // One that a plan sets is shown all the same, so that it can be taken back.
        .filter(|setting| (setting.applies)(scope) || scope.settings.contains_key(setting.name))
    {
        let limit = report
            .filter(|report| limited == Some(setting.name) && !report.lower_bound)
            .map_or(Limit::Unknown, |report| {
                report
                    .derived
                    .max_context_tokens
                    .map_or(Limit::Nothing, Limit::Fits)
            });
        let row = Row {
            texts: context.texts,
            setting,
            scope,
            resolved: report.and_then(|report| report.settings.get(setting.name)),
            limit,
        };
        let pinned = pins::is_pinned(&plan.fit, setting.name);
        let toggled = setting_row(ui, &row, pinned, &mut plan.settings);
        match (toggled, pinned) {
            (false, _) => {}
            (true, true) => pins::unpin(&mut plan.fit, setting.name),
            (true, false) => pins::pin(&mut plan.fit, setting.name),
        }
        if let Some(report) = report {
            let written = plan.settings.get(setting.name).or(row.resolved);
            quality(ui, context.texts, report, (setting, scope), written);
        }
    }
}

/// What the format costs that a setting names; nothing below other settings.
fn quality(
    ui: &mut Ui,
    texts: &Texts,
    report: &Report,
    (setting, scope): (&Setting, &Scope<'_>),
    value: Option<&Value>,
) {
    let means = |meaning: Meaning| {
        let mut counterparts = setting.counterparts.iter();
        counterparts.any(|counterpart| counterpart.meaning == meaning)
    };
    if means(Meaning::Weights) {
        own_form(ui, texts, report, (setting, scope), value);
        speed::quality(ui, texts, report.quality.weights);
    } else if means(Meaning::CachedValues) {
        speed::quality(ui, texts, report.quality.cache);
    }
}

/// What the model's own file holds, where that is what is planned: its word alone does not say it.
fn own_form(
    ui: &mut Ui,
    texts: &Texts,
    report: &Report,
    (setting, scope): (&Setting, &Scope<'_>),
    value: Option<&Value>,
) {
    let (Kind::Choice { options }, Some(Value::Text(word))) = (&setting.kind, value) else {
        return;
    };
    if scope.model.checkpoint.is_none() {
        return;
    }
    // The first choice is the file that is open.
    let first = options(scope).into_iter().next();
    let is_own = first.is_some_and(|own| own.word.eq_ignore_ascii_case(word));
    if is_own && report.derived.bits_per_weight > 0.0 {
        let bits = format!("{:.2}", report.derived.bits_per_weight);
        widgets::fact(ui, fill(texts.own_form, &[("bits", &bits)]));
    }
}

//! The engine's settings in their groups, made from the engine's own description of them.

use crate::engine::Margin;
use eframe::egui::{CollapsingHeader, DragValue, RichText, Ui};

use crate::app::state::UiState;
use crate::app::theme::{self, GRID, SECTION_GAP, Tokens};
use crate::app::widgets;
use crate::engine::setting::{Group, Scope};
use crate::engine::{self, Engine};
use crate::plan::Plan;
use crate::units::{Bytes, MIB};

use super::Inputs;
use super::setting_row::{Limit, Row, setting_row};

/// Shows every setting of the plan's engine; nothing until model and machine are known, on which bounds depend.
pub(crate) fn settings(ui: &mut Ui, context: &Inputs<'_>, plan: &mut Plan, state: &mut UiState) {
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
        rows(ui, context, engine, group, &scope, plan, state);
        if group == Group::Offload && !machine.gpus.is_empty() {
            margin(ui, context, plan);
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
            rows(ui, context, engine, Group::Advanced, &scope, plan, state);
        });
}

fn rows(
    ui: &mut Ui,
    context: &Inputs<'_>,
    engine: &dyn Engine,
    group: Group,
    scope: &Scope<'_>,
    plan: &mut Plan,
    state: &mut UiState,
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
        let limit =
            report
                .filter(|_| limited == Some(setting.name))
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
        if setting_row(ui, &row, &mut plan.settings) {
            // Also where it was taken back: it is then left to the engine, not to the window.
            state.touched.insert(setting.name.to_owned());
        }
    }
}

/// Memory to keep free on each GPU: part of the plan, not of any engine.
fn margin(ui: &mut Ui, context: &Inputs<'_>, plan: &mut Plan) {
    let texts = context.texts;
    let mut mib = match Margin::of_plan(&plan.fit) {
        Margin::Bytes(bytes) => bytes.get() / MIB,
        Margin::Percent(_) => 0,
    };
    let set = plan.fit.margin_mib.is_some();
    let label = RichText::new(texts.margin);
    widgets::row(ui, label, texts.margin_help, |ui| {
        if set {
            if widgets::reset(ui, texts.margin_reset, true).clicked() {
                plan.fit.margin_mib = None;
            }
        } else {
            ui.add_space(14.0 + ui.spacing().item_spacing.x);
            ui.visuals_mut().override_text_color = Some(Tokens::of(ui).text_weak);
        }
        let value = DragValue::new(&mut mib)
            .speed(16.0)
            .suffix(" MiB")
            .range(0..=1_048_576_u64);
        let response = ui.add(value).accessible_name(texts.margin);
        if response.changed() {
            plan.fit.margin_percent = None;
            let chosen = Margin::Bytes(Bytes::from_mib(mib));
            plan.fit.margin_mib = (chosen != Margin::DEFAULT).then_some(mib);
        }
    });
}

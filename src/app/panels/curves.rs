//! Memory against a setting, stacked by category, with the line that must not be passed.

use eframe::egui::Ui;

use crate::app::format;
use crate::app::state::UiState;
use crate::app::sweep::SweepKey;
use crate::app::texts::Texts;
use crate::app::theme::{GRID, Tokens};
use crate::app::widgets::{self, DropDown};
use crate::engine::{self, Axis, Engine, setting};
use crate::plan::{Plan, Value};
use crate::report::{DeviceReport, Report};
use crate::units::Bytes;

use super::context::Picture;
use super::curve_plot::{Shown, legend, plot};

/// Shows the curves; returns the sweep that is wanted and not there yet. A click sets the setting.
pub(super) fn curves(
    ui: &mut Ui,
    context: &Picture<'_>,
    report: &Report,
    plan: &mut Plan,
    state: &mut UiState,
) -> Option<SweepKey> {
    let texts = context.texts;
    if report.lower_bound {
        widgets::fact(ui, texts.no_curve_of_weights);
        return None;
    }
    let engine = engine::find(&plan.engine)?;
    let axis = engine
        .axes()
        .get(state.axis)
        .or_else(|| engine.axes().first())
        .copied()?;
    let mut basis = context.live.basis(plan)?;
    basis.settings.shift_remove(axis.setting);
    let key = SweepKey { basis, axis };
    let (curve, fresh) = context.live.curve(&key);
    let device = device(report, state);
    ui.horizontal_wrapped(|ui| {
        axis_choice(ui, engine, state);
        ui.add_space(2.0 * GRID);
        device_choice(ui, texts, report, device, state);
        if !fresh {
            ui.spinner();
        }
    });
    ui.add_space(2.0 * GRID);
    // A sweep of another setting says nothing on this axis; one of an older plan still shows the shape.
    let devices = || report.devices.iter().map(|device| device.id.as_str());
    let known = curve.filter(|curve| curve.shows(axis, devices()));
    if let Some(curve) = known {
        let shown = Shown {
            texts,
            tokens: Tokens::of(ui),
            axis,
            label: setting::find(engine, axis.setting).map_or("", |setting| setting.label),
            curve,
            device,
            current: current(report, axis),
            kept_free: kept_free(report, device),
            overhead: report
                .devices
                .get(device)
                .map_or(Bytes::ZERO, DeviceReport::overhead_in_margin),
        };
        if let Some(value) = plot(ui, &shown).filter(|_| fresh) {
            plan.settings
                .insert(axis.setting.to_owned(), Value::Integer(value));
        }
        legend(ui, &shown);
    } else if fresh {
        widgets::fact(ui, texts.no_curve);
    } else {
        widgets::fact(ui, texts.computing);
    }
    (!fresh).then_some(key)
}

/// Place of the device shown: the chosen one, else the fullest.
fn device(report: &Report, state: &UiState) -> usize {
    let wanted = state
        .curve_device
        .as_deref()
        .or_else(|| report.tightest().map(|device| device.id.as_str()));
    report
        .devices
        .iter()
        .position(|device| Some(device.id.as_str()) == wanted)
        .unwrap_or(0)
}

fn kept_free(report: &Report, device: usize) -> Bytes {
    let device = report.devices.get(device);
    device.map_or(Bytes::ZERO, |device| device.margin)
}

fn current(report: &Report, axis: Axis) -> Option<i64> {
    match report.settings.get(axis.setting) {
        Some(Value::Integer(value)) => Some(*value),
        _ => None,
    }
}

fn axis_choice(ui: &mut Ui, engine: &dyn Engine, state: &mut UiState) {
    let labels: Vec<&str> = engine
        .axes()
        .iter()
        .map(|axis| setting::find(engine, axis.setting).map_or(axis.setting, |found| found.label))
        .collect();
    if let Some(chosen) = widgets::segmented(ui, &labels, state.axis) {
        state.axis = chosen;
    }
}

fn device_choice(ui: &mut Ui, texts: &Texts, report: &Report, device: usize, state: &mut UiState) {
    if report.devices.len() < 2 {
        return;
    }
    let names: Vec<String> = report
        .devices
        .iter()
        .map(|device| format::device(device, texts))
        .collect();
    let products = report.devices.iter();
    let list = DropDown {
        salt: "curve device",
        name: texts.device,
        shown: names.get(device).map_or("", String::as_str),
        width: 96.0,
        rows: names
            .iter()
            .map(String::as_str)
            .zip(products.map(|device| format::product(&device.name)))
            .collect(),
        chosen: Some(device),
    };
    let (_, taken) = widgets::drop_down(ui, &list);
    if let Some(taken) = taken.and_then(|index| report.devices.get(index)) {
        state.curve_device = Some(taken.id.clone());
    }
}

//! Which moment of the engine's life the picture shows.

use eframe::egui::Ui;

use crate::app::texts::Texts;
use crate::app::widgets;
use crate::report::{DeviceReport, MomentReport, Report};

/// Shows the choice of the moment; nothing where the last one decides and is the fullest on every device, as people
/// expect.
pub(super) fn moments(
    ui: &mut Ui,
    texts: &Texts,
    report: &Report,
    chosen: &mut Option<&'static str>,
) {
    let last = report.moments.last().map(|moment| moment.name);
    if last == Some(report.peak)
        && report
            .moments
            .iter()
            .all(|moment| is_within(moment, report))
    {
        return;
    }
    let words: Vec<String> = report
        .moments
        .iter()
        .map(|moment| word(texts, report, moment))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let shown = chosen.unwrap_or(report.peak);
    let shown = report
        .moments
        .iter()
        .position(|moment| moment.name == shown);
    ui.horizontal(|ui| {
        let taken = widgets::segmented(ui, &words, shown.unwrap_or(usize::MAX));
        if let Some(moment) = taken.and_then(|taken| report.moments.get(taken)) {
            *chosen = (moment.name != report.peak).then_some(moment.name);
        }
    })
    .response
    .on_hover_text(texts.moments_help);
}

/// No device is fuller than at the moment that decides.
fn is_within(moment: &MomentReport, report: &Report) -> bool {
    let devices = moment.devices.iter().zip(&report.devices);
    devices
        .into_iter()
        .all(|(device, decides)| device.total() <= decides.total())
}

/// The devices at the chosen moment.
pub(super) fn devices<'a>(report: &'a Report, chosen: Option<&str>) -> &'a [DeviceReport] {
    let mut moments = report.moments.iter();
    let moment = moments.find(|moment| Some(moment.name) == chosen);
    moment.map_or(report.devices.as_slice(), |moment| {
        moment.devices.as_slice()
    })
}

/// "While loading · decides".
fn word(texts: &Texts, report: &Report, moment: &MomentReport) -> String {
    let name = match moment.name {
        "load" => texts.while_loading,
        "run" => texts.while_running,
        other => other,
    };
    if moment.name == report.peak {
        format!("{name} · {}", texts.decides)
    } else {
        name.to_owned()
    }
}

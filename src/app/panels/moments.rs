//! Which moment of the engine's life the picture shows.

use eframe::egui::Ui;

use crate::app::texts::Texts;
use crate::app::widgets;
use crate::report::{DeviceReport, MomentReport, Report};

/// Shows the choice of the moment; nothing where all look alike.
pub(super) fn moments(
    ui: &mut Ui,
    texts: &Texts,
    report: &Report,
    chosen: &mut Option<&'static str>,
) {
    let Some((first, others)) = report.moments.split_first() else {
        return;
    };
    let totals = |moment: &MomentReport| {
        let totals = moment.devices.iter().map(DeviceReport::total);
        totals.collect::<Vec<_>>()
    };
    let first = totals(first);
    if others.iter().all(|moment| totals(moment) == first) {
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

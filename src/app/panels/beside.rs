//! Plans that run on the same machine at the same time.

use std::path::Path;

use eframe::egui::{Label, RichText, Ui};

use crate::app::command::{Command, Queue};
use crate::app::subject::Found;
use crate::app::texts::fill;
use crate::app::theme::{self, Tokens};
use crate::app::widgets;
use crate::plan::Plan;
use crate::report::Beside;
use crate::units::Bytes;

use super::context::Inputs;

/// Shows what runs beside the plan, and how to add to it.
pub(super) fn beside(ui: &mut Ui, context: &Inputs<'_>, plan: &mut Plan, queue: &mut Queue) {
    let texts = context.texts;
    let known = context
        .subjects
        .beside
        .ready()
        .map(|known| known.as_slice());
    let mut removed = None;
    for (index, path) in plan.beside.iter().enumerate() {
        let neighbour = known.and_then(|known| known.get(index));
        if ui
            .push_id(index, |ui| row(ui, context, path, neighbour))
            .inner
        {
            removed = Some(index);
        }
    }
    if let Some(index) = removed {
        plan.beside.remove(index);
    }
    match &context.subjects.beside {
        // Where there is a picture, it says so.
        Found::Failed(_) if context.live.good_report().is_some() => {}
        Found::Failed(reason) => {
            let text = fill(texts.beside_failed, &[("reason", reason)]);
            let text = RichText::new(text).color(Tokens::of(ui).bad);
            ui.add(Label::new(text).wrap());
        }
        Found::Waiting => {
            ui.spinner();
        }
        Found::Absent | Found::Ready(_) => {}
    }
    let add = Command::AddBeside;
    if widgets::link(ui, add.text(texts))
        .on_hover_text(add.hover(texts, ui.ctx()))
        .clicked()
    {
        queue.send(add);
    }
}

/// One plan; says whether it is to go.
fn row(ui: &mut Ui, context: &Inputs<'_>, path: &str, neighbour: Option<&Beside>) -> bool {
    let texts = context.texts;
    let stem = Path::new(path).file_stem().unwrap_or_default();
    let name = stem.to_string_lossy();
    let help = format!("{path}\n{}", texts.beside_help);
    let title = RichText::new(&*name).text_style(theme::strong());
    widgets::row(ui, title, &help, |ui| {
        let remove = fill(texts.remove_beside, &[("name", &name)]);
        let removed = widgets::reset(ui, &remove, true).clicked();
        if let Some(neighbour) = neighbour {
            let total: Bytes = neighbour.devices.iter().copied().sum();
            widgets::fact(ui, total.to_string());
        }
        removed
    })
}

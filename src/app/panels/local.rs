//! The models on this computer, as rows of the list of models.

use eframe::egui::Ui;

use crate::app::command::{Command, Queue};
use crate::app::local::Stage;
use crate::app::models::ModelCommand;
use crate::app::texts::fill;
use crate::app::theme::GRID;
use crate::app::widgets;
use crate::plain::one_line;
use crate::plan::ModelRef;
use crate::source::library::{Broken, Found, Role};

use super::context::Inputs;

/// What was found, and after it what cannot be used.
pub(super) fn rows(context: &Inputs<'_>, search: &str) -> Vec<widgets::Found<ModelRef>> {
    let good = context.local.search(search).into_iter().map(found);
    let broken = context.local.broken.iter();
    good.chain(broken.filter(|_| search.trim().is_empty()).map(unusable))
        .collect()
}

fn found(model: &Found) -> widgets::Found<ModelRef> {
    let mut programs: Vec<&str> = Vec::new();
    let mut places = Vec::new();
    for place in &model.places {
        if !programs.contains(&place.library) {
            programs.push(place.library);
        }
        places.push(one_line(&place.path.display().to_string()));
    }
    let form = model.quant.as_deref().unwrap_or(model.kind.name());
    let form = match model.role {
        Role::Model => one_line(form),
        Role::Adapter => format!("{}, {}", model.role.name(), one_line(form)),
    };
    widgets::Found {
        name: one_line(&model.title),
        remark: format!("{} · {} · {}", form, model.bytes, programs.join(", ")),
        stays: false,
        hover: places.join("\n"),
        what: Some(ModelRef {
            path: Some(model.path.display().to_string()),
            ..ModelRef::default()
        }),
    }
}

fn unusable(broken: &Broken) -> widgets::Found<ModelRef> {
    widgets::Found {
        name: one_line(&broken.title()),
        remark: one_line(&broken.reason),
        stays: false,
        hover: one_line(&format!(
            "{}: {} ({})",
            broken.library,
            broken.reason,
            broken.path.display()
        )),
        what: None,
    }
}

/// How far the search is, the user's own folders, and what can be done about both.
pub(super) fn below(ui: &mut Ui, context: &Inputs<'_>, queue: &mut Queue) {
    let texts = context.texts;
    let local = context.local;
    ui.separator();
    let count = local.models.len().to_string();
    let looking = local.stage == Stage::Looking;
    ui.horizontal(|ui| match local.stage {
        Stage::Looking => {
            ui.spinner();
            let folder = local.folder.as_ref();
            let folder = folder.map(|folder| one_line(&folder.display().to_string()));
            let folder = folder.unwrap_or_default();
            let text = fill(texts.looking_in, &[("folder", &folder)]);
            widgets::line(ui, &text);
        }
        Stage::Stopped => {
            widgets::fact(ui, fill(texts.looking_stopped, &[("count", &count)]));
        }
        Stage::Done | Stage::Unasked => {
            widgets::fact(ui, fill(texts.looked_through, &[("count", &count)]));
        }
    });
    for folder in context.folders {
        ui.horizontal(|ui| {
            let shown = one_line(&folder.display().to_string());
            let name = fill(texts.forget_folder_named, &[("folder", &shown)]);
            if widgets::reset(ui, &name, true).clicked() {
                let forget = ModelCommand::ForgetFolder(folder.clone());
                queue.send(Command::Models(forget));
            }
            widgets::line(ui, &shown);
        });
    }
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0 * GRID;
        let first = if looking {
            ModelCommand::StopScan
        } else {
            ModelCommand::Scan
        };
        for command in [first, ModelCommand::AddFolder] {
            let command = Command::Models(command);
            if widgets::link(ui, command.text(texts))
                .on_hover_text(command.hover(texts, ui.ctx()))
                .clicked()
            {
                queue.send(command);
            }
        }
    });
}

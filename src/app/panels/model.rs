//! Which model: a search box over the presets, or a file or folder of one's own.

use eframe::egui::{Label, RichText, Ui};

use crate::app::command::{Command, Queue};
use crate::app::library;
use crate::app::models::ModelCommand;
use crate::app::state::UiState;
use crate::app::subject::Found;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;
use crate::catalog::models::Entry;
use crate::engine::{self, setting};
use crate::model::Model;
use crate::plan::{Plan, Value};
use crate::projection::grouped;
use crate::report::Report;

use super::context::Inputs;
use super::draft;
use super::model_list::{chosen_name, list};

/// Shows the choice of the model.
pub(crate) fn model(
    ui: &mut Ui,
    context: &Inputs<'_>,
    plan: &mut Plan,
    state: &mut UiState,
    queue: &mut Queue,
) {
    let texts = context.texts;
    widgets::section(ui, texts.model);
    let chosen = chosen_name(&plan.model);
    let shown = chosen.as_deref().unwrap_or(texts.choose_a_model);
    let field = widgets::field(ui, texts.model, shown, "")
        .on_hover_text(Command::ChooseModel.hover(texts, ui.ctx()));
    let list_state = (&mut state.models, &mut state.shelf);
    if let Some(model) = list(ui, &field, context, list_state, None, queue, |_| {}) {
        plan.model = model;
    }
    facts(ui, context, plan, queue);
    if state.stale {
        stale(ui, texts, queue);
    }
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0 * GRID;
        for command in [Command::OpenModelFile, Command::OpenModelFolder] {
            if widgets::link(ui, command.text(texts))
                .on_hover_text(command.hover(texts, ui.ctx()))
                .clicked()
            {
                queue.send(command);
            }
        }
    });
    if chosen.is_some() {
        draft::draft(ui, context, plan, state, queue);
    }
}

/// The file is not as it was when it was read.
fn stale(ui: &mut Ui, texts: &Texts, queue: &mut Queue) {
    ui.horizontal(|ui| {
        let text = RichText::new(texts.stale).text_style(theme::small());
        ui.label(text.color(Tokens::of(ui).warn));
        let again = Command::Models(ModelCommand::ReadAgain);
        if widgets::link(ui, again.text(texts))
            .on_hover_text(again.hover(texts, ui.ctx()))
            .clicked()
        {
            queue.send(again);
        }
    });
}

fn facts(ui: &mut Ui, context: &Inputs<'_>, plan: &Plan, queue: &mut Queue) {
    let texts = context.texts;
    match &context.subjects.model {
        Found::Absent => {}
        Found::Waiting => {
            ui.horizontal(|ui| {
                ui.spinner();
                widgets::fact(ui, texts.reading_model);
                let stop = Command::Models(ModelCommand::StopReading);
                if widgets::link(ui, stop.text(texts)).clicked() {
                    queue.send(stop);
                }
            });
        }
        Found::Failed(reason) => {
            ui.colored_label(Tokens::of(ui).bad, reason);
        }
        Found::Ready(model) => {
            let row = plan
                .model
                .preset
                .as_deref()
                .and_then(|id| context.library.entry(id));
            widgets::fact(ui, describe(model, row, texts));
            file(ui, context, plan);
        }
    }
}

/// Size, depth, context and licence.
fn describe(model: &Model, entry: Option<&Entry>, texts: &Texts) -> String {
    let parameters = model.parameters();
    let mut facts = vec![library::parameters(
        parameters.of_own_file(model),
        parameters.active(),
        texts,
    )];
    if model.blocks() > 0 {
        let count = model.blocks().to_string();
        facts.push(fill(texts.layers, &[("count", &count)]));
    }
    if model.context_length > 0 {
        facts.push(fill(
            texts.tokens,
            &[("count", &grouped(model.context_length))],
        ));
    }
    facts.extend(entry.and_then(|entry| entry.licence.clone()));
    facts.join(" · ")
}

/// How large the file is, whether the disk has room for it, and where to get it.
fn file(ui: &mut Ui, context: &Inputs<'_>, plan: &Plan) {
    let texts = context.texts;
    let (Some(report), Some(machine)) =
        (context.live.good_report(), context.subjects.machine.ready())
    else {
        return;
    };
    let size = report.derived.file_bytes;
    if let Some(free) = machine.host.disk_free {
        let words = [("size", &*size.to_string()), ("free", &*free.to_string())];
        if size > free {
            let text = RichText::new(fill(texts.disk_too_small, &words)).text_style(theme::small());
            ui.add(Label::new(text.color(Tokens::of(ui).warn)).wrap());
        } else {
            widgets::fact(ui, fill(texts.disk, &words));
        }
    }
    let Some(repository) = context.live.subject().repository.as_deref() else {
        return;
    };
    let page = RichText::new(repository).text_style(theme::small());
    ui.hyperlink_to(page, format!("https://huggingface.co/{repository}"));
    if let Some(what) = downloaded(context, report, plan)
        && widgets::link(ui, texts.copy_download)
            .on_hover_text(texts.copy_download_help)
            .clicked()
    {
        ui.ctx()
            .copy_text(format!("hf download {repository} {what}"));
    }
}

/// What of a repository is the planned file: the one that is open, or those that are named by their type.
fn downloaded(context: &Inputs<'_>, report: &Report, plan: &Plan) -> Option<String> {
    let model = context.subjects.model.ready()?;
    let own = model.checkpoint.is_some();
    let revision = plan.model.revision.as_deref();
    let revision = revision.map_or_else(String::new, |known| format!(" --revision {known}"));
    match (&plan.model.file, report.settings.get("weights")?) {
        // As it is open: neither in another form, nor in all that the repository has.
        (Some(file), Value::Text(word)) if own && is_of_file(plan, word) => {
            Some(format!("'{file}'{revision}"))
        }
        (_, Value::Text(word)) if !is_of_file(plan, word) => Some(format!("--include '*{word}*'")),
        _ => own.then(|| revision.trim_start().to_owned()),
    }
}

/// Does a word of the weights mean the file that is open?
fn is_of_file(plan: &Plan, word: &str) -> bool {
    let setting = engine::find(&plan.engine).and_then(|engine| setting::find(engine, "weights"));
    setting.is_some_and(|setting| setting.of_files.contains(&word))
}

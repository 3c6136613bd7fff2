//! Which model: a search box over the presets, or a file or folder of one's own.

use std::path::Path;

use eframe::egui::{
    Key, Label, Modifiers, Popup, PopupCloseBehavior, Response, RichText, ScrollArea, Ui,
};

use crate::app::command::{Command, Queue};
use crate::app::library;
use crate::app::state::UiState;
use crate::app::subject::Found;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;
use crate::catalog::models::Entry;
use crate::model::Model;
use crate::plan::{ModelRef, Plan, Value};
use crate::projection::grouped;

use super::Inputs;

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
    let chosen = chosen_name(plan);
    let shown = chosen.as_deref().unwrap_or(texts.choose_a_model);
    let field = widgets::field(ui, texts.model, shown, "")
        .on_hover_text(Command::ChooseModel.hover(texts, ui.ctx()));
    list(ui, &field, context, plan, state);
    facts(ui, context, plan);
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
}

fn chosen_name(plan: &Plan) -> Option<String> {
    if let Some(preset) = &plan.model.preset {
        return Some(preset.clone());
    }
    let path = Path::new(plan.model.path.as_deref()?);
    Some(
        path.file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned(),
    )
}

/// The list below the field. The search box has the keyboard; arrows move through the rows, Enter takes one.
fn list(ui: &Ui, field: &Response, context: &Inputs<'_>, plan: &mut Plan, state: &mut UiState) {
    let id = Popup::default_response_id(field);
    let was_open = Popup::is_id_open(ui.ctx(), id);
    if std::mem::take(&mut state.open_models) && !was_open {
        Popup::open_id(ui.ctx(), id);
    }
    let opening = !was_open && (field.clicked() || Popup::is_id_open(ui.ctx(), id));
    if opening {
        state.model_search.clear();
        state.model_cursor = 0;
    }
    let popup = Popup::menu(field)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .width(540.0);
    popup.show(|ui| {
        let keys = keys(ui);
        let search = widgets::line_edit(&mut state.model_search)
            .hint_text(context.texts.search_models)
            .desired_width(f32::INFINITY);
        let search = ui.add(search);
        if opening || !ui.memory(|memory| memory.focused().is_some()) {
            search.request_focus();
        }
        if search.changed() {
            state.model_cursor = 0;
        }
        let rows = context.library.models.search(&state.model_search);
        state.model_cursor = keys.moved(state.model_cursor, rows.len());
        let taken = rows_ui(
            ui,
            context.texts,
            &rows,
            state.model_cursor,
            keys.moves != 0,
        );
        let taken = if keys.enter {
            rows.get(state.model_cursor).copied()
        } else {
            taken
        };
        if let Some(row) = taken {
            plan.model = ModelRef {
                preset: Some(row.id.clone()),
                ..ModelRef::default()
            };
            ui.close();
        }
    });
}

/// Keys that move through a list while its search box has the keyboard.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    pub(super) moves: i64,
    pub(super) enter: bool,
}

pub(super) fn keys(ui: &Ui) -> Keys {
    ui.input_mut(|input| {
        let mut times = |key| {
            let times = input.count_and_consume_key(Modifiers::NONE, key);
            i64::try_from(times).unwrap_or(0)
        };
        Keys {
            moves: times(Key::ArrowDown) - times(Key::ArrowUp) + 10 * times(Key::PageDown)
                - 10 * times(Key::PageUp),
            enter: times(Key::Enter) > 0,
        }
    })
}

impl Keys {
    pub(super) fn moved(self, cursor: usize, rows: usize) -> usize {
        let last = i64::try_from(rows.saturating_sub(1)).unwrap_or(i64::MAX);
        let moved = i64::try_from(cursor)
            .unwrap_or(0)
            .saturating_add(self.moves);
        usize::try_from(moved.clamp(0, last)).unwrap_or(0)
    }
}

fn rows_ui<'a>(
    ui: &mut Ui,
    texts: &Texts,
    rows: &[&'a Entry],
    cursor: usize,
    follow: bool,
) -> Option<&'a Entry> {
    let mut taken = None;
    ui.add_space(GRID);
    ScrollArea::vertical()
        .max_height(340.0)
        .auto_shrink([false, true])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (index, row) in rows.iter().enumerate() {
                let response = widgets::popup_row(
                    ui,
                    index == cursor,
                    &row.title,
                    &library::facts(row, texts),
                );
                if index == cursor && follow {
                    response.scroll_to_me(None);
                }
                if response.clicked() {
                    taken = Some(*row);
                }
            }
            if rows.is_empty() {
                widgets::fact(ui, texts.no_model_found);
            }
        });
    taken
}

fn facts(ui: &mut Ui, context: &Inputs<'_>, plan: &Plan) {
    let texts = context.texts;
    match &context.subjects.model {
        Found::Absent => {}
        Found::Waiting => {
            ui.horizontal(|ui| {
                ui.spinner();
                widgets::fact(ui, texts.reading_model);
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
        parameters.total(),
        parameters.active(),
        texts,
    )];
    if !model.layers.is_empty() {
        facts.push(fill(
            texts.layers,
            &[("count", &model.layers.len().to_string())],
        ));
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
    let weights = report
        .settings
        .get("weights")
        .or(plan.settings.get("weights"));
    if let Some(Value::Text(weights)) = weights
        && widgets::link(ui, texts.copy_download)
            .on_hover_text(texts.copy_download_help)
            .clicked()
    {
        ui.ctx()
            .copy_text(format!("hf download {repository} --include '*{weights}*'"));
    }
}

//! Which machine: this one as detected, a preset, or one put together by hand.

use eframe::egui::{Popup, PopupCloseBehavior, Response, ScrollArea, Ui};

use crate::app::command::{Command, Queue};
use crate::app::format;
use crate::app::library;
use crate::app::state::UiState;
use crate::app::subject::Found;
use crate::app::texts::fill;
use crate::app::theme::{GRID, Tokens};
use crate::app::widgets;
use crate::plan::{MachineRef, Plan};
use crate::units::Bytes;

use super::Inputs;
use super::detected::this_machine;
use super::machine_edit;
use super::model::keys;

/// Shows the choice of the machine and what it has.
pub(crate) fn machine(
    ui: &mut Ui,
    context: &Inputs<'_>,
    plan: &mut Plan,
    state: &mut UiState,
    queue: &mut Queue,
) {
    let texts = context.texts;
    widgets::section(ui, texts.machine);
    let (name, remark) = chosen(context, plan);
    let field = widgets::field(ui, texts.machine, &name, remark)
        .on_hover_text(Command::ChooseMachine.hover(texts, ui.ctx()));
    list(ui, &field, context, plan, state, queue);
    ui.add_space(GRID);
    if let Found::Failed(reason) = &context.subjects.machine {
        ui.colored_label(Tokens::of(ui).bad, reason);
    }
    if plan.machine.is_some() {
        machine_edit::edit(ui, context, plan, state);
    } else {
        this_machine(ui, context, plan, queue);
    }
}

fn chosen<'a>(context: &Inputs<'a>, plan: &Plan) -> (String, &'a str) {
    let texts = context.texts;
    match &plan.machine {
        None if context.detecting => (texts.this_machine.to_owned(), texts.detecting),
        None => (texts.this_machine.to_owned(), ""),
        Some(_) => {
            let name = match context.subjects.machine.ready() {
                Some(machine) => format::plain(&machine.name),
                None => texts.simulated_machine.to_owned(),
            };
            (name, texts.simulated)
        }
    }
}

fn list(
    ui: &Ui,
    field: &Response,
    context: &Inputs<'_>,
    plan: &mut Plan,
    state: &mut UiState,
    queue: &mut Queue,
) {
    let texts = context.texts;
    let id = Popup::default_response_id(field);
    let was_open = Popup::is_id_open(ui.ctx(), id);
    if std::mem::take(&mut state.open_machines) && !was_open {
        Popup::open_id(ui.ctx(), id);
    }
    let opening = !was_open && (field.clicked() || Popup::is_id_open(ui.ctx(), id));
    if opening {
        state.machine_search.clear();
        state.machine_cursor = 0;
    }
    let popup = Popup::menu(field)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .width(400.0);
    popup.show(|ui| {
        let keys = keys(ui);
        let search = widgets::line_edit(&mut state.machine_search)
            .hint_text(texts.search_machines)
            .desired_width(f32::INFINITY);
        let search = ui.add(search);
        if opening || !ui.memory(|memory| memory.focused().is_some()) {
            search.request_focus();
        }
        if search.changed() {
            state.machine_cursor = 0;
        }
        let rows = rows(context, &state.machine_search);
        state.machine_cursor = keys.moved(state.machine_cursor, rows.len());
        let clicked = rows_ui(ui, &rows, state.machine_cursor, keys.moves != 0);
        let taken = if keys.enter {
            Some(state.machine_cursor)
        } else {
            clicked
        };
        if let Some(row) = taken.and_then(|index| rows.into_iter().nth(index)) {
            plan.machine = row.machine;
            plan.launch.gpus.clear();
            ui.close();
        }
        ui.separator();
        if widgets::link(ui, texts.open_report)
            .on_hover_text(texts.open_report_help)
            .clicked()
        {
            queue.send(Command::OpenReport);
            ui.close();
        }
    });
}

struct MachineRow {
    name: String,
    remark: String,
    machine: Option<MachineRef>,
}

fn rows(context: &Inputs<'_>, search: &str) -> Vec<MachineRow> {
    let texts = context.texts;
    let mut rows = vec![MachineRow {
        name: texts.this_machine.to_owned(),
        remark: texts.detected.to_owned(),
        machine: None,
    }];
    if let Some(detection) = &context.subjects.detection {
        rows.push(MachineRow {
            name: texts.this_machine_by_hand.to_owned(),
            remark: texts.simulated.to_owned(),
            machine: Some(library::description(&detection.machine)),
        });
    }
    rows.extend(context.library.machines.iter().map(|preset| MachineRow {
        name: preset.name.clone(),
        remark: fill(
            texts.of_ram,
            &[("ram", &format::capacity(Bytes::from_mib(preset.ram_mib)))],
        ),
        machine: Some(MachineRef {
            preset: Some(preset.id.clone()),
            ..MachineRef::default()
        }),
    }));
    let search = search.to_lowercase();
    rows.retain(|row| {
        let name = row.name.to_lowercase();
        search.split_whitespace().all(|word| name.contains(word))
    });
    // What is called so before what only has it in its name.
    let search = search.trim();
    rows.sort_by_key(|row| !row.name.to_lowercase().starts_with(search));
    rows
}

fn rows_ui(ui: &mut Ui, rows: &[MachineRow], cursor: usize, follow: bool) -> Option<usize> {
    let mut clicked = None;
    ui.add_space(GRID);
    ScrollArea::vertical()
        .max_height(340.0)
        .auto_shrink([false, true])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (index, row) in rows.iter().enumerate() {
                let response = widgets::popup_row(ui, index == cursor, &row.name, &row.remark);
                if index == cursor && follow {
                    response.scroll_to_me(None);
                }
                if response.clicked() {
                    clicked = Some(index);
                }
            }
        });
    clicked
}

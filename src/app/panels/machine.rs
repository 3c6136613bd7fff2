//! Which machine: this one as detected, a preset, or one put together by hand.

use eframe::egui::{Response, Ui};

use crate::app::command::{Command, Queue};
use crate::app::format;
use crate::app::library;
use crate::app::state::UiState;
use crate::app::subject::Found;
use crate::app::texts::fill;
use crate::app::theme::{GRID, Tokens};
use crate::app::widgets::{self, SearchList};
use crate::plan::{MachineRef, Plan};
use crate::units::Bytes;

use super::beside;
use super::context::Inputs;
use super::detected::this_machine;
use super::machine_edit;

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
    beside::beside(ui, context, plan, queue);
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
    let list = SearchList {
        hint: texts.search_machines,
        nothing: texts.no_machine_found,
        width: 400.0,
    };
    let report = |ui: &mut Ui| {
        ui.separator();
        if widgets::link(ui, texts.open_report)
            .on_hover_text(texts.open_report_help)
            .clicked()
        {
            queue.send(Command::OpenReport);
            ui.close();
        }
    };
    let search = &mut state.machines;
    let rows = |search: &str| rows(context, search);
    if let Some(machine) = widgets::search_list(ui, field, &list, search, |_| {}, rows, report) {
        plan.machine = machine;
        plan.launch.gpus.clear();
    }
}

fn rows(context: &Inputs<'_>, search: &str) -> Vec<widgets::Found<Option<MachineRef>>> {
    let texts = context.texts;
    let row = |name: &str, remark: &str, what| widgets::Found {
        name: name.to_owned(),
        remark: remark.to_owned(),
        stays: false,
        hover: String::new(),
        what: Some(what),
    };
    let mut rows = vec![row(texts.this_machine, texts.detected, None)];
    if let Some(detection) = &context.subjects.detection {
        let machine = library::description(&detection.machine);
        let name = texts.this_machine_by_hand;
        rows.push(row(name, texts.simulated, Some(machine)));
    }
    rows.extend(context.library.machines.iter().map(|preset| {
        let ram = format::capacity(Bytes::from_mib(preset.ram_mib));
        let machine = MachineRef {
            preset: Some(preset.id.clone()),
            ..MachineRef::default()
        };
        let remark = fill(texts.of_ram, &[("ram", &ram)]);
        row(&preset.name, &remark, Some(machine))
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

//! Which machine: this one as detected, a preset, or one put together by hand.

use eframe::egui::{
    Align, Label, Layout, Popup, PopupCloseBehavior, Response, RichText, ScrollArea, Ui,
};

use crate::app::command::{Command, Queue};
use crate::app::format;
use crate::app::library;
use crate::app::state::UiState;
use crate::app::subject::{Found, Subjects, is_called, is_chosen};
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;
use crate::hardware::Gpu;
use crate::hardware::detection::{DetectedCard, Detection, Finding, Weight};
use crate::plan::{MachineRef, Plan};
use crate::units::Bytes;

use super::Inputs;
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

fn this_machine(ui: &mut Ui, context: &Inputs<'_>, plan: &mut Plan, queue: &mut Queue) {
    let texts = context.texts;
    let Some(detection) = &context.subjects.detection else {
        waiting(ui, texts, context.subjects);
        return;
    };
    for (index, card) in detection.cards.iter().enumerate() {
        card_ui(ui, texts, index, card, detection, plan);
    }
    if detection.cards.is_empty() {
        ui.label(texts.no_gpu);
        widgets::fact(ui, texts.no_gpu_help);
    }
    let host = &detection.machine.host;
    memory_row(
        ui,
        texts,
        texts.ram,
        host.ram,
        host.in_use,
        &cores(texts, detection),
    );
    for finding in &detection.findings {
        finding_ui(ui, finding);
    }
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0 * GRID;
        for command in [Command::Detect, Command::CopyReport, Command::SaveReport] {
            let response = ui
                .add_enabled_ui(!context.detecting, |ui| {
                    widgets::link(ui, command.text(texts))
                })
                .inner;
            if response
                .on_hover_text(command.hover(texts, ui.ctx()))
                .clicked()
            {
                queue.send(command);
            }
        }
    });
}

fn waiting(ui: &mut Ui, texts: &Texts, subjects: &Subjects) {
    ui.horizontal(|ui| {
        ui.spinner();
        let asked = subjects.progress.map_or(String::new(), |progress| {
            fill(texts.asking, &[("whom", progress.title)])
        });
        widgets::fact(ui, asked);
    });
}

fn cores(texts: &Texts, detection: &Detection) -> String {
    detection
        .machine
        .host
        .physical_cores
        .map(|cores| fill(texts.cores, &[("count", &cores.to_string())]))
        .unwrap_or_default()
}

/// One card: tick, name, facts, and how much of it is taken.
fn card_ui(
    ui: &mut Ui,
    texts: &Texts,
    index: usize,
    card: &DetectedCard,
    detection: &Detection,
    plan: &mut Plan,
) {
    let used = is_chosen(card, &plan.launch.gpus);
    let mut ticked = used;
    let others = detection
        .cards
        .iter()
        .any(|other| other.id != card.id && is_chosen(other, &plan.launch.gpus));
    let name = format::product(&card.gpu.name);
    ui.push_id(index, |ui| {
        let facts = card_facts(texts, &card.gpu);
        let title = RichText::new(name).text_style(theme::strong());
        widgets::row(ui, RichText::new(""), "", |ui| {
            widgets::fact(ui, facts);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                if detection.cards.len() == 1 && used {
                    ui.add(Label::new(title).truncate());
                    return;
                }
                // The last card cannot be put aside: no card at all is said by GPU layers.
                ui.add_enabled_ui(!used || others, |ui| ui.checkbox(&mut ticked, title))
                    .inner
                    .on_disabled_hover_text(texts.last_card);
            });
        });
        if ticked != used {
            choose(card, ticked, detection, plan);
        }
        if let Some(aside) = card.aside {
            widgets::fact(ui, aside.text());
        }
        usage(
            ui,
            texts,
            name,
            card.gpu.memory.usable,
            card.gpu.memory.in_use,
        )
        .on_hover_ui(|ui| processes(ui, texts, card));
    });
}

fn choose(card: &DetectedCard, used: bool, detection: &Detection, plan: &mut Plan) {
    let chosen: Vec<String> = detection
        .cards
        .iter()
        .filter(|other| {
            if other.id == card.id {
                used
            } else {
                is_chosen(other, &plan.launch.gpus)
            }
        })
        .map(|card| card.gpu.uuid.clone().unwrap_or_else(|| card.id.clone()))
        .collect();
    let usual = detection
        .cards
        .iter()
        .all(|card| card.aside.is_none() == chosen.iter().any(|id| is_called(card, id)));
    plan.launch.gpus = if usual { Vec::new() } else { chosen };
}

fn card_facts(texts: &Texts, gpu: &Gpu) -> String {
    let mut facts = Vec::new();
    if let Some((major, minor)) = gpu.compute_capability {
        facts.push(fill(
            texts.compute_capability,
            &[("version", &format!("{major}.{minor}"))],
        ));
    } else if let Some(target) = &gpu.gfx_target {
        facts.push(target.clone());
    }
    if let Some(pcie) = gpu.pcie {
        facts.push(format!("PCIe {}×{}", pcie.generation, pcie.lanes));
    }
    if let Some(bandwidth) = gpu.bandwidth_gb_s {
        facts.push(format!("{bandwidth:.0} GB/s"));
    }
    facts.join(" · ")
}

fn processes(ui: &mut Ui, texts: &Texts, card: &DetectedCard) {
    ui.label(RichText::new(&card.gpu.name).text_style(theme::strong()));
    if let Some(driver) = &card.gpu.driver {
        widgets::fact(ui, fill(texts.driver, &[("version", driver)]));
    }
    let processes = card.facts.processes.as_deref().unwrap_or_default();
    for process in processes.iter().take(12) {
        let name = process
            .name
            .clone()
            .unwrap_or_else(|| process.pid.to_string());
        let memory = process
            .memory
            .map_or_else(String::new, |bytes| bytes.to_string());
        widgets::fact(ui, format!("{name} {memory}"));
    }
}

pub(super) fn memory_row(
    ui: &mut Ui,
    texts: &Texts,
    name: &str,
    total: Bytes,
    in_use: Bytes,
    facts: &str,
) {
    let title = format!("{} {name}", format::capacity(total));
    let title = RichText::new(title).text_style(theme::strong());
    widgets::row(ui, title, "", |ui| widgets::fact(ui, facts));
    usage(ui, texts, name, total, in_use);
}

fn usage(ui: &mut Ui, texts: &Texts, name: &str, total: Bytes, in_use: Bytes) -> Response {
    let share = in_use.get() as f64 / total.get().max(1) as f64;
    let words = fill(
        texts.usage,
        &[
            ("name", name),
            ("used", &format::gib(in_use)),
            ("total", &format::gib(total)),
        ],
    );
    let response = widgets::meter(ui, share as f32, &words);
    let facts = fill(
        texts.usage_short,
        &[
            ("used", &format::gib(in_use)),
            ("total", &format::gib(total)),
        ],
    );
    widgets::fact(ui, facts);
    response
}

fn finding_ui(ui: &mut Ui, finding: &Finding) {
    let tokens = Tokens::of(ui);
    let colour = match finding.weight {
        Weight::Failure => tokens.bad,
        Weight::Warning => tokens.warn,
        Weight::Info => tokens.text_weak,
    };
    ui.horizontal_top(|ui| {
        widgets::dot(ui, colour);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let text = RichText::new(&finding.message).text_style(theme::small());
            ui.add(Label::new(text).wrap());
            if let Some(remedy) = &finding.remedy {
                widgets::fact(ui, remedy.clone());
            }
        });
    });
}

//! This machine as it was detected.

use eframe::egui::{Align, Label, Layout, Response, RichText, Ui};

use crate::app::command::{Command, Queue};
use crate::app::format;
use crate::app::subject::{Subjects, is_called, is_chosen};
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, Tokens};
use crate::app::widgets;
use crate::hardware::Gpu;
use crate::hardware::detection::{DetectedCard, Detection, Finding, Weight};
use crate::plan::Plan;
use crate::units::Bytes;

use super::context::Inputs;

/// Shows the cards and memory that were found, and what could not be read.
pub(super) fn this_machine(ui: &mut Ui, context: &Inputs<'_>, plan: &mut Plan, queue: &mut Queue) {
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
        ui.horizontal(|ui| {
            if detection.cards.len() == 1 && used {
                ui.add(Label::new(title).truncate());
            } else {
                // The last card cannot be put aside: no card at all is said by GPU layers.
                ui.add_enabled_ui(!used || others, |ui| ui.checkbox(&mut ticked, title))
                    .inner
                    .on_disabled_hover_text(texts.last_card);
            }
            // Facts give way before names do.
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let facts = RichText::new(facts)
                    .text_style(theme::small())
                    .color(Tokens::of(ui).text_weak);
                ui.add(Label::new(facts).truncate());
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

fn memory_row(ui: &mut Ui, texts: &Texts, name: &str, total: Bytes, in_use: Bytes, facts: &str) {
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

//! A simulated machine, card by card.

use eframe::egui::{RichText, Ui};

use crate::app::format;
use crate::app::library;
use crate::app::state::UiState;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID};
use crate::app::widgets::{self, NumberField, SearchList};
use crate::hardware::{Gpu, Machine};
use crate::plan::{GpuRef, MachineRef, Plan};
use crate::units::{Bytes, MIB};

use super::context::Inputs;

/// Most cards of one kind in one row.
const MOST: u32 = 16;

/// Shows the machine with everything that can be changed about it.
pub(super) fn edit(ui: &mut Ui, context: &Inputs<'_>, plan: &mut Plan, state: &mut UiState) {
    let Some(reference) = &mut plan.machine else {
        return;
    };
    let machine = context.subjects.machine.ready().map(std::sync::Arc::as_ref);
    let texts = context.texts;
    let mut gpus = gpus(reference, context, machine);
    let before = gpus.clone();
    let mut removed = None;
    // The machine has a card for each of a row's count, in the order of the rows, whatever the rows call them.
    let mut position = 0;
    for (index, gpu) in gpus.iter_mut().enumerate() {
        let known = machine.and_then(|machine| machine.gpus.get(position));
        position += gpu.count.unwrap_or(1) as usize;
        ui.push_id(index, |ui| {
            if gpu_ui(ui, context, known, gpu) {
                removed = Some(index);
            }
        });
    }
    if let Some(index) = removed {
        gpus.remove(index);
    }
    if gpus.is_empty() {
        widgets::fact(ui, texts.processor_alone);
    }
    if let Some(preset) = add_gpu(ui, context, state) {
        gpus.push(GpuRef {
            name: preset,
            ..GpuRef::default()
        });
    }
    if gpus != before {
        reference.gpus = Some(gpus);
    }
    if let Some(machine) = machine {
        ram(ui, texts, reference, machine);
    }
}

/// The cards as rows: those of the plan, else the preset's, else the detected ones.
fn gpus(reference: &MachineRef, context: &Inputs<'_>, machine: Option<&Machine>) -> Vec<GpuRef> {
    if let Some(gpus) = &reference.gpus {
        return gpus.clone();
    }
    if let Some(preset) = &reference.preset
        && let Ok(preset) = context.library.machines.find(preset)
    {
        return preset.gpus.clone();
    }
    machine
        .and_then(|machine| library::description(machine).gpus)
        .unwrap_or_default()
}

/// One row of equal cards; says whether it is to go.
fn gpu_ui(ui: &mut Ui, context: &Inputs<'_>, known: Option<&Gpu>, gpu: &mut GpuRef) -> bool {
    let texts = context.texts;
    let name = format::product(&gpu.name).to_owned();
    let title = RichText::new(&name).text_style(theme::strong());
    let removed = widgets::row(ui, title, &gpu.name.clone(), |ui| {
        let remove = fill(texts.remove, &[("name", &name)]);
        let removed = widgets::reset(ui, &remove, true).clicked();
        let field = NumberField {
            name: &fill(texts.count_of, &[("name", &name)]),
            range: (1.0, f64::from(MOST)),
            speed: 0.05,
            decimals: 0,
            prefix: "× ",
            suffix: "",
        };
        if let (_, Some(count)) = field.show(ui, f64::from(gpu.count.unwrap_or(1))) {
            gpu.count = Some(count as u32);
        }
        removed
    });
    let total = gpu
        .vram_mib
        .or(gpu.usable_mib)
        .or(known.map(|card| card.memory.total.get() / MIB));
    let vram = total.unwrap_or(0);
    let in_use = gpu.in_use_mib.unwrap_or(0);
    ui.horizontal(|ui| {
        widgets::fact(ui, texts.vram);
        let label = fill(texts.vram_of, &[("name", &name)]);
        if let Some(vram) = gib_field(ui, vram, &label) {
            gpu.vram_mib = Some(vram);
            gpu.usable_mib = None;
        }
        ui.add_space(GRID);
        widgets::fact(ui, texts.in_use);
        let label = fill(texts.in_use_of, &[("name", &name)]);
        if let Some(in_use) = gib_field(ui, in_use, &label) {
            gpu.in_use_mib = Some(in_use);
        }
    });
    removed
}

/// MiB in and out, shown in GiB.
fn gib_field(ui: &mut Ui, mib: u64, name: &str) -> Option<u64> {
    let field = NumberField {
        name,
        range: (0.0, 16_384.0),
        speed: 0.1,
        decimals: 2,
        prefix: "",
        suffix: " GiB",
    };
    let (_, gib) = field.show(ui, mib as f64 / 1024.0);
    gib.map(|gib| (gib * 1024.0).round() as u64)
}

fn ram(ui: &mut Ui, texts: &Texts, reference: &mut MachineRef, machine: &Machine) {
    let total = machine.host.ram.get() / MIB;
    let in_use = machine.host.in_use.get() / MIB;
    let title = RichText::new(texts.ram).text_style(theme::strong());
    widgets::row(ui, title, "", |_| {});
    ui.horizontal(|ui| {
        widgets::fact(ui, texts.total);
        if let Some(ram) = gib_field(ui, total, texts.ram_total) {
            reference.ram_mib = Some(ram.max(1));
        }
        ui.add_space(GRID);
        widgets::fact(ui, texts.in_use);
        if let Some(in_use) = gib_field(ui, in_use, texts.ram_in_use) {
            reference.ram_in_use_mib = Some(in_use);
        }
    });
}

/// The button that adds a card, and the list it opens; returns the name that was chosen.
fn add_gpu(ui: &mut Ui, context: &Inputs<'_>, state: &mut UiState) -> Option<String> {
    let texts = context.texts;
    let button = widgets::link(ui, texts.add_gpu);
    let list = SearchList {
        hint: texts.search_gpus,
        nothing: texts.no_gpu_in_catalogue,
        width: 360.0,
    };
    let rows = |search: &str| {
        let wanted = search.to_lowercase();
        let found = context.library.gpus.iter().filter(|gpu| {
            let name = gpu.name.to_lowercase();
            wanted.split_whitespace().all(|word| name.contains(word))
        });
        found
            .map(|gpu| widgets::Found {
                name: gpu.name.clone(),
                remark: match gpu.nominal() {
                    Bytes::ZERO => String::new(),
                    nominal => format::capacity(nominal),
                },
                stays: false,
                hover: String::new(),
                what: Some(gpu.name.clone()),
            })
            .collect()
    };
    widgets::search_list(ui, &button, &list, &mut state.gpus, |_| {}, rows, |_| {})
}

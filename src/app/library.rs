//! What can be chosen from: models, machines and GPUs, as lists to search.

use std::path::Path;
use std::sync::Arc;

use crate::catalog::gpus::GpuCatalog;
use crate::catalog::machines::{self, MachineCatalog};
use crate::catalog::models::{Entry, ModelCatalog};
use crate::hardware::Machine;
use crate::model::Model;
use crate::plan::{GpuRef, MachineRef, ModelRef};
use crate::projection::grouped;
use crate::source;
use crate::units::{Bytes, MIB};

use super::format;
use super::texts::{Texts, fill};

/// Every preset.
pub(crate) struct Library {
    /// GPUs.
    pub(crate) gpus: GpuCatalog,
    /// Machines.
    pub(crate) machines: MachineCatalog,
    /// Models.
    pub(crate) models: Arc<ModelCatalog>,
}

/// Size, context and licence of a preset in one line.
pub(crate) fn facts(entry: &Entry, texts: &Texts) -> String {
    let mut facts = vec![parameters(
        entry.total_parameters,
        entry.active_parameters,
        texts,
    )];
    if let Some(context) = entry.context_length {
        facts.push(fill(texts.tokens, &[("count", &grouped(context))]));
    }
    facts.extend(entry.licence.clone());
    facts.join(" · ")
}

/// "32.8 B", or "671 B, 37.5 B active".
pub(crate) fn parameters(total: u64, active: u64, texts: &Texts) -> String {
    let all = format::parameters(total);
    // Dense models leave out little more than their embedding or their eyes, which is not worth a word.
    if active > 0 && active < total - total / 4 {
        let active = format::parameters(active);
        fill(
            texts.parameters_active,
            &[("total", &all), ("active", &active)],
        )
    } else {
        all
    }
}

impl Library {
    /// What comes with the program, and the user's own model presets. A preset that cannot be read is told in the log
    /// and left out.
    pub(crate) fn new(presets: Option<&Path>) -> Self {
        let mut models = ModelCatalog::embedded();
        if let Some(folder) = presets {
            models.add_folder(folder);
        }
        Self {
            gpus: embedded(GpuCatalog::embedded()),
            machines: embedded(MachineCatalog::embedded()),
            models: Arc::new(models),
        }
    }

    /// The models, for a thread.
    pub(crate) fn shared_models(&self) -> Arc<ModelCatalog> {
        Arc::clone(&self.models)
    }

    /// What is known of a preset.
    pub(crate) fn entry(&self, id: &str) -> Option<&Entry> {
        self.models
            .list()
            .iter()
            .find(|entry| entry.id.eq_ignore_ascii_case(id))
    }

    /// Is it a preset of the user's own?
    pub(crate) fn is_of_user(&self, id: &str) -> bool {
        self.models.is_of_user(id)
    }

    /// Has a model a file of its own, rather than one of the forms that others publish?
    pub(crate) fn has_file(&self, reference: &ModelRef) -> bool {
        match &reference.preset {
            Some(id) => self
                .models
                .find(id)
                .is_ok_and(|preset| preset.path.is_some()),
            None => !reference.is_empty(),
        }
    }

    /// The model of a preset.
    ///
    /// # Errors
    /// An unknown preset, or overrides that make no model.
    pub(crate) fn model(&self, reference: &ModelRef) -> Result<Arc<Model>, String> {
        source::model(reference, &self.models)
            .map(Arc::new)
            .map_err(|error| error.to_string())
    }

    /// The machine that a plan means, where it does not mean this one as it is.
    ///
    /// # Errors
    /// An unknown preset or card, or figures that make no sense.
    pub(crate) fn machine(
        &self,
        reference: &MachineRef,
        detected: Option<&Machine>,
    ) -> Result<Machine, String> {
        machines::resolve(Some(reference), detected, &self.gpus, &self.machines)
            .map_err(|error| error.to_string())
    }
}

fn embedded<T: Default, E: std::fmt::Display>(catalog: Result<T, E>) -> T {
    catalog.unwrap_or_else(|error| {
        log::error!("{error}");
        T::default()
    })
}

/// A machine as a plan describes it, card by card, so that it does not depend on any preset.
pub(crate) fn description(machine: &Machine) -> MachineRef {
    let mib = |bytes: Bytes| Some(bytes.get() / MIB);
    MachineRef {
        preset: None,
        os: Some(machine.os),
        ram_mib: mib(machine.host.ram),
        ram_in_use_mib: mib(machine.host.in_use),
        ram_bandwidth_gb_s: machine.host.bandwidth_gb_s,
        gpus: Some(
            machine
                .gpus
                .iter()
                .map(|gpu| GpuRef {
                    name: gpu.name.clone(),
                    count: None,
                    in_use_mib: mib(gpu.memory.in_use),
                    usable_mib: mib(gpu.memory.usable),
                    vram_mib: mib(gpu.memory.total),
                    bandwidth_gb_s: gpu.bandwidth_gb_s,
                    compute_capability: gpu
                        .compute_capability
                        .map(|(major, minor)| format!("{major}.{minor}")),
                })
                .collect(),
        ),
        nodes: (machine.nodes > 1).then_some(machine.nodes),
    }
}

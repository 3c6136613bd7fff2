//! The model and the machine that the plan refers to, found and kept until the reference changes.

use crate::report::Beside;
use std::sync::Arc;

use crate::hardware::Machine;
use crate::hardware::detection::{DetectedCard, Detection};
use crate::hardware::probe::Progress;
use crate::model::Model;
use crate::plan::{MachineRef, ModelRef, Plan};

use super::jobs::{Jobs, Task};
use super::library::Library;
use super::live::Subject;

/// Something that has to be found first.
#[derive(Clone, Debug, Default)]
pub(crate) enum Found<T> {
    /// Nothing was asked for.
    #[default]
    Absent,
    /// It is being looked for.
    Waiting,
    /// Here it is.
    Ready(Arc<T>),
    /// It could not be had, and why.
    Failed(String),
}

impl<T> Found<T> {
    /// It, where it is there.
    pub(crate) const fn ready(&self) -> Option<&Arc<T>> {
        match self {
            Self::Ready(it) => Some(it),
            Self::Absent | Self::Waiting | Self::Failed(_) => None,
        }
    }
}

/// What the plan refers to.
#[derive(Default)]
pub(crate) struct Subjects {
    /// The model.
    pub(crate) model: Found<Model>,
    /// What drafts for it.
    pub(crate) draft: Found<Model>,
    /// What runs beside it.
    pub(crate) beside: Found<Vec<Beside>>,
    /// The machine.
    pub(crate) machine: Found<Machine>,
    /// What this machine has, once it was looked at.
    pub(crate) detection: Option<Arc<Detection>>,
    /// How far looking at it is.
    pub(crate) progress: Option<Progress>,
    /// Where the model is published in the engine's format, as its preset says.
    repository: Option<String>,
    model_of: Option<ModelRef>,
    machine_of: Option<MachineKey>,
}

#[derive(PartialEq)]
struct MachineKey {
    reference: Option<MachineRef>,
    chosen: Vec<String>,
}

impl Subjects {
    /// Looks again for what the plan refers to otherwise than before.
    pub(crate) fn refresh(&mut self, plan: &Plan, library: &Library, jobs: &mut Jobs) {
        if self.model_of.as_ref() != Some(&plan.model) {
            self.find_model(plan, library, jobs);
        }
        let key = MachineKey {
            reference: plan.machine.clone(),
            chosen: plan.launch.gpus.clone(),
        };
        if self.machine_of.as_ref() != Some(&key) {
            self.machine = self.find_machine(plan, library);
            self.machine_of = Some(key);
        }
    }

    fn find_model(&mut self, plan: &Plan, library: &Library, jobs: &mut Jobs) {
        self.model = match (&plan.model.preset, &plan.model.path) {
            (Some(_), _) => match library.model(&plan.model) {
                Ok(model) => Found::Ready(model),
                Err(reason) => Found::Failed(reason),
            },
            (None, Some(path)) => {
                if jobs.busy(Task::Model) {
                    // Asked again once the thread is free.
                    self.model = Found::Waiting;
                    return;
                }
                jobs.read_model(path.clone(), plan.model.clone());
                Found::Waiting
            }
            (None, None) => Found::Absent,
        };
        self.repository = plan
            .model
            .preset
            .as_deref()
            .and_then(|id| library.entry(id))
            .and_then(|entry| entry.gguf_repo.clone());
        self.model_of = Some(plan.model.clone());
    }

    fn find_machine(&self, plan: &Plan, library: &Library) -> Found<Machine> {
        let detected = self.detection.as_deref();
        match &plan.machine {
            None => detected.map_or(Found::Waiting, |detection| {
                Found::Ready(Arc::new(chosen_machine(detection, &plan.launch.gpus)))
            }),
            Some(reference) => {
                match library.machine(reference, detected.map(|detection| &detection.machine)) {
                    Ok(machine) => Found::Ready(Arc::new(machine)),
                    Err(_) if detected.is_none() && self.progress.is_some() => Found::Waiting,
                    Err(reason) => Found::Failed(reason),
                }
            }
        }
    }

    /// The machine was looked at.
    pub(crate) fn detected(&mut self, detection: Detection) {
        self.detection = Some(Arc::new(detection));
        self.progress = None;
        self.machine_of = None;
    }

    /// A model file was read, or could not be.
    pub(crate) fn model_read(
        &mut self,
        plan: &Plan,
        path: &str,
        result: anyhow::Result<Box<Model>>,
    ) {
        // The plan may mean another one by now.
        if plan.model.path.as_deref() == Some(path) {
            self.model = match result {
                Ok(model) => Found::Ready(Arc::from(model)),
                Err(error) => Found::Failed(format!("{error:#}")),
            };
        }
    }

    /// What the report is made of.
    pub(crate) fn subject(&self) -> Subject {
        Subject {
            model: self.model.ready().cloned(),
            draft: self.draft.ready().cloned(),
            beside: self
                .beside
                .ready()
                .map_or_else(Default::default, |beside| beside.as_slice().into()),
            repository: self.repository.clone(),
            machine: self.machine.ready().cloned(),
        }
    }
}

/// Is this card used? Those a plan names, else those that detection would use.
pub(crate) fn is_chosen(card: &DetectedCard, chosen: &[String]) -> bool {
    if chosen.is_empty() {
        card.aside.is_none()
    } else {
        chosen.iter().any(|id| is_called(card, id))
    }
}

/// Does the plan mean this card by that name?
pub(crate) fn is_called(card: &DetectedCard, id: &str) -> bool {
    card.id == id || card.gpu.uuid.as_deref() == Some(id)
}

fn chosen_machine(detection: &Detection, chosen: &[String]) -> Machine {
    if chosen.is_empty() {
        detection.machine.clone()
    } else {
        detection.machine_with(|card| is_chosen(card, chosen))
    }
}

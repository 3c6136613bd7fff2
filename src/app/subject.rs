//! The model and the machine that the plan refers to, found and kept until the reference changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hardware::Machine;
use crate::hardware::detection::{DetectedCard, Detection};
use crate::hardware::probe::Progress;
use crate::model::Model;
use crate::plain::one_line;
use crate::plan::{LaunchOptions, MachineRef, ModelRef, Plan};
use crate::report::Beside;

use super::basis::BesideKey;
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

    /// Why it could not be had.
    pub(crate) fn failure(&self) -> Option<&str> {
        match self {
            Self::Failed(reason) => Some(reason),
            Self::Absent | Self::Waiting | Self::Ready(_) => None,
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
    /// Where the model is published in the engine's format, as its preset or the plan says.
    repository: Option<String>,
    /// Those beside it that are known, also while they are read again.
    neighbours: Arc<[Beside]>,
    model_of: Option<ModelKey>,
    draft_of: DraftKey,
    machine_of: Option<MachineKey>,
    beside_of: Option<BesideKey>,
}

/// A model with what is loaded beside it.
#[derive(PartialEq)]
struct ModelKey {
    reference: ModelRef,
    projector: Option<String>,
    adapters: Vec<String>,
    /// Where its paths begin, as far as any of them does not begin at the root.
    folder: PathBuf,
}

impl ModelKey {
    fn of(plan: &Plan, folder: &Path) -> Self {
        let (projector, adapters) = (&plan.launch.mmproj_path, &plan.launch.lora_paths);
        let paths = plan.model.path.iter().chain(projector).chain(adapters);
        let mut paths = paths.map(Path::new);
        Self {
            reference: plan.model.clone(),
            projector: projector.clone(),
            adapters: adapters.clone(),
            folder: if paths.any(Path::is_relative) {
                folder.to_owned()
            } else {
                PathBuf::new()
            },
        }
    }
}

/// What drafts, with where its path begins.
type DraftKey = Option<(ModelRef, PathBuf)>;

fn draft_key(plan: &Plan, folder: &Path) -> DraftKey {
    let draft = plan.draft.clone()?;
    let relative = draft.path.as_deref().map(Path::new);
    let folder = match relative {
        Some(path) if path.is_relative() => folder.to_owned(),
        _ => PathBuf::new(),
    };
    Some((draft, folder))
}

#[derive(PartialEq)]
struct MachineKey {
    reference: Option<MachineRef>,
    chosen: Vec<String>,
}

impl Subjects {
    /// Looks again for what the plan refers to otherwise than before. Paths begin at `folder`.
    pub(crate) fn refresh(
        &mut self,
        plan: &Plan,
        folder: &Path,
        library: &Library,
        jobs: &mut Jobs,
    ) {
        let key = ModelKey::of(plan, folder);
        let asked = (&plan.model, key.folder.as_path());
        if self.model_of.as_ref() != Some(&key)
            && let Some(found) = find_model(asked, (Task::Model, &plan.launch), library, jobs)
        {
            let known = self.model_of.as_ref();
            let same = known.is_some_and(|known| known.reference == plan.model);
            // While what is beside it is read, the model stays what it was.
            if !(same && matches!(found, Found::Waiting) && self.model.ready().is_some()) {
                self.model = found;
            }
            self.model_of = Some(key);
            let preset = plan.model.preset.as_deref();
            let entry = preset.and_then(|id| library.entry(id));
            let published = entry.and_then(|entry| entry.gguf_repo.clone());
            self.repository = plan.model.repo.clone().or(published);
        }
        let key = draft_key(plan, folder);
        if self.draft_of != key {
            let none = (ModelRef::default(), PathBuf::new());
            let (draft, folder) = key.as_ref().unwrap_or(&none);
            let launch = LaunchOptions::default();
            if let Some(found) = find_model((draft, folder), (Task::Draft, &launch), library, jobs)
            {
                self.draft = found;
                self.draft_of = key;
            }
        }
        let key = MachineKey {
            reference: plan.machine.clone(),
            chosen: plan.launch.gpus.clone(),
        };
        if self.machine_of.as_ref() != Some(&key) {
            self.machine = self.find_machine(plan, library);
            self.machine_of = Some(key);
        }
        self.find_beside(plan, folder, library, jobs);
    }

    fn find_beside(&mut self, plan: &Plan, folder: &Path, library: &Library, jobs: &mut Jobs) {
        if plan.beside.is_empty() {
            if self.beside_of.take().is_some() {
                self.beside = Found::Absent;
                self.neighbours = Arc::default();
            }
            return;
        }
        let Some(machine) = self.machine.ready() else {
            return;
        };
        let known = self.beside_of.as_ref();
        let same_machine = known.is_some_and(|known| Arc::ptr_eq(&known.machine, machine));
        let unchanged = |known: &BesideKey| known.plans == plan.beside && known.folder == folder;
        // Asked again once the thread is free.
        if same_machine && known.is_some_and(unchanged) || jobs.busy(Task::Beside) {
            return;
        }
        let key = BesideKey {
            plans: plan.beside.clone(),
            folder: folder.to_owned(),
            machine: Arc::clone(machine),
        };
        self.beside = Found::Waiting;
        if !same_machine {
            self.neighbours = Arc::default();
        }
        self.beside_of = Some(key.clone());
        jobs.read_beside(key, library.shared_models());
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
        task: Task,
        read: &ModelRef,
        result: anyhow::Result<Box<Model>>,
    ) {
        let (reference, place) = match task {
            Task::Draft => (plan.draft.as_ref(), &mut self.draft),
            _ => (Some(&plan.model), &mut self.model),
        };
        // The plan may mean another one by now.
        if reference == Some(read) {
            *place = match result {
                Ok(model) => Found::Ready(Arc::from(model)),
                Err(error) => Found::Failed(one_line(&format!("{error:#}"))),
            };
        }
    }

    /// Plans beside this one were read, or could not be.
    pub(crate) fn beside_read(&mut self, key: &BesideKey, result: Result<Vec<Beside>, String>) {
        if self.beside_of.as_ref() != Some(key) {
            return;
        }
        self.neighbours = result
            .as_deref()
            .map_or_else(|_| Arc::default(), Into::into);
        self.beside = match result {
            Ok(beside) => Found::Ready(Arc::new(beside)),
            Err(reason) => Found::Failed(reason),
        };
    }

    /// The model is read again.
    pub(crate) fn forget_model(&mut self) {
        self.model_of = None;
    }

    /// The model that the plan is about to mean.
    pub(crate) fn opened(&mut self, reference: ModelRef, model: Arc<Model>) {
        self.repository.clone_from(&reference.repo);
        self.model_of = Some(ModelKey {
            reference,
            projector: None,
            adapters: Vec::new(),
            folder: PathBuf::new(),
        });
        self.model = Found::Ready(model);
    }

    /// The model is waited for no longer.
    pub(crate) fn give_up(&mut self, reason: &str) {
        self.model = Found::Failed(reason.to_owned());
    }

    /// Plans beside this one are read again.
    pub(crate) fn forget_beside(&mut self) {
        self.beside_of = None;
    }

    /// What drafts for the model or runs beside it is not known yet.
    pub(crate) const fn waits_for_others(&self) -> bool {
        matches!(self.draft, Found::Waiting) || matches!(self.beside, Found::Waiting)
    }

    /// What the report is made of.
    pub(crate) fn subject(&self) -> Subject {
        Subject {
            model: self.model.ready().cloned(),
            draft: self.draft.ready().cloned(),
            beside: Arc::clone(&self.neighbours),
            repository: self.repository.clone(),
            machine: self.machine.ready().cloned(),
        }
    }
}

/// The model that is meant, or that it is being read; absent where it cannot be asked for yet.
fn find_model(
    (reference, folder): (&ModelRef, &Path),
    (task, launch): (Task, &LaunchOptions),
    library: &Library,
    jobs: &mut Jobs,
) -> Option<Found<Model>> {
    let alone = launch.mmproj_path.is_none() && launch.lora_paths.is_empty();
    Some(match &reference.preset {
        Some(_) => match library.model(reference) {
            Ok(model) if alone => Found::Ready(model),
            Ok(_) if jobs.busy(task) => return None,
            Ok(model) => {
                let asked = (reference.clone(), folder.to_owned());
                jobs.read_model(task, asked, Some(model), launch.clone());
                Found::Waiting
            }
            Err(reason) => Found::Failed(one_line(&reason)),
        },
        // The thread is not free.
        None if !reference.is_empty() && jobs.busy(task) => return None,
        None if !reference.is_empty() => {
            let asked = (reference.clone(), folder.to_owned());
            jobs.read_model(task, asked, None, launch.clone());
            Found::Waiting
        }
        None => Found::Absent,
    })
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

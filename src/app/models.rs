//! What is done about models and where they come from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui::{Context, Event};

use crate::catalog::models::id_of;
use crate::engine::meaning::Meaning;
use crate::engine::{self, setting};
use crate::plain::one_line;
use crate::plan::{ModelRef, Value};
use crate::store::Overwrite;

use super::App;
use super::chooser::Purpose;
use super::format;
use super::jobs::Task;
use super::library::Library;
use super::local::Stage;
use super::notice::Topic;
use super::opened::Part;
use super::own_presets::{self, Keep, Kept};
use super::pins;
use super::remote::{Fetched, Judge};
use super::state::{Dialog, Shelf};
use super::texts::{Texts, fill};

/// Something about models and where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelCommand {
    /// Looks for models on this computer, from the beginning.
    Scan,
    /// Looks no further.
    StopScan,
    /// Asks for a folder in which to look for models.
    AddFolder,
    /// Looks no longer in a folder that the user added.
    ForgetFolder(PathBuf),
    /// Waits no longer for a file that is being read.
    StopReading,
    /// Reads the model's file again.
    ReadAgain,
    /// Puts what the model is on the clipboard, as JSON.
    CopyInspection,
    /// Reads what a repository holds, over the network.
    Fetch(String),
    /// Reads no further.
    StopFetch,
    /// Reads the headers of one of a repository's models, by its place, over the network.
    OpenChoice(usize),
    /// Asks for a name under which to keep the model.
    AskPreset,
    /// Keeps the model as a preset.
    SavePreset {
        /// The preset's name.
        id: String,
        /// What to do where the name is taken.
        overwrite: Overwrite,
    },
}

impl ModelCommand {
    /// What a button says.
    pub(super) const fn text(&self, texts: &Texts) -> &'static str {
        match self {
            Self::Scan => texts.look_again,
            Self::StopScan | Self::StopReading | Self::StopFetch => texts.stop,
            Self::Fetch(_) => texts.fetch,
            Self::OpenChoice(_) => texts.open,
            Self::AskPreset => texts.save_preset,
            Self::SavePreset { .. } => texts.save,
            Self::AddFolder => texts.add_model_folder,
            Self::ForgetFolder(_) => texts.forget_folder,
            Self::ReadAgain => texts.read_again,
            Self::CopyInspection => texts.copy_inspection,
        }
    }

    /// What it does, in a sentence; empty where the text says it all.
    pub(super) const fn tooltip(&self, texts: &Texts) -> &'static str {
        match self {
            Self::Scan => texts.look_again_help,
            Self::AddFolder => texts.add_model_folder_help,
            Self::ReadAgain => texts.read_again_help,
            Self::CopyInspection => texts.copy_inspection_help,
            Self::Fetch(_) => texts.fetch_help,
            Self::AskPreset => texts.save_preset_help,
            Self::StopScan
            | Self::ForgetFolder(_)
            | Self::StopReading
            | Self::StopFetch
            | Self::OpenChoice(_)
            | Self::SavePreset { .. } => "",
        }
    }
}

impl App {
    /// Does what a command about models says.
    pub(super) fn run_model_command(&mut self, command: ModelCommand, context: &Context) {
        match command {
            ModelCommand::Scan => self.scan(),
            ModelCommand::StopScan => self.local.stop(),
            ModelCommand::AddFolder => self.ask(Purpose::LibraryFolder),
            ModelCommand::ForgetFolder(folder) => {
                let folders = &mut self.preferences.model_folders;
                folders.retain(|known| *known != folder);
                self.scan();
            }
            ModelCommand::StopReading => self.stop_reading(),
            ModelCommand::ReadAgain => {
                self.state.stale = false;
                self.state.forget_failure(Topic::Source);
                self.subjects.forget_model();
            }
            ModelCommand::Fetch(text) => self.fetch(&text),
            ModelCommand::StopFetch => self.remote.stop(&mut self.jobs),
            ModelCommand::OpenChoice(place) => self.remote.open(place, &mut self.jobs),
            ModelCommand::AskPreset => self.ask_preset(),
            ModelCommand::SavePreset { id, overwrite } => self.save_preset(id, overwrite),
            ModelCommand::CopyInspection => {
                let inspection = self.inspected().map(|known| &known.inspection);
                let text = inspection.map(|known| serde_json::to_string_pretty(&**known));
                if let Some(Ok(text)) = text {
                    self.copy(text, context);
                }
            }
        }
    }

    fn fetch(&mut self, text: &str) {
        let machine = self.subjects.machine.ready().cloned();
        let judge = machine.map(|machine| Judge {
            plan: self.document.plan.clone(),
            machine,
        });
        self.remote.fetch(text, judge, &mut self.jobs);
    }

    /// Takes what is heard of a repository.
    pub(super) fn fetched(&mut self, fetched: Fetched) {
        if let Some((reference, model)) = self.remote.take(fetched) {
            self.document.step();
            self.subjects.opened(reference.clone(), Arc::from(model));
            let before = std::mem::replace(&mut self.document.plan.model, reference);
            self.model_changed(&before);
        }
    }

    fn ask_preset(&mut self) {
        if let Some(model) = self.subjects.model.ready() {
            self.state.dialog = Some(Dialog::Preset {
                id: id_of(&model.name),
                taken: false,
                problem: None,
            });
        }
    }

    fn save_preset(&mut self, id: String, overwrite: Overwrite) {
        let (Some(model), Some(folder)) = (self.subjects.model.ready(), &self.presets) else {
            return;
        };
        let keep = Keep {
            id,
            model: Arc::clone(model),
            path: self.model_place(),
            folder: folder.clone(),
            overwrite,
        };
        own_presets::keep(keep, self.library.shared_models(), &mut self.jobs);
    }

    /// A model was kept as a preset, or not.
    pub(super) fn preset_kept(&mut self, kept: Kept) {
        let (is_taken, reason) = match kept {
            Kept::Saved(path) => {
                self.state.dialog = None;
                self.library = Library::new(self.presets.as_deref());
                let shown = path.display().to_string();
                let text = fill(self.texts.preset_saved, &[("path", &shown)]);
                self.state.tell(Topic::Save, &text);
                return;
            }
            Kept::Taken(reason) => (true, reason),
            Kept::Failed(reason) => (false, reason),
        };
        match &mut self.state.dialog {
            Some(Dialog::Preset { taken, problem, .. }) => {
                *taken = is_taken;
                *problem = Some(one_line(&reason));
            }
            _ => self.state.fail(Topic::Save, &reason),
        }
    }

    fn scan(&mut self) {
        let folders = self.preferences.model_folders.clone();
        self.local.look(folders, &mut self.jobs);
    }

    /// Looks in one more folder, now and from now on.
    pub(super) fn add_model_folder(&mut self, path: &Path) {
        self.state.path_taken(Topic::Open);
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folders = &mut self.preferences.model_folders;
        if !folders.contains(&path) {
            folders.push(path);
        }
        self.state.shelf = Shelf::Local;
        self.state.models.asked = true;
        self.scan();
    }

    fn stop_reading(&mut self) {
        self.jobs.abandon(Task::Open);
        self.state.dropped = None;
        if self.jobs.busy(Task::Model) {
            self.jobs.abandon(Task::Model);
            self.subjects.give_up(self.texts.reading_stopped);
        }
    }

    /// What the model on the desk is, where it is known.
    pub(super) fn inspected(&self) -> Option<&super::inspector::Inspected> {
        self.inspector.of(self.subjects.model.ready()?)
    }

    /// Asks what the model is, watches its files, and begins to look for models once somebody wants to see them.
    pub(super) fn follow_models(&mut self, context: &Context) {
        let shelves = [self.state.shelf, self.state.draft_shelf];
        if shelves.contains(&Shelf::Local) && self.local.stage == Stage::Unasked {
            self.scan();
        }
        let path = self.model_place();
        if let Some(model) = self.subjects.model.ready() {
            self.inspector.refresh(model, path, &mut self.jobs);
            if let Some(known) = self.inspector.of(model) {
                self.watch.follow(known.source.as_ref(), &mut self.jobs);
            }
        } else if self.document.plan.model.path.is_none() {
            self.watch.follow(None, &mut self.jobs);
        }
        let back = |event: &Event| matches!(event, Event::WindowFocused(true));
        if context.input(|input| input.events.iter().any(back)) {
            self.watch.look(&mut self.jobs);
        }
    }

    /// In which form the weights are is a matter of the model's file. What was chosen for another model is given up where
    /// either has a file of its own; says what that was.
    pub(super) fn let_weights_go(&mut self, before: &ModelRef) -> Option<String> {
        let plan = &self.document.plan;
        let has_file = |model: &ModelRef| self.library.has_file(model);
        if !has_file(before) && !has_file(&plan.model) {
            return None;
        }
        self.give_up(|setting| {
            let mut meanings = setting.counterparts.iter();
            meanings.any(|own| own.meaning == Meaning::Weights)
        })
    }

    /// What a fit chose for another model is nobody's wish for this one; says what that was.
    pub(super) fn let_choices_go(&mut self) -> Option<String> {
        let mut chosen = std::mem::take(&mut self.document.plan.fit.chosen);
        chosen.extend(std::mem::take(&mut self.fitting.chosen));
        let plan = &self.document.plan;
        let stands = |name: &str| {
            plan.settings.get(name) == chosen.get(name) && !pins::is_pinned(&plan.fit, name)
        };
        let names: Vec<String> = chosen.keys().filter(|name| stands(name)).cloned().collect();
        self.give_up(|setting| names.iter().any(|name| name == setting.name))
    }

    /// The same of what drafts.
    pub(super) fn let_draft_weights_go(&mut self, before: Option<&ModelRef>) -> Option<String> {
        let drafts = before.into_iter().chain(&self.document.plan.draft);
        let has_file = drafts.filter(|draft| self.library.has_file(draft)).count() > 0;
        if !has_file {
            return None;
        }
        self.give_up(|setting| !setting.of_files.is_empty() && setting.counterparts.is_empty())
    }

    /// Takes settings and their pins out of the plan; says which those were.
    fn give_up(&mut self, is_meant: impl Fn(&setting::Setting) -> bool) -> Option<String> {
        let plan = &mut self.document.plan;
        let engine = engine::find(&plan.engine)?;
        let mut given_up = Vec::new();
        for setting in engine.settings().iter().filter(|setting| is_meant(setting)) {
            pins::unpin(&mut plan.fit, setting.name);
            if let Some(value) = plan.settings.shift_remove(setting.name) {
                let value = format::value(&value, self.texts);
                given_up.push(format!("{} {value}", setting.label));
            }
        }
        (!given_up.is_empty()).then(|| given_up.join(", "))
    }

    /// Where the model's own file or folder is, where it has one.
    fn model_place(&self) -> Option<PathBuf> {
        let path = self.document.plan.model.path.as_deref()?;
        Some(self.document.place(path))
    }

    /// Takes up what goes with a model.
    pub(super) fn use_part(&mut self, part: Part, path: &Path) {
        self.document.step();
        let plan = &mut self.document.plan;
        let shown = path.display().to_string();
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let path = path.display().to_string();
        let has =
            |name| engine::find(&plan.engine).is_some_and(|own| setting::find(own, name).is_some());
        let told = match part {
            Part::Projector => {
                plan.launch.mmproj_path = Some(path);
                if has("mmproj") {
                    plan.settings.insert("mmproj".to_owned(), Value::Bool(true));
                }
                self.texts.projector_taken
            }
            Part::Adapter(line) => {
                let (lines, paths) = (has("lora"), &mut plan.launch.lora_paths);
                if !paths.contains(&path) {
                    paths.push(path);
                    let known = plan.settings.shift_remove("lora").filter(|_| lines);
                    let mut all = match known {
                        Some(Value::List(all)) => all,
                        _ => Vec::new(),
                    };
                    all.extend(line.map(Value::Text));
                    if lines && !all.is_empty() {
                        plan.settings.insert("lora".to_owned(), Value::List(all));
                    }
                }
                self.texts.adapter_taken
            }
            Part::ControlVector => {
                let paths = &mut plan.launch.control_vector_paths;
                if !paths.contains(&path) {
                    paths.push(path);
                }
                if has("control_vector") {
                    let name = "control_vector".to_owned();
                    plan.settings.insert(name, Value::Bool(true));
                }
                self.texts.vector_taken
            }
        };
        self.state
            .tell(Topic::Open, &fill(told, &[("path", &shown)]));
    }

    /// The model's file is not as it was. What was read of it stays.
    pub(super) fn source_changed(&mut self, path: &Path) {
        if self.state.stale || self.model_place().as_deref() != Some(path) {
            return;
        }
        self.state.stale = true;
        let text = if path.exists() {
            self.texts.source_changed
        } else {
            self.texts.source_gone
        };
        let shown = path.display().to_string();
        self.state
            .fail(Topic::Source, &fill(text, &[("path", &shown)]));
    }
}

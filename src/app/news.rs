//! What comes in from threads and from outside, and what commands do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui::{Context, ViewportCommand};

use crate::engine::{self, setting};
use crate::hardware::detection::Detection;
use crate::hardware::diagnostic;
use crate::plan::{ModelRef, Plan};
use crate::store::{self, Overwrite};

use super::App;
use super::chooser::{PathRequest, Purpose};
use super::command::Command;
use super::document::Document;
use super::jobs::News;
use super::library;
use super::notice::Topic;
use super::opened::{Content, Opened};
use super::pins;
use super::preferences::Colours;
use super::state::Dialog;
use super::texts::fill;

impl App {
    /// Takes what threads have to say.
    pub(super) fn take_news(&mut self) {
        for news in self.jobs.news() {
            match news {
                News::Progress(progress) => self.subjects.progress = Some(progress),
                News::Detected(detection) => self.subjects.detected(*detection),
                News::Chosen {
                    purpose,
                    path: Some(path),
                    ..
                } => self.path_chosen(purpose, path, Overwrite::Replace),
                News::Chosen {
                    purpose,
                    path: None,
                    quick: true,
                } => {
                    self.state.types_paths = true;
                    self.ask_here(purpose);
                }
                News::Chosen { .. } => {}
                News::Opened { path, result } => self.opened(&path, result),
                News::Model {
                    task,
                    reference,
                    result,
                } => {
                    let plan = &self.document.plan;
                    self.subjects.model_read(plan, task, &reference, result);
                }
                News::Beside { key, result } => self.subjects.beside_read(&key, result),
                News::Saved {
                    content,
                    path,
                    result,
                } => self.saved(content, path, result),
                News::Heard(heard) => self.local.take(*heard),
                News::Fetched(fetched) => self.fetched(*fetched),
                News::Kept(kept) => self.preset_kept(kept),
                News::Inspected(inspected) => self.inspector.keep(*inspected),
                News::Changed(path) => self.source_changed(&path),
                News::Swept(key, curve) => self.live.keep_curve(*key, *curve),
                News::Priced(basis, prices) => self.live.keep_prices(*basis, prices),
                News::Fitted(basis, answer) => self.fitting.keep(*basis, *answer),
            }
        }
    }

    /// Opens files that were dropped on the window.
    pub(super) fn take_drops(&mut self, context: &Context) {
        let dropped = context.input(|input| input.raw.dropped_files.clone());
        for path in dropped.iter().map(|file| file.path().to_owned()) {
            self.queue.send(Command::OpenDropped(path));
        }
    }

    /// Does what a command says.
    pub(super) fn run_command(&mut self, command: Command, context: &Context) {
        let loses_plan = matches!(command, Command::NewPlan | Command::Quit);
        if loses_plan && self.document.unsaved() && !self.state.quitting {
            self.state.dialog = Some(Dialog::Unsaved { then: command });
            return;
        }
        match command {
            Command::NewPlan => self.new_plan(),
            Command::OpenPlan => self.ask(Purpose::Open),
            Command::OpenPath(path) => self.jobs.open(path),
            Command::OpenDropped(path) => self.open_dropped(path),
            Command::AddBeside => self.ask(Purpose::BesidePlan),
            Command::RunBeside(path) => self.add_beside(&path),
            Command::TypeOpenPath => self.ask_here(Purpose::Open),
            Command::SavePlan => self.save_plan(),
            Command::SavePlanAs => self.ask(Purpose::SavePlan),
            Command::TypePlanPath => self.ask_here(Purpose::SavePlan),
            Command::SaveLaunch => self.ask(Purpose::SaveLaunch),
            Command::TypeLaunchPath => self.ask_here(Purpose::SaveLaunch),
            Command::CopyLaunch => {
                if let Some(Ok(file)) = &self.live.launch {
                    self.copy(file.text.clone(), context);
                }
            }
            Command::OpenModelFile => self.ask(Purpose::ModelFile),
            Command::OpenModelFolder => self.ask(Purpose::ModelFolder),
            Command::Models(command) => self.run_model_command(command, context),
            Command::Detect => self.detect_again(),
            Command::CopyReport => self.copy_report(context),
            Command::SaveReport => self.ask(Purpose::SaveReport),
            Command::OpenReport => self.ask(Purpose::OpenReport),
            Command::SwitchTheme => self.switch_theme(context),
            Command::Show(tab) => self.state.tab = tab,
            Command::ChooseModel => self.state.models.asked = true,
            Command::ChooseMachine => self.state.machines.asked = true,
            Command::Fit(objective) => self.fit(objective, context),
            Command::Unpin(names) => self.unpin(&names, context),
            Command::Take(place) => self.take(place),
            Command::Undo => self.turn_back(Document::undo),
            Command::Redo => self.turn_back(Document::redo),
            Command::Quit => {
                self.state.quitting = true;
                context.send_viewport_cmd(ViewportCommand::Close);
            }
            Command::Discard(then) => {
                self.document.forget_changes();
                self.run_command(*then, context);
            }
            Command::SaveThen(then) => {
                self.state.after_saving = Some(*then);
                self.run_command(Command::SavePlan, context);
            }
            Command::Write {
                purpose,
                path,
                overwrite,
            } => self.path_chosen(purpose, path, overwrite),
        }
    }

    pub(super) fn copy(&mut self, text: String, context: &Context) {
        context.copy_text(text);
        self.state.tell(Topic::Copy, self.texts.copied);
    }

    fn copy_report(&mut self, context: &Context) {
        if let Some(detection) = &self.subjects.detection {
            self.copy(diagnostic::to_text(detection), context);
        }
    }

    fn detect_again(&mut self) {
        self.jobs.detect(&self.detector);
        self.subjects.forget_beside();
    }

    fn open_dropped(&mut self, path: PathBuf) {
        self.state.dropped = Some(path.clone());
        self.jobs.open(path);
    }

    fn save_plan(&mut self) {
        match self.document.path.clone() {
            Some(path) => self.write(Purpose::SavePlan, path, Overwrite::Replace),
            None => self.ask(Purpose::SavePlan),
        }
    }

    fn new_plan(&mut self) {
        self.document = Document::default();
        self.state.set_aside = None;
        self.state.engines.clear();
    }

    /// To an earlier or later state of the plan, which is taken as it was.
    fn turn_back(&mut self, turn: impl FnOnce(&mut Document) -> bool) {
        if turn(&mut self.document) {
            self.restart = false;
            self.fitting.wanted = None;
            self.fitting.stepped = false;
            self.state.set_aside = None;
        }
    }

    fn switch_theme(&mut self, context: &Context) {
        let dark = context.global_style().visuals.dark_mode;
        self.preferences.theme = if dark { Colours::Light } else { Colours::Dark };
        context.set_theme(self.preferences.theme);
    }

    /// Asks for a path with the desktop's dialog.
    pub(super) fn ask(&mut self, purpose: Purpose) {
        let request = PathRequest {
            purpose,
            title: purpose.title(self.texts),
            file_name: self.suggested_name(purpose),
            folder: self
                .document
                .path
                .as_deref()
                .and_then(Path::parent)
                .map(Path::to_owned),
        };
        self.jobs.choose(&self.chooser, request);
    }

    /// Asks for a path in the window.
    fn ask_here(&mut self, purpose: Purpose) {
        let name = self.suggested_name(purpose);
        let folder = self.document.path.as_deref().and_then(Path::parent);
        let text = folder.map_or_else(
            || name.clone(),
            |folder| folder.join(&name).display().to_string(),
        );
        self.state.dialog = Some(Dialog::Path {
            purpose,
            text,
            folder: std::env::current_dir()
                .map(|folder| folder.display().to_string())
                .unwrap_or_default(),
            problem: None,
        });
    }

    /// Asks in the window for another path than this.
    fn ask_again(&mut self, purpose: Purpose, path: &Path) {
        self.ask_here(purpose);
        if let Some(Dialog::Path { text, .. }) = &mut self.state.dialog {
            *text = path.display().to_string();
        }
    }

    fn suggested_name(&self, purpose: Purpose) -> String {
        match purpose {
            Purpose::SavePlan => self.document.suggested_name(),
            Purpose::SaveLaunch => match &self.live.launch {
                Some(Ok(file)) => file.name.clone(),
                _ => String::new(),
            },
            Purpose::SaveReport => "machine.json".to_owned(),
            Purpose::Open
            | Purpose::ModelFile
            | Purpose::ModelFolder
            | Purpose::LibraryFolder
            | Purpose::BesidePlan
            | Purpose::OpenReport => String::new(),
        }
    }

    fn path_chosen(&mut self, purpose: Purpose, path: PathBuf, overwrite: Overwrite) {
        if purpose == Purpose::BesidePlan {
            self.state.path_taken(purpose.topic());
            self.add_beside(&path);
        } else if purpose == Purpose::LibraryFolder {
            self.add_model_folder(&path);
        } else if purpose.saves() {
            self.write(purpose, path, overwrite);
        } else {
            self.jobs.open(path);
        }
    }

    fn write(&mut self, purpose: Purpose, path: PathBuf, overwrite: Overwrite) {
        let content = match purpose {
            Purpose::SavePlan => {
                let mut plan = self.document.plan_at(&path);
                plan.note_chosen(&self.fitting.chosen);
                Content::Plan(Box::new(plan))
            }
            Purpose::SaveReport => match &self.subjects.detection {
                Some(detection) => Content::Report(Arc::clone(detection)),
                None => return,
            },
            _ => match &self.live.launch {
                Some(Ok(file)) => Content::Launch(file.clone()),
                _ => return,
            },
        };
        self.jobs.save(content, path, overwrite);
    }

    fn saved(&mut self, content: Content, path: PathBuf, result: Result<(), store::Error>) {
        let purpose = match &content {
            Content::Plan(_) => Purpose::SavePlan,
            Content::Launch(_) => Purpose::SaveLaunch,
            Content::Report(_) => Purpose::SaveReport,
        };
        match result {
            Ok(()) => {
                let shown = path.display().to_string();
                self.state.path_taken(Topic::Save);
                self.state
                    .tell(Topic::Save, &fill(self.texts.saved, &[("path", &shown)]));
                if let Content::Plan(plan) = content {
                    self.preferences.remember(&absolute(&path));
                    self.document.saved_as(*plan, &path);
                    if let Some(then) = self.state.after_saving.take() {
                        self.queue.send(then);
                    }
                }
            }
            Err(store::Error::Exists { .. }) => {
                self.state.dialog = Some(Dialog::Overwrite { purpose, path });
            }
            Err(error) => {
                if self.state.types_paths && self.state.dialog.is_none() {
                    self.ask_again(purpose, &path);
                }
                self.state.fail(Topic::Save, &error.to_string());
            }
        }
    }

    fn opened(&mut self, path: &Path, result: anyhow::Result<Opened>) {
        if result.is_ok() {
            self.state.path_taken(Topic::Open);
            self.state.forget_failure(Topic::Open);
        }
        let dropped = self
            .state
            .dropped
            .take()
            .is_some_and(|dropped| dropped == path);
        match result {
            Ok(Opened::Plan(_)) if dropped && self.document.has_model() => {
                let path = path.to_owned();
                self.state.dialog = Some(Dialog::Dropped { path });
            }
            Ok(Opened::Plan(_)) if self.document.unsaved() => {
                self.state.dialog = Some(Dialog::Unsaved {
                    then: Command::OpenPath(path.to_owned()),
                });
            }
            Ok(Opened::Plan(plan)) => self.use_plan(*plan, path),
            Ok(Opened::Report(detection)) => self.use_report(&detection),
            Ok(Opened::Model) => self.use_model(path),
            Ok(Opened::Part(part)) => self.use_part(part, path),
            Err(error) => self.state.fail(Topic::Open, &format!("{error:#}")),
        }
    }

    /// Puts a plan from a file on the desk. Its settings get their canonical names, so that controls find them.
    fn use_plan(&mut self, mut plan: Plan, path: &Path) {
        if let Some(engine) = engine::find(&plan.engine)
            && let Ok(settings) = setting::canonical(engine, &plan.settings)
        {
            plan.settings = settings;
        }
        pins::canonical(&mut plan);
        self.state.set_aside = None;
        self.state.engines.clear();
        self.preferences.remember(&absolute(path));
        self.document = Document::opened(plan, path.to_owned());
        self.restart = false;
    }

    /// Counts another plan on the same machine.
    fn add_beside(&mut self, path: &Path) {
        self.document.step();
        let path = self.document.path_from_plan(&absolute(path));
        self.document.plan.beside.push(path);
    }

    /// Plans with the machine that a report describes.
    fn use_report(&mut self, detection: &Detection) {
        self.document.step();
        self.document.plan.machine = Some(library::description(&detection.machine));
        self.document.plan.launch.gpus.clear();
        self.machine_changed();
        let name = detection.machine.name.clone();
        self.state.tell(
            Topic::Open,
            &fill(self.texts.report_opened, &[("machine", &name)]),
        );
    }

    fn use_model(&mut self, path: &Path) {
        // From anywhere: a path that was typed counts from where the program was started, not from the plan.
        let model = ModelRef {
            path: Some(absolute(path).display().to_string()),
            ..ModelRef::default()
        };
        if model != self.document.plan.model {
            self.document.step();
            let before = std::mem::replace(&mut self.document.plan.model, model);
            self.model_changed(&before);
        }
    }
}

/// The path as it is from anywhere, for the list of recent plans.
fn absolute(path: &Path) -> PathBuf {
    // Fails only for an empty path, which no file has.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

//! The window. The only code that names egui, eframe, egui_plot or rfd.
//!
//! [`App`] holds the plan on the desk and everything derived from it; `panels` are free functions that show a part of
//! it and edit the plan; what does I/O or changes the window is a [`command::Command`], run at the end of the frame.

pub mod aside;
mod basis;
pub mod chooser;
mod closing;
pub mod command;
mod dialogs;
pub mod document;
mod fits;
mod fitting;
mod fonts;
mod format;
mod history;
mod icon;
mod inspector;
pub mod jobs;
mod library;
mod live;
mod local;
mod models;
mod news;
pub mod notice;
mod opened;
mod own_presets;
mod panels;
mod pins;
pub mod preferences;
mod remote;
mod run;
mod screenshot;
pub mod state;
mod subject;
mod sweep;
pub mod tab;
mod task;
pub mod texts;
pub mod theme;
mod watch;
mod widgets;

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui::{Context, Ui};

use crate::plan::{ModelRef, Plan};
use crate::source::library::Places;

use chooser::PathChooser;
use command::{Command, Queue};
use document::Document;
use fitting::Fitting;
use history::Edit;
use inspector::Inspector;
use jobs::{Detector, Jobs, Threads};
use library::Library;
use live::Live;
use local::Local;
use notice::Topic;
use preferences::Preferences;
use remote::Remote;
use state::{SetAside, UiState};
use subject::Subjects;
use texts::{Texts, fill};
use watch::Watch;

pub use remote::HubMaker;
pub use run::{Error, Options, run};

/// What the window needs from outside, so that tests can give it something else.
pub struct Surroundings {
    /// How paths are asked for.
    pub chooser: Arc<dyn PathChooser>,
    /// How the machine is looked at.
    pub detector: Detector,
    /// Whether work runs on threads.
    pub threads: Threads,
    /// Where preferences are kept; absent: nowhere.
    pub preferences_file: Option<PathBuf>,
    /// Folder with the user's own presets; absent: none.
    pub presets: Option<PathBuf>,
    /// Where programs keep models on this computer; absent: none are looked for.
    pub places: Option<Places>,
    /// How a hub is reached; absent: it is not.
    pub hub: Option<HubMaker>,
    /// What to open at first.
    pub open: Option<PathBuf>,
}

/// The window's contents.
pub struct App {
    /// The plan and its file.
    pub document: Document,
    /// State of this session.
    pub state: UiState,
    /// The user's taste.
    pub preferences: Preferences,
    /// What is derived from the plan.
    live: Live,
    subjects: Subjects,
    fitting: Fitting,
    library: Library,
    local: Local,
    remote: Remote,
    inspector: Inspector,
    watch: Watch,
    jobs: Jobs,
    queue: Queue,
    texts: &'static Texts,
    chooser: Arc<dyn PathChooser>,
    detector: Detector,
    preferences_file: Option<PathBuf>,
    /// Folder with the user's own presets.
    presets: Option<PathBuf>,
    /// Settings are to start afresh once model and machine are there.
    restart: bool,
}

impl App {
    /// A window with an empty plan that begins to look at the machine.
    pub fn new(context: &Context, preferences: Preferences, surroundings: Surroundings) -> Self {
        let Surroundings {
            chooser,
            detector,
            threads,
            preferences_file,
            presets,
            places,
            hub,
            open,
        } = surroundings;
        theme::install(context);
        context.set_theme(preferences.theme);
        let mut app = Self {
            document: Document::default(),
            state: UiState::default(),
            preferences,
            live: Live::default(),
            subjects: Subjects::default(),
            fitting: Fitting::default(),
            library: Library::new(presets.as_deref()),
            local: Local::new(places),
            remote: Remote::new(hub),
            presets,
            inspector: Inspector::default(),
            watch: Watch::default(),
            jobs: Jobs::new(context.clone(), threads),
            queue: Queue::default(),
            texts: &texts::ENGLISH,
            chooser,
            detector,
            preferences_file,
            restart: false,
        };
        app.jobs.detect(&app.detector);
        if let Some(path) = open {
            app.queue.send(Command::OpenPath(path));
        }
        app
    }

    /// One frame: what came in, what follows from it, the panels, then what they asked for.
    pub fn ui(&mut self, ui: &mut Ui) {
        let context = ui.ctx().clone();
        self.take_news();
        self.take_drops(&context);
        let mut changed = self.refresh();
        if self.advance_fit() {
            changed |= self.refresh();
        }
        self.price(&context, changed);
        self.follow_models(&context);
        if self.state.dialog.is_none() {
            self.queue.send_shortcuts(&context);
        }
        let plan_before = self.document.plan.clone();

        panels::top_bar(
            ui,
            self.texts,
            &self.document,
            &self.preferences,
            self.state.types_paths,
            &mut self.queue,
        );
        self.inputs(ui);
        self.launch(ui);
        let opening = self.jobs.busy(jobs::Task::Open);
        panels::notices(
            ui,
            self.texts,
            &mut self.state.notices,
            opening,
            &mut self.queue,
        );
        self.picture(ui);
        dialogs::drop_hint(&context, self.texts);
        dialogs::show(
            &context,
            self.texts,
            &mut self.state,
            &self.document,
            &mut self.queue,
        );

        if plan_before != self.document.plan {
            self.fitting.stepped = false;
            self.follow(plan_before, &context);
        }
        self.guard_closing(&context);
        self.name_window(&context);
        for command in self.queue.take() {
            self.run_command(command, &context);
        }
        if self.refresh() {
            context.request_repaint();
        }
    }

    /// Asks for the price of experts once the plan stands still: while a slider is dragged, nobody reads it.
    fn price(&mut self, context: &Context, changed: bool) {
        let Some(basis) = self.live.unpriced(&self.document.plan) else {
            return;
        };
        // The release of the button brings another frame by itself.
        let dragged = context.input(|input| input.pointer.any_down());
        match (dragged, changed) {
            (true, _) => {}
            (false, true) => context.request_repaint(),
            (false, false) => self.jobs.price(basis, self.live.memo()),
        }
    }

    /// What follows from the user's change of the plan.
    fn follow(&mut self, before: Plan, context: &Context) {
        let plan = &mut self.document.plan;
        pins::follow(&before, plan);
        let edit = Edit::new(context, &before, plan);
        let other_model = plan.model != before.model;
        let other_machine =
            plan.machine != before.machine || plan.launch.gpus != before.launch.gpus;
        let (model, draft) = (before.model.clone(), before.draft.clone());
        let other_draft = plan.draft != draft;
        self.document.record(before, edit);
        if other_draft && let Some(settings) = self.let_draft_weights_go(draft.as_ref()) {
            let told = fill(self.texts.weights_let_go, &[("settings", &settings)]);
            self.state.tell(Topic::Fit, &told);
        }
        if other_model {
            self.model_changed(&model);
        } else if other_machine {
            self.machine_changed();
        }
    }

    /// Nobody's settings start afresh on another machine. A plan from a file says what its settings are.
    fn machine_changed(&mut self) {
        self.restart |= !self.document.is_given();
    }

    /// Nobody's settings start afresh with another model, and another file than the last one's is to be loaded.
    fn model_changed(&mut self, before: &ModelRef) {
        let choices = self.document.is_given().then(|| self.let_choices_go());
        let given_up = self.let_weights_go(before);
        if !self.document.is_given() {
            self.restart = true;
        } else if let Some(choices) = choices.flatten() {
            let all = choices + &given_up.map_or_else(String::new, |own| format!(", {own}"));
            let told = fill(self.texts.kept_but_chosen, &[("settings", &all)]);
            self.state.tell(Topic::Fit, &told);
        } else if let Some(settings) = given_up {
            let told = fill(self.texts.kept_but_weights, &[("settings", &settings)]);
            self.state.tell(Topic::Fit, &told);
        } else {
            self.state.tell(Topic::Fit, self.texts.kept_settings);
        }
        self.state.stale = false;
        self.state.forget_failure(Topic::Source);
        self.state.engines.clear();
        let launch = &mut self.document.plan.launch;
        let of_last_model = SetAside {
            model_path: launch.model_path.take(),
            hf_repo: launch.hf_repo.take(),
        };
        if of_last_model != SetAside::default() {
            self.state.set_aside = Some(of_last_model);
        }
    }

    /// Brings everything derived up to date; says whether anything was not.
    fn refresh(&mut self) -> bool {
        let Self {
            document,
            subjects,
            library,
            jobs,
            ..
        } = self;
        subjects.refresh(&document.plan, document.folder(), library, jobs);
        if self.restart && self.start() {
            // What is shown stays until there are settings for what comes.
            return false;
        }
        let Self {
            document,
            live,
            subjects,
            ..
        } = self;
        let subject = subjects.subject();
        live.refresh(&document.plan, &self.preferences.target, &subject)
    }

    fn inputs(&mut self, ui: &mut Ui) {
        let context = panels::Inputs {
            texts: self.texts,
            library: &self.library,
            subjects: &self.subjects,
            live: &self.live,
            local: &self.local,
            remote: &self.remote,
            folders: &self.preferences.model_folders,
            detecting: self.jobs.busy(jobs::Task::Detect),
        };
        panels::inputs(
            ui,
            &context,
            &mut self.document.plan,
            &mut self.state,
            &mut self.queue,
        );
    }

    fn launch(&mut self, ui: &mut Ui) {
        panels::launch(
            ui,
            self.texts,
            &self.live,
            &mut self.document.plan,
            &mut self.preferences,
            &mut self.state,
            &mut self.queue,
        );
    }

    fn picture(&mut self, ui: &mut Ui) {
        let basis = self.searched_basis();
        let model = self.subjects.model.ready();
        let context = panels::Picture {
            texts: self.texts,
            live: &self.live,
            subjects: &self.subjects,
            fitting: &self.fitting,
            may_keep: self.presets.is_some(),
            inspected: model.and_then(|model| self.inspector.of(model)),
            answer: basis.and_then(|basis| self.fitting.answer(&basis)),
        };
        let wanted = panels::picture(
            ui,
            &context,
            &mut self.document.plan,
            &mut self.state,
            &mut self.queue,
        );
        if let Some(key) = wanted {
            self.jobs.sweep(key, self.live.memo());
        }
    }

    /// Nothing is under way or out of date.
    pub fn settled(&self) -> bool {
        use jobs::Task::{Beside, Detect, Draft, Fit, Inspect, Model, Open, Price, Sweep};
        ![
            Detect, Open, Model, Draft, Beside, Sweep, Fit, Price, Inspect,
        ]
        .into_iter()
        .any(|task| self.jobs.busy(task))
    }

    /// How often a report was made so far; it stands still while nothing changes.
    pub const fn reports_made(&self) -> u64 {
        self.live.reports_made
    }

    /// Writes the preferences, as they are at the end of a session.
    pub fn keep_preferences(&self) {
        if let Some(file) = &self.preferences_file
            && let Err(error) = self.preferences.write(file)
        {
            log::warn!("{error:#}");
        }
    }
}

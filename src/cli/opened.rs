//! A plan with what it refers to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use plimsoll::advisor::{Choice, Fitted, Objective};
use plimsoll::beside;
use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::{self, MachineCatalog};
use plimsoll::catalog::models::{self, ModelCatalog};
use plimsoll::engine::launch::{self, Launch, LaunchInputs};
use plimsoll::engine::setting::Kind;
use plimsoll::engine::{self, Engine, Margin, Memo, setting};
use plimsoll::export::Export;
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{self, ModelRef, Plan, Value};
use plimsoll::report::{self, Beside, FitError, Report, Request};
use plimsoll::source::{self, gguf};
use plimsoll::store::{self, Folders};

use super::{Failure, PlanArguments, detect, settings};

/// A plan, its engine, model and machine.
pub(super) struct Opened {
    plan: Plan,
    engine: &'static dyn Engine,
    model: Model,
    draft: Option<Model>,
    machine: Machine,
    beside: Vec<Beside>,
    /// Where paths of the plan count from.
    folder: PathBuf,
    repository: Option<String>,
}

impl Opened {
    /// Reads a plan and finds what it refers to; detects this machine only where the plan leaves it open.
    pub(super) fn open(arguments: &PlanArguments) -> Result<Self, Failure> {
        let (text, name) = if arguments.plan.as_os_str() == "-" {
            (standard_input()?, STANDARD_INPUT.to_owned())
        } else {
            (
                plan_file(&arguments.plan)?,
                arguments.plan.display().to_string(),
            )
        };
        let plan = Plan::from_toml(&text).context(name);
        let mut plan = plan.map_err(Failure::Input)?;
        let engine = engine::find(&plan.engine)
            .ok_or_else(|| {
                anyhow!(
                    "no engine `{}`; there is {}",
                    plan.engine,
                    settings::engines()
                )
            })
            .map_err(Failure::Input)?;
        for name in &arguments.unset {
            unset(&mut plan, engine, name).map_err(Failure::Input)?;
        }
        for change in &arguments.set {
            set(&mut plan, engine, change).map_err(Failure::Input)?;
        }
        let catalog = model_catalog();
        let folder = arguments.plan.parent().unwrap_or(Path::new(""));
        let read = |reference| source::model(&source::placed(reference, folder), &catalog);
        let model = read(&plan.model).map_err(|error| no_model_of_plan(error, &plan.model))?;
        let model = source::attached(model, &source::placed_files(&plan.launch, folder));
        let preset = plan
            .model
            .preset
            .as_deref()
            .and_then(|id| catalog.find(id).ok());
        let draft = plan.draft.as_ref();
        let draft = draft
            .map(|draft| {
                read(draft).map_err(|error| {
                    no_model_of_plan(error, draft).about("the model that drafts ([draft])")
                })
            })
            .transpose()?;
        let machine = machine(&plan)?;
        let beside = beside::read(&plan.beside, folder, &catalog, &machine);
        Ok(Self {
            engine,
            model,
            draft,
            machine,
            beside: beside.map_err(no_neighbour)?,
            folder: folder.to_owned(),
            repository: plan
                .model
                .repo
                .clone()
                .or(preset.and_then(|preset| preset.entry.gguf_repo)),
            plan,
        })
    }

    /// Its report.
    pub(super) fn report(&self) -> Result<Report, Failure> {
        report::report(&self.request(), &Memo::default()).map_err(Failure::input)
    }

    /// The same with the most users counted.
    pub(super) fn report_with_users(&self) -> Result<Report, Failure> {
        report::with_users(&self.request(), &Memo::default()).map_err(Failure::input)
    }

    /// Whether GPU and processor have one memory.
    pub(super) fn shares_memory(&self) -> bool {
        self.machine.pool().is_some()
    }

    /// Leaves the settings of changes like `ctx_size=8192` as they are.
    pub(super) fn pin(&mut self, changes: &[String]) {
        let names = changes.iter().filter_map(|change| change.split('=').next());
        for name in names.filter_map(|name| setting::find(self.engine, name.trim())) {
            let pinned = &mut self.plan.fit.pinned;
            if !pinned.iter().any(|pinned| pinned == name.name) {
                pinned.push(name.name.to_owned());
            }
        }
    }

    /// The best settings for it.
    pub(super) fn fit(&self, objective: Option<Objective>) -> Result<Fitted, FitError> {
        report::fit(&self.request(), objective, &Memo::default())
    }

    /// From here on the plan is as it is written to a folder.
    pub(super) fn move_to(&mut self, folder: &Path) -> Result<(), Failure> {
        let to = absolute(folder)?;
        let from = absolute(&self.folder)?;
        source::rewrite(&mut self.plan, &from, |path| {
            // What earlier versions counted from where they were started is absolute by this.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            plan::counted(&path, &to)
        });
        folder.clone_into(&mut self.folder);
        Ok(())
    }

    /// The plan with a choice written into it.
    pub(super) fn fitted_plan(&self, choice: &Choice) -> Plan {
        let mut plan = self.plan.clone();
        choice.apply(self.engine, &mut plan.settings);
        plan.note_chosen(&choice.set);
        plan
    }

    fn request(&self) -> Request<'_> {
        let Self {
            plan,
            engine,
            model,
            draft,
            machine,
            beside,
            ..
        } = self;
        Request {
            engine: *engine,
            model,
            draft: draft.as_ref(),
            beside,
            machine,
            settings: &plan.settings,
            fit: &plan.fit,
            launch: &plan.launch,
        }
    }

    /// How it is started.
    pub(super) fn launch(&self, report: &Report) -> Result<Launch, Failure> {
        let settings =
            setting::checked(self.engine, &self.plan.settings, &self.model, &self.machine);
        Ok(self.engine.launch(&LaunchInputs {
            model: &self.model,
            draft: self.draft.as_ref(),
            machine: &self.machine,
            settings: &settings.map_err(Failure::input)?,
            resolved: &report.settings,
            options: &self.plan.launch,
            margin: Margin::of_plan(&self.plan.fit),
            repository: self.repository.as_deref(),
            file: self.plan.model.file.as_deref(),
            revision: self.plan.model.revision.as_deref(),
            opened: launch::opened(&self.plan.model, &self.model).as_deref(),
            opened_draft: self.draft_file().as_deref(),
        }))
    }

    /// The file that what drafts was opened from.
    fn draft_file(&self) -> Option<Cow<'_, str>> {
        launch::opened(self.plan.draft.as_ref()?, self.draft.as_ref()?)
    }

    /// What exporters write.
    pub(super) fn export<'a>(&'a self, report: &'a Report, launch: &'a Launch) -> Export<'a> {
        Export {
            plan: &self.plan,
            model: &self.model,
            report,
            launch,
        }
    }
}

/// A folder by its whole path, links followed where it is there already.
fn absolute(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    std::fs::canonicalize(folder)
        .or_else(|_| std::path::absolute(folder))
        .map_err(Failure::io)
}

/// The model presets, the user's own among them.
pub(super) fn model_catalog() -> ModelCatalog {
    let mut models = ModelCatalog::embedded();
    if let Ok(folders) = Folders::of_user() {
        models.add_folder(&folders.presets());
    }
    models
}

fn machine(plan: &Plan) -> Result<Machine, Failure> {
    let reference = plan.machine.as_ref();
    let gpus = GpuCatalog::embedded().map_err(Failure::input)?;
    let presets = MachineCatalog::embedded().map_err(Failure::input)?;
    let detected = if machines::needs_detection(reference) {
        Some(detected(&plan.launch.gpus, &gpus)?)
    } else {
        None
    };
    machines::resolve(reference, detected.as_ref(), &gpus, &presets).map_err(Failure::input)
}

/// This machine with the cards that the plan names, or those that are used by default.
fn detected(named: &[String], gpus: &GpuCatalog) -> Result<Machine, Failure> {
    let detection = detect::this_machine(gpus);
    if named.is_empty() {
        return Ok(detection.machine);
    }
    let (machine, unknown) = detection.machine_of(named);
    match unknown.first() {
        None => Ok(machine),
        Some(id) => Err(Failure::input(anyhow!(
            "no GPU `{id}` in this machine (`plimsoll detect` lists them); [launch] gpus names it"
        ))),
    }
}

const STANDARD_INPUT: &str = "standard input";

fn standard_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    // One more than allowed tells a full plan from a longer text, which must not be cut to a plan that says less.
    let read = std::io::stdin()
        .lock()
        .take(plan::MAX_BYTES + 1)
        .read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {STANDARD_INPUT}"))
        .map_err(Failure::Io)?;
    if bytes.starts_with(&gguf::MAGIC) {
        return Err(no_gguf(STANDARD_INPUT));
    }
    let limit = plan::MAX_BYTES;
    if bytes.len() as u64 > limit {
        return Err(Failure::io(anyhow!(
            "this is larger than the {limit} bytes of the largest plan: {STANDARD_INPUT}"
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::io(anyhow!("this is not text in UTF-8: {STANDARD_INPUT}")))
}

fn plan_file(path: &Path) -> Result<String, Failure> {
    if gguf::is_meant(path) {
        return Err(no_gguf(&path.display().to_string()));
    }
    store::read(path, plan::MAX_BYTES).map_err(Failure::io)
}

/// A model file where a plan or a preset is wanted, and what to do instead.
pub(super) fn no_gguf(name: &str) -> Failure {
    Failure::input(anyhow!(
        "this is a model file, no plan and no preset: {name}; name it in a plan, as path = \"...\" under [model] in \
         place of a preset"
    ))
}

/// Why there is no model, as a failure of input or of files.
pub(super) fn no_model(error: source::Error) -> Failure {
    match error {
        source::Error::Gguf(ref reason) if reason.is_io() => Failure::io(error),
        source::Error::Preset(models::Error::Unknown { id, .. }) if gguf::is_named(id.as_ref()) => {
            no_gguf(&id)
        }
        source::Error::Absent { .. }
        | source::Error::Read(_)
        | source::Error::Preset(models::Error::Unreadable(_)) => Failure::io(error),
        _ => Failure::input(error),
    }
}

/// The same of a plan, whose paths count from its folder.
fn no_model_of_plan(error: source::Error, reference: &ModelRef) -> Failure {
    let relative = reference.path.as_deref().map(Path::new);
    let relative = relative.is_some_and(Path::is_relative);
    match error {
        source::Error::Absent { .. } if relative => Failure::io(anyhow!(
            "{error}: relative paths of a plan count from the folder that it lies in"
        )),
        error => no_model(error),
    }
}

fn no_neighbour(error: beside::Error) -> Failure {
    match error {
        beside::Error::Plan {
            reason: beside::Reason::Read(_),
            ..
        } => Failure::io(error),
        _ => Failure::input(error),
    }
}

/// A value as in a plan file, and nothing after it.
fn parsed(value: &str) -> Option<Value> {
    let mut table: BTreeMap<String, Value> = toml::from_str(&format!("value = {value}")).ok()?;
    let value = table.remove("value");
    value.filter(|_| table.is_empty())
}

/// Takes a setting out, whatever spelling it has in the plan.
fn unset(plan: &mut Plan, engine: &dyn Engine, name: &str) -> anyhow::Result<()> {
    let name = name.trim().replace('-', "_");
    setting::known(engine, std::slice::from_ref(&name))?;
    let same = |key: &str| match (setting::find(engine, key), setting::find(engine, &name)) {
        (Some(key), Some(name)) => key.name == name.name,
        _ => false,
    };
    plan.settings.retain(|key, _| !same(key));
    Ok(())
}

/// `name=value`, the value as in a plan file or as a bare word.
fn set(plan: &mut Plan, engine: &dyn Engine, change: &str) -> anyhow::Result<()> {
    let (name, value) = change
        .split_once('=')
        .ok_or_else(|| anyhow!("--set takes NAME=VALUE, not `{change}`"))?;
    let name = name.trim().replace('-', "_");
    let text = value.trim();
    // "3,1" is a list, as the engines take it.
    let mut value = parsed(text)
        .or_else(|| parsed(&format!("[{text}]")).filter(|_| text.contains(',')))
        .unwrap_or_else(|| Value::Text(text.to_owned()));
    if let Some(setting) = setting::find(engine, &name) {
        // "0.10" is a version, not a number.
        if matches!(
            (setting.kind, &value),
            (Kind::Text { .. }, Value::Number(_))
        ) {
            value = Value::Text(text.to_owned());
        }
        // The plan may use another spelling of the same setting.
        plan.settings
            .retain(|key, _| *key != setting.name && !setting.aliases.contains(&key.as_str()));
    }
    plan.settings.insert(name, value);
    Ok(())
}

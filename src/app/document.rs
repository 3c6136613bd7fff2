//! The plan on the desk, where it came from, and whether it changed since.

use std::path::{Path, PathBuf};

use crate::engine::ENGINES;
use crate::plan::{FitOptions, LaunchOptions, ModelRef, Plan, SCHEMA, Settings};
use crate::source;

use super::history::{Edit, History};

/// A plan and its file.
#[derive(Clone, Debug)]
pub struct Document {
    /// As it is now. A new one has no model yet.
    pub plan: Plan,
    /// Where it is saved, if it is.
    pub path: Option<PathBuf>,
    saved: Plan,
    given: bool,
    history: History,
}

impl Default for Document {
    fn default() -> Self {
        let plan = empty_plan();
        Self {
            saved: plan.clone(),
            plan,
            path: None,
            given: false,
            history: History::default(),
        }
    }
}

/// The last part of a path.
fn file_name(path: &str) -> Option<&std::ffi::OsStr> {
    Path::new(path).file_name()
}

/// A plan of nothing yet, for the first engine and this machine.
fn empty_plan() -> Plan {
    Plan {
        schema: SCHEMA,
        engine: ENGINES
            .first()
            .map(|engine| engine.id().to_owned())
            .unwrap_or_default(),
        beside: Vec::new(),
        model: ModelRef::default(),
        draft: None,
        machine: None,
        settings: Settings::new(),
        launch: LaunchOptions::default(),
        fit: FitOptions::default(),
    }
}

impl Document {
    /// A plan as read from a file.
    pub fn opened(plan: Plan, path: PathBuf) -> Self {
        Self {
            saved: plan.clone(),
            plan,
            path: Some(path),
            given: true,
            history: History::default(),
        }
    }

    /// It was read from a file, which says what its settings are, whatever they run on.
    pub const fn is_given(&self) -> bool {
        self.given
    }

    /// The plan was `before` until this frame.
    pub(crate) fn record(&mut self, before: Plan, edit: Edit) {
        self.history.record(before, edit);
    }

    /// What follows is one step.
    pub(crate) fn step(&mut self) {
        self.history.step(self.plan.clone());
    }

    /// Takes the last step back; says whether there was one.
    pub fn undo(&mut self) -> bool {
        let before = self.history.undo(&self.plan);
        before.map(|before| self.plan = before).is_some()
    }

    /// Does again what was taken back; says whether there was something.
    pub fn redo(&mut self) -> bool {
        let after = self.history.redo(&self.plan);
        after.map(|after| self.plan = after).is_some()
    }

    /// Is there a step to take back?
    pub fn can_undo(&self) -> bool {
        self.history.can_undo()
    }

    /// Is there a step to do again?
    pub fn can_redo(&self) -> bool {
        self.history.can_redo()
    }

    /// Gives up what was changed: nobody will be asked about it.
    pub fn forget_changes(&mut self) {
        self.saved = self.plan.clone();
    }

    /// There are changes that no file has.
    pub fn unsaved(&self) -> bool {
        self.plan != self.saved
    }

    /// The plan was written there.
    pub fn saved_as(&mut self, plan: Plan, path: &Path) {
        self.plan.beside.clone_from(&plan.beside);
        // As the file says paths; a model that was chosen since stays.
        let models = [
            (Some(&mut self.plan.model), Some(&plan.model)),
            (self.plan.draft.as_mut(), plan.draft.as_ref()),
        ];
        for (own, written) in models {
            if let (Some(own), Some(written)) = (own, written)
                && own.path.as_deref().map(file_name) == written.path.as_deref().map(file_name)
            {
                own.path.clone_from(&written.path);
            }
        }
        self.plan.fit.chosen.clone_from(&plan.fit.chosen);
        let (own, written) = (&mut self.plan.launch, &plan.launch);
        own.mmproj_path.clone_from(&written.mmproj_path);
        own.lora_paths.clone_from(&written.lora_paths);
        own.control_vector_paths
            .clone_from(&written.control_vector_paths);
        self.saved = plan;
        self.path = Some(path.to_owned());
    }

    /// Where paths in the plan begin: its file's folder, or where the program was started.
    pub fn folder(&self) -> &Path {
        let folder = self.path.as_deref().and_then(Path::parent);
        folder.unwrap_or(Path::new(""))
    }

    /// A path as the plan writes it: from its own folder where that has it, so that both can be moved together.
    pub(crate) fn path_from_plan(&self, path: &Path) -> String {
        let folder = self.path.as_deref().and_then(Path::parent);
        let folder = folder.and_then(|folder| std::path::absolute(folder).ok());
        let inside = folder.and_then(|folder| path.strip_prefix(folder).ok());
        inside.unwrap_or(path).display().to_string()
    }

    /// Where a path of the plan leads: from its own folder.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        self.folder().join(path)
    }

    /// The plan as it is to be written to a file: it still means the same files where the folder is another.
    pub(crate) fn plan_at(&self, path: &Path) -> Plan {
        let mut plan = self.plan.clone();
        if path.parent() == self.path.as_deref().and_then(Path::parent) {
            return plan;
        }
        source::rewrite(&mut plan, self.folder(), |path| {
            // Fails only for an empty path, which no file has.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            path.display().to_string()
        });
        plan
    }

    /// The file's name, where there is a file.
    pub fn name(&self) -> Option<String> {
        let name = self.path.as_deref()?.file_name()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// A model was chosen.
    pub fn has_model(&self) -> bool {
        !self.plan.model.is_empty()
    }

    /// A name for the plan's file.
    pub fn suggested_name(&self) -> String {
        if let Some(name) = self.name() {
            return name;
        }
        let model = self.plan.model.preset.as_deref().or_else(|| {
            let model = &self.plan.model;
            let file = model.path.as_ref().or(model.file.as_ref());
            let path = Path::new(file.or(model.repo.as_ref())?);
            path.file_stem()?.to_str()
        });
        format!("{}.toml", model.unwrap_or("plan"))
    }
}

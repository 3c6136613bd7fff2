//! What a report, a sweep, a fit or a neighbour's report is made from, owned, so that a thread can have it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::Engine;
use crate::hardware::Machine;
use crate::model::Model;
use crate::plan::{FitOptions, LaunchOptions, Settings};
use crate::report::{Beside, Request};

/// What is loaded, on what, by whom, and how.
#[derive(Clone)]
pub(crate) struct Basis {
    /// Who runs it.
    pub(crate) engine: &'static dyn Engine,
    /// What is loaded.
    pub(crate) model: Arc<Model>,
    /// What drafts for it.
    pub(crate) draft: Option<Arc<Model>>,
    /// What runs beside it.
    pub(crate) beside: Arc<[Beside]>,
    /// On what.
    pub(crate) machine: Arc<Machine>,
    /// Under their canonical names.
    pub(crate) settings: Settings,
    /// The `[fit]` table.
    pub(crate) fit: FitOptions,
}

impl PartialEq for Basis {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            engine,
            model,
            draft,
            beside,
            machine,
            settings,
            fit,
        } = self;
        engine.id() == other.engine.id()
            && Arc::ptr_eq(model, &other.model)
            && *draft == other.draft
            && *beside == other.beside
            && Arc::ptr_eq(machine, &other.machine)
            && *fit == other.fit
            && *settings == other.settings
    }
}

impl Basis {
    /// A request with these settings in place of its own.
    pub(crate) fn request<'a>(
        &'a self,
        settings: &'a Settings,
        launch: &'a LaunchOptions,
    ) -> Request<'a> {
        Request {
            engine: self.engine,
            model: &self.model,
            draft: self.draft.as_deref(),
            beside: &self.beside,
            machine: &self.machine,
            settings,
            fit: &self.fit,
            launch,
        }
    }
}

/// Whose memory is asked for, and where.
#[derive(Clone)]
pub(crate) struct BesideKey {
    /// As the plan names them.
    pub(crate) plans: Vec<String>,
    /// Where their paths begin.
    pub(crate) folder: PathBuf,
    /// On what they run.
    pub(crate) machine: Arc<Machine>,
}

impl PartialEq for BesideKey {
    fn eq(&self, other: &Self) -> bool {
        self.plans == other.plans
            && self.folder == other.folder
            && Arc::ptr_eq(&self.machine, &other.machine)
    }
}

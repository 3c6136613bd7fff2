//! What the model on the desk is, said once per model beside the window.

use std::path::PathBuf;
use std::sync::Arc;

use crate::inspect::Inspection;
use crate::model::Model;
use crate::source;

use super::jobs::{Jobs, News, Task};
use super::watch::Stamp;

/// What the model on the desk is.
#[derive(Default)]
pub(crate) struct Inspector {
    known: Option<Inspected>,
}

/// What a model is.
#[derive(Clone)]
pub(crate) struct Inspected {
    /// Which model.
    pub(crate) model: Arc<Model>,
    /// What it is.
    pub(crate) inspection: Arc<Inspection>,
    /// Where it was read from, and how its files were then.
    pub(crate) source: Option<(PathBuf, Stamp)>,
}

impl Inspector {
    /// Asks what this model is, unless that is known.
    pub(crate) fn refresh(&mut self, model: &Arc<Model>, path: Option<PathBuf>, jobs: &mut Jobs) {
        if self.of(model).is_some() || jobs.busy(Task::Inspect) {
            return;
        }
        let model = Arc::clone(model);
        jobs.start(Task::Inspect, "inspect", move |tell| {
            let files = path.as_deref().map(source::files::of).unwrap_or_default();
            let source = path.map(|path| {
                let stamp = Stamp::of(&path);
                (path, stamp)
            });
            let inspection = Arc::new(Inspection::new(&model, files));
            tell(News::Inspected(Box::new(Inspected {
                model,
                inspection,
                source,
            })));
        });
    }

    /// Keeps what was found out.
    pub(crate) fn keep(&mut self, inspected: Inspected) {
        self.known = Some(inspected);
    }

    /// What this model is, where it is known.
    pub(crate) fn of(&self, model: &Arc<Model>) -> Option<&Inspected> {
        let known = self.known.as_ref();
        known.filter(|known| Arc::ptr_eq(&known.model, model))
    }
}

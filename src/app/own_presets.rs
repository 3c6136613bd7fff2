//! Models that the user keeps as presets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::models::{ModelCatalog, Preset, SaveError};
use crate::model::Model;
use crate::store::Overwrite;

use super::jobs::{Jobs, News, Task};

/// How keeping a model went.
pub(crate) enum Kept {
    /// It is there now.
    Saved(PathBuf),
    /// A preset of the name is there already.
    Taken(String),
    /// It could not be kept, and why.
    Failed(String),
}

/// What is kept, and where.
pub(crate) struct Keep {
    /// The name.
    pub(crate) id: String,
    /// The model.
    pub(crate) model: Arc<Model>,
    /// Its own files.
    pub(crate) path: Option<PathBuf>,
    /// Folder of the user's presets.
    pub(crate) folder: PathBuf,
    /// What to do where the name is taken.
    pub(crate) overwrite: Overwrite,
}

/// Keeps a model beside the window.
pub(crate) fn keep(what: Keep, catalog: Arc<ModelCatalog>, jobs: &mut Jobs) {
    jobs.start(Task::Keep, "keep", move |tell| {
        tell(News::Kept(kept(&what, &catalog)));
    });
}

fn kept(what: &Keep, catalog: &ModelCatalog) -> Kept {
    let path = what.path.as_deref().map(absolute);
    let preset = Preset::of_user(&what.id, &what.model, path.as_deref());
    match preset.and_then(|preset| catalog.save(&what.folder, &preset, what.overwrite)) {
        Ok(path) => Kept::Saved(path),
        Err(error @ SaveError::Taken { .. }) => Kept::Taken(error.to_string()),
        Err(error) => Kept::Failed(error.to_string()),
    }
}

/// A preset is read from anywhere.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

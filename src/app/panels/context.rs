//! What panels look at and do not change.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::fitting::{Answer, Fitting};
use crate::app::inspector::Inspected;
use crate::app::library::Library;
use crate::app::live::Live;
use crate::app::local::Local;
use crate::app::remote::Remote;
use crate::app::subject::Subjects;
use crate::app::texts::Texts;

/// What the inputs look at.
pub(crate) struct Inputs<'a> {
    /// Words.
    pub(crate) texts: &'a Texts,
    /// What can be chosen.
    pub(crate) library: &'a Library,
    /// What was found.
    pub(crate) subjects: &'a Subjects,
    /// What follows from the plan.
    pub(crate) live: &'a Live,
    /// What was found on this computer.
    pub(crate) local: &'a Local,
    /// What was heard of a repository.
    pub(crate) remote: &'a Remote,
    /// Folders that the user added.
    pub(crate) folders: &'a [PathBuf],
    /// The machine is being looked at.
    pub(crate) detecting: bool,
}

/// What the picture looks at.
pub(crate) struct Picture<'a> {
    /// Words.
    pub(crate) texts: &'a Texts,
    /// What follows from the plan.
    pub(crate) live: &'a Live,
    /// What was found.
    pub(crate) subjects: &'a Subjects,
    /// What was asked of the search for the best settings.
    pub(crate) fitting: &'a Fitting,
    /// The model can be kept as a preset.
    pub(crate) may_keep: bool,
    /// What the model is.
    pub(crate) inspected: Option<&'a Inspected>,
    /// What it found last, and whether that is of the plan as it is.
    pub(crate) answer: Option<(&'a Arc<Answer>, bool)>,
}

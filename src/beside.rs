//! Plans that run beside another on the same machine: read, and projected one after the other.

use std::path::Path;

use crate::catalog::models::ModelCatalog;
use crate::engine::{self, Memo, setting};
use crate::hardware::Machine;
use crate::plan::{self, Plan};
use crate::report::{self, Beside, Request, Verdict};
use crate::source;
use crate::store;

/// Most plans beside one: far more than any machine runs.
const MOST: usize = 16;

/// Why a plan cannot run beside another.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The list is no list of neighbours.
    #[error("`beside` names {found} plans; at most {MOST} can run on one machine")]
    TooMany {
        /// As many are named.
        found: usize,
    },
    /// What is wrong with one of them.
    #[error("{reason}{}, which `beside` names", place(.plan, .reason))]
    Plan {
        /// As written.
        plan: String,
        /// What is wrong.
        reason: Reason,
    },
}

/// A file that cannot be read is named by the reason already.
fn place(plan: &str, reason: &Reason) -> String {
    match reason {
        Reason::Read(_) | Reason::NoName => String::new(),
        _ => format!(", in {plan}"),
    }
}

/// What is wrong with a plan that is to run beside another.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// Nothing is named.
    #[error("an empty text is no name of a plan")]
    NoName,
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] store::Error),
    /// It is not a plan.
    #[error(transparent)]
    Plan(#[from] plan::Error),
    /// Nobody runs it.
    #[error("no engine `{0}`")]
    Engine(String),
    /// Its model cannot be had.
    #[error(transparent)]
    Model(Box<source::Error>),
    /// One of its settings cannot be.
    #[error(transparent)]
    Setting(#[from] setting::Error),
    /// It would not start by itself.
    #[error("it would not start: {0}")]
    Refused(String),
}

impl From<source::Error> for Reason {
    fn from(error: source::Error) -> Self {
        Self::Model(Box::new(error))
    }
}

/// What these plans take of a machine, started in this order. Paths lead from `folder`, and those in the plans from their
/// own; whatever machine and further
/// neighbours the plans name themselves is left aside, since they run on this one.
///
/// # Errors
/// The first plan that cannot be read or would not start.
pub fn read(
    plans: &[String],
    folder: &Path,
    catalog: &ModelCatalog,
    machine: &Machine,
) -> Result<Vec<Beside>, Error> {
    if plans.len() > MOST {
        return Err(Error::TooMany { found: plans.len() });
    }
    let mut beside: Vec<Beside> = Vec::with_capacity(plans.len());
    for plan in plans {
        let next = one(plan, folder, catalog, machine, &beside);
        beside.push(next.map_err(|reason| Error::Plan {
            plan: plan.clone(),
            reason,
        })?);
    }
    Ok(beside)
}

fn one(
    path: &str,
    folder: &Path,
    catalog: &ModelCatalog,
    machine: &Machine,
    beside: &[Beside],
) -> Result<Beside, Reason> {
    if path.trim().is_empty() {
        return Err(Reason::NoName);
    }
    let path = source::place(path, folder);
    let folder = path.parent().unwrap_or(Path::new(""));
    let plan = Plan::from_toml(&store::read(&path, plan::MAX_BYTES)?)?;
    let engine = engine::find(&plan.engine).ok_or(Reason::Engine(plan.engine))?;
    let read = |reference| source::model(&source::placed(reference, folder), catalog);
    let launch = source::placed_files(&plan.launch, folder);
    let model = source::attached(read(&plan.model)?, &launch);
    let draft = plan.draft.as_ref();
    let draft = draft.map(read).transpose()?;
    let request = Request {
        engine,
        model: &model,
        draft: draft.as_ref(),
        beside,
        machine,
        settings: &plan.settings,
        fit: &plan.fit,
        launch: &plan.launch,
    };
    let report = report::report(&request, &Memo::default())?;
    if report.verdict == Verdict::Refused {
        return Err(Reason::Refused(report.sentence()));
    }
    let name = path.file_stem().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy().into_owned();
    Ok(Beside::new(name, &report, &plan.launch))
}

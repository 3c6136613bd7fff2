//! A repository on a hub: nothing is asked of the network but what the user asks for here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::{self, Memo};
use crate::hardware::Machine;
use crate::model::{Container, Model};
use crate::plain::one_line;
use crate::plan::{FitOptions, LaunchOptions, ModelRef, Plan, Settings, Value};
use crate::report::{self, Request, Verdict};
use crate::source::hub::{Address, Error, Hub, Listing, Progress, Watch};

use super::jobs::{Jobs, News, Task};

/// How a hub is reached.
pub type HubMaker = Arc<dyn Fn() -> Result<Hub, Error> + Send + Sync>;

/// What was heard of a repository.
#[derive(Default)]
pub(crate) struct Remote {
    hub: Option<HubMaker>,
    cancel: Arc<AtomicBool>,
    /// What is being read, and how much of it has come.
    pub(crate) progress: Option<(String, u64)>,
    /// What the user asked for.
    pub(crate) asked: String,
    /// What is there.
    pub(crate) listing: Option<Arc<Listing>>,
    /// Whether each choice would fit, in the order of the listing; shorter while that is being found out.
    pub(crate) verdicts: Vec<Option<Verdict>>,
    /// What stood in the way.
    pub(crate) problem: Option<String>,
}

/// What is heard of a repository.
pub(crate) enum Fetched {
    /// Something is being read.
    Progress(String, u64),
    /// What is there, or what stood in the way.
    Listed(Result<Listing, String>),
    /// Whether the choices would fit.
    Judged(Vec<Option<Verdict>>),
    /// A model, or what stood in the way.
    Opened(ModelRef, Result<Box<Model>, String>),
}

/// With what a choice would be planned.
pub(crate) struct Judge {
    /// The engine and its settings.
    pub(crate) plan: Plan,
    /// On what.
    pub(crate) machine: Arc<Machine>,
}

impl Remote {
    /// Nothing was asked for yet. Without a maker nothing can be.
    pub(crate) fn new(hub: Option<HubMaker>) -> Self {
        Self {
            hub,
            ..Self::default()
        }
    }

    /// Reads what a repository holds.
    pub(crate) fn fetch(&mut self, text: &str, judge: Option<Judge>, jobs: &mut Jobs) {
        let Some((hub, cancel)) = self.begin(jobs) else {
            return;
        };
        text.trim().clone_into(&mut self.asked);
        self.listing = None;
        self.verdicts.clear();
        let text = self.asked.clone();
        jobs.start(Task::Fetch, "fetch", move |tell| {
            let tell = |fetched| tell(News::Fetched(Box::new(fetched)));
            tell(Fetched::Progress(one_line(&text), 0));
            let note = |progress: Progress<'_>| {
                tell(Fetched::Progress(one_line(progress.what), progress.bytes));
            };
            let watch = Watch::new(&cancel, &note);
            let listed = text.parse::<Address>().and_then(|address| {
                let hub = hub()?;
                let listing = hub.list(&address, &watch)?;
                Ok((hub, listing))
            });
            match listed {
                Err(error) => tell(Fetched::Listed(Err(error.to_string()))),
                Ok((hub, listing)) => {
                    tell(Fetched::Listed(Ok(listing.clone())));
                    if let Some(judge) = judge {
                        tell(Fetched::Judged(verdicts(&hub, &listing, &judge, &watch)));
                    }
                }
            }
        });
    }

    /// Reads the headers of one of the choices.
    pub(crate) fn open(&mut self, place: usize, jobs: &mut Jobs) {
        let Some(listing) = self.listing.clone() else {
            return;
        };
        let Some((hub, cancel)) = self.begin(jobs) else {
            return;
        };
        jobs.start(Task::Fetch, "fetch", move |tell| {
            let tell = |fetched| tell(News::Fetched(Box::new(fetched)));
            let Some(choice) = listing.choices.get(place) else {
                return;
            };
            tell(Fetched::Progress(one_line(&choice.label), 0));
            let note = |progress: Progress<'_>| {
                tell(Fetched::Progress(one_line(progress.what), progress.bytes));
            };
            let watch = Watch::new(&cancel, &note);
            let model = hub().and_then(|hub| hub.open(&listing, choice, &watch));
            let result = model.map(Box::new).map_err(|error| error.to_string());
            tell(Fetched::Opened(listing.reference(choice), result));
        });
    }

    /// Takes what is heard; what was opened is for the plan.
    pub(crate) fn take(&mut self, fetched: Fetched) -> Option<(ModelRef, Box<Model>)> {
        match fetched {
            Fetched::Progress(what, bytes) => self.progress = Some((what, bytes)),
            Fetched::Listed(Ok(listing)) => {
                self.progress = None;
                self.listing = Some(Arc::new(listing));
            }
            Fetched::Judged(verdicts) => {
                self.progress = None;
                self.verdicts = verdicts;
            }
            Fetched::Opened(reference, Ok(model)) => {
                self.progress = None;
                return Some((reference, model));
            }
            Fetched::Listed(Err(problem)) | Fetched::Opened(_, Err(problem)) => {
                self.progress = None;
                self.problem = Some(one_line(&problem));
            }
        }
        None
    }

    /// Can anything be asked for?
    pub(crate) const fn is_reachable(&self) -> bool {
        self.hub.is_some()
    }

    /// Whoever asks anew does not wait for what was asked before.
    fn begin(&mut self, jobs: &mut Jobs) -> Option<(HubMaker, Arc<AtomicBool>)> {
        self.stop(jobs);
        self.problem = None;
        let hub = self.hub.clone()?;
        self.cancel = Arc::new(AtomicBool::new(false));
        Some((hub, Arc::clone(&self.cancel)))
    }

    /// Reads no further.
    pub(crate) fn stop(&mut self, jobs: &mut Jobs) {
        self.cancel.store(true, Ordering::Relaxed);
        jobs.abandon(Task::Fetch);
        self.progress = None;
    }
}

/// Whether each choice would fit, with the settings of the plan: GGUF files by what the engine makes of their form, by
/// the architecture in the smallest one's header.
fn verdicts(
    hub: &Hub,
    listing: &Listing,
    judge: &Judge,
    watch: &Watch<'_>,
) -> Vec<Option<Verdict>> {
    let smallest = listing
        .models()
        .find(|choice| choice.container == Container::Gguf && choice.missing == 0);
    let model = smallest.and_then(|choice| hub.open(listing, choice, watch).ok());
    // Of what is known by its weights alone nobody can say whether it fits.
    let Some(mut model) = model.filter(|model| model.only_weights().is_none()) else {
        return Vec::new();
    };
    // The forms of the other files, not the tensors of this one.
    model.checkpoint = None;
    let model = model.sealed();
    let memo = Memo::default();
    let verdict = |label: &str| verdict(&model, label, judge, &memo);
    let choices = listing.choices.iter();
    choices.map(|choice| verdict(&choice.label)).collect()
}

fn verdict(model: &Model, label: &str, judge: &Judge, memo: &Memo) -> Option<Verdict> {
    let engine = engine::find(&judge.plan.engine)?;
    let mut settings: Settings = judge.plan.settings.clone();
    settings.insert("weights".to_owned(), Value::Text(label.to_owned()));
    let request = Request {
        engine,
        model,
        draft: None,
        beside: &[],
        machine: &judge.machine,
        settings: &settings,
        fit: &FitOptions::default(),
        launch: &LaunchOptions::default(),
    };
    let report = report::report(&request, memo).ok()?;
    Some(report.verdict)
}

//! The models on this computer, listed as they are found.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::source::library::{self, Broken, Found, Places, Progress};

use super::jobs::{Jobs, News, Task};

/// What was found so far.
#[derive(Default)]
pub(crate) struct Local {
    /// The models, each content once.
    pub(crate) models: Vec<Found>,
    /// What cannot be used.
    pub(crate) broken: Vec<Broken>,
    /// The folder that is looked into.
    pub(crate) folder: Option<PathBuf>,
    /// How far it is.
    pub(crate) stage: Stage,
    /// Where programs keep models; absent: nothing is looked for.
    places: Option<Places>,
    stop: Arc<AtomicBool>,
}

/// How far the search for models is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nobody has asked.
    #[default]
    Unasked,
    /// It is under way.
    Looking,
    /// Everything was looked through.
    Done,
    /// It ended before that.
    Stopped,
}

/// What is heard of the search.
pub(crate) enum Heard {
    /// It looks into this folder.
    Folder(PathBuf),
    /// A model, at its place.
    Found(usize, Found),
    /// Something that cannot be used.
    Broken(Broken),
    /// It has ended, before everything was looked through or not.
    Ended {
        /// It was stopped, or met a limit.
        stopped: bool,
    },
}

impl Local {
    /// Nothing found yet.
    pub(crate) fn new(places: Option<Places>) -> Self {
        Self {
            places,
            ..Self::default()
        }
    }

    /// Looks for models, from the beginning.
    pub(crate) fn look(&mut self, folders: Vec<PathBuf>, jobs: &mut Jobs) {
        self.stop();
        jobs.abandon(Task::Scan);
        self.models.clear();
        self.broken.clear();
        self.stage = Stage::Done;
        let Some(places) = self.places.clone() else {
            return;
        };
        self.stage = Stage::Looking;
        let stop = Arc::new(AtomicBool::new(false));
        self.stop = Arc::clone(&stop);
        jobs.start(Task::Scan, "scan", move |tell| {
            let tell = |heard| tell(News::Heard(Box::new(heard)));
            let found = library::scan(&places, &folders, &mut |progress| {
                tell(match progress {
                    Progress::Folder(folder) => Heard::Folder(folder.to_owned()),
                    Progress::Found(place, model) => Heard::Found(place, model.clone()),
                    Progress::Broken(broken) => Heard::Broken(broken.clone()),
                });
                if stop.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            tell(Heard::Ended {
                stopped: found.stopped,
            });
        });
    }

    /// Looks no further.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Takes what is heard.
    pub(crate) fn take(&mut self, heard: Heard) {
        match heard {
            Heard::Folder(folder) => self.folder = Some(folder),
            Heard::Found(place, model) => match self.models.get_mut(place) {
                Some(known) => *known = model,
                None => self.models.push(model),
            },
            Heard::Broken(broken) => self.broken.push(broken),
            Heard::Ended { stopped } => {
                self.folder = None;
                self.stage = if stopped { Stage::Stopped } else { Stage::Done };
            }
        }
    }

    /// The models whose title, form or place has every word, by title.
    pub(crate) fn search(&self, query: &str) -> Vec<&Found> {
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let matches = |model: &&Found| {
            let mut text = format!(
                "{} {} {}",
                model.title,
                model.quant.as_deref().unwrap_or_default(),
                model.repository.as_deref().unwrap_or_default()
            );
            for place in &model.places {
                text.push(' ');
                text.push_str(place.library);
            }
            let text = text.to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let mut found: Vec<&Found> = self.models.iter().filter(matches).collect();
        found.sort_by_cached_key(|model| (model.title.to_lowercase(), model.bytes));
        found
    }
}

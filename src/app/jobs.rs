//! Work beside the window: named threads, one channel back, nothing blocking in a frame.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use eframe::egui::Context;

use crate::beside;
use crate::catalog::models::ModelCatalog;
use crate::engine::Memo;
use crate::hardware::detection::Detection;
use crate::hardware::probe::Progress;
use crate::model::Model;
use crate::plan::{LaunchOptions, ModelRef};
use crate::report::{self, Beside, ExpertPrice};
use crate::source;

use super::basis::{Basis, BesideKey};
use super::chooser::{PathChooser, PathRequest, Purpose};
use super::fitting::{self, Answer};
use super::inspector::Inspected;
use super::local::Heard;
use super::opened::{self, Content, Opened};
use super::own_presets::Kept;
use super::remote::Fetched;
use super::sweep::{self, Curve, SweepKey};

pub(crate) use super::task::Task;

/// News from a thread.
pub(crate) enum News {
    /// Detection is under way.
    Progress(Progress),
    /// Detection is done.
    Detected(Box<Detection>),
    /// A dialog was answered; `quick` where it came back too fast for a person, so that there was no dialog.
    Chosen {
        /// What for.
        purpose: Purpose,
        /// The answer.
        path: Option<PathBuf>,
        /// There was no dialog.
        quick: bool,
    },
    /// Something was opened, or could not be.
    Opened {
        /// From where.
        path: PathBuf,
        /// What it was.
        result: anyhow::Result<Opened>,
    },
    /// A plan's model was read, or could not be.
    Model {
        /// Which of the plan's models.
        task: Task,
        /// Which one.
        reference: Box<ModelRef>,
        /// The model.
        result: anyhow::Result<Box<crate::model::Model>>,
    },
    /// The plans beside a plan were read, or could not be.
    Beside {
        /// What was asked.
        key: Box<BesideKey>,
        /// What they take.
        result: Result<Vec<Beside>, String>,
    },
    /// A file was written, or not.
    Saved {
        /// Which.
        content: Content,
        /// Where.
        path: PathBuf,
        /// How it went.
        result: Result<(), crate::store::Error>,
    },
    /// A search for the best settings is done.
    Fitted(Box<Basis>, Box<Answer>),
    /// What experts in main memory cost is known.
    Priced(Box<Basis>, Vec<ExpertPrice>),
    /// Something was heard of the models on this computer.
    Heard(Box<Heard>),
    /// What the model is.
    Inspected(Box<Inspected>),
    /// Something was heard of a repository.
    Fetched(Box<Fetched>),
    /// A model was kept as a preset, or not.
    Kept(Kept),
    /// The model's file is not as it was.
    Changed(PathBuf),
    /// A sweep is done.
    Swept(Box<SweepKey>, Box<Curve>),
}

/// Whether work runs on threads, or at once for tests that must not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Named threads.
    Real,
    /// In the call itself.
    Inline,
}

/// How a machine is looked at.
pub type Detector = Arc<dyn Fn(&dyn Fn(Progress)) -> Detection + Send + Sync>;

/// Longest time that a person cannot need to cancel a dialog.
const QUICK: std::time::Duration = std::time::Duration::from_millis(100);

/// What is said of a search that did not come to an end.
const BROKE: &str = "the search for the best settings broke off; choose the settings by hand";

/// What work comes to; nothing where it panics.
fn survived<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// All work that is under way.
pub(crate) struct Jobs {
    context: Context,
    threads: Threads,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
    running: Vec<(Task, u64)>,
    tickets: u64,
}

/// What a thread sends: whose it is, and news, or none where it has ended.
type Message = ((Task, u64), Option<News>);

impl Jobs {
    /// Nothing under way; finished work wakes the window of `context`.
    pub(crate) fn new(context: Context, threads: Threads) -> Self {
        let (sender, receiver) = channel();
        Self {
            context,
            threads,
            sender,
            receiver,
            running: Vec::new(),
            tickets: 0,
        }
    }

    /// Is work of this kind under way?
    pub(crate) fn busy(&self, task: Task) -> bool {
        self.running.iter().any(|(running, _)| *running == task)
    }

    /// Looks at the machine.
    pub(crate) fn detect(&mut self, detector: &Detector) {
        let detector = Arc::clone(detector);
        self.start(Task::Detect, "detect", move |tell| {
            let detection = detector(&|progress| tell(News::Progress(progress)));
            tell(News::Detected(Box::new(detection)));
        });
    }

    /// Asks for a path.
    pub(crate) fn choose(&mut self, chooser: &Arc<dyn PathChooser>, request: PathRequest) {
        let chooser = Arc::clone(chooser);
        self.start(Task::Choose, "dialog", move |tell| {
            let asked = std::time::Instant::now();
            let path = chooser.choose(&request);
            tell(News::Chosen {
                purpose: request.purpose,
                quick: path.is_none() && asked.elapsed() < QUICK,
                path,
            });
        });
    }

    /// Opens whatever lies at a path.
    pub(crate) fn open(&mut self, path: PathBuf) {
        self.start(Task::Open, "open", move |tell| {
            let result = opened::open(&path);
            tell(News::Opened { path, result });
        });
    }

    /// Reads one of the models of a plan in a folder, unless it is known, and what a launch loads beside it.
    pub(crate) fn read_model(
        &mut self,
        task: Task,
        (reference, folder): (ModelRef, PathBuf),
        known: Option<Arc<Model>>,
        launch: LaunchOptions,
    ) {
        self.start(task, "model", move |tell| {
            let read = || opened::model(&source::placed(&reference, &folder));
            let model = known.map_or_else(read, |known| Ok((*known).clone()));
            let launch = source::placed_files(&launch, &folder);
            let result = model.map(|model| Box::new(source::attached(model, &launch)));
            tell(News::Model {
                task,
                reference: Box::new(reference),
                result,
            });
        });
    }

    /// Reads the plans beside a plan.
    pub(crate) fn read_beside(&mut self, key: BesideKey, models: Arc<ModelCatalog>) {
        self.start(Task::Beside, "beside", move |tell| {
            let read = beside::read(&key.plans, &key.folder, &models, &key.machine);
            tell(News::Beside {
                key: Box::new(key),
                result: read.map_err(|error| error.to_string()),
            });
        });
    }

    /// Writes a file.
    pub(crate) fn save(
        &mut self,
        content: Content,
        path: PathBuf,
        overwrite: crate::store::Overwrite,
    ) {
        self.start(Task::Save, "save", move |tell| {
            let result = opened::save(&content, &path, overwrite);
            tell(News::Saved {
                content,
                path,
                result,
            });
        });
    }

    /// Sweeps a setting.
    pub(crate) fn sweep(&mut self, key: SweepKey, memo: Arc<Memo>) {
        self.start(Task::Sweep, "sweep", move |tell| {
            let curve = survived(|| sweep::curve(&key, &memo)).unwrap_or_default();
            tell(News::Swept(Box::new(key), Box::new(curve)));
        });
    }

    /// Looks for the best settings.
    pub(crate) fn fit(&mut self, basis: Basis, memo: Arc<Memo>) {
        self.start(Task::Fit, "fit", move |tell| {
            // What panics once would panic again in the next frame: it is an answer, too.
            let answer = survived(|| fitting::search(&basis, &memo));
            let answer = answer.unwrap_or_else(|| Answer::Wrong(BROKE.to_owned()));
            tell(News::Fitted(Box::new(basis), Box::new(answer)));
        });
    }

    /// Asks what one more layer of experts in main memory costs.
    pub(crate) fn price(&mut self, basis: Basis, memo: Arc<Memo>) {
        self.start(Task::Price, "price", move |tell| {
            let launch = LaunchOptions::default();
            let request = basis.request(&basis.settings, &launch);
            let prices = survived(|| report::expert_prices(&request, &memo)).unwrap_or_default();
            tell(News::Priced(Box::new(basis), prices));
        });
    }

    /// What has come in since the last call.
    pub(crate) fn news(&mut self) -> Vec<News> {
        let mut all = Vec::new();
        while let Ok((of, news)) = self.receiver.try_recv() {
            // Nobody waits for what was given up.
            if !self.running.contains(&of) {
                continue;
            }
            match news {
                Some(news) => all.push(news),
                None => self.running.retain(|running| *running != of),
            }
        }
        all
    }

    /// Gives up work: it may go on, and what it comes to is not heard of.
    pub(crate) fn abandon(&mut self, task: Task) {
        self.running.retain(|(running, _)| *running != task);
    }

    /// Does work run beside the window?
    pub(super) const fn on_threads(&self) -> bool {
        matches!(self.threads, Threads::Real)
    }

    /// Starts work, unless work of its kind is under way.
    pub(super) fn start(
        &mut self,
        task: Task,
        name: &str,
        work: impl FnOnce(&(dyn Fn(News) + Sync)) + Send + 'static,
    ) {
        if self.busy(task) {
            return;
        }
        self.tickets += 1;
        let task = (task, self.tickets);
        self.running.push(task);
        let done = Done {
            task,
            sender: self.sender.clone(),
            context: self.context.clone(),
        };
        let run = move || work(&|news| done.tell(news));
        match self.threads {
            Threads::Inline => run(),
            Threads::Real => {
                // A thread that cannot be had drops `run`, and with it `done`, which ends the task.
                if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(run) {
                    log::error!("could not start the thread `{name}`: {error}");
                }
            }
        }
    }
}

/// Reports the end of a task when it goes, however it goes.
struct Done {
    task: (Task, u64),
    sender: Sender<Message>,
    context: Context,
}

impl Done {
    fn tell(&self, news: News) {
        // The window may be closed by now; then nobody wants to know.
        self.sender.send((self.task, Some(news))).ok();
        self.context.request_repaint();
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        self.sender.send((self.task, None)).ok();
        self.context.request_repaint();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake;

    impl PathChooser for Fake {
        fn choose(&self, _: &PathRequest) -> Option<PathBuf> {
            None
        }
    }

    #[test]
    fn a_dialog_that_never_was_is_told_apart() {
        let mut jobs = Jobs::new(Context::default(), Threads::Inline);
        let chooser: Arc<dyn PathChooser> = Arc::new(Fake);
        jobs.choose(
            &chooser,
            PathRequest {
                purpose: Purpose::SavePlan,
                title: "",
                file_name: String::new(),
                folder: None,
            },
        );
        assert!(jobs.busy(Task::Choose));
        let news = jobs.news();
        assert!(matches!(
            news.as_slice(),
            [News::Chosen {
                path: None,
                quick: true,
                ..
            }]
        ));
        assert!(!jobs.busy(Task::Choose));
    }

    #[test]
    fn work_that_panics_comes_to_nothing() {
        assert_eq!(survived(|| 1), Some(1));
        assert_eq!(survived(|| -> u8 { panic!("on purpose") }), None);
    }

    #[test]
    fn what_was_given_up_is_not_heard_of() {
        let mut jobs = Jobs::new(Context::default(), Threads::Inline);
        let tell = |tell: &(dyn Fn(News) + Sync)| tell(News::Changed(PathBuf::new()));
        jobs.start(Task::Watch, "first", tell);
        jobs.abandon(Task::Watch);
        assert!(!jobs.busy(Task::Watch));
        jobs.start(Task::Watch, "second", tell);
        assert_eq!(jobs.news().len(), 1);
        assert!(!jobs.busy(Task::Watch));
    }

    #[test]
    fn a_thread_that_panics_ends_its_task() {
        let mut jobs = Jobs::new(Context::default(), Threads::Real);
        jobs.start(Task::Open, "panics", |_| panic!("on purpose"));
        while jobs.busy(Task::Open) {
            jobs.news();
            std::thread::yield_now();
        }
    }
}

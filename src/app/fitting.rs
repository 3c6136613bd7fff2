//! The best settings, looked for beside the window.

use std::sync::Arc;

use crate::advisor::{Choice, Impossible, Objective};
use crate::engine::Memo;
use crate::plan::{FitOptions, LaunchOptions, Plan, Settings};
use crate::report::{self, FitError, Report};

use super::basis::Basis;

/// What a search found.
#[derive(Clone)]
pub(crate) enum Answer {
    /// The best first, then other good ones.
    Fits(Vec<Found>),
    /// Nothing fits with what is pinned.
    Impossible(Impossible),
    /// The plan itself is wrong.
    Wrong(String),
}

/// Settings that fit.
#[derive(Clone)]
pub(crate) struct Found {
    /// What to write.
    pub(crate) choice: Choice,
    /// The plan's settings with it.
    pub(crate) settings: Settings,
    /// What comes of it.
    pub(crate) report: Arc<Report>,
}

/// A choice that was applied.
#[derive(Clone)]
pub(crate) struct Applied {
    /// What for.
    pub(crate) objective: Objective,
    /// What was chosen.
    pub(crate) found: Found,
    /// The settings before.
    pub(crate) before: Settings,
}

/// Searches, asked for and answered.
#[derive(Default)]
pub(crate) struct Fitting {
    /// The last answer, and to what.
    answer: Option<(Basis, Arc<Answer>)>,
    /// The best is to be applied once it is known; since when, in egui's seconds.
    pub(crate) wanted: Option<f64>,
    /// What is applied belongs to the step that asked for it.
    pub(crate) stepped: bool,
    /// What was applied last.
    pub(crate) applied: Option<Applied>,
    /// Values that searches chose: nobody asked for them, so the next search need not keep them.
    pub(crate) chosen: Settings,
}

impl Fitting {
    /// Keeps an answer.
    pub(crate) fn keep(&mut self, basis: Basis, answer: Answer) {
        self.answer = Some((basis, Arc::new(answer)));
    }

    /// The answer to this, if it is the last one.
    pub(crate) fn start(&self, basis: &Basis) -> Option<Arc<Answer>> {
        let (answer, fresh) = self.answer(basis)?;
        fresh.then(|| Arc::clone(answer))
    }

    /// The last answer, and whether it is one to this.
    pub(crate) fn answer(&self, basis: &Basis) -> Option<(&Arc<Answer>, bool)> {
        let (known, answer) = self.answer.as_ref()?;
        Some((answer, known == basis))
    }

    /// What was applied last, while the plan still has it.
    pub(crate) fn in_force(&self, settings: &Settings) -> Option<&Applied> {
        let applied = self.applied.as_ref()?;
        (applied.found.settings == *settings).then_some(applied)
    }
}

/// What a plan is fitted for; the usual where it does not say, or says what is no objective.
pub(crate) fn objective(fit: &FitOptions) -> Objective {
    let word = fit.objective.as_deref().unwrap_or_default();
    word.parse().unwrap_or_default()
}

/// Writes down what a plan is fitted for.
pub(crate) fn set_objective(plan: &mut Plan, objective: Objective) {
    let usual = objective == Objective::default();
    plan.fit.objective = (!usual).then(|| objective.word().to_owned());
}

/// Looks for the best settings, and reports each that was found.
pub(crate) fn search(basis: &Basis, memo: &Memo) -> Answer {
    let launch = LaunchOptions::default();
    let fitted = match report::fit(&basis.request(&basis.settings, &launch), None, memo) {
        Ok(fitted) => fitted,
        Err(FitError::Impossible(impossible)) => return Answer::Impossible(*impossible),
        Err(error) => return Answer::Wrong(error.to_string()),
    };
    let found = std::iter::once(fitted.best).chain(fitted.others);
    let found = found.filter_map(|choice| {
        let mut settings = basis.settings.clone();
        choice.apply(basis.engine, &mut settings);
        let report = report::report(&basis.request(&settings, &launch), memo).ok()?;
        Some(Found {
            choice,
            settings,
            report: Arc::new(report),
        })
    });
    Answer::Fits(found.collect())
}

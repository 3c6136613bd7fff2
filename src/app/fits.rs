//! Asking for the best settings, and taking them.

use eframe::egui::Context;

use crate::advisor::{Choice, Objective};
use crate::engine::{self, setting};
use crate::plan::Settings;

use super::App;
use super::basis::Basis;
use super::fitting::{self, Answer, Applied, Found};
use super::format;
use super::notice::Topic;
use super::pins;
use super::tab::Tab;
use super::texts::fill;

impl App {
    /// Looks for the best settings; they are applied once they are known.
    pub(super) fn fit(&mut self, objective: Option<Objective>, context: &Context) {
        let plan = &mut self.document.plan;
        let objective = objective.unwrap_or_else(|| fitting::objective(&plan.fit));
        if fitting::objective(&plan.fit) != objective {
            self.step_once();
            fitting::set_objective(&mut self.document.plan, objective);
        }
        self.fitting.wanted = Some(context.input(|input| input.time));
        context.request_repaint();
    }

    /// Lets fitting change these settings again, and fits.
    pub(super) fn unpin(&mut self, names: &[String], context: &Context) {
        self.step_once();
        for name in names {
            pins::unpin(&mut self.document.plan.fit, name);
        }
        self.fit(None, context);
    }

    /// Takes one of the settings that were found.
    pub(super) fn take(&mut self, place: usize) {
        let Some(basis) = self.searched_basis() else {
            return;
        };
        let Some((answer, _)) = self.fitting.answer(&basis) else {
            return;
        };
        let Answer::Fits(found) = &**answer else {
            return;
        };
        let Some(mut found) = found.get(place).cloned() else {
            return;
        };
        // What was pinned since the list was made stays.
        let Choice { set, unset, .. } = &mut found.choice;
        set.retain(|name, _| !pins::is_pinned(&basis.fit, name));
        unset.retain(|name| !pins::is_pinned(&basis.fit, name));
        found.settings.clone_from(&basis.settings);
        found.choice.apply(basis.engine, &mut found.settings);
        self.apply(found);
    }

    /// What is asked for and what comes of it are one step.
    fn step_once(&mut self) {
        if !self.fitting.stepped {
            self.document.step();
            self.fitting.stepped = true;
        }
    }

    fn apply(&mut self, found: Found) {
        let before = self.document.plan.settings.clone();
        self.fitting.chosen.extend(found.choice.set.clone());
        if before != found.settings {
            self.step_once();
            self.document.plan.settings.clone_from(&found.settings);
        }
        self.fitting.stepped = false;
        self.fitting.applied = Some(Applied {
            objective: fitting::objective(&self.document.plan.fit),
            found,
            before,
        });
    }

    /// Starts a search that is wanted, be it to apply the best or to list all; says whether something was applied.
    pub(super) fn advance_fit(&mut self) -> bool {
        let wanted = self.fitting.wanted.is_some();
        if self.restart || !wanted && self.state.tab != Tab::Options {
            return false;
        }
        let Some(basis) = self.searched_basis() else {
            // Nothing is there that could be fitted.
            self.fitting.wanted = None;
            return false;
        };
        let Some((answer, true)) = self.fitting.answer(&basis) else {
            self.jobs.fit(basis, self.live.memo());
            return false;
        };
        let best = match &**answer {
            Answer::Fits(found) => found.first().cloned(),
            Answer::Impossible(_) | Answer::Wrong(_) => None,
        };
        self.fitting.wanted = None;
        self.fitting.stepped &= wanted && best.is_some();
        let best = best.filter(|_| wanted);
        let applied = best.is_some();
        if let Some(best) = best {
            self.apply(best);
        }
        applied
    }

    /// Looks for the settings with which the plan starts afresh; says whether they are still being looked for.
    pub(super) fn start(&mut self) -> bool {
        let Some(basis) = self.starting_basis() else {
            return false;
        };
        if self.subjects.waits_for_others() {
            return true;
        }
        let Some(answer) = self.fitting.start(&basis) else {
            self.jobs.fit(basis, self.live.memo());
            return true;
        };
        self.restart = false;
        let (found, told) = match &*answer {
            Answer::Fits(found) => {
                let best = found.first().map(|found| found.settings.clone());
                (best, self.texts.fitted)
            }
            Answer::Impossible(_) => (None, self.texts.fitted_none),
            Answer::Wrong(_) => (None, self.texts.fitted),
        };
        // Nothing fits: the plan says by how much, from where most plans start.
        let start = found.unwrap_or_else(|| self.live.starting_settings(&basis));
        self.start_with(start, told);
        false
    }

    /// Everything that the user decided, with the model and the machine that are there by now.
    fn starting_basis(&self) -> Option<Basis> {
        let plan = &self.document.plan;
        let subject = self.subjects.subject();
        let engine = engine::find(&plan.engine)?;
        let settings = setting::canonical(engine, &pins::decided(plan)).ok()?;
        Some(Basis {
            engine,
            model: subject.model?,
            draft: subject.draft,
            beside: subject.beside,
            machine: subject.machine?,
            settings,
            fit: plan.fit.clone(),
        })
    }

    /// What a search works on: the plan without what earlier searches chose.
    pub(super) fn searched_basis(&self) -> Option<Basis> {
        let mut basis = self.live.basis(&self.document.plan)?;
        let (fit, chosen) = (&basis.fit, &self.fitting.chosen);
        basis
            .settings
            .retain(|name, value| pins::is_pinned(fit, name) || chosen.get(name) != Some(value));
        Some(basis)
    }

    fn start_with(&mut self, start: Settings, told: &str) {
        self.fitting.chosen.clone_from(&start);
        let before = self.document.plan.settings.clone();
        pins::replace_unpinned(&mut self.document.plan, start);
        let chosen = format::changes(&before, &self.document.plan, self.texts);
        if !chosen.is_empty() {
            let told = fill(told, &[("settings", &chosen)]);
            self.state.tell(Topic::Fit, &told);
        }
    }
}

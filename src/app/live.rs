//! What is shown: the report, the launch and the curve of the plan on the desk, each made again only when one of its
//! inputs has another value.

use std::sync::Arc;

use crate::engine::experts::ExpertLayers;
use crate::engine::launch::{self, LaunchInputs};
use crate::engine::{self, Engine, Inputs, Margin, Memo, setting};
use crate::export::{self, Export, File};
use crate::hardware::Machine;
use crate::model::Model;
use crate::plan::{Plan, Settings};
use crate::report::{self, Beside, ExpertPrice, Report, Request};

use super::basis::Basis;
use super::sweep::{Curve, SweepKey};

/// The model and the machine that the plan means.
#[derive(Clone, Default)]
pub(crate) struct Subject {
    /// The model, read.
    pub(crate) model: Option<Arc<Model>>,
    /// What drafts for it, read.
    pub(crate) draft: Option<Arc<Model>>,
    /// What runs on the same machine at the same time.
    pub(crate) beside: Arc<[Beside]>,
    /// Where the model is published in the engine's format.
    pub(crate) repository: Option<String>,
    /// The machine, resolved.
    pub(crate) machine: Option<Arc<Machine>>,
}

impl Subject {
    fn is(&self, other: &Self) -> bool {
        same(self.model.as_ref(), other.model.as_ref())
            && same(self.draft.as_ref(), other.draft.as_ref())
            && self.beside == other.beside
            && same(self.machine.as_ref(), other.machine.as_ref())
            && self.repository == other.repository
    }
}

fn same<T>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// Everything derived from the plan.
#[derive(Default)]
pub(crate) struct Live {
    memo: Arc<Memo>,
    key: Option<(Plan, String)>,
    subject: Subject,
    /// The plan's settings under their canonical names.
    pub(crate) settings: Settings,
    /// The report, or why there is none. Absent while model or machine are.
    pub(crate) report: Option<Result<Arc<Report>, String>>,
    /// The launch for the chosen target, or why there is none.
    pub(crate) launch: Option<Result<File, String>>,
    /// Layers of each GPU whose experts could be in main memory; none where none could.
    pub(crate) experts: Vec<ExpertLayers>,
    prices: Option<(Basis, Vec<ExpertPrice>)>,
    curve: Option<(SweepKey, Curve)>,
    /// How often a report was made; tests see by it that an idle window makes none.
    pub(crate) reports_made: u64,
}

impl Live {
    /// Makes again what is out of date; says whether anything was.
    pub(crate) fn refresh(&mut self, plan: &Plan, target: &str, subject: &Subject) -> bool {
        let same = self
            .key
            .as_ref()
            .is_some_and(|(known, known_target)| known == plan && known_target == target);
        if same && self.subject.is(subject) {
            return false;
        }
        self.key = Some((plan.clone(), target.to_owned()));
        self.subject = subject.clone();
        self.report = None;
        self.launch = None;
        let (Some(model), Some(machine)) = (&subject.model, &subject.machine) else {
            return true;
        };
        match derive(plan, subject, (model, machine), &self.memo) {
            Ok((engine, settings, report, experts)) => {
                self.reports_made += 1;
                self.experts = experts;
                self.launch = Some(launch(
                    plan,
                    target,
                    engine,
                    subject,
                    (model, machine),
                    (&settings, &report),
                ));
                self.settings = settings;
                self.report = Some(Ok(Arc::new(report)));
            }
            Err(reason) => self.report = Some(Err(reason)),
        }
        true
    }

    /// What a thread needs to project the plan; absent while model or machine are.
    pub(crate) fn basis(&self, plan: &Plan) -> Option<Basis> {
        self.good_report()?;
        Some(Basis {
            engine: engine::find(&plan.engine)?,
            model: self.subject.model.clone()?,
            draft: self.subject.draft.clone(),
            beside: Arc::clone(&self.subject.beside),
            machine: self.subject.machine.clone()?,
            settings: self.settings.clone(),
            fit: plan.fit.clone(),
        })
    }

    /// The model and machine of the last refresh.
    pub(crate) const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Results kept between reports.
    pub(crate) fn memo(&self) -> Arc<Memo> {
        Arc::clone(&self.memo)
    }

    /// The report, where there is one.
    pub(crate) fn good_report(&self) -> Option<&Arc<Report>> {
        self.report.as_ref()?.as_ref().ok()
    }

    /// What one more layer of experts in main memory costs and gives, of this plan or one much like it.
    pub(crate) fn prices(&self) -> &[ExpertPrice] {
        let prices = self.prices.as_ref();
        prices.map_or(&[], |(_, prices)| prices.as_slice())
    }

    /// What the prices are wanted for, where they are not known.
    pub(crate) fn unpriced(&self, plan: &Plan) -> Option<Basis> {
        if self.experts.is_empty() {
            return None;
        }
        let basis = self.basis(plan)?;
        let known = self
            .prices
            .as_ref()
            .is_some_and(|(known, _)| *known == basis);
        (!known).then_some(basis)
    }

    /// Keeps prices.
    pub(crate) fn keep_prices(&mut self, basis: Basis, prices: Vec<ExpertPrice>) {
        self.prices = Some((basis, prices));
    }

    /// The last curve, and whether it is up to date for `key`.
    pub(crate) fn curve(&self, key: &SweepKey) -> (Option<&Curve>, bool) {
        match &self.curve {
            Some((known, curve)) => (Some(curve), known == key),
            None => (None, false),
        }
    }

    /// Keeps a curve.
    pub(crate) fn keep_curve(&mut self, key: SweepKey, curve: Curve) {
        self.curve = Some((key, curve));
    }

    /// The settings with which most plans start.
    pub(crate) fn starting_settings(&self, basis: &Basis) -> Settings {
        basis.engine.starting_settings(&Inputs {
            model: &basis.model,
            draft: basis.draft.as_deref(),
            machine: &basis.machine,
            settings: &basis.settings,
            margin: Margin::of_plan(&basis.fit),
            memo: &self.memo,
        })
    }
}

type Derived = (&'static dyn Engine, Settings, Report, Vec<ExpertLayers>);

fn derive(
    plan: &Plan,
    subject: &Subject,
    (model, machine): (&Model, &Machine),
    memo: &Memo,
) -> Result<Derived, String> {
    let engine = engine::find(&plan.engine)
        .ok_or_else(|| format!("no engine is called `{}`", plan.engine))?;
    let settings = setting::canonical(engine, &plan.settings).map_err(|error| error.to_string())?;
    let request = Request {
        engine,
        model,
        draft: subject.draft.as_deref(),
        beside: &subject.beside,
        machine,
        settings: &settings,
        fit: &plan.fit,
        launch: &plan.launch,
    };
    let report = report::report(&request, memo).map_err(|error| error.to_string())?;
    let experts = report::experts(&request, memo);
    Ok((engine, settings, report, experts))
}

fn launch(
    plan: &Plan,
    target: &str,
    engine: &dyn Engine,
    subject: &Subject,
    (model, machine): (&Model, &Machine),
    (settings, report): (&Settings, &Report),
) -> Result<File, String> {
    let exporter = export::find(engine.id(), target)
        .or_else(|| export::for_engine(engine.id()).next())
        .ok_or_else(|| format!("no export can write launches of {}", engine.id()))?;
    let launch = engine.launch(&LaunchInputs {
        model,
        draft: subject.draft.as_deref(),
        machine,
        settings,
        resolved: &report.settings,
        options: &plan.launch,
        margin: Margin::of_plan(&plan.fit),
        repository: subject.repository.as_deref(),
        file: plan.model.file.as_deref(),
        revision: plan.model.revision.as_deref(),
        opened: launch::opened(&plan.model, model).as_deref(),
        opened_draft: plan
            .draft
            .as_ref()
            .zip(subject.draft.as_deref())
            .and_then(|(reference, draft)| launch::opened(reference, draft))
            .as_deref(),
    });
    let export = Export {
        plan,
        model,
        report,
        launch: &launch,
    };
    export::file(exporter, &export).map_err(|error| error.to_string())
}

//! Fitting: what it finds fits, cannot be bettered by a step, and is no worse than what the engine finds itself.

mod bounds;
mod cards;
mod choices;
mod engine_choice;
mod laws;
mod pins;
mod properties;
mod users;

use std::sync::LazyLock;

use plimsoll::advisor::{Choice, FitRequest, Fitted, Impossible, Objective, fit};
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Inputs, Margin, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{FitOptions, LaunchOptions, Settings, Value};
use plimsoll::report::{Report, Request, report};
use proptest::test_runner::{Config as ProptestConfig, RngSeed};

/// So many random cases, the same on every run; `PROPTEST_CASES` asks for another number of new ones.
fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        rng_seed: if asked.is_some() {
            RngSeed::Random
        } else {
            RngSeed::Fixed(1)
        },
        failure_persistence: None,
        cases: asked.and_then(|cases| cases.parse().ok()).unwrap_or(usual),
        ..ProptestConfig::default()
    }
}

/// A plan to fit.
pub(crate) struct Case<'a> {
    pub(crate) model: &'a Model,
    pub(crate) machine: &'a Machine,
    pub(crate) settings: &'a Settings,
    pub(crate) pinned: &'a [String],
}

impl Case<'_> {
    pub(crate) fn fit(&self, objective: Objective, memo: &Memo) -> Result<Fitted, Box<Impossible>> {
        fit(&FitRequest {
            engine: engine::find("llama.cpp").unwrap(),
            inputs: Inputs {
                model: self.model,
                draft: None,
                machine: self.machine,
                settings: self.settings,
                margin: Margin::DEFAULT,
                memo,
            },
            pinned: self.pinned,
            objective,
        })
    }
}

/// Names as a plan pins them.
pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Whole numbers of a setting.
pub(crate) fn integer(settings: &Settings, name: &str) -> Option<i64> {
    match settings.get(name) {
        Some(Value::Integer(number)) => Some(*number),
        _ => None,
    }
}

/// A model by its preset.
pub(crate) fn preset(id: &str) -> Model {
    let preset = ModelCatalog::embedded().find(id).unwrap();
    preset.model(&serde_json::Map::default()).unwrap()
}

/// The best, alone.
pub(crate) fn fitted(case: &Case<'_>, objective: Objective) -> Choice {
    case.fit(objective, &Memo::default()).unwrap().best
}

/// Settings with a choice written into them.
pub(crate) fn with(settings: &Settings, choice: &Choice) -> Settings {
    let mut settings = settings.clone();
    choice.apply(engine::find("llama.cpp").unwrap(), &mut settings);
    settings
}

/// The report of other settings of a case.
pub(crate) fn report_of(case: &Case<'_>, settings: &Settings) -> Report {
    report(&request(case, settings), &Memo::default()).unwrap()
}

/// What a report of a case with other settings is made from.
pub(crate) fn request<'a>(case: &Case<'a>, settings: &'a Settings) -> Request<'a> {
    static OPEN: LazyLock<(FitOptions, LaunchOptions)> = LazyLock::new(Default::default);
    Request {
        engine: engine::find("llama.cpp").unwrap(),
        model: case.model,
        draft: None,
        beside: &[],
        machine: case.machine,
        settings,
        fit: &OPEN.0,
        launch: &OPEN.1,
    }
}

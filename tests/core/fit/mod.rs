//! Fitting: what it finds fits, cannot be bettered by a step, and is no worse than what the engine finds itself.

mod engine_choice;

use plimsoll::advisor::{FitRequest, Fitted, Impossible, Objective, fit};
use plimsoll::engine::{self, Inputs, Margin, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{Settings, Value};

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

//! Searches the settings that a person left open for the ones that serve best.

mod blame;
mod compare;
mod edges;
mod explorer;
mod ladder;
mod search;
mod side_by_side;

pub use crate::plan::{Objective, UnknownObjective};

use serde::Serialize;

use crate::engine::{Engine, Inputs, setting};
use crate::plan::Settings;
use crate::projection::Gain;
use crate::speed::Estimate;

/// What is searched. Everything is borrowed, so a thread that owns model, machine and settings can make one.
#[derive(Clone, Copy)]
pub struct FitRequest<'a> {
    /// Who runs it.
    pub engine: &'static dyn Engine,
    /// Model, machine (what runs beside in use there), settings as written and checked, margin.
    pub inputs: Inputs<'a>,
    /// Settings that must stay as they are, by canonical name; one that is not written stays at the engine's default.
    pub pinned: &'a [String],
    /// What to make best.
    pub objective: Objective,
}

impl FitRequest<'_> {
    /// Whether a setting decides what lives where.
    fn places_layers(&self, name: &str) -> bool {
        let setting = setting::find(self.engine, name);
        setting.is_some_and(|setting| setting.group == setting::Group::Offload)
    }
}

/// The best settings, and other good ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// What it is best for.
    pub objective: Objective,
    /// The best in the objective.
    pub best: Choice,
    /// Really different ones that are better than the best in something, and none of them better in everything than
    /// another.
    pub others: Vec<Choice>,
}

/// Settings that fit: every device keeps its margin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Settings to write, by canonical name.
    pub set: Settings,
    /// Settings to take out of the plan, by canonical name, so that they have the engine's default.
    pub unset: Vec<String>,
    /// What comes of it.
    pub figures: Figures,
    /// What is worse than with the best, in one clause ("half the context"); of the best itself, what it gives up for its
    /// objective. May be empty.
    pub gives_up: String,
    /// What is good about it, in one clause ("the longest context with everything on the GPU").
    pub good_for: String,
}

/// What comes of a choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Tokens that one user can hold.
    pub context_per_slot: u64,
    /// Users at once.
    pub slots: u64,
    /// File type of the weights, where the engine has one.
    pub weights: String,
    /// Of the model file.
    pub bits_per_weight: f64,
    /// Formats of cached keys and values.
    pub cache: (String, String),
    /// Part of the loaded weights that lives on GPUs, from 0 to 1.
    pub gpu_share: f64,
    /// Layers on GPUs, of how many; the output layer counted where the engine counts it.
    pub gpu_layers: (u64, u64),
    /// Layers with experts in main memory, in whole or in part.
    pub expert_layers_in_ram: u64,
    /// Tokens per second of one user at the beginning of its context, where that can be told.
    pub decode: Option<Estimate>,
    /// Bytes left per device, GPUs in plan order and the host last; the margin not taken off.
    pub free: Vec<i64>,
}

impl Figures {
    /// The format of the cache: one word where keys and values have the same, or where there are no values.
    pub fn cache_word(&self) -> String {
        let (keys, values) = &self.cache;
        if keys == values || values.is_empty() {
            keys.clone()
        } else {
            format!("{keys}/{values}")
        }
    }
}

/// Why nothing fits.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Impossible {
    /// The pinned setting that would have to give, where one would be enough.
    pub pin: Option<String>,
    /// One sentence: what would have to give, and by how much.
    pub message: String,
    /// Changes with which it fits: the smallest that were found.
    pub set: Settings,
    /// What the change is worth, where that is known.
    pub gain: Option<Gain>,
}

/// The best settings for an objective; what is pinned stays.
///
/// # Errors
/// Nothing fits with what is pinned.
pub fn fit(request: &FitRequest<'_>) -> Result<Fitted, Box<Impossible>> {
    search::search(request)
}

impl Choice {
    /// What it gives and what it gives up, in one sentence; empty where neither is said.
    pub fn remark(&self) -> String {
        match (self.good_for.as_str(), self.gives_up.as_str()) {
            ("", "") => String::new(),
            ("", lost) => format!("gives up {lost}"),
            (gained, "") => format!("gives {gained}"),
            (gained, lost) => format!("gives {gained}; gives up {lost}"),
        }
    }

    /// Writes it into the settings of a plan, whatever spelling they have there.
    pub fn apply(&self, engine: &dyn Engine, settings: &mut Settings) {
        let changed = |written: &str| {
            let name = setting::find(engine, written).map_or(written, |setting| setting.name);
            self.set.contains_key(name) || self.unset.iter().any(|unset| unset == name)
        };
        // A value stays where it stands; only its spelling becomes the engine's.
        settings.retain(|name, _| !changed(name) || self.set.contains_key(name));
        for (name, value) in &self.set {
            settings.insert(name.clone(), value.clone());
        }
    }
}

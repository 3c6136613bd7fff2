//! What settings of different engines have in common, so that a plan keeps its choices when the engine changes.

use indexmap::IndexMap;

use super::{Engine, setting};
use crate::plan::{Plan, Settings, Value};

/// What a setting says, in terms that engines share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meaning {
    /// Format of the weights, as a word.
    Weights,
    /// The weights were quantized with an importance matrix: true or false.
    ImportanceMatrix,
    /// Format of cached keys, as a word.
    CachedKeys,
    /// Format of cached values, as a word.
    CachedValues,
    /// Layers on GPUs, the output layer counted; "auto" or "all".
    GpuLayers,
    /// The one GPU that is used, by its index.
    OnlyGpu,
    /// Tokens of context for each user.
    ContextPerUser,
    /// Users served at once.
    Users,
    /// Tokens computed at once.
    MicroBatch,
    /// Flash attention: "auto", "on" or "off".
    FlashAttention,
    /// Tokens that the model's own prediction blocks propose at once.
    PredictedTokens,
    /// The file is mapped into memory: true or false.
    Mapped,
}

/// Values by what they mean.
pub type Meanings = IndexMap<Meaning, Value>;

/// How a setting says one of them.
#[derive(Clone, Copy)]
pub struct Counterpart {
    /// What it says.
    pub meaning: Meaning,
    /// A value of the setting, among the others of its plan, in the terms of the meaning; `None` where it says nothing
    /// about that.
    pub tell: fn(&Value, &Settings) -> Option<Value>,
    /// The setting's value for what is meant; `None` where it cannot say it.
    pub take: fn(&Value, &Meanings) -> Option<Value>,
    /// The setting only goes along with another one that says it.
    pub follows: bool,
}

impl Counterpart {
    /// Setting and meaning have the same values.
    pub const fn same(meaning: Meaning) -> Self {
        Self {
            meaning,
            tell: |value, _| Some(value.clone()),
            take: |value, _| Some(value.clone()),
            follows: false,
        }
    }
}

/// The settings of a plan for another engine: everything that has a counterpart there and that it can say; the rest is
/// left to the new engine's defaults.
pub fn carry_over(from: &dyn Engine, to: &dyn Engine, settings: &Settings) -> Settings {
    let written: Settings = settings
        .iter()
        .filter_map(|(name, value)| {
            let setting = setting::find(from, name)?;
            Some((setting.name.to_owned(), setting.accept(value).ok()?))
        })
        .collect();
    let mut told = Meanings::new();
    for setting in from.settings() {
        let Some(value) = written.get(setting.name) else {
            continue;
        };
        for counterpart in setting.counterparts {
            if let Some(meant) = (counterpart.tell)(value, &written) {
                told.insert(counterpart.meaning, meant);
            }
        }
    }
    to.settings()
        .iter()
        .filter_map(|setting| {
            let value = setting.counterparts.iter().find_map(|counterpart| {
                let meant = told.get(&counterpart.meaning)?;
                let value = (counterpart.take)(meant, &told)?;
                setting.accept(&value).ok()
            })?;
            Some((setting.name.to_owned(), value))
        })
        .collect()
}

/// The other engine's name of a setting, for lists of names such as the pinned ones.
pub fn counterpart(from: &dyn Engine, to: &dyn Engine, name: &str) -> Option<&'static str> {
    let asked = setting::find(from, name)?;
    let means = |meaning: Meaning| {
        to.settings().iter().find(|setting| {
            let mut meanings = setting.counterparts.iter();
            meanings.any(|other| other.meaning == meaning && !other.follows)
        })
    };
    asked
        .counterparts
        .iter()
        .find_map(|counterpart| means(counterpart.meaning))
        .map(|setting| setting.name)
}

/// Gives a plan another engine: settings and pins with a counterpart there stay.
pub fn switch(plan: &mut Plan, to: &dyn Engine) {
    if let Some(from) = super::find(&plan.engine) {
        plan.settings = carry_over(from, to, &plan.settings);
        plan.fit.pinned = counterparts(from, to, &plan.fit.pinned);
    }
    to.id().clone_into(&mut plan.engine);
}

/// The other engine's names of settings, each once; those without a counterpart are left out.
fn counterparts(from: &dyn Engine, to: &dyn Engine, names: &[String]) -> Vec<String> {
    let mut found: Vec<&'static str> = names
        .iter()
        .filter_map(|name| counterpart(from, to, name))
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(str::to_owned).collect()
}

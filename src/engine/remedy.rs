//! What an engine could do otherwise to need less, for the advisor to try.

use crate::plan::Settings;
use crate::projection::Gain;

/// One way to need less, from the mildest step to the strongest.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// The setting that it is about.
    pub setting: &'static str,
    /// In order of what they cost the user.
    pub steps: Vec<Step>,
}

/// One step of a remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it is, as the beginning of a sentence ("A KV cache in q8_0").
    pub what: String,
    /// The settings it changes.
    pub set: Settings,
    /// What it is worth, where the engine knows that beforehand.
    pub gain: Option<Gain>,
    /// The engine has found out already that it keeps every margin.
    pub known_to_fit: bool,
}

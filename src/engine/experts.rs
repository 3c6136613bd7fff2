//! Experts of a mixture that stay in main memory, counted per GPU.

use crate::plan::Settings;

/// Layers with routed experts that belong to one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ExpertLayers {
    /// The GPU, by its index in the plan.
    pub gpu: usize,
    /// How many there are.
    pub layers: u64,
    /// Those of them whose experts are in main memory, in whole or in part.
    pub in_ram: u64,
}

/// A change of settings that moves experts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpertChange {
    /// Settings to write, by canonical name.
    pub set: Settings,
    /// Settings to take out, by canonical name.
    pub unset: Vec<&'static str>,
}

impl ExpertChange {
    /// Writes it into settings under their canonical names.
    pub fn apply(&self, settings: &mut Settings) {
        settings.retain(|name, _| !self.unset.contains(&name.as_str()));
        for (name, value) in &self.set {
            settings.insert(name.clone(), value.clone());
        }
    }
}

//! Names of what the core counts, in a language's words.

use crate::advisor::Objective;
use crate::projection::{Category, Part};
use crate::quality::Effect;

use super::Texts;

impl Texts {
    /// What a memory category is called.
    pub fn category(&self, category: Category) -> &'static str {
        Category::ALL
            .iter()
            .zip(self.categories)
            .find(|(known, _)| **known == category)
            .map_or("", |(_, name)| name)
    }
}

impl Texts {
    /// What is loaded beside the model is called; `None` for the model itself.
    pub const fn part(&self, part: Part) -> Option<&'static str> {
        let [draft, projector, adapter] = self.beside_model;
        match part {
            Part::Model => None,
            Part::Draft => Some(draft),
            Part::Projector => Some(projector),
            Part::Adapter => Some(adapter),
        }
    }

    /// What an objective is called.
    pub fn objective(&self, objective: Objective) -> &'static str {
        Objective::ALL
            .iter()
            .zip(self.objectives)
            .find(|(known, _)| **known == objective)
            .map_or("", |(_, name)| name)
    }

    /// How much a format is felt.
    pub const fn effect(&self, effect: Effect) -> &'static str {
        let [indistinguishable, slight, visible, heavy, broken] = self.effects;
        match effect {
            Effect::Indistinguishable => indistinguishable,
            Effect::Slight => slight,
            Effect::Visible => visible,
            Effect::Heavy => heavy,
            Effect::Broken => broken,
        }
    }
}

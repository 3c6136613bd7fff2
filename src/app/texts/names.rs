//! Names of what the core counts, in a language's words.

use crate::advisor::Objective;
use crate::projection::Category;
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

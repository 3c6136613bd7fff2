//! What a plan loses when its engine changes, kept for the way back.

use std::collections::BTreeMap;

use crate::engine::{self, Engine, meaning};
use crate::plan::{Plan, Settings};

/// Settings and pins of engines that a plan had before, those that its other engines cannot say.
#[derive(Debug, Default)]
pub struct Aside {
    left: BTreeMap<&'static str, Left>,
}

#[derive(Debug, Default)]
struct Left {
    settings: Settings,
    pinned: Vec<String>,
}

impl Aside {
    /// Gives a plan another engine: what has no counterpart there waits until the plan comes back.
    pub(crate) fn switch(&mut self, plan: &mut Plan, to: &dyn Engine) {
        if let Some(from) = engine::find(&plan.engine) {
            let left = lost(plan, from, to);
            self.left.insert(from.id(), left);
        }
        meaning::switch(plan, to);
        let Some(Left { settings, pinned }) = self.left.remove(to.id()) else {
            return;
        };
        for (name, value) in settings {
            plan.settings.entry(name).or_insert(value);
        }
        for name in pinned {
            if !plan.fit.pinned.contains(&name) {
                plan.fit.pinned.push(name);
            }
        }
    }

    /// What waits belongs to another plan or model.
    pub(crate) fn clear(&mut self) {
        self.left.clear();
    }
}

/// What would not come back from the other engine.
fn lost(plan: &Plan, from: &dyn Engine, to: &dyn Engine) -> Left {
    let mut back = plan.clone();
    meaning::switch(&mut back, to);
    meaning::switch(&mut back, from);
    let settings = plan.settings.iter();
    let settings = settings.filter(|(name, _)| !back.settings.contains_key(*name));
    let pinned = plan.fit.pinned.iter();
    Left {
        settings: settings
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        pinned: pinned
            .filter(|name| !back.fit.pinned.contains(*name))
            .cloned()
            .collect(),
    }
}

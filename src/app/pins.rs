//! Settings that only the user changes: what was set by hand, and what fitting must leave as it is, are one thing.

use crate::engine::{self, setting};
use crate::plan::{FitOptions, Plan, Settings};

/// Is it left to the user?
pub(crate) fn is_pinned(fit: &FitOptions, name: &str) -> bool {
    fit.pinned.iter().any(|pinned| pinned == name)
}

/// From now on only the user changes it; left out of the plan, it stays left to the engine.
pub(crate) fn pin(fit: &mut FitOptions, name: &str) {
    if !is_pinned(fit, name) {
        fit.pinned.push(name.to_owned());
    }
}

/// Fitting may change it again.
pub(crate) fn unpin(fit: &mut FitOptions, name: &str) {
    fit.pinned.retain(|pinned| pinned != name);
}

/// What the user changed since `before` is the user's.
pub(crate) fn follow(before: &Plan, plan: &mut Plan) {
    if before.engine != plan.engine || before.settings == plan.settings {
        return;
    }
    let names = before.settings.keys().chain(plan.settings.keys());
    for name in names.filter(|name| before.settings.get(*name) != plan.settings.get(*name)) {
        pin(&mut plan.fit, name);
    }
}

/// Gives up what nobody decided in favour of `chosen`.
pub(crate) fn replace_unpinned(plan: &mut Plan, chosen: Settings) {
    let Plan { settings, fit, .. } = plan;
    settings.retain(|name, _| is_pinned(fit, name) || chosen.contains_key(name));
    settings.extend(chosen.into_iter().filter(|(name, _)| !is_pinned(fit, name)));
}

/// The settings that were decided, with their values.
pub(crate) fn decided(plan: &Plan) -> Settings {
    let decided = plan.settings.iter();
    decided
        .filter(|(name, _)| is_pinned(&plan.fit, name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Pins under the names that controls find.
pub(crate) fn canonical(plan: &mut Plan) {
    let Some(engine) = engine::find(&plan.engine) else {
        return;
    };
    let written = std::mem::take(&mut plan.fit.pinned);
    for name in written {
        match setting::find(engine, &name) {
            Some(setting) => pin(&mut plan.fit, setting.name),
            // The report says what is wrong with it.
            None => plan.fit.pinned.push(name),
        }
    }
}

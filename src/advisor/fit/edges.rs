//! How far points reach: the longest context and the most users with which they fit.

use super::explorer::{Explorer, Found, Point};
use crate::engine::Inputs;
use crate::engine::largest::{largest, largest_over};
use crate::engine::search::{Arrangement, Ask, Effort, Residency};

/// Numbers of users in a row that may need less than the one before them and do not fit, until no further one is tried.
const MISSED: usize = 2;

impl Explorer<'_> {
    /// What every device has left with a point, negative where it lacks; `None` where less is on GPUs than must be.
    fn room(&mut self, point: &Point, residency: Residency, effort: Effort) -> Option<Vec<i64>> {
        let gpus = self.space.gpus;
        let probe = &self.arrange(point, residency, effort)?.probe;
        let as_asked = !gpus || probe.residency() >= residency || !probe.fits();
        as_asked.then(|| probe.room.clone())
    }

    /// The longest context per user that is tried, in tokens.
    pub(super) fn most_context(&self, least: u64) -> u64 {
        let step = self.space.context_step.max(1);
        let least = least.div_ceil(step).max(1);
        let most = (self.space.longest_context / step).max(least);
        most.saturating_mul(step)
    }

    /// The longest context per user with which a point fits; in steps of the engine, from the least given.
    pub(super) fn longest(
        &mut self,
        point: &Point,
        slots: u64,
        least: u64,
        residency: Residency,
        effort: Effort,
    ) -> Option<Found> {
        if !self.context_is_open {
            return self.found(point, residency, effort);
        }
        let step = self.space.context_step.max(1);
        let with = |steps: u64| Point {
            load: Some((steps.saturating_mul(step), slots)),
            ..*point
        };
        // Who plans more than the model is meant for has it, where it fits.
        let most = self.most_context(least) / step;
        let least = least.div_ceil(step).max(1);
        let steps = largest(least, most, |steps| {
            let room = self.room(&with(steps), residency, effort);
            room.unwrap_or_else(|| vec![-1])
        })?;
        self.found(&with(steps), residency, effort)
    }

    /// The longest context per user with every layer where it is.
    pub(super) fn longest_as_placed(
        &mut self,
        found: &Found,
        slots: u64,
        least: u64,
    ) -> Option<Found> {
        if !self.context_is_open {
            return None;
        }
        let step = self.space.context_step.max(1);
        let most = self.most_context(least) / step;
        let least = least.div_ceil(step).max(1);
        let at = |steps: u64| self.as_placed(found, steps.saturating_mul(step), slots);
        let steps = largest(least, most, |steps| {
            at(steps).map_or_else(|| vec![-1], |arrangement| arrangement.probe.room)
        })?;
        Some(Found {
            point: Point {
                load: Some((steps.saturating_mul(step), slots)),
                ..found.point
            },
            arrangement: at(steps)?,
        })
    }

    /// The most users with so much context each.
    pub(super) fn most_slots(
        &mut self,
        point: &Point,
        context: u64,
        residency: Residency,
    ) -> Option<Found> {
        let with = |slots: u64| Point {
            load: Some((context, slots)),
            ..*point
        };
        let most = self.most_users(|explorer, slots| {
            let room = explorer.room(&with(slots), residency, Effort::Possible);
            room.unwrap_or_else(|| vec![-1])
        })?;
        self.found(&with(most), residency, Effort::Possible)
    }

    /// The most users with so much context each, with every layer where it is.
    pub(super) fn most_slots_as_placed(&mut self, found: &Found, context: u64) -> Option<Found> {
        let most = self.most_users(|explorer, slots| {
            let arrangement = explorer.as_placed(found, context, slots);
            arrangement.map_or_else(|| vec![-1], |arrangement| arrangement.probe.room)
        })?;
        Some(Found {
            point: Point {
                load: Some((context, most)),
                ..found.point
            },
            arrangement: self.as_placed(found, context, most)?,
        })
    }

    /// The most users with no device over, where `slack` says what each has left.
    fn most_users(&mut self, mut slack: impl FnMut(&mut Self, u64) -> Vec<i64>) -> Option<u64> {
        let most = self.space.most_slots;
        let mut found = largest(1, most, |slots| slack(self, slots))?;
        // Where more users need less than one fewer, they may fit again. What the next two such numbers do not leave, none
        // after them does: every one has the caches of more users, and none less than the plain micro-batch.
        let stretches = self.space.slot_stretches.clone();
        let mut missed = 0;
        for (first, last) in stretches {
            if first <= found || last > most {
                continue;
            }
            let further = largest_over(&[(first, last)], |slots| slack(self, slots));
            match further {
                Some(further) => (found, missed) = (further, 0),
                None => missed += 1,
            }
            if missed == MISSED {
                break;
            }
        }
        Some(found)
    }

    /// Other users and contexts with every layer where it is.
    fn as_placed(&self, found: &Found, context: u64, slots: u64) -> Option<Arrangement> {
        let engine = self.request.engine;
        let settings = engine.settings().iter();
        let pinned: Vec<String> = settings.map(|setting| setting.name.to_owned()).collect();
        let mut settings = found.arrangement.settings.clone();
        settings.extend(engine.load(context, slots));
        let inputs = Inputs {
            settings: &settings,
            ..self.request.inputs
        };
        let ask = Ask {
            pinned: &pinned,
            residency: Residency::Anywhere,
            effort: Effort::Best,
        };
        engine.arrange(&inputs, &ask)
    }
}

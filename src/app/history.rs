//! Earlier and later states of a plan.

use eframe::egui::{Context, Id, Memory};

use crate::plan::Plan;

/// Steps that can be taken back.
const STEPS: usize = 200;
/// Keys pressed further apart than this, in seconds, make steps of their own.
const TYPING: f64 = 1.0;

/// What can be taken back, and done again.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    past: Vec<Plan>,
    future: Vec<Plan>,
    last: Option<Edit>,
}

/// One change, with what tells whether the next belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edit {
    /// Names of the settings that changed; none: something else did.
    settings: Vec<String>,
    /// When the button went down that is still down.
    press: Option<f64>,
    /// What has the keyboard, where no button was released.
    focus: Option<Id>,
    now: f64,
}

impl Edit {
    /// The change of a frame.
    pub(crate) fn new(context: &Context, before: &Plan, after: &Plan) -> Self {
        let (press, released, now) = context.input(|input| {
            let pointer = &input.pointer;
            let down = pointer.any_down().then(|| pointer.press_start_time());
            (down.flatten(), pointer.any_released(), input.time)
        });
        let focus = context.memory(Memory::focused);
        let names = before.settings.keys().chain(after.settings.keys());
        let mut settings: Vec<String> = names
            .filter(|name| before.settings.get(*name) != after.settings.get(*name))
            .cloned()
            .collect();
        settings.sort();
        settings.dedup();
        Self {
            settings,
            press,
            focus: focus.filter(|_| !released),
            now,
        }
    }

    /// One drag, or one word typed.
    fn continues(&self, last: &Self) -> bool {
        let dragged = self.press.is_some() && self.press == last.press;
        let typed = self.focus.is_some()
            && self.focus == last.focus
            && self.now - last.now < TYPING
            && self.press.is_none();
        self.settings == last.settings && (dragged || typed)
    }
}

impl History {
    /// The plan was `before` and was changed.
    pub(crate) fn record(&mut self, before: Plan, edit: Edit) {
        let goes_on = self.last.as_ref().is_some_and(|last| edit.continues(last));
        if !goes_on {
            self.step(before);
        }
        self.last = Some(edit);
    }

    /// The plan is `before` and will be changed as a whole.
    pub(crate) fn step(&mut self, before: Plan) {
        self.future.clear();
        self.last = None;
        if self.past.len() >= STEPS {
            self.past.remove(0);
        }
        self.past.push(before);
    }

    /// The plan before the last step; `now` can be had again.
    pub(crate) fn undo(&mut self, now: &Plan) -> Option<Plan> {
        self.last = None;
        let before = self.past.pop()?;
        self.future.push(now.clone());
        Some(before)
    }

    /// The plan before the last undo.
    pub(crate) fn redo(&mut self, now: &Plan) -> Option<Plan> {
        self.last = None;
        let after = self.future.pop()?;
        self.past.push(now.clone());
        Some(after)
    }

    /// Is there something to take back?
    pub(crate) fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    /// Is there something to do again?
    pub(crate) fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }
}

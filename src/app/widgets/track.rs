//! A slider over whole numbers, in equal steps or by ratio.

use eframe::egui::{
    EventFilter, Key, Rect, Response, Sense, Ui, Vec2, WidgetInfo, accesskit, pos2,
};

use crate::app::theme::Tokens;
use crate::engine::setting::Step;

/// Where a slider may stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stops {
    /// Least value.
    pub(crate) low: i64,
    /// Greatest value.
    pub(crate) high: i64,
    /// How it walks.
    pub(crate) step: Step,
}

/// Steps per doubling that arrow keys make on a slider that goes by ratio.
const STEPS_PER_DOUBLING: f64 = 4.0;

impl Stops {
    fn low(self) -> i64 {
        match self.step {
            Step::By(_) => self.low,
            // The ratio of zero to anything says nothing.
            Step::Logarithmic { multiple } => self.low.max(multiple.max(1)),
        }
    }

    /// The nearest stop.
    pub(crate) fn snap(self, value: f64) -> i64 {
        let multiple = match self.step {
            Step::By(step) => step.max(1),
            Step::Logarithmic { multiple } => multiple.max(1),
        };
        let snapped = ((value / multiple as f64).round() as i64).saturating_mul(multiple);
        snapped.clamp(self.low().min(self.high), self.high)
    }

    /// How far along the slider a value lies, from 0 to 1.
    pub(crate) fn share(self, value: i64) -> f64 {
        let (low, high) = (self.low() as f64, self.high as f64);
        let value = (value as f64).clamp(low.min(high), high);
        if high <= low {
            return 1.0;
        }
        match self.step {
            Step::By(_) => (value - low) / (high - low),
            Step::Logarithmic { .. } => (value / low).ln() / (high / low).ln(),
        }
    }

    /// The stop at a place along the slider.
    pub(crate) fn at(self, share: f64) -> i64 {
        let (low, high) = (self.low() as f64, self.high as f64);
        let share = share.clamp(0.0, 1.0);
        self.snap(match self.step {
            Step::By(_) => low + (high - low) * share,
            Step::Logarithmic { .. } => low * (high / low).powf(share),
        })
    }

    /// The next stop up or down.
    pub(crate) fn next(self, value: i64, up: bool) -> i64 {
        let sign = if up { 1 } else { -1 };
        let (step, by_ratio) = match self.step {
            Step::By(step) => (step.max(1), None),
            Step::Logarithmic { multiple } => {
                let factor = 2.0_f64.powf(f64::from(sign) / STEPS_PER_DOUBLING);
                (multiple.max(1), Some(value as f64 * factor))
            }
        };
        let single = value.saturating_add(step.saturating_mul(i64::from(sign)));
        let far = by_ratio.map_or(single, |value| self.snap(value));
        // Small values: a ratio would not leave the stop.
        let next = if up { far.max(single) } else { far.min(single) };
        self.snap(next as f64)
    }
}

/// A slider as wide as there is room; returns the value that was chosen, if one was.
pub(crate) fn track(ui: &mut Ui, name: &str, value: i64, stops: Stops) -> (Response, Option<i64>) {
    let height = 16.0;
    let (rect, mut response) = ui.allocate_exact_size(
        Vec2::new(ui.available_width(), height),
        Sense::click_and_drag(),
    );
    let rail = Rect::from_center_size(rect.center(), Vec2::new(rect.width() - 2.0 * KNOB, RAIL));
    let mut chosen = None;
    if let Some(pointer) = response.interact_pointer_pos() {
        let share = (pointer.x - rail.left()) / rail.width().max(1.0);
        chosen = Some(stops.at(f64::from(share)));
        response.request_focus();
    }
    chosen = chosen.or_else(|| keys(ui, &response, value, stops));
    chosen = chosen
        .or_else(|| asked(ui, &response, value, stops))
        .filter(|chosen| *chosen != value);
    if chosen.is_some() {
        response.mark_changed();
    }
    let shown = chosen.unwrap_or(value);
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::slider(enabled, shown as f64, name));
    ui.ctx().accesskit_node_builder(response.id, |node| {
        node.set_min_numeric_value(stops.low as f64);
        node.set_max_numeric_value(stops.high as f64);
        node.add_action(accesskit::Action::SetValue);
        node.add_action(accesskit::Action::Increment);
        node.add_action(accesskit::Action::Decrement);
    });
    if ui.is_rect_visible(rect) {
        paint(ui, rail, &response, stops.share(shown) as f32);
    }
    (response, chosen)
}

const RAIL: f32 = 4.0;
const KNOB: f32 = 6.0;

fn keys(ui: &Ui, response: &Response, value: i64, stops: Stops) -> Option<i64> {
    if !response.has_focus() {
        return None;
    }
    ui.memory_mut(|memory| {
        memory.set_focus_lock_filter(
            response.id,
            EventFilter {
                horizontal_arrows: true,
                ..EventFilter::default()
            },
        );
    });
    let (up, down, home, end) = ui.input(|input| {
        (
            input.num_presses(Key::ArrowRight),
            input.num_presses(Key::ArrowLeft),
            input.key_pressed(Key::Home),
            input.key_pressed(Key::End),
        )
    });
    if home {
        return Some(stops.low());
    }
    if end {
        return Some(stops.high);
    }
    let mut moved = value;
    for _ in 0..up {
        moved = stops.next(moved, true);
    }
    for _ in 0..down {
        moved = stops.next(moved, false);
    }
    (up + down > 0).then_some(moved)
}

/// What assistive technology asks for.
fn asked(ui: &Ui, response: &Response, value: i64, stops: Stops) -> Option<i64> {
    ui.input(|input| {
        let times = |action| input.num_accesskit_action_requests(response.id, action);
        if times(accesskit::Action::Increment) > 0 {
            return Some(stops.next(value, true));
        }
        if times(accesskit::Action::Decrement) > 0 {
            return Some(stops.next(value, false));
        }
        input
            .accesskit_action_requests(response.id, accesskit::Action::SetValue)
            .find_map(|request| match request.data {
                Some(accesskit::ActionData::NumericValue(asked)) => Some(stops.snap(asked)),
                _ => None,
            })
    })
}

fn paint(ui: &Ui, rail: Rect, response: &Response, share: f32) {
    let tokens = Tokens::of(ui);
    let painter = ui.painter();
    let x = rail.left() + rail.width() * share;
    let filled = Rect::from_min_max(rail.left_top(), pos2(x, rail.bottom()));
    let enabled = ui.is_enabled();
    let accent = if enabled {
        tokens.accent
    } else {
        tokens.in_use
    };
    painter.rect_filled(
        rail.expand2(Vec2::new(KNOB, 0.0)),
        RAIL / 2.0,
        tokens.field_hover,
    );
    painter.rect_filled(
        Rect::from_min_max(rail.left_top() - Vec2::new(KNOB, 0.0), filled.max),
        RAIL / 2.0,
        accent,
    );
    let center = pos2(x, rail.center().y);
    let radius = if response.hovered() || response.dragged() {
        KNOB + 1.0
    } else {
        KNOB
    };
    if response.has_focus() {
        painter.circle_filled(center, KNOB + 3.0, accent.gamma_multiply(0.35));
    }
    let knob = if enabled { tokens.mark } else { tokens.in_use };
    painter.circle_filled(center, radius, knob);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: Stops = Stops {
        low: 0,
        high: 131_072,
        step: Step::Logarithmic { multiple: 256 },
    };

    #[test]
    fn the_ends_are_the_ends() {
        assert_eq!(CONTEXT.at(0.0), 256);
        assert_eq!(CONTEXT.at(1.0), 131_072);
        assert_eq!(CONTEXT.at(7.0), 131_072);
        let layers = Stops {
            low: 0,
            high: 65,
            step: Step::By(1),
        };
        assert_eq!(layers.at(0.0), 0);
        assert_eq!(layers.at(0.5), 33);
        assert_eq!(layers.next(65, true), 65);
    }

    #[test]
    fn there_and_back_again() {
        for value in [256, 512, 4096, 32_768, 131_072] {
            assert_eq!(CONTEXT.at(CONTEXT.share(value)), value);
        }
    }

    #[test]
    fn every_step_moves() {
        let mut value = 256;
        while value < 131_072 {
            let next = CONTEXT.next(value, true);
            assert!(next > value && next % 256 == 0, "{value} {next}");
            value = next;
        }
        assert!(CONTEXT.next(256, false) == 256);
    }

    #[test]
    fn odd_bounds_do_no_harm() {
        let stops = Stops {
            low: 5,
            high: 5,
            step: Step::By(0),
        };
        assert_eq!(stops.at(0.3), 5);
        assert!((stops.share(5) - 1.0).abs() < f64::EPSILON);
        let narrow = Stops {
            low: 0,
            high: 100,
            step: Step::Logarithmic { multiple: 256 },
        };
        assert_eq!(narrow.at(0.5), 100);
        assert!(narrow.share(50).is_finite());
    }
}

//! Room that keeps its width whatever is in it.

use eframe::egui::{Rect, Sense, Ui, UiBuilder, pos2};

/// Adds content that never makes its surroundings wider: what is too wide is cut off at its own right end, and does
/// not take the ends of everything else with it.
pub(crate) fn within<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    let room = ui.available_rect_before_wrap();
    let mut inner = ui.new_child(UiBuilder::new().max_rect(room));
    let result = add(&mut inner);
    let used = inner.min_rect();
    let bottom = used.bottom().max(room.top());
    let taken = Rect::from_min_max(room.min, pos2(room.right(), bottom));
    ui.allocate_rect(taken, Sense::hover());
    result
}

#[cfg(test)]
mod tests {
    use eframe::egui::{__run_test_ui, Label, RichText, TextWrapMode};

    use super::within;

    #[test]
    fn long_words_move_no_edges() {
        __run_test_ui(|ui| {
            let before = ui.available_width();
            within(ui, |ui| {
                let long = RichText::new("w".repeat(4000));
                ui.add(Label::new(long).wrap_mode(TextWrapMode::Extend));
            });
            assert!((ui.available_width() - before).abs() < 0.5);
            assert!(ui.min_rect().width() < before + 0.5);
        });
    }
}

//! A thin bar: how much of something is taken.

use eframe::egui::{Rect, Response, Role, Sense, Ui, Vec2, WidgetInfo};

use crate::app::theme::Tokens;

/// A bar as wide as there is room, filled by `share` (0 to 1), named in words.
pub(crate) fn meter(ui: &mut Ui, share: f32, name: &str) -> Response {
    let (rect, response) =
        ui.allocate_exact_size(Vec2::new(ui.available_width(), 8.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Meter, true, name));
    if ui.is_rect_visible(rect) {
        let tokens = Tokens::of(ui);
        let rail = Rect::from_center_size(rect.center(), Vec2::new(rect.width(), 4.0));
        ui.painter().rect_filled(rail, 2.0, tokens.field_hover);
        let share = if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        };
        if share > 0.0 {
            let mut used = rail;
            used.set_width((rail.width() * share).max(4.0));
            ui.painter().rect_filled(used, 2.0, tokens.in_use);
        }
    }
    response
}

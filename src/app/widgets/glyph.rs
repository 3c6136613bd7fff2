//! Signs that no font has.

use eframe::egui::{
    Color32, Id, Painter, Pos2, Rect, Response, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo,
    pos2, vec2,
};

use crate::app::theme::{ROW, Tokens};

/// The Plimsoll mark: a circle with a line through it.
pub(crate) fn mark(painter: &Painter, center: Pos2, radius: f32, colour: Color32) {
    let stroke = Stroke::new(radius * 0.26, colour);
    painter.circle_stroke(center, radius * 0.72, stroke);
    painter.hline(
        center.x - radius * 1.18..=center.x + radius * 1.18,
        center.y,
        stroke,
    );
}

/// The mark drawn across a device at what it can hold: where the line stands upright, loading ends.
pub(crate) fn load_line(painter: &Painter, x: f32, bar: Rect, colour: Color32, ground: Color32) {
    let reach = 6.0;
    let center = pos2(x, bar.center().y);
    let radius = (bar.height() * 0.22).clamp(4.0, 8.0);
    painter.vline(
        x,
        bar.top() - reach..=bar.bottom() + reach,
        Stroke::new(1.5, colour),
    );
    painter.circle_filled(center, radius + 1.5, ground);
    painter.circle_stroke(center, radius, Stroke::new(1.5, colour));
    painter.hline(
        x - radius - 5.0..=x + radius + 5.0,
        center.y,
        Stroke::new(1.5, colour),
    );
    painter.vline(
        x,
        center.y - radius..=center.y + radius,
        Stroke::new(1.5, colour),
    );
}

/// A small arrow that says that a list opens here.
pub(crate) fn chevron(painter: &Painter, center: Pos2, colour: Color32) {
    let stroke = Stroke::new(1.4, colour);
    let (left, tip, right) = (
        center + vec2(-3.5, -1.75),
        center + vec2(0.0, 1.75),
        center + vec2(3.5, -1.75),
    );
    painter.add(Shape::line(vec![left, tip, right], stroke));
}

/// A coloured dot at the start of a line of text.
pub(crate) fn dot(ui: &mut Ui, colour: Color32) {
    let (rect, _) = ui.allocate_exact_size(Vec2::new(10.0, 16.0), Sense::hover());
    ui.painter()
        .circle_filled(pos2(rect.left() + 4.0, rect.center().y + 0.5), 3.5, colour);
}

/// A button with a moon or a sun.
pub(crate) fn theme_switch(ui: &mut Ui, name: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(ROW + 4.0), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    let tokens = Tokens::of(ui);
    let lit = response.hovered() || response.has_focus();
    let ground = if lit {
        tokens.field_hover
    } else {
        tokens.panel
    };
    let colour = if lit { tokens.text } else { tokens.text_weak };
    let painter = ui.painter();
    painter.rect_filled(rect, 5.0, ground);
    super::controls::focus_ring(ui, rect, &response);
    let center = rect.center();
    if ui.visuals().dark_mode {
        painter.circle_filled(center, 6.0, colour);
        painter.circle_filled(center + vec2(3.2, -2.4), 5.4, ground);
    } else {
        painter.circle_filled(center, 3.6, colour);
        for ray in 0..8_u8 {
            let direction = Vec2::angled(f32::from(ray) * std::f32::consts::FRAC_PI_4);
            painter.line_segment(
                [center + direction * 5.6, center + direction * 7.6],
                Stroke::new(1.4, colour),
            );
        }
    }
    response
}

/// A button with a pin: filled where it holds, else seen only while `lit` or the keyboard is there.
pub(crate) fn pin(ui: &Ui, id: Id, center: Pos2, name: &str, holds: bool, lit: bool) -> Response {
    let rect = Rect::from_center_size(center, Vec2::splat(14.0));
    let response = ui.interact(rect, id, Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, holds, name));
    let tokens = Tokens::of(ui);
    let strong = response.hovered() || response.has_focus();
    if holds || lit || strong {
        let colour = match (holds, strong) {
            (_, true) => tokens.text,
            (true, false) => tokens.accent,
            (false, false) => tokens.text_weak,
        };
        paint_pin(ui.painter(), center, colour, holds);
    }
    super::controls::focus_ring(ui, rect, &response);
    response
}

/// A drawing pin seen from the side: head, collar, needle.
fn paint_pin(painter: &Painter, center: Pos2, colour: Color32, filled: bool) {
    let at = |x: f32, y: f32| center + vec2(x, y);
    let stroke = Stroke::new(1.2, colour);
    let body = vec![at(-2.0, -4.5), at(2.0, -4.5), at(2.4, 0.0), at(-2.4, 0.0)];
    if filled {
        painter.add(Shape::convex_polygon(body, colour, stroke));
    } else {
        painter.add(Shape::closed_line(body, stroke));
    }
    painter.line_segment([at(-3.0, -5.0), at(3.0, -5.0)], stroke);
    painter.line_segment([at(-4.0, 0.6), at(4.0, 0.6)], stroke);
    painter.line_segment([at(0.0, 0.6), at(0.0, 5.2)], stroke);
}

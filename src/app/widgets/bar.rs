//! One device as a stacked bar: what others use, hatched, and what runs beside the plan, hatched the other way; then
//! the plan by category, and the load line at what the device can hold.

use eframe::egui::{
    Id, Painter, Rect, Response, Role, Sense, Shape, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2,
};

use super::glyph;
use crate::app::theme::{self, Tokens};
use crate::projection::Category;
use crate::units::Bytes;

/// What the full width of a bar means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    /// Bytes at the right end.
    pub(crate) full: Bytes,
    /// Height of the bars.
    pub(crate) height: f32,
}

/// Whose a part of a bar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Of programs that nobody planned.
    Others,
    /// Of the plan beside this one, by its place.
    Beside(usize),
    /// Of this plan.
    Plan(Category),
}

impl Whose {
    /// What this plan uses it for.
    pub(crate) const fn category(self) -> Option<Category> {
        match self {
            Self::Plan(category) => Some(category),
            Self::Others | Self::Beside(_) => None,
        }
    }
}

/// One part of a bar.
#[derive(Clone, Debug)]
pub(crate) struct Segment<'a> {
    /// Whose it is.
    pub(crate) whose: Whose,
    /// How much.
    pub(crate) bytes: Bytes,
    /// Written inside where there is room, the longest that fits.
    pub(crate) labels: [&'a str; 2],
    /// For screen readers: what, how much, where.
    pub(crate) name: String,
}

/// Room for the half of the mark that stands beyond the bar.
const MARK_ROOM: f32 = 16.0;
/// Room for the line above and below.
const REACH: f32 = 7.0;

/// Draws the bar; returns one response per segment, and that of the load line.
pub(crate) fn bar(
    ui: &mut Ui,
    id: Id,
    axis: Axis,
    capacity: Bytes,
    segments: &[Segment<'_>],
    highlight: Option<Category>,
) -> (Vec<Response>, Response) {
    let tokens = Tokens::of(ui);
    let size = Vec2::new(ui.available_width().max(0.0), axis.height + 2.0 * REACH);
    let (_, outer) = ui.allocate_space(size);
    let rail = Rect::from_min_max(
        outer.min + Vec2::new(0.0, REACH),
        outer.max - Vec2::new(MARK_ROOM.min(outer.width().max(0.0)), REACH),
    );
    let x = |bytes: Bytes| {
        let share = bytes.get() as f64 / axis.full.get().max(1) as f64;
        rail.left() + rail.width() * (share as f32).clamp(0.0, 1.0)
    };
    let painter = ui.painter().clone();
    let end = x(capacity);
    let within = Rect::from_min_max(rail.min, pos2(end, rail.bottom()));
    painter.rect_filled(within, 3.0, tokens.rail);

    let mut responses = Vec::with_capacity(segments.len());
    let mut below = Bytes::ZERO;
    for (index, segment) in segments.iter().enumerate() {
        let left = x(below);
        below += segment.bytes;
        // A sliver is still shown: what takes memory must not vanish.
        let right = x(below).max(left + 1.5);
        let rect = Rect::from_min_max(pos2(left, rail.top()), pos2(right, rail.bottom()));
        let response = ui.interact(rect, id.with(index), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &segment.name));
        let faded = highlight.is_some() && highlight != segment.whose.category();
        paint(&painter, tokens, rect, segment, faded);
        responses.push(response);
    }
    if below > capacity {
        let over = Rect::from_min_max(pos2(end, rail.top()), pos2(x(below), rail.bottom()));
        stripes(&painter, over, Stroke::new(2.0, tokens.bad), 7.0, true);
        painter.rect_stroke(over, 0.0, Stroke::new(1.5, tokens.bad), StrokeKind::Inside);
    }
    for (segment, response) in segments.iter().zip(&responses) {
        label(&painter, tokens, room(response.rect, end), segment);
        if response.hovered() || response.has_focus() {
            let stroke = Stroke::new(1.5, tokens.mark);
            painter.rect_stroke(response.rect, 0.0, stroke, StrokeKind::Inside);
        }
    }
    glyph::load_line(&painter, end, rail, tokens.mark, tokens.canvas);
    let around = Rect::from_x_y_ranges(end - 9.0..=end + 9.0, outer.y_range());
    (
        responses,
        ui.interact(around, id.with("line"), Sense::hover()),
    )
}

/// The part of a segment in which the load line leaves room for a label.
fn room(rect: Rect, line: f32) -> Rect {
    let clear = 14.0;
    if line <= rect.left() - clear || line >= rect.right() + clear {
        return rect;
    }
    let before = rect.with_max_x((line - clear).min(rect.right()));
    let behind = rect.with_min_x((line + clear).max(rect.left()));
    if before.width() >= behind.width() {
        before
    } else {
        behind
    }
}

fn paint(painter: &Painter, tokens: &Tokens, rect: Rect, segment: &Segment<'_>, faded: bool) {
    let mut inner = rect;
    if inner.width() > 4.0 {
        inner.max.x -= 1.0;
    }
    let category = match segment.whose {
        Whose::Plan(category) => category,
        Whose::Others => {
            painter.rect_filled(inner, 0.0, tokens.field_hover);
            stripes(painter, inner, Stroke::new(1.2, tokens.in_use), 6.0, false);
            return;
        }
        Whose::Beside(_) => {
            painter.rect_filled(inner, 0.0, tokens.selection);
            stripes(painter, inner, Stroke::new(1.2, tokens.accent), 6.0, true);
            return;
        }
    };
    let colour = tokens.category(category);
    let colour = if faded {
        colour.gamma_multiply(0.35)
    } else {
        colour
    };
    painter.rect_filled(inner, 0.0, colour);
}

/// Slanting lines across a rectangle.
fn stripes(painter: &Painter, rect: Rect, stroke: Stroke, distance: f32, falling: bool) {
    let painter = painter.with_clip_rect(painter.clip_rect().intersect(rect));
    let (from, to) = if falling {
        (rect.top(), rect.bottom())
    } else {
        (rect.bottom(), rect.top())
    };
    let mut x = rect.left() - rect.height();
    while x < rect.right() {
        let line = [pos2(x, from), pos2(x + rect.height(), to)];
        painter.add(Shape::line_segment(line, stroke));
        x += distance;
    }
}

fn label(painter: &Painter, tokens: &Tokens, rect: Rect, segment: &Segment<'_>) {
    let ink = segment.whose.category().map_or(tokens.text, |category| {
        tokens.ink_on(tokens.category(category))
    });
    let font = theme::small_strong().resolve(&painter.ctx().global_style());
    for text in segment.labels {
        let galley = painter.layout_no_wrap(text.to_owned(), font.clone(), ink);
        if galley.size().x + 12.0 > rect.width() {
            continue;
        }
        let at = pos2(rect.left() + 7.0, rect.center().y - galley.size().y / 2.0);
        let ground = match segment.whose {
            Whose::Plan(_) => None,
            Whose::Others => Some(tokens.field_hover),
            Whose::Beside(_) => Some(tokens.selection),
        };
        if let Some(colour) = ground {
            let ground = Rect::from_min_size(at, galley.size()).expand2(Vec2::new(3.0, 0.0));
            painter.rect_filled(ground, 2.0, colour);
        }
        painter.galley(at, galley, ink);
        return;
    }
}

//! One row of the table, to be written into.

use eframe::egui::{Align2, FontId, Painter, Pos2, Rect, Response, Sense, Stroke, Ui, Vec2, pos2};

use crate::app::format;
use crate::app::theme::{self, GRID, Tokens};
use crate::report::DeviceReport;
use crate::units::Bytes;

const ROW_HEIGHT: f32 = 28.0;

/// Widths of the columns of one table.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) name: f32,
    pub(super) detail: f32,
    pub(super) figure: f32,
}

pub(super) struct Line<'a> {
    pub(super) painter: Painter,
    pub(super) tokens: &'static Tokens,
    pub(super) rect: Rect,
    pub(super) columns: Columns,
    /// Where the names begin, which stay in sight while figures scroll.
    pub(super) names: f32,
    pub(super) body: FontId,
    pub(super) small: FontId,
    pub(super) strong: FontId,
    pub(super) devices: &'a [DeviceReport],
}

/// A row of the table's height with a hairline below, ready to be written into.
pub(super) fn line<'a>(
    ui: &mut Ui,
    devices: &'a [DeviceReport],
    columns: Columns,
) -> (Response, Line<'a>) {
    let width = columns.name + columns.detail + columns.figure * devices.len() as f32 + 16.0;
    let (rect, response) = ui.allocate_exact_size(Vec2::new(width, ROW_HEIGHT), Sense::click());
    let tokens = Tokens::of(ui);
    let painter = ui.painter().clone();
    painter.hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, tokens.line),
    );
    let style = ui.style();
    let names = rect.left().max(ui.clip_rect().left());
    let line = Line {
        painter,
        tokens,
        rect,
        columns,
        names,
        body: eframe::egui::TextStyle::Body.resolve(style),
        small: theme::small().resolve(style),
        strong: theme::strong().resolve(style),
        devices,
    };
    (response, line)
}

impl Line<'_> {
    /// Hides the figures that have scrolled below the names; they are painted first.
    pub(super) fn ground(&self, lit: bool) {
        if self.names <= self.rect.left() {
            return;
        }
        let right = self.names + self.columns.name - GRID;
        let ground = self.rect.with_max_x(right);
        let above = ground.with_max_y(ground.bottom() - 1.0);
        self.painter.rect_filled(above, 0.0, self.tokens.canvas);
        if lit {
            self.light(above);
        }
    }

    pub(super) fn light(&self, rect: Rect) {
        let colour = self.tokens.field.gamma_multiply(0.8);
        self.painter.rect_filled(rect, 0.0, colour);
    }

    pub(super) fn name(&self, text: &str, font: &FontId, indent: f32) {
        let at = pos2(self.names + indent, self.rect.center().y);
        self.painter.text(
            at,
            Align2::LEFT_CENTER,
            text,
            font.clone(),
            self.tokens.text,
        );
    }

    pub(super) fn swatch(&self, colour: eframe::egui::Color32) {
        let center = pos2(self.names + 13.0, self.rect.center().y);
        let swatch = Rect::from_center_size(center, Vec2::splat(10.0));
        self.painter.rect_filled(swatch, 2.0, colour);
    }

    pub(super) fn detail(&self, text: &str) {
        // A few letters explain nothing.
        if self.columns.detail < 120.0 {
            return;
        }
        let left = self.rect.left() + self.columns.name;
        let mut job = eframe::egui::text::LayoutJob::simple_singleline(
            text.to_owned(),
            self.small.clone(),
            self.tokens.text_weak,
        );
        job.wrap = eframe::egui::text::TextWrapping::truncate_at_width(self.columns.detail - 12.0);
        let galley = self.painter.layout_job(job);
        let at = pos2(left, self.rect.center().y - galley.size().y / 2.0);
        self.painter.galley(at, galley, self.tokens.text_weak);
    }

    /// Where the figures of a device end.
    pub(super) fn right(&self, device: usize) -> Pos2 {
        let columns = self.columns;
        let right = columns.name + columns.detail + columns.figure * (device + 1) as f32;
        pos2(self.rect.left() + right, self.rect.center().y)
    }

    pub(super) fn figure(
        &self,
        device: usize,
        text: &str,
        font: &FontId,
        colour: eframe::egui::Color32,
    ) {
        self.painter.text(
            self.right(device),
            Align2::RIGHT_CENTER,
            text,
            font.clone(),
            colour,
        );
    }

    pub(super) fn bytes(&self, device: usize, bytes: Bytes, font: &FontId) {
        // An empty cell is quieter than a zero.
        let (text, colour) = if bytes == Bytes::ZERO {
            ("–".to_owned(), self.tokens.text_weak)
        } else {
            (format::gib(bytes), self.tokens.text)
        };
        self.figure(device, &text, font, colour);
    }
}

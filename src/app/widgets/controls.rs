//! Rows, buttons and fields in the house's look.

use eframe::egui::{
    Align, Align2, Button, Color32, Label, Layout, Rect, Response, RichText, Role, Sense, Stroke,
    StrokeKind, TextBuffer, TextEdit, TextWrapMode, Ui, UiBuilder, Vec2, WidgetInfo, pos2,
};

use super::glyph;
use crate::app::theme::{self, GRID, RADIUS, ROW, Tokens};

/// The head of a section.
pub(crate) fn section(ui: &mut Ui, title: &str) {
    let text = RichText::new(title.to_uppercase())
        .text_style(theme::section())
        .extra_letter_spacing(0.7)
        .color(Tokens::of(ui).text_weak);
    ui.add(Label::new(text));
    ui.add_space(2.0);
}

/// A line of small print.
pub(crate) fn fact(ui: &mut Ui, text: impl Into<String>) -> Response {
    let text = RichText::new(text)
        .text_style(theme::small())
        .color(Tokens::of(ui).text_weak);
    ui.add(Label::new(text).wrap())
}

/// A line of small print, cut where it is too long.
pub(crate) fn line(ui: &mut Ui, text: &str) -> Response {
    let text = RichText::new(text)
        .text_style(theme::small())
        .color(Tokens::of(ui).text_weak);
    ui.add(Label::new(text).truncate())
}

/// A label at the left, whatever `right` adds at the right. The label explains itself under the pointer.
pub(crate) fn row<R>(
    ui: &mut Ui,
    label: RichText,
    help: &str,
    right: impl FnOnce(&mut Ui) -> R,
) -> R {
    let (_, rect) = ui.allocate_space(Vec2::new(ui.available_width(), ROW));
    let mut right_ui = ui.new_child(
        UiBuilder::new()
            .max_rect(rect)
            .layout(Layout::right_to_left(Align::Center)),
    );
    let result = right(&mut right_ui);
    let free = right_ui.min_rect().left() - GRID;
    let left = Rect::from_min_max(rect.min, pos2(free.max(rect.left() + 24.0), rect.bottom()));
    let mut left_ui = ui.new_child(
        UiBuilder::new()
            .max_rect(left)
            .layout(Layout::left_to_right(Align::Center)),
    );
    let response = left_ui.add(Label::new(label).truncate().sense(Sense::hover()));
    if !help.is_empty() {
        response.on_hover_text(help);
    }
    result
}

/// On or off.
pub(crate) fn switch(ui: &mut Ui, on: bool, name: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(30.0, 18.0), Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::Switch, enabled, on, name));
    if ui.is_rect_visible(rect) {
        let tokens = Tokens::of(ui);
        let (ground, x) = if on {
            (tokens.accent, rect.right() - 9.0)
        } else {
            (tokens.edge, rect.left() + 9.0)
        };
        ui.painter().rect_filled(rect, 9.0, ground);
        ui.painter()
            .circle_filled(pos2(x, rect.center().y), 6.5, tokens.text_on_colour);
        focus_ring(ui, rect, &response);
    }
    response
}

/// A small word that can be chosen.
pub(crate) fn chip(ui: &mut Ui, text: &str, selected: bool) -> Response {
    let tokens = Tokens::of(ui);
    let label = RichText::new(text).text_style(theme::small());
    let (label, fill, edge) = if selected {
        (label.color(tokens.text), tokens.selection, tokens.accent)
    } else {
        (label.color(tokens.text_weak), tokens.panel, tokens.edge)
    };
    let response = tinted(ui, fill, tokens.field_hover, Stroke::new(1.0, edge), |ui| {
        ui.spacing_mut().button_padding = Vec2::new(7.0, 1.0);
        ui.spacing_mut().interact_size.y = 18.0;
        ui.add(
            Button::new(label)
                .corner_radius(9)
                .wrap_mode(TextWrapMode::Extend),
        )
    });
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, selected, text));
    response
}

/// A small button that does something at once.
pub(crate) fn chip_accent(ui: &mut Ui, text: &str) -> Response {
    let tokens = Tokens::of(ui);
    let ink = if ui.visuals().dark_mode {
        tokens.canvas
    } else {
        tokens.text_on_colour
    };
    let label = RichText::new(text)
        .text_style(theme::small_strong())
        .color(ink);
    tinted(ui, tokens.accent, tokens.accent_hover, Stroke::NONE, |ui| {
        ui.spacing_mut().button_padding = Vec2::new(12.0, 1.0);
        ui.spacing_mut().interact_size.y = 18.0;
        ui.add(
            Button::new(label)
                .corner_radius(9)
                .wrap_mode(TextWrapMode::Extend),
        )
    })
}

/// A button of mere text in the accent's colour.
pub(crate) fn link(ui: &mut Ui, text: &str) -> Response {
    link_with(ui, text, TextWrapMode::Extend)
}

/// The same with as many lines as a long text needs.
pub(crate) fn wrapped_link(ui: &mut Ui, text: &str) -> Response {
    link_with(ui, text, TextWrapMode::Wrap)
}

fn link_with(ui: &mut Ui, text: &str, wrap: TextWrapMode) -> Response {
    let tokens = Tokens::of(ui);
    let label = RichText::new(text)
        .text_style(theme::small())
        .color(tokens.accent);
    let clear = Color32::TRANSPARENT;
    tinted(ui, clear, clear, Stroke::NONE, |ui| {
        ui.spacing_mut().button_padding = Vec2::new(0.0, 2.0);
        ui.spacing_mut().interact_size.y = 18.0;
        ui.add(Button::new(label).frame(false).wrap_mode(wrap))
    })
}

/// The one button that matters.
pub(crate) fn primary(ui: &mut Ui, text: &str) -> Response {
    let tokens = Tokens::of(ui);
    let ink = if ui.visuals().dark_mode {
        tokens.canvas
    } else {
        tokens.text_on_colour
    };
    let label = RichText::new(text).text_style(theme::strong()).color(ink);
    let size = Vec2::new(88.0, ROW + GRID);
    tinted(ui, tokens.accent, tokens.accent_hover, Stroke::NONE, |ui| {
        ui.add(Button::new(label).min_size(size))
    })
}

/// Any other button.
pub(crate) fn ghost(ui: &mut Ui, text: &str) -> Response {
    let tokens = Tokens::of(ui);
    let edge = Stroke::new(1.0, tokens.edge);
    tinted(ui, tokens.panel, tokens.field_hover, edge, |ui| {
        ui.add(Button::new(text).min_size(Vec2::new(0.0, ROW + GRID)))
    })
}

/// Adds a button in these colours, with the ring that says where the keyboard is.
fn tinted(
    ui: &mut Ui,
    fill: Color32,
    hover: Color32,
    edge: Stroke,
    add: impl FnOnce(&mut Ui) -> Response,
) -> Response {
    // No scope: in one, a button at the end of a row would not go on to the next.
    let style = ui.style().clone();
    let widgets = &mut ui.visuals_mut().widgets;
    for (visuals, fill) in [
        (&mut widgets.inactive, fill),
        (&mut widgets.hovered, hover),
        (&mut widgets.active, hover),
        (&mut widgets.open, hover),
    ] {
        visuals.weak_bg_fill = fill;
        visuals.bg_fill = fill;
        visuals.bg_stroke = edge;
    }
    let response = add(ui);
    ui.set_style(style);
    focus_ring(ui, response.rect, &response);
    response
}

/// A field as wide as there is room that opens a list: what is chosen, and a remark at its right.
pub(crate) fn field(ui: &mut Ui, name: &str, chosen: &str, remark: &str) -> Response {
    let size = Vec2::new(ui.available_width(), ROW + 2.0 * GRID);
    field_of(ui, size, name, chosen, remark)
}

/// The same in a size of one's own.
pub(crate) fn field_of(
    ui: &mut Ui,
    size: Vec2,
    name: &str,
    chosen: &str,
    remark: &str,
) -> Response {
    let tokens = Tokens::of(ui);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::ComboBox, true, name);
        info.current_text_value = Some(chosen.to_owned());
        info
    });
    if ui.is_rect_visible(rect) {
        let lit = response.hovered() || response.has_focus();
        let (fill, edge) = if lit {
            (tokens.field_hover, tokens.text_weak)
        } else {
            (tokens.field, tokens.edge)
        };
        ui.painter().rect(
            rect,
            RADIUS,
            fill,
            Stroke::new(1.0, edge),
            StrokeKind::Inside,
        );
        let inner = rect.shrink2(Vec2::new(10.0, 0.0));
        glyph::chevron(
            ui.painter(),
            pos2(inner.right() - 4.0, inner.center().y),
            tokens.text_weak,
        );
        let mut remark_ui = ui.new_child(
            UiBuilder::new()
                .max_rect(inner.with_max_x(inner.right() - 16.0))
                .layout(Layout::right_to_left(Align::Center)),
        );
        if !remark.is_empty() {
            let text = RichText::new(remark)
                .text_style(theme::small())
                .color(tokens.text_weak);
            remark_ui.add(Label::new(text));
        }
        let left = inner.with_max_x(remark_ui.min_rect().left() - GRID);
        let mut left_ui = ui.new_child(
            UiBuilder::new()
                .max_rect(left)
                .layout(Layout::left_to_right(Align::Center)),
        );
        left_ui.add(Label::new(chosen).truncate());
        focus_ring(ui, rect, &response);
    }
    response
}

/// A row of a list: what it is, whole, and a remark in what room there is at its right.
pub(crate) fn popup_row(ui: &mut Ui, lit: bool, text: &str, remark: &str) -> Response {
    let tokens = Tokens::of(ui);
    let size = Vec2::new(ui.available_width(), ROW + 2.0);
    let (_, rect) = ui.allocate_space(size);
    // Counted identities change with what is in sight, and the keyboard would land on another row.
    let id = ui.scope_id().with((text, remark));
    let response = ui.interact(rect, id, Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::ListBoxOption, true, lit, text));
    if ui.is_rect_visible(rect) {
        if lit {
            ui.painter().rect_filled(rect, RADIUS, tokens.selection);
        } else if response.hovered() || response.has_focus() {
            ui.painter().rect_filled(rect, RADIUS, tokens.field_hover);
        }
        // The bar of a long list floats over the right end.
        let inner = rect.shrink2(Vec2::new(8.0, 0.0));
        let mut left_ui = ui.new_child(
            UiBuilder::new()
                .max_rect(inner)
                .layout(Layout::left_to_right(Align::Center)),
        );
        left_ui.add(Label::new(text).truncate());
        let free = inner.with_min_x(left_ui.min_rect().right() + 4.0 * GRID);
        if !remark.is_empty() && free.width() > 0.0 {
            let mut remark_ui = ui.new_child(
                UiBuilder::new()
                    .max_rect(free)
                    .layout(Layout::right_to_left(Align::Center)),
            );
            let text = RichText::new(remark)
                .text_style(theme::small())
                .color(tokens.text_weak);
            remark_ui.add(Label::new(text).truncate());
        }
        focus_ring(ui, rect.shrink(2.0), &response);
    }
    response
}

/// One of a few words side by side; returns the one that was clicked. The caller lays them out.
pub(crate) fn segmented(ui: &mut Ui, words: &[&str], chosen: usize) -> Option<usize> {
    let tokens = Tokens::of(ui);
    let mut clicked = None;
    for (index, word) in words.iter().enumerate() {
        let selected = index == chosen;
        let (ink, edge, fill) = if selected {
            (tokens.text, tokens.edge, tokens.field)
        } else {
            (tokens.text_weak, Color32::TRANSPARENT, Color32::TRANSPARENT)
        };
        let label = RichText::new(*word).text_style(theme::small()).color(ink);
        let edge = Stroke::new(1.0, edge);
        let response = tinted(ui, fill, tokens.field_hover, edge, |ui| {
            ui.add(Button::new(label).wrap_mode(TextWrapMode::Extend))
        });
        response.widget_info(|| WidgetInfo::selected(Role::RadioButton, true, selected, *word));
        if response.clicked() {
            clicked = Some(index);
        }
    }
    clicked
}

/// A small cross that takes something back; invisible, but reachable, unless `shown`.
pub(crate) fn reset(ui: &mut Ui, name: &str, shown: bool) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(14.0), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    let tokens = Tokens::of(ui);
    let lit = response.hovered() || response.has_focus();
    if shown || lit {
        let colour = if lit { tokens.text } else { tokens.text_weak };
        let stroke = Stroke::new(1.3, colour);
        let cross = Rect::from_center_size(rect.center(), Vec2::splat(7.0));
        ui.painter()
            .line_segment([cross.left_top(), cross.right_bottom()], stroke);
        ui.painter()
            .line_segment([cross.right_top(), cross.left_bottom()], stroke);
    }
    focus_ring(ui, rect, &response);
    response.on_hover_text(name)
}

/// Shows where the keyboard is.
pub(crate) fn focus_ring(ui: &Ui, rect: Rect, response: &Response) {
    if response.has_focus() {
        let accent = Tokens::of(ui).accent;
        ui.painter().rect_stroke(
            rect.expand(2.0),
            RADIUS,
            Stroke::new(1.5, accent),
            StrokeKind::Inside,
        );
    }
}

/// The arrow of the house for egui's combo boxes.
pub(crate) fn combo_icon(ui: &Ui, rect: Rect, _: &eframe::egui::style::WidgetVisuals, _: bool) {
    glyph::chevron(ui.painter(), rect.center(), Tokens::of(ui).text_weak);
}

/// A field for one line of text.
pub(crate) fn line_edit(text: &mut dyn TextBuffer) -> TextEdit<'_> {
    TextEdit::singleline(text)
        .margin(theme::FIELD_MARGIN)
        .align(Align2::LEFT_CENTER)
}

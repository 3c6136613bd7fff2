//! Every colour, radius and distance of the window, for light and for dark.

mod palette;
mod tokens;

pub use palette::{DARK, LIGHT};
pub use tokens::Tokens;

use eframe::egui::{
    Context, CornerRadius, FontFamily, FontId, Margin, Stroke, Style, TextStyle, Theme, Vec2,
    style::ScrollStyle,
};

use super::fonts;

/// The grid on which everything sits, in points.
pub const GRID: f32 = 4.0;
/// Distance between the sections of a panel.
pub const SECTION_GAP: f32 = 5.0 * GRID;
/// Margin inside the panels.
pub const PANEL_MARGIN: i8 = 16;
/// Height of one row of controls.
pub const ROW: f32 = 24.0;
/// Margin between the edge of a text field and its text.
pub const FIELD_MARGIN: Margin = Margin::symmetric(8, 5);
/// Radius of fields, buttons and cards.
pub const RADIUS: CornerRadius = CornerRadius::same(5);
/// Width of the left panel when first seen.
pub const INPUTS_WIDTH: f32 = 320.0;
/// Width of the right panel when first seen.
pub const LAUNCH_WIDTH: f32 = 376.0;

/// Small print: facts, units, hints.
pub fn small() -> TextStyle {
    TextStyle::Small
}

/// Names and figures that stand out.
pub fn strong() -> TextStyle {
    TextStyle::Name("strong".into())
}

/// Small and standing out: column heads, figures in bars.
pub fn small_strong() -> TextStyle {
    TextStyle::Name("small-strong".into())
}

/// Heads of sections.
pub fn section() -> TextStyle {
    TextStyle::Name("section".into())
}

/// Installs fonts and both styles.
pub fn install(context: &Context) {
    context.set_fonts(fonts::definitions());
    context.set_style_of(Theme::Dark, style(Theme::Dark));
    context.set_style_of(Theme::Light, style(Theme::Light));
}

fn style(theme: Theme) -> Style {
    let mut style = theme.default_style();
    style.text_styles = [
        (TextStyle::Heading, 20.0, fonts::semibold()),
        (TextStyle::Body, 13.0, FontFamily::Proportional),
        (TextStyle::Button, 13.0, FontFamily::Proportional),
        (TextStyle::Monospace, 12.0, FontFamily::Monospace),
        (small(), 11.5, FontFamily::Proportional),
        (strong(), 13.0, fonts::semibold()),
        (small_strong(), 11.5, fonts::medium()),
        (section(), 11.0, fonts::semibold()),
    ]
    .into_iter()
    .map(|(name, size, family)| (name, FontId::new(size, family)))
    .collect();
    let spacing = &mut style.spacing;
    spacing.item_spacing = Vec2::new(2.0 * GRID, GRID);
    spacing.button_padding = Vec2::new(10.0, GRID);
    spacing.interact_size = Vec2::new(32.0, ROW);
    spacing.menu_margin = Margin::same(6);
    spacing.window_margin = Margin::same(20);
    spacing.icon_width = 16.0;
    spacing.icon_width_inner = 9.0;
    spacing.icon_spacing = 8.0;
    spacing.slider_rail_height = 4.0;
    spacing.combo_width = 80.0;
    spacing.combo_height = 320.0;
    spacing.tooltip_width = 420.0;
    // They float over the margin: nothing jumps when one appears.
    spacing.scroll = ScrollStyle {
        floating_allocated_width: 0.0,
        ..ScrollStyle::thin()
    };
    style.interaction.selectable_labels = false;
    style.interaction.tooltip_delay = 0.25;
    style.animation_time = 0.0;
    colour(&mut style, Tokens::for_dark(theme == Theme::Dark));
    style
}

fn colour(style: &mut Style, tokens: &Tokens) {
    let visuals = &mut style.visuals;
    visuals.override_text_color = None;
    visuals.weak_text_color = Some(tokens.text_weak);
    visuals.hyperlink_color = tokens.accent;
    visuals.faint_bg_color = tokens.field;
    visuals.extreme_bg_color = tokens.field;
    visuals.text_edit_bg_color = Some(tokens.field);
    visuals.code_bg_color = tokens.field;
    visuals.warn_fg_color = tokens.warn;
    visuals.error_fg_color = tokens.bad;
    visuals.panel_fill = tokens.panel;
    visuals.window_fill = tokens.panel;
    visuals.window_stroke = Stroke::new(1.0, tokens.edge);
    visuals.window_corner_radius = CornerRadius::same(8);
    visuals.menu_corner_radius = CornerRadius::same(8);
    visuals.popup_shadow.color = tokens.shadow;
    visuals.window_shadow.color = tokens.shadow;
    visuals.selection.bg_fill = tokens.selection;
    visuals.selection.stroke = Stroke::new(1.0, tokens.accent);
    visuals.slider_trailing_fill = true;
    visuals.striped = false;
    let widgets = &mut visuals.widgets;
    let edge = Stroke::new(1.0, tokens.edge);
    for (visuals, fill, stroke, text) in [
        (
            &mut widgets.noninteractive,
            tokens.panel,
            Stroke::new(1.0, tokens.line),
            tokens.text,
        ),
        (&mut widgets.inactive, tokens.field, edge, tokens.text),
        (
            &mut widgets.hovered,
            tokens.field_hover,
            Stroke::new(1.0, tokens.text_weak),
            tokens.text,
        ),
        (
            &mut widgets.active,
            tokens.field_hover,
            Stroke::new(1.0, tokens.accent),
            tokens.text,
        ),
        (
            &mut widgets.open,
            tokens.field_hover,
            Stroke::new(1.0, tokens.accent),
            tokens.text,
        ),
    ] {
        visuals.bg_fill = fill;
        visuals.weak_bg_fill = fill;
        visuals.bg_stroke = stroke;
        visuals.fg_stroke = Stroke::new(1.0, text);
        visuals.corner_radius = RADIUS;
        visuals.expansion = 0.0;
    }
}

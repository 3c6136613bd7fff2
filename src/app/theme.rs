//! Every colour, radius and distance of the window, for light and for dark.
#![expect(
    clippy::disallowed_methods,
    reason = "colours are made here and nowhere else"
)]

use eframe::egui::{
    self, Color32, Context, CornerRadius, FontFamily, FontId, Margin, Stroke, Style, TextStyle,
    Theme, Vec2, style::ScrollStyle,
};

use super::fonts;
use crate::projection::Category;
use crate::report::Verdict;

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

/// The colours of one theme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tokens {
    /// Behind the picture.
    pub canvas: Color32,
    /// Behind inputs and launch.
    pub panel: Color32,
    /// Fields, tracks, cards.
    pub field: Color32,
    /// What is free of a bar.
    pub rail: Color32,
    /// A field under the pointer.
    pub field_hover: Color32,
    /// Hairlines.
    pub line: Color32,
    /// Edge of fields and buttons.
    pub edge: Color32,
    /// Text.
    pub text: Color32,
    /// Text that explains.
    pub text_weak: Color32,
    /// Text on a coloured segment or button.
    pub text_on_colour: Color32,
    /// The same where the colour is light.
    pub text_on_light: Color32,
    /// The one accent.
    pub accent: Color32,
    /// The accent under the pointer.
    pub accent_hover: Color32,
    /// Behind selected text and rows.
    pub selection: Color32,
    /// It fits; all is well.
    pub good: Color32,
    /// Tight; look here.
    pub warn: Color32,
    /// It does not fit; it will not start.
    pub bad: Color32,
    /// Others' use of memory, and the lines across it.
    pub in_use: Color32,
    /// Knobs and the load line.
    pub mark: Color32,
    /// Shadow below what floats.
    pub shadow: Color32,
    categories: [Color32; Category::ALL.len()],
}

const fn rgb(hex: u32) -> Color32 {
    Color32::from_rgb((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// For dark rooms.
pub const DARK: Tokens = Tokens {
    canvas: rgb(0x14_171c),
    panel: rgb(0x1a_1e26),
    field: rgb(0x22_2731),
    rail: rgb(0x34_3c4a),
    field_hover: rgb(0x2b_313d),
    line: rgb(0x2a_303b),
    edge: rgb(0x37_3e4b),
    text: rgb(0xe9_ecf1),
    text_weak: rgb(0x9a_a4b5),
    text_on_colour: rgb(0xff_ffff),
    text_on_light: rgb(0x14_171c),
    accent: rgb(0x58_a6e8),
    accent_hover: rgb(0x78_b9ef),
    selection: rgb(0x2c_4a68),
    good: rgb(0x55_c58b),
    warn: rgb(0xe9_ad4a),
    bad: rgb(0xf2_7272),
    in_use: rgb(0x6d_7686),
    mark: rgb(0xf2_f4f8),
    shadow: Color32::from_black_alpha(96),
    categories: [
        rgb(0x4a_8ad8), // weights
        rgb(0xe3_993a), // KV cache
        rgb(0xd8_709f), // recurrent state
        rgb(0x3c_a593), // compute
        rgb(0xb5_d468), // output
        rgb(0xa6_82cc), // host cache
        rgb(0x5f_c4d6), // activations
        rgb(0xd9_6c56), // gradients
        rgb(0xc7_b44a), // optimizer
        rgb(0x7c_8de0), // temporary
        rgb(0xb0_8968), // communication
        rgb(0x6f_a86f), // CUDA graphs
        rgb(0x8a_93a6), // overhead
    ],
};

/// For bright rooms.
pub const LIGHT: Tokens = Tokens {
    canvas: rgb(0xf4_f5f8),
    panel: rgb(0xff_ffff),
    field: rgb(0xee_f0f4),
    rail: rgb(0xd3_d8e1),
    field_hover: rgb(0xe4_e7ed),
    line: rgb(0xdd_e0e7),
    edge: rgb(0xc9_ced8),
    text: rgb(0x18_1d27),
    text_weak: rgb(0x59_6375),
    text_on_colour: rgb(0xff_ffff),
    text_on_light: rgb(0x14_171c),
    accent: rgb(0x15_65b8),
    accent_hover: rgb(0x0f_519a),
    selection: rgb(0xc6_ddf5),
    good: rgb(0x11_7544),
    warn: rgb(0x8a_5800),
    bad: rgb(0xc4_3131),
    in_use: rgb(0x9a_a3b2),
    mark: rgb(0x18_1d27),
    shadow: Color32::from_black_alpha(32),
    categories: [
        rgb(0x3f_80d0), // weights
        rgb(0xd9_882a), // KV cache
        rgb(0xc8_5b8c), // recurrent state
        rgb(0x1f_8f78), // compute
        rgb(0x9c_c24a), // output
        rgb(0x95_6fbf), // host cache
        rgb(0x3f_abc0), // activations
        rgb(0xc9_5a44), // gradients
        rgb(0xb0_9b2c), // optimizer
        rgb(0x66_78d2), // temporary
        rgb(0x9b_7350), // communication
        rgb(0x57_9157), // CUDA graphs
        rgb(0x7d_8799), // overhead
    ],
};

impl Tokens {
    /// The colours in force where `ui` is.
    pub fn of(ui: &egui::Ui) -> &'static Self {
        Self::for_dark(ui.visuals().dark_mode)
    }

    /// The colours of a theme.
    pub const fn for_dark(dark: bool) -> &'static Self {
        if dark { &DARK } else { &LIGHT }
    }

    /// The colour of a memory category, the same in bars, table and curves.
    pub fn category(&self, category: Category) -> Color32 {
        Category::ALL
            .iter()
            .zip(self.categories)
            .find(|(known, _)| **known == category)
            .map_or(self.in_use, |(_, colour)| colour)
    }

    /// The ink that can be read on a category's colour: white where that will do.
    pub fn ink_on(&self, colour: Color32) -> Color32 {
        // WCAG 2 asks for 3:1 of large or bold text.
        if contrast(self.text_on_colour, colour) >= 3.0 {
            self.text_on_colour
        } else {
            self.text_on_light
        }
    }

    /// The colour of a verdict.
    pub const fn verdict(&self, verdict: Verdict) -> Color32 {
        match verdict {
            Verdict::Fits => self.good,
            Verdict::Tight => self.warn,
            Verdict::Exceeds | Verdict::Refused => self.bad,
        }
    }
}

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

/// WCAG 2 contrast ratio.
fn contrast(a: Color32, b: Color32) -> f32 {
    let luminance = |colour: Color32| {
        let [r, g, b, _] = egui::Rgba::from(colour).to_array();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_can_be_read_on_every_ground() {
        for tokens in [DARK, LIGHT] {
            for ground in [tokens.canvas, tokens.panel, tokens.field] {
                for text in [
                    tokens.text,
                    tokens.text_weak,
                    tokens.good,
                    tokens.warn,
                    tokens.bad,
                ] {
                    let ratio = contrast(text, ground);
                    assert!(ratio >= 4.5, "{text:?} on {ground:?}: {ratio:.2}");
                }
            }
        }
    }

    #[test]
    fn what_is_free_is_seen() {
        for tokens in [DARK, LIGHT] {
            for ground in [tokens.canvas, tokens.panel] {
                let ratio = contrast(tokens.rail, ground);
                assert!(ratio >= 1.3, "on {ground:?}: {ratio:.2}");
            }
        }
    }

    #[test]
    fn labels_can_be_read_on_every_category() {
        for tokens in [DARK, LIGHT] {
            for category in Category::ALL {
                let colour = tokens.category(category);
                let ratio = contrast(tokens.ink_on(colour), colour);
                assert!(ratio >= 3.0, "{category:?}: {ratio:.2}");
            }
        }
    }

    /// What deuteranopia leaves of a colour (Viénot, Brettel, Mollon 1999), in linear light.
    fn deuteranopia(colour: Color32) -> [f32; 3] {
        let [r, g, b, _] = egui::Rgba::from(colour).to_array();
        let yellow = 0.2928 * r + 0.7072 * g;
        [yellow, yellow, -0.0223 * r + 0.0223 * g + b]
    }

    #[test]
    fn categories_of_inference_differ_without_red_and_green() {
        use Category::{Compute, HostCache, KvCache, Output, Overhead, Weights};
        for tokens in [DARK, LIGHT] {
            let shown = [Weights, KvCache, Compute, Output, HostCache, Overhead];
            for (index, first) in shown.iter().enumerate() {
                for second in shown.iter().skip(index + 1) {
                    let (a, b) = (
                        deuteranopia(tokens.category(*first)),
                        deuteranopia(tokens.category(*second)),
                    );
                    let distance: f32 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                    assert!(
                        distance.sqrt() > 0.06,
                        "{first:?} and {second:?}: {}",
                        distance.sqrt()
                    );
                }
            }
        }
    }
}

//! The colours of a theme, by what they are for.

use eframe::egui::{self, Color32};

use super::palette::{DARK, LIGHT};
use crate::projection::Category;
use crate::report::Verdict;

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
    pub(super) categories: [Color32; Category::ALL.len()],
}

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

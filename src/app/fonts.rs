//! The faces of the window: Inter in three weights, with figures of equal width, and JetBrains Mono for launches.
//!
//! The files are Latin subsets in which the plain digits are the tabular ones, because egui has no switch for font
//! features. Other scripts come from the system.

use std::sync::Arc;

use eframe::egui::{FontData, FontDefinitions, FontFamily};

const REGULAR: &[u8] = include_bytes!("../../assets/fonts/Inter-Regular.ttf");
const MEDIUM: &[u8] = include_bytes!("../../assets/fonts/Inter-Medium.ttf");
const SEMIBOLD: &[u8] = include_bytes!("../../assets/fonts/Inter-SemiBold.ttf");
const MONO: &[u8] = include_bytes!("../../assets/fonts/JetBrainsMono-Regular.ttf");

/// Inter Medium.
pub(super) fn medium() -> FontFamily {
    FontFamily::Name("Inter Medium".into())
}

/// Inter SemiBold.
pub(super) fn semibold() -> FontFamily {
    FontFamily::Name("Inter SemiBold".into())
}

/// All faces, each with the others' glyphs behind it.
pub(super) fn definitions() -> FontDefinitions {
    let mut fonts = FontDefinitions::empty();
    for (name, bytes) in [
        ("Inter", REGULAR),
        ("Inter Medium", MEDIUM),
        ("Inter SemiBold", SEMIBOLD),
        ("JetBrains Mono", MONO),
    ] {
        fonts
            .font_data
            .insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
    }
    for (family, chain) in [
        (FontFamily::Proportional, ["Inter", "JetBrains Mono"]),
        (medium(), ["Inter Medium", "JetBrains Mono"]),
        (semibold(), ["Inter SemiBold", "JetBrains Mono"]),
        (FontFamily::Monospace, ["JetBrains Mono", "Inter"]),
    ] {
        fonts
            .families
            .insert(family, chain.map(str::to_owned).to_vec());
    }
    fonts
}

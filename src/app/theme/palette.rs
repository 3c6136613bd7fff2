//! The colours themselves.
#![expect(
    clippy::disallowed_methods,
    reason = "colours are made here and nowhere else"
)]

use eframe::egui::Color32;

use super::tokens::Tokens;

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

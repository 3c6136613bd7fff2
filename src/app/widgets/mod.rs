//! The house's own widgets. Each decides its size, allocates, interacts, names itself for screen readers, and paints.

mod bar;
mod controls;
mod drop_down;
mod glyph;
mod meter;
mod number;
mod search_list;
mod track;
mod within;

pub(crate) use bar::{Axis, Segment, Whose, bar};
pub(crate) use controls::{
    chip, chip_accent, fact, field, field_of, focus_ring, ghost, line, line_edit, link, primary,
    reset, row, section, segmented, switch, wrapped_link,
};
pub(crate) use drop_down::{DropDown, drop_down};
pub(crate) use glyph::{dot, mark, pin, theme_switch};
pub(crate) use meter::meter;
pub(crate) use number::NumberField;
pub(crate) use search_list::{Found, SearchList, search_list};
pub(crate) use track::{Stops, track};
pub(crate) use within::within;

//! A list behind a button, of words of which one is chosen. The keyboard starts at the chosen one, arrows and typed
//! letters move from there, Enter takes.

use eframe::egui::{Align, ComboBox, Event, EventFilter, Key, Modifiers, Response, TextStyle, Ui};

use super::controls::{combo_icon, focus_ring, popup_row};
use crate::app::theme::{self, GRID};

/// Widths between which a list takes what its rows need.
const LIST_WIDTH: std::ops::RangeInclusive<f32> = 200.0..=460.0;
/// Letters further apart than this, in seconds, start another word.
const TYPING: f64 = 1.0;
/// Frames in which a list finds its size.
const OPENING: u8 = 3;
/// Rows of a page.
const PAGE: i64 = 8;

/// What a list shows.
pub(crate) struct DropDown<'a> {
    /// Tells lists of one panel apart.
    pub(crate) salt: &'a str,
    /// For screen readers.
    pub(crate) name: &'a str,
    /// What the button says.
    pub(crate) shown: &'a str,
    /// Width of the button.
    pub(crate) width: f32,
    /// Words and remarks.
    pub(crate) rows: Vec<(&'a str, &'a str)>,
    /// The row that is chosen.
    pub(crate) chosen: Option<usize>,
}

/// Where the keyboard is in an open list.
#[derive(Clone, Debug, Default)]
struct Cursor {
    row: usize,
    frames: u8,
    typed: String,
    typed_at: f64,
    leaving: bool,
}

/// Shows the button, and the list while it is open; returns the row that was taken.
pub(crate) fn drop_down(ui: &mut Ui, list: &DropDown<'_>) -> (Response, Option<usize>) {
    let id = ui.scope_id().with(("cursor", list.salt));
    let mut cursor: Option<Cursor> = ui.data(|data| data.get_temp(id));
    let mut taken = None;
    let combo = ComboBox::from_id_salt(list.salt)
        .icon(combo_icon)
        .selected_text(list.shown)
        .width(list.width)
        .show_ui(ui, |ui| {
            let start = || Cursor {
                row: list.chosen.unwrap_or(0),
                ..Cursor::default()
            };
            taken = rows(ui, list, cursor.get_or_insert_with(start));
        });
    let response = combo.response.accessible_name(list.name);
    focus_ring(ui, response.rect, &response);
    if combo.inner.is_some() && taken.is_none() {
        ui.data_mut(|data| data.insert_temp(id, cursor.unwrap_or_default()));
    } else if let Some(cursor) = cursor {
        ui.data_mut(|data| data.remove::<Cursor>(id));
        // The keyboard goes back to where it came from.
        if cursor.leaving || taken.is_some() {
            response.request_focus();
        }
    }
    (response, taken)
}

fn rows(ui: &mut Ui, list: &DropDown<'_>, cursor: &mut Cursor) -> Option<usize> {
    ui.visuals_mut().override_text_color = None;
    ui.spacing_mut().item_spacing.y = 0.0;
    ui.set_min_width(width(ui, &list.rows));
    let opening = cursor.frames < OPENING;
    if opening {
        cursor.frames += 1;
        ui.ctx().request_repaint();
    }
    let moved = cursor.moves(ui, list);
    let mut taken = None;
    for (index, (word, remark)) in list.rows.iter().enumerate() {
        let response = popup_row(ui, list.chosen == Some(index), word, remark);
        if response.has_focus() && !moved && !opening {
            cursor.row = index;
        }
        if index == cursor.row {
            if opening || moved {
                response.request_focus();
                response.scroll_to_me(opening.then_some(Align::Center));
            }
            let filter = EventFilter {
                tab: true,
                vertical_arrows: true,
                horizontal_arrows: true,
                escape: true,
            };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        }
        if response.clicked() {
            taken = Some(index);
        }
    }
    if cursor.leaving || taken.is_some() {
        ui.close();
    }
    taken
}

/// As wide as the widest row, within reason.
fn width(ui: &Ui, rows: &[(&str, &str)]) -> f32 {
    let measure = |text: &str, style: TextStyle| {
        let font = style.resolve(ui.style());
        let colour = ui.visuals().text_color();
        let galley = ui.painter().layout_no_wrap(text.to_owned(), font, colour);
        galley.size().x
    };
    let widest = rows
        .iter()
        .map(|(word, remark)| {
            measure(word, TextStyle::Body) + measure(remark, theme::small()) + 12.0 * GRID
        })
        .fold(0.0, f32::max);
    widest.clamp(*LIST_WIDTH.start(), *LIST_WIDTH.end())
}

impl Cursor {
    /// Follows the keys of this frame; says whether they moved it.
    fn moves(&mut self, ui: &Ui, list: &DropDown<'_>) -> bool {
        let (steps, to_top, to_end, leaving, letters, now) = ui.input_mut(|input| {
            let mut times = |key| {
                let times = input.count_and_consume_key(Modifiers::NONE, key);
                i64::try_from(times).unwrap_or(0)
            };
            let steps = times(Key::ArrowDown) - times(Key::ArrowUp) + PAGE * times(Key::PageDown)
                - PAGE * times(Key::PageUp);
            let (to_top, to_end) = (times(Key::Home) > 0, times(Key::End) > 0);
            let leaving = times(Key::Tab) > 0 || input.key_pressed(Key::Escape);
            let letters: String = input
                .events
                .iter()
                .filter_map(|event| match event {
                    Event::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            (steps, to_top, to_end, leaving, letters, input.time)
        });
        self.leaving = leaving;
        let before = self.row;
        let end = list.rows.len().saturating_sub(1);
        if to_top {
            self.row = 0;
        } else if to_end {
            self.row = end;
        } else {
            let row = i64::try_from(self.row).unwrap_or(0).saturating_add(steps);
            self.row = usize::try_from(row.max(0)).unwrap_or(0).min(end);
        }
        if !letters.is_empty() {
            if now - self.typed_at > TYPING {
                self.typed.clear();
            }
            self.typed_at = now;
            self.typed.push_str(&letters.to_lowercase());
            self.row = self.typed_row(&list.rows).unwrap_or(self.row);
        }
        self.row != before
    }

    /// The next row that begins as typed, from this one on.
    fn typed_row(&self, rows: &[(&str, &str)]) -> Option<usize> {
        // One letter again and again goes through all that begin with it.
        let further = usize::from(self.typed.chars().count() == 1);
        (0..rows.len())
            .map(|step| (self.row + further + step) % rows.len())
            .find(|index| {
                rows.get(*index)
                    .is_some_and(|(word, _)| word.to_lowercase().starts_with(&self.typed))
            })
    }
}

//! A list behind a field, searched by typing: the search box has the keyboard, arrows move through the rows, Enter
//! takes one.

use eframe::egui::{Key, Modifiers, Popup, PopupCloseBehavior, Response, ScrollArea, Ui};

use super::controls::{fact, line_edit, popup_row};
use crate::app::state::Search;
use crate::app::theme::GRID;

/// How a list looks.
pub(crate) struct SearchList<'a> {
    /// What the search box says while it is empty.
    pub(crate) hint: &'a str,
    /// What is said where nothing is found.
    pub(crate) nothing: &'a str,
    /// Width in points.
    pub(crate) width: f32,
}

/// One row: what it is, a remark, and what is taken; nothing where it cannot be.
pub(crate) struct Found<T> {
    /// What it is.
    pub(crate) name: String,
    /// What to know about it.
    pub(crate) remark: String,
    /// The list stays open when it is taken.
    pub(crate) stays: bool,
    /// More about it, under the pointer.
    pub(crate) hover: String,
    /// What is taken.
    pub(crate) what: Option<T>,
}

/// Shows the list while it is open; returns what was taken. `above` adds what stands before the list, `rows` finds its
/// rows, `below` adds what follows.
pub(crate) fn search_list<T>(
    ui: &Ui,
    field: &Response,
    list: &SearchList<'_>,
    search: &mut Search,
    above: impl FnOnce(&mut Ui),
    rows: impl FnOnce(&str) -> Vec<Found<T>>,
    below: impl FnOnce(&mut Ui),
) -> Option<T> {
    let id = Popup::default_response_id(field);
    let was_open = Popup::is_id_open(ui.ctx(), id);
    if std::mem::take(&mut search.asked) && !was_open {
        Popup::open_id(ui.ctx(), id);
    }
    let opening = !was_open && (field.clicked() || Popup::is_id_open(ui.ctx(), id));
    if opening {
        search.text.clear();
        search.cursor = 0;
    }
    let popup = Popup::menu(field)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .width(list.width);
    let shown = popup.show(|ui| {
        let keys = keys(ui);
        above(ui);
        let text = line_edit(&mut search.text)
            .hint_text(list.hint)
            .desired_width(f32::INFINITY);
        let text = ui.add(text);
        if opening || !ui.memory(|memory| memory.focused().is_some()) {
            text.request_focus();
        }
        if text.changed() {
            search.cursor = 0;
        }
        let rows = rows(&search.text);
        search.cursor = keys.moved(search.cursor, rows.len());
        let clicked = rows_ui(ui, list, &rows, search.cursor, keys.moves != 0);
        let taken = if keys.enter {
            Some(search.cursor)
        } else {
            clicked
        };
        let taken = taken.and_then(|index| {
            let row = rows.into_iter().nth(index)?;
            Some((row.stays, row.what?))
        });
        if let Some((false, _)) = taken {
            ui.close();
        }
        below(ui);
        taken.map(|(_, what)| what)
    });
    shown?.inner
}

fn rows_ui<T>(
    ui: &mut Ui,
    list: &SearchList<'_>,
    rows: &[Found<T>],
    cursor: usize,
    follow: bool,
) -> Option<usize> {
    let mut clicked = None;
    ui.add_space(GRID);
    ScrollArea::vertical()
        .max_height(340.0)
        .auto_shrink([false, true])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (index, row) in rows.iter().enumerate() {
                let taken_next = index == cursor;
                let show = |ui: &mut Ui| popup_row(ui, taken_next, &row.name, &row.remark);
                // Rows that can be taken keep identities of their own: a scope has a counted one.
                let mut response = if row.what.is_some() {
                    show(ui)
                } else {
                    ui.add_enabled_ui(false, show).inner
                };
                if !row.hover.is_empty() {
                    // Of a row that cannot be taken it says why.
                    response = response
                        .on_hover_text(&row.hover)
                        .on_disabled_hover_text(&row.hover);
                }
                if index == cursor && follow {
                    response.scroll_to_me(None);
                }
                if response.clicked() {
                    clicked = Some(index);
                }
            }
            if rows.is_empty() {
                fact(ui, list.nothing);
            }
        });
    clicked
}

/// Keys that move through a list while its search box has the keyboard.
#[derive(Clone, Copy)]
struct Keys {
    moves: i64,
    enter: bool,
}

fn keys(ui: &Ui) -> Keys {
    ui.input_mut(|input| {
        let mut times = |key| {
            let times = input.count_and_consume_key(Modifiers::NONE, key);
            i64::try_from(times).unwrap_or(0)
        };
        Keys {
            moves: times(Key::ArrowDown) - times(Key::ArrowUp) + 10 * times(Key::PageDown)
                - 10 * times(Key::PageUp),
            enter: times(Key::Enter) > 0,
        }
    })
}

impl Keys {
    fn moved(self, cursor: usize, rows: usize) -> usize {
        let last = i64::try_from(rows.saturating_sub(1)).unwrap_or(i64::MAX);
        let moved = i64::try_from(cursor)
            .unwrap_or(0)
            .saturating_add(self.moves);
        usize::try_from(moved.clamp(0, last)).unwrap_or(0)
    }
}

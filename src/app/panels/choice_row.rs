//! A setting that is one of a list of words.

use eframe::egui::{TextStyle, Ui};

use crate::app::format;
use crate::app::theme::{GRID, ROW};
use crate::app::widgets::{self, DropDown};
use crate::engine::setting::Choice;
use crate::plan::{Settings, Value};

use super::setting_row::{Row, quiet_default, reset};

/// Width of a list of words, and of one that shows something longer.
const WORD: f32 = 112.0;
const TITLE: f32 = 172.0;

/// A list of words of which one is chosen.
pub(super) fn choice(ui: &mut Ui, row: &Row<'_>, options: &[Choice], settings: &mut Settings) {
    let value = row.value(settings);
    let word = format::value(&value, row.texts);
    let chosen = options
        .iter()
        .position(|option| option.word.eq_ignore_ascii_case(&word));
    let title = chosen.and_then(|index| options.get(index)?.title.as_deref());
    let mut set = None;
    let full = title.unwrap_or(&word);
    let short = shortened(ui, full, room(ui, row, settings));
    let help = if short == full {
        row.setting.help.to_owned()
    } else {
        format!("{full}\n{}", row.setting.help)
    };
    widgets::row(ui, row.label(), row.setting.help, |ui| {
        reset(ui, row, settings);
        quiet_default(ui, row, settings);
        let list = DropDown {
            salt: "choice",
            name: row.setting.label,
            shown: &short,
            width: if title.is_some() { TITLE } else { WORD },
            rows: options
                .iter()
                .map(|option| (option.shown(), option.hint.as_ref()))
                .collect(),
            chosen,
        };
        let (response, taken) = widgets::drop_down(ui, &list);
        response.on_hover_text(&help);
        set = taken
            .and_then(|index| options.get(index))
            .map(|option| Value::Text(option.word.to_owned()));
    });
    if let Some(value) = set {
        settings.insert(row.setting.name.to_owned(), value);
    }
}

fn width_of(ui: &Ui, text: &str) -> f32 {
    let font = TextStyle::Body.resolve(ui.style());
    let colour = ui.visuals().text_color();
    let galley = ui.painter().layout_no_wrap(text.to_owned(), font, colour);
    galley.size().x
}

/// What a list's word may take so that the label beside it stays whole.
fn room(ui: &Ui, row: &Row<'_>, settings: &Settings) -> f32 {
    let spacing = ui.spacing();
    let frame = 2.0 * spacing.button_padding.x + spacing.icon_width + spacing.icon_spacing;
    let reset = if settings.contains_key(row.setting.name) {
        ROW + spacing.item_spacing.x
    } else {
        0.0
    };
    ui.available_width() - width_of(ui, row.setting.label) - frame - reset - 2.0 * GRID
}

/// A text without its end, where it is wider.
fn shortened(ui: &Ui, text: &str, width: f32) -> String {
    let mut shown = text.to_owned();
    while width_of(ui, &shown) > width {
        // The mark of what is missing, and a letter.
        shown.truncate(shown.trim_end_matches('…').len());
        if shown.pop().is_none() {
            break;
        }
        shown.push('…');
    }
    shown
}

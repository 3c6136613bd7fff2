//! A setting that is one of a list of words.

use eframe::egui::Ui;

use crate::app::format;
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
    widgets::row(ui, row.label(), row.setting.help, |ui| {
        reset(ui, row, settings);
        quiet_default(ui, row, settings);
        let list = DropDown {
            salt: "choice",
            name: row.setting.label,
            shown: title.unwrap_or(&word),
            width: if title.is_some() { TITLE } else { WORD },
            rows: options
                .iter()
                .map(|option| (option.shown(), option.hint.as_ref()))
                .collect(),
            chosen,
        };
        let (response, taken) = widgets::drop_down(ui, &list);
        response.on_hover_text(row.setting.help);
        set = taken
            .and_then(|index| options.get(index))
            .map(|option| Value::Text(option.word.to_owned()));
    });
    if let Some(value) = set {
        settings.insert(row.setting.name.to_owned(), value);
    }
}

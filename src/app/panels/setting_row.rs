//! One setting as a control, by its kind alone.

use eframe::egui::{Id, Label, Rect, RichText, TextEdit, Ui, pos2};

use crate::app::format;
use crate::app::texts::{Texts, fill};
use crate::app::theme::{self, GRID, ROW, Tokens};
use crate::app::widgets::{self, NumberField, Stops};
use crate::engine::setting::{Kind, Scope, Setting};
use crate::plan::{Settings, Value};
use crate::projection::grouped;

use super::choice_row;

/// A setting and what is known about its value.
pub(super) struct Row<'a> {
    pub(super) texts: &'a Texts,
    pub(super) setting: &'static Setting,
    pub(super) scope: &'a Scope<'a>,
    /// The value in force, automatic choices made.
    pub(super) resolved: Option<&'a Value>,
    /// How far it can go.
    pub(super) limit: Limit,
}

/// Greatest share of one device that can be given by hand.
const MOST_SHARE: f64 = 1_000_000.0;
/// How far left of its row a pin is.
const PIN: f32 = 9.0;

/// The greatest value of a setting that fits.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    /// Nothing is known of this setting's.
    Unknown,
    /// No value fits.
    Nothing,
    /// This one does.
    Fits(u64),
}

impl Row<'_> {
    /// As written in the plan, else as in force, else the engine's default.
    pub(super) fn value(&self, settings: &Settings) -> Value {
        settings
            .get(self.setting.name)
            .or(self.resolved)
            .cloned()
            .unwrap_or_else(|| (self.setting.default)(self.scope))
    }

    /// The label, quiet while the engine's default is in force.
    pub(super) fn label(&self) -> RichText {
        RichText::new(self.setting.label)
    }
}

/// Shows a setting; says whether its pin was toggled.
pub(super) fn setting_row(
    ui: &mut Ui,
    row: &Row<'_>,
    pinned: bool,
    settings: &mut Settings,
) -> bool {
    let before = settings.get(row.setting.name).cloned();
    let id = ui.scope_id().with(row.setting.name);
    let shown = ui.push_id(row.setting.name, |ui| match row.setting.kind {
        Kind::Toggle => toggle(ui, row, settings),
        Kind::Integer {
            bounds,
            step,
            words,
            unit,
        } => {
            let (low, high) = bounds(row.scope);
            // Where there is nothing to choose, there is nothing to show.
            if low < high || before.is_some() {
                integer(ui, row, Stops { low, high, step }, words, unit, settings);
            }
        }
        Kind::Choice { options } => {
            let options = options(row.scope);
            // Nor of one word, unless it says what there is.
            let told = options.iter().any(|option| option.title.is_some());
            if options.len() > 1 || told || before.is_some() {
                choice_row::choice(ui, row, &options, settings);
            }
        }
        Kind::Proportions => {
            if row.scope.machine.gpus.len() > 1 || before.is_some() {
                proportions(ui, row, settings);
            }
        }
        Kind::Lines { example } => lines(ui, row, id, example, settings),
        Kind::Text { example } => text(ui, row, example, settings),
    });
    let rect = shown.response.rect;
    rect.is_positive() && pin(ui, row, rect, pinned)
}

/// The pin beside a row, in the margin of the panel; seen while it holds or the row is pointed at.
fn pin(ui: &Ui, row: &Row<'_>, rect: Rect, pinned: bool) -> bool {
    let texts = row.texts;
    let (name, help) = if pinned {
        (texts.unpin, texts.pinned_help)
    } else {
        (texts.pin, texts.pin_help)
    };
    let name = fill(name, &[("setting", row.setting.label)]);
    let center = pos2(rect.left() - PIN, rect.top() + ROW / 2.0);
    let around = rect.with_min_x(rect.left() - 2.0 * PIN);
    let lit = ui.rect_contains_pointer(around);
    let id = ui.scope_id().with(("pin", row.setting.name));
    let response = widgets::pin(ui, id, center, &name, pinned, lit);
    response.on_hover_text(format!("{name}. {help}")).clicked()
}

/// The cross that returns to the default, at the right end of the row; keeps its place where there is nothing to
/// take back, so that nothing jumps.
pub(super) fn reset(ui: &mut Ui, row: &Row<'_>, settings: &mut Settings) {
    let name = fill(row.texts.reset, &[("setting", row.setting.label)]);
    if settings.contains_key(row.setting.name) {
        if widgets::reset(ui, &name, true).clicked() {
            settings.shift_remove(row.setting.name);
        }
    } else {
        ui.add_space(14.0 + ui.spacing().item_spacing.x);
    }
}

/// Shows values in the weak colour while they are the engine's own.
pub(super) fn quiet_default(ui: &mut Ui, row: &Row<'_>, settings: &Settings) {
    if !settings.contains_key(row.setting.name) {
        let weak = Tokens::of(ui).text_weak;
        ui.visuals_mut().override_text_color = Some(weak);
    }
}

fn toggle(ui: &mut Ui, row: &Row<'_>, settings: &mut Settings) {
    let on = row.value(settings) == Value::Bool(true);
    widgets::row(ui, row.label(), row.setting.help, |ui| {
        reset(ui, row, settings);
        if widgets::switch(ui, on, row.setting.label)
            .on_hover_text(row.setting.help)
            .clicked()
        {
            settings.insert(row.setting.name.to_owned(), Value::Bool(!on));
        }
    });
}

fn integer(
    ui: &mut Ui,
    row: &Row<'_>,
    stops: Stops,
    words: &[&'static str],
    unit: &str,
    settings: &mut Settings,
) {
    // A word says who decides, and holds whatever number comes of it.
    let value = settings
        .get(row.setting.name)
        .cloned()
        .unwrap_or_else(|| (row.setting.default)(row.scope));
    let word = match &value {
        Value::Text(word) => Some(word.as_str()),
        _ => None,
    };
    let number = match (settings.get(row.setting.name), row.resolved, &value) {
        (Some(Value::Integer(number)), _, _)
        | (_, Some(Value::Integer(number)), _)
        | (_, None, Value::Integer(number)) => *number,
        _ => stops.high,
    };
    let mut set = None;
    widgets::row(ui, row.label(), row.setting.help, |ui| {
        reset(ui, row, settings);
        if !unit.is_empty() && words.is_empty() {
            small(ui, unit);
        }
        ui.scope(|ui| {
            quiet_default(ui, row, settings);
            if word.is_some() {
                let weak = Tokens::of(ui).text_weak;
                ui.visuals_mut().override_text_color = Some(weak);
            }
            set = number_field(ui, row, number, stops).map(Value::Integer);
        });
        for choice in words.iter().rev() {
            if widgets::chip(ui, choice, word == Some(*choice)).clicked() {
                set = Some(Value::Text((*choice).to_owned()));
            }
        }
    });
    let (_, moved) = widgets::track(ui, row.setting.label, number, stops);
    set = moved.map(Value::Integer).or(set);
    set = limit_hint(ui, row.texts, row.limit, stops).or(set);
    if let Some(value) = set {
        settings.insert(row.setting.name.to_owned(), value);
    }
    ui.add_space(GRID / 2.0);
}

fn number_field(ui: &mut Ui, row: &Row<'_>, number: i64, stops: Stops) -> Option<i64> {
    let field = NumberField {
        name: row.setting.label,
        range: (stops.low as f64, stops.high as f64),
        speed: (stops.high.saturating_sub(stops.low) as f64 / 400.0).clamp(0.05, 256.0),
        decimals: 0,
        prefix: "",
        suffix: "",
    };
    let (response, other) = field.show(ui, number as f64);
    response.on_hover_text(row.setting.help);
    other.map(|number| number as i64)
}

/// How far one can go, as something to click.
fn limit_hint(ui: &mut Ui, texts: &Texts, limit: Limit, stops: Stops) -> Option<Value> {
    let limit = match limit {
        Limit::Unknown => return None,
        Limit::Nothing => {
            widgets::fact(ui, texts.fits_at_no_value);
            return None;
        }
        Limit::Fits(most) => i64::try_from(most).unwrap_or(i64::MAX),
    };
    let text = fill(
        texts.fits_up_to,
        &[("count", &grouped(limit.unsigned_abs()))],
    );
    widgets::link(ui, &text)
        .on_hover_text(texts.fits_up_to_help)
        .clicked()
        .then_some(Value::Integer(limit.min(stops.high)))
}

fn proportions(ui: &mut Ui, row: &Row<'_>, settings: &mut Settings) {
    let shares = match settings.get(row.setting.name) {
        Some(Value::List(shares)) if !shares.is_empty() => Some(shares.clone()),
        _ => None,
    };
    let name = row.setting.name.to_owned();
    let count = row.scope.machine.gpus.len();
    widgets::row(ui, row.label(), row.setting.help, |ui| {
        ui.add_space(14.0 + ui.spacing().item_spacing.x);
        if widgets::chip(ui, row.texts.by_hand, shares.is_some()).clicked() {
            settings.insert(name.clone(), Value::List(vec![Value::Integer(1); count]));
        }
        if widgets::chip(ui, row.texts.automatic, shares.is_none()).clicked() {
            settings.shift_remove(&name);
        }
    });
    let Some(mut shares) = shares else { return };
    shares.resize(count.max(shares.len()), Value::Integer(0));
    let mut changed = false;
    ui.horizontal_wrapped(|ui| {
        for (index, share) in shares.iter_mut().enumerate() {
            let number = match share {
                Value::Integer(number) => *number as f64,
                Value::Number(number) => *number,
                _ => 0.0,
            };
            let device = fill(row.texts.gpu_number, &[("gpu", &index.to_string())]);
            let field = NumberField {
                name: &format!("{} {device}", row.setting.label),
                range: (0.0, MOST_SHARE),
                speed: 0.05,
                decimals: 2,
                prefix: "",
                suffix: "",
            };
            let (response, other) = field.show(ui, number);
            response.on_hover_text(device);
            if let Some(number) = other {
                changed = true;
                *share = if number.fract() == 0.0 {
                    Value::Integer(number as i64)
                } else {
                    Value::Number(number)
                };
            }
        }
    });
    if changed {
        settings.insert(name, Value::List(shares));
    }
}

fn lines(ui: &mut Ui, row: &Row<'_>, id: Id, example: &str, settings: &mut Settings) {
    widgets::row(ui, row.label(), row.setting.help, |ui| {
        reset(ui, row, settings);
    });
    let written = match settings.get(row.setting.name) {
        Some(Value::List(items)) => items
            .iter()
            .map(|item| format::value(item, row.texts))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    };
    // Empty lines are kept while one types; the plan has none.
    let draft: Option<String> = ui.data(|data| data.get_temp(id));
    let kept = |text: &str| {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let mut text = draft
        .filter(|draft| kept(draft) == written)
        .unwrap_or_else(|| written.clone());
    let field = TextEdit::multiline(&mut text)
        .margin(theme::FIELD_MARGIN)
        .hint_text(example.to_owned())
        .desired_rows(2)
        .desired_width(f32::INFINITY)
        .font(eframe::egui::TextStyle::Monospace);
    let response = ui
        .add(field)
        .accessible_name(row.setting.label)
        .on_hover_text(row.setting.help);
    if response.changed() {
        let items: Vec<Value> = kept(&text)
            .lines()
            .map(|line| Value::Text(line.to_owned()))
            .collect();
        if items.is_empty() {
            settings.shift_remove(row.setting.name);
        } else {
            settings.insert(row.setting.name.to_owned(), Value::List(items));
        }
        ui.data_mut(|data| data.insert_temp(id, text));
    }
}

fn text(ui: &mut Ui, row: &Row<'_>, example: &str, settings: &mut Settings) {
    let mut text = match settings.get(row.setting.name) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let default = format::value(&row.value(settings), row.texts);
    let hint = if default.is_empty() {
        example.to_owned()
    } else {
        default
    };
    widgets::row(ui, row.label(), row.setting.help, |ui| {
        reset(ui, row, settings);
        let field = widgets::line_edit(&mut text)
            .hint_text(hint)
            .desired_width(104.0);
        let response = ui
            .add(field)
            .accessible_name(row.setting.label)
            .on_hover_text(row.setting.help);
        if response.changed() {
            if text.is_empty() {
                settings.shift_remove(row.setting.name);
            } else {
                settings.insert(row.setting.name.to_owned(), Value::Text(text.clone()));
            }
        }
    });
}

fn small(ui: &mut Ui, text: &str) {
    let text = RichText::new(text)
        .text_style(theme::small())
        .color(Tokens::of(ui).text_weak);
    ui.add(Label::new(text));
}

//! The list from which a model is taken, be it the one that answers or the one that drafts.

use std::path::Path;

use eframe::egui::{Response, Ui};

use crate::app::command::{Command, Queue};
use crate::app::library;
use crate::app::models::ModelCommand;
use crate::app::state::{Search, Shelf};
use crate::app::texts::fill;
use crate::app::theme::GRID;
use crate::app::widgets::{self, SearchList};
use crate::catalog::models::{Broken, Entry};
use crate::plain::one_line;
use crate::plan::ModelRef;

use super::context::Inputs;
use super::{hub, local};

/// Vocabularies of one family are padded to different sizes; the engine takes such for one (llama.cpp 0.6.0-dev,
/// common/speculative.cpp, `SPEC_VOCAB_MAX_SIZE_DIFFERENCE`).
const PADDING: u64 = 128;

fn is_near(size: Option<u64>, other: u64) -> bool {
    size.is_some_and(|size| size.abs_diff(other) <= PADDING)
}

/// What a model is called, where one is chosen.
pub(super) fn chosen_name(model: &ModelRef) -> Option<String> {
    if let Some(preset) = &model.preset {
        return Some(one_line(preset));
    }
    let file = model.path.as_ref().or(model.file.as_ref());
    let path = Path::new(file.or(model.repo.as_ref())?);
    let name = path.file_name().unwrap_or(path.as_os_str());
    Some(one_line(&name.to_string_lossy()))
}

/// The list below a field from which a model is taken; those of another vocabulary last, where one is asked for.
pub(super) fn list(
    ui: &Ui,
    field: &Response,
    context: &Inputs<'_>,
    (search, shelf): (&mut Search, &mut Shelf),
    vocabulary: Option<u64>,
    queue: &mut Queue,
    below: impl FnOnce(&mut Ui),
) -> Option<ModelRef> {
    let texts = context.texts;
    let list = SearchList {
        hint: match shelf {
            Shelf::Presets | Shelf::Local => texts.search_models,
            Shelf::Hub => texts.repository_hint,
        },
        nothing: match shelf {
            Shelf::Presets => texts.no_model_found,
            Shelf::Local => texts.no_local_model,
            Shelf::Hub => texts.no_repository,
        },
        width: 540.0,
    };
    let typed = search.text.clone();
    let before = *shelf;
    let above = |ui: &mut Ui| {
        let shown = match vocabulary {
            // What drafts is small and known, or here.
            Some(_) => [Shelf::Presets, Shelf::Local].as_slice(),
            None => &Shelf::ALL,
        };
        if shelves(ui, context, &typed, shelf, shown) {
            ui.ctx().request_repaint();
        }
    };
    let rows = |search: &str| match before {
        Shelf::Presets => taken(presets(context, search, vocabulary), Taken::Model),
        Shelf::Local => taken(local::rows(context, search), Taken::Model),
        Shelf::Hub => taken(hub::rows(context, search), Taken::Command),
    };
    let below = |ui: &mut Ui| {
        match before {
            Shelf::Presets => {}
            Shelf::Local => local::below(ui, context, queue),
            Shelf::Hub => hub::below(ui, context, &typed, queue),
        }
        below(ui);
    };
    match widgets::search_list(ui, field, &list, search, above, rows, below)? {
        Taken::Model(model) => Some(model),
        Taken::Command(command) => {
            queue.send(Command::Models(command));
            None
        }
    }
}

/// What a row stands for.
enum Taken {
    /// A model.
    Model(ModelRef),
    /// Something that leads to one.
    Command(ModelCommand),
}

fn taken<T>(rows: Vec<widgets::Found<T>>, what: fn(T) -> Taken) -> Vec<widgets::Found<Taken>> {
    rows.into_iter()
        .map(|row| widgets::Found {
            name: row.name,
            remark: row.remark,
            stays: row.stays,
            hover: row.hover,
            what: row.what.map(what),
        })
        .collect()
}

/// Where models are taken from, with how many are found there; says whether that was changed.
fn shelves(
    ui: &mut Ui,
    context: &Inputs<'_>,
    typed: &str,
    shelf: &mut Shelf,
    shown: &[Shelf],
) -> bool {
    let texts = context.texts;
    let local = context.local.search(typed).len();
    let words: Vec<String> = shown
        .iter()
        .map(|shelf| match shelf {
            Shelf::Presets => texts.shelf_presets.to_owned(),
            Shelf::Local if context.local.models.is_empty() => texts.shelf_local.to_owned(),
            Shelf::Local => fill(texts.shelf_local_count, &[("count", &local.to_string())]),
            Shelf::Hub => texts.shelf_hub.to_owned(),
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let chosen = shown.iter().position(|known| known == shelf);
    let clicked = ui
        .horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = GRID;
            // A list takes the room beside words away.
            ui.spacing_mut().button_padding.x = 2.0 * GRID;
            widgets::segmented(ui, &words, chosen.unwrap_or(0))
        })
        .inner;
    let taken = clicked.and_then(|index| shown.get(index));
    let changed = taken.is_some_and(|taken| taken != shelf);
    if let Some(taken) = taken {
        *shelf = *taken;
    }
    changed
}

fn presets(
    context: &Inputs<'_>,
    search: &str,
    vocabulary: Option<u64>,
) -> Vec<widgets::Found<ModelRef>> {
    let texts = context.texts;
    let mut found = context.library.models.search(search);
    let differs = |entry: &Entry| vocabulary.is_some_and(|size| !is_near(entry.vocab_size, size));
    // The order among equals stays.
    found.sort_by_key(|entry| differs(entry));
    let good = found.into_iter().map(|entry| {
        let facts = library::facts(entry, texts);
        let mine = context.library.is_of_user(&entry.id);
        let facts = if mine {
            format!("{} · {facts}", texts.own_preset)
        } else {
            facts
        };
        widgets::Found {
            name: one_line(&entry.title),
            remark: if differs(entry) {
                format!("{} · {facts}", texts.other_vocabulary)
            } else {
                facts
            },
            stays: false,
            hover: String::new(),
            what: Some(ModelRef {
                preset: Some(entry.id.clone()),
                ..ModelRef::default()
            }),
        }
    });
    let broken = context.library.models.broken().iter();
    good.chain(broken.filter(|_| search.is_empty()).map(broken_preset))
        .collect()
}

/// A preset of the user that cannot be used, with the reason.
fn broken_preset(broken: &Broken) -> widgets::Found<ModelRef> {
    let name = broken.path.file_name().unwrap_or_default();
    let reason = one_line(&broken.error.to_string());
    widgets::Found {
        name: one_line(&name.to_string_lossy()),
        stays: false,
        hover: one_line(&format!("{reason}: {}", broken.path.display())),
        remark: reason,
        what: None,
    }
}

//! The list from which a model is taken, be it the one that answers or the one that drafts.

use std::path::Path;

use eframe::egui::{Response, Ui};

use crate::app::library;
use crate::app::state::Search;
use crate::app::widgets::{self, SearchList};
use crate::plan::ModelRef;

use super::context::Inputs;

/// What a model is called, where one is chosen.
pub(super) fn chosen_name(model: &ModelRef) -> Option<String> {
    if let Some(preset) = &model.preset {
        return Some(preset.clone());
    }
    let path = Path::new(model.path.as_deref()?);
    Some(
        path.file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned(),
    )
}

/// The list below a field from which a model is taken.
pub(super) fn list(
    ui: &Ui,
    field: &Response,
    context: &Inputs<'_>,
    search: &mut Search,
    below: impl FnOnce(&mut Ui),
) -> Option<ModelRef> {
    let texts = context.texts;
    let list = SearchList {
        hint: texts.search_models,
        nothing: texts.no_model_found,
        width: 540.0,
    };
    let rows = |search: &str| {
        let found = context.library.models.search(search).into_iter();
        found
            .map(|entry| widgets::Found {
                name: entry.title.clone(),
                remark: library::facts(entry, texts),
                what: entry.id.clone(),
            })
            .collect()
    };
    let id = widgets::search_list(ui, field, &list, search, rows, below)?;
    Some(ModelRef {
        preset: Some(id),
        ..ModelRef::default()
    })
}

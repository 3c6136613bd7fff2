//! The list from which a model is taken, be it the one that answers or the one that drafts.

use std::path::Path;

use eframe::egui::{Response, Ui};

use crate::app::library;
use crate::app::state::Search;
use crate::app::widgets::{self, SearchList};
use crate::catalog::models::Entry;
use crate::plan::ModelRef;

use super::context::Inputs;

/// Vocabularies of one family are padded to different sizes; the engine takes such for one (llama.cpp 0.6.0-dev,
/// common/speculative.cpp, `SPEC_VOCAB_MAX_SIZE_DIFFERENCE`).
const PADDING: u64 = 128;

fn is_near(size: Option<u64>, other: u64) -> bool {
    size.is_some_and(|size| size.abs_diff(other) <= PADDING)
}

/// What a model is called, where one is chosen.
pub(super) fn chosen_name(model: &ModelRef) -> Option<String> {
    if let Some(preset) = &model.preset {
        return Some(preset.clone());
    }
    let file = model.path.as_ref().or(model.file.as_ref());
    let path = Path::new(file.or(model.repo.as_ref())?);
    Some(
        path.file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned(),
    )
}

/// The list below a field from which a model is taken; those of another vocabulary last, where one is asked for.
pub(super) fn list(
    ui: &Ui,
    field: &Response,
    context: &Inputs<'_>,
    search: &mut Search,
    vocabulary: Option<u64>,
    below: impl FnOnce(&mut Ui),
) -> Option<ModelRef> {
    let texts = context.texts;
    let list = SearchList {
        hint: texts.search_models,
        nothing: texts.no_model_found,
        width: 540.0,
    };
    let rows = |search: &str| {
        let mut found = context.library.models.search(search);
        let differs =
            |entry: &Entry| vocabulary.is_some_and(|size| !is_near(entry.vocab_size, size));
        // The order among equals stays.
        found.sort_by_key(|entry| differs(entry));
        found
            .into_iter()
            .map(|entry| {
                let facts = library::facts(entry, texts);
                widgets::Found {
                    name: entry.title.clone(),
                    remark: if differs(entry) {
                        format!("{} · {facts}", texts.other_vocabulary)
                    } else {
                        facts
                    },
                    what: entry.id.clone(),
                }
            })
            .collect()
    };
    let id = widgets::search_list(ui, field, &list, search, rows, below)?;
    Some(ModelRef {
        preset: Some(id),
        ..ModelRef::default()
    })
}

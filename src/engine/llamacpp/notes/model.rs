//! What is known of the model's file, and what is not.

use crate::engine::llamacpp::file_type;
use crate::engine::llamacpp::tensors::{Architecture, Findings, TensorTable, is_architecture};
use crate::engine::llamacpp::unknown;
use crate::model::Model;
use crate::projection::Note;

/// Most names in a note.
const NAMED: usize = 4;

/// What keeps the engine from loading the model's own file.
pub(in super::super) fn unloadable(table: &TensorTable, notes: &mut Vec<Note>) {
    let Findings {
        missing, unread, ..
    } = &table.findings;
    if !missing.is_empty() {
        notes.push(
            Note::error(
                "tensors-missing",
                format!(
                    "The file lacks {} that the engine needs: it refuses to load it.",
                    listed(missing)
                ),
            )
            .on("weights"),
        );
    }
    if !unread.is_empty() {
        notes.push(
            Note::error(
                "tensors-unread",
                format!(
                    "The file holds {} that the engine does not ask for (0.6.0-dev): it refuses files with tensors too \
                     many.",
                    listed(unread)
                ),
            )
            .on("weights"),
        );
    }
}

/// What of the model is assumed, and what of its file is not known here.
pub(in super::super) fn model(model: &Model, table: &TensorTable, notes: &mut Vec<Note>) {
    for assumption in &model.assumptions {
        notes.push(Note::warning("model-assumed", assumption.clone()));
    }
    notes.extend(super::published::published(model));
    if let Some(file) = model.only_weights() {
        notes.push(unknown::note(model, file));
    } else if table.architecture == Architecture::Unknown {
        notes.push(without_graph(model));
    }
    let Findings {
        misshapen,
        unknown_types,
        ..
    } = &table.findings;
    if !misshapen.is_empty() {
        notes.push(
            Note::warning(
                "tensors-misshapen",
                format!(
                    "Of {} the file has other shapes than its metadata says; sizes are those of the file. The engine \
                     refuses such files.",
                    listed(misshapen)
                ),
            )
            .on("weights"),
        );
    }
    if !unknown_types.is_empty() {
        let names: Vec<String> = unknown_types.iter().cloned().collect();
        notes.push(
            Note::warning(
                "tensor-type-unknown",
                format!(
                    "The file holds tensors of types that are not known here ({}): their bytes are those of the file. \
                     Only an engine that knows these types loads it; llama.cpp 0.6.0-dev does not.",
                    listed(&names)
                ),
            )
            .on("weights"),
        );
    }
}

fn without_graph(model: &Model) -> Note {
    let name = &model.model_type;
    let has_file = file_type::native(model).is_some();
    let message = match (has_file, is_architecture(name)) {
        (true, true) => {
            format!(
                "Plimsoll does not know the architecture {name:?} layer by layer: only its weights are exact."
            )
        }
        (true, false) => format!(
            "llama.cpp 0.6.0-dev has no architecture {name:?}; a version that has it is projected, of which only the \
             weights are exact."
        ),
        (false, _) => format!(
            "No converter to GGUF is known here (llama.cpp 0.6.0-dev) for the model type {name:?}. Tensors are taken to \
             be those of a plain decoder of its layers."
        ),
    };
    Note::warning("architecture-unknown", message)
}

/// "a, b, c, d and 12 more".
fn listed(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let listed = first.join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => listed,
        further => format!("{listed} and {further} more"),
    }
}

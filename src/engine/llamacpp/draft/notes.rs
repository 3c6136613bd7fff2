//! What a person should know about what drafts.

use super::SpecType;
use super::settings::of_draft;
use crate::engine::llamacpp::config::Config;
use crate::engine::llamacpp::file_type::Weights;
use crate::engine::llamacpp::notes::{model, refusals, unloadable};
use crate::engine::llamacpp::subject::Subject;
use crate::model::Model;
use crate::projection::Note;

/// Tokens by which the vocabularies of a model and its draft may differ (`SPEC_VOCAB_MAX_SIZE_DIFFERENCE`,
/// `common/speculative.cpp` 0.6.0-dev).
const VOCABULARY_DIFFERENCE: u64 = 128;

/// Errors, warnings and hints on speculation.
pub(in super::super) fn notes(subject: &Subject<'_>, config: &Config, notes: &mut Vec<Note>) {
    let inputs = subject.inputs;
    match config.speculation.kind {
        SpecType::Simple => simple(subject, notes),
        SpecType::Mtp => prediction(subject, notes),
        kind @ (SpecType::Eagle3 | SpecType::Dflash | SpecType::Dspark) => {
            let name = super::Speculation::WORDS
                .iter()
                .find(|(_, own)| *own == kind)
                .map_or("", |(word, _)| *word);
            notes.push(
                Note::warning(
                    "draft-head-not-projected",
                    format!(
                        "What {name} adds to the model is projected (rows of logits, rollback states), but not the head \
                         itself: its weights, cache and buffer come on top."
                    ),
                )
                .on("spec_type"),
            );
        }
        SpecType::None => {
            if inputs.draft.is_some() {
                notes.push(
                    Note::warning(
                        "draft-unused",
                        "The draft model is loaded and not used: nothing says how it drafts.",
                    )
                    .on("spec_type")
                    .fixed_by(super::super::notes::set_word("spec_type", "draft-simple")),
                );
            }
        }
        SpecType::NgramSimple
        | SpecType::NgramMapK
        | SpecType::NgramMapK4v
        | SpecType::NgramMod
        | SpecType::NgramCache => {}
    }
    if let Some(companion) = &subject.companion {
        let own = &companion.subject;
        let mut found = Vec::new();
        refusals(
            own.inputs.model,
            own.table.architecture,
            &companion.config,
            &own.devices,
            inputs.machine.gpus.len(),
            &mut found,
        );
        notes.extend(found.iter().filter_map(of_draft));
        file(&companion.subject, notes);
    }
}

/// What is to be known of the draft's own file.
fn file(draft: &Subject<'_>, notes: &mut Vec<Note>) {
    let mut found = Vec::new();
    unloadable(&draft.table, &mut found);
    model(draft.inputs.model, &draft.table, &mut found);
    notes.extend(found.into_iter().map(|note| Note {
        message: format!("Draft: {}", note.message),
        setting: note.setting.map(|_| "draft_weights"),
        ..note
    }));
}

fn simple(subject: &Subject<'_>, notes: &mut Vec<Note>) {
    let Some(draft) = subject.inputs.draft else {
        notes.push(
            Note::error(
                "draft-missing",
                "This speculation needs a draft model, and the plan names none: the engine refuses to start.",
            )
            .on("spec_type"),
        );
        return;
    };
    vocabularies(subject.inputs.model, draft, notes);
}

/// The engine compares token by token; all that can be seen here is that the numbers are too far apart.
fn vocabularies(model: &Model, draft: &Model, notes: &mut Vec<Note>) {
    let difference = model.vocab_size.abs_diff(draft.vocab_size);
    if difference > VOCABULARY_DIFFERENCE {
        notes.push(
            Note::error(
                "draft-vocabulary",
                format!(
                    "{} has {} tokens and its draft {} has {}: the engine refuses drafts of another vocabulary (at most \
                     {VOCABULARY_DIFFERENCE} may differ).",
                    model.name, model.vocab_size, draft.name, draft.vocab_size
                ),
            )
            .on("spec_type"),
        );
    }
}

fn prediction(subject: &Subject<'_>, notes: &mut Vec<Note>) {
    let model = subject.inputs.model;
    let architecture = subject.table.architecture;
    let stored = model.mtp.as_ref().is_some_and(|mtp| mtp.stored);
    let refusal = if subject.inputs.draft.is_some() {
        Some("The plan names a draft model of its own, which prediction blocks do without.")
    } else if !stored {
        Some("The model has no prediction blocks: the engine refuses to make a context for them.")
    } else if !super::prediction::is_built(architecture) {
        Some("The engine has no graph for the prediction blocks of this architecture (0.6.0).")
    } else {
        None
    };
    if let Some(refusal) = refusal {
        notes.push(Note::error("no-prediction-blocks", refusal).on("spec_type"));
    } else if subject.table.weights != Weights::Native && !architecture.keeps_prediction_blocks() {
        notes.push(
            Note::hint(
                "file-with-prediction-blocks",
                "The file must be one that holds the prediction blocks; most published files of this model leave them \
                 out, those that have them say MTP in their name.",
            )
            .on("spec_type"),
        );
    }
}

//! Plans whose settings the engine takes.

use super::config::{self, Config};
use super::notes;
use super::subject::Subject;
use crate::engine::Inputs;
use crate::projection::{Note, Severity};

/// What is loaded and how, as written; `None` where the engine refuses the settings.
pub(super) fn accepted<'a>(inputs: &Inputs<'a>) -> Option<(Subject<'a>, Config)> {
    let mut notes = Vec::new();
    let config = config::read(inputs.settings, inputs.draft.is_some(), &mut notes);
    let devices = config::devices(inputs.machine, &config);
    let weights = config.weights(inputs.model)?;
    let subject = Subject::new(*inputs, &config, weights, devices, &mut notes).ok()?;
    notes::unloadable(&subject.table, &mut notes);
    notes::refusals(
        inputs.model,
        subject.table.architecture,
        &config,
        &subject.devices,
        inputs.machine.gpus.len(),
        &mut notes,
    );
    (!refused(&notes)).then_some((subject, config))
}

/// Whether one of these notes is a refusal.
pub(super) fn refused(notes: &[Note]) -> bool {
    notes.iter().any(|note| note.severity == Severity::Error)
}

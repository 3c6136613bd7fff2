//! What an engine builds on that starts `llama-server` itself.

use super::config;
use super::file_type::{self, Weights};
use super::launch;
use super::limits;
use super::project::{self, Extent};
use super::remedies;
use super::settings;
use super::subject::Subject;
use super::tensors::Architecture;
use crate::engine::launch::{Launch, LaunchInputs, Word};
use crate::engine::search::Probe;
use crate::engine::setting::Setting;
use crate::engine::{Inputs, Margin, Outcome};
use crate::plan::Value;
use crate::units::Bytes;

/// The file type of the weights.
pub(in crate::engine) const WEIGHTS: Setting = settings::WEIGHTS;

/// Whether they were quantized with an importance matrix.
pub(in crate::engine) const IMATRIX: Setting = settings::IMATRIX;

/// What the header of a model file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct File {
    /// Its tensors; the header itself, a few megabytes of vocabulary, is not counted.
    pub(in crate::engine) bytes: Bytes,
    /// `general.architecture`.
    pub(in crate::engine) architecture: Architecture,
    /// `block_count`.
    pub(in crate::engine) blocks: u64,
    /// `context_length`.
    pub(in crate::engine) trained: u64,
}

/// The file of these weights; `None` where the engine would refuse.
pub(in crate::engine) fn file(inputs: &Inputs<'_>) -> Option<File> {
    let config = config::read(inputs.settings, inputs.draft.is_some(), &mut Vec::new());
    let weights = config.weights(inputs.model)?;
    let subject = Subject::alone(*inputs, &config, weights, Vec::new()).ok()?;
    Some(File {
        bytes: subject.table.file_bytes(),
        architecture: subject.table.architecture,
        blocks: subject.table.all_blocks.into(),
        trained: subject.trained,
    })
}

/// What the engine would make of a plan, without how far it can go.
pub(in crate::engine) fn project(inputs: &Inputs<'_>) -> Outcome {
    project::project(inputs, Extent::WithoutLimits)
}

/// Bytes that every GPU has left beyond the margin, and main memory at all; negative where they lack. `None` where the
/// engine would not start.
pub(in crate::engine) fn room(inputs: &Inputs<'_>, margin: Margin) -> Option<Vec<i64>> {
    remedies::room(inputs, margin)
}

/// Whether the weights alone are more than all devices together have free.
pub(in crate::engine) fn exceeds_everything(inputs: &Inputs<'_>) -> bool {
    super::accepted::accepted(inputs)
        .is_some_and(|(subject, config)| limits::exceeds_everything(&subject, &config))
}

/// Numbers of requests after which the next one may need less: the micro-batch is rounded up to a multiple of them.
pub(in crate::engine) fn slot_ends(inputs: &Inputs<'_>) -> Vec<u64> {
    let config = config::read(inputs.settings, inputs.draft.is_some(), &mut Vec::new());
    let stretches = limits::slot_stretches(|_| config.micro_batch);
    stretches.into_iter().map(|(_, last)| last).collect()
}

/// What comes of settings, without the reasons; `None` where the engine would not start.
pub(in crate::engine) fn probe(inputs: &Inputs<'_>) -> Option<Probe> {
    super::arrange::probe(inputs)
}

/// Variables that select and order the cards.
pub(in crate::engine) fn card_variables(
    inputs: &LaunchInputs<'_>,
    launch: &mut Launch,
) -> Vec<(String, Word)> {
    launch::devices::environment(inputs, launch)
}

/// Is this word of the weights the file that is open?
pub(in crate::engine) fn is_native(word: &str) -> bool {
    word.eq_ignore_ascii_case(Weights::NATIVE)
}

/// The file type that a launch loads, as files are named by it; empty where the file that is open has no name for it.
pub(in crate::engine) fn type_of_file<'a>(inputs: &LaunchInputs<'a>) -> &'a str {
    match inputs.resolved.get("weights") {
        Some(Value::Text(word)) if is_native(word) => {
            let label = file_type::native(inputs.model).and_then(|file| file.label.as_deref());
            label.unwrap_or_default()
        }
        Some(Value::Text(word)) => word,
        _ => "",
    }
}

/// A repository with the file type as its tag, unless it has one.
pub(in crate::engine) fn must_exist(source: &str) -> String {
    launch::source::must_exist(source)
}

/// What of a plan says which file to load.
pub(in crate::engine) const MODEL_KEYS: &str = launch::source::MODEL_KEYS;

/// The file type as a tag, where the repository has none.
pub(in crate::engine) fn tagged(repository: &str, file_type: &str) -> String {
    launch::source::tagged(repository, file_type)
}

/// Is an address reached from this machine only?
pub(in crate::engine) fn is_local(host: &str) -> bool {
    launch::is_local(host)
}

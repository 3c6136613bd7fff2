//! What is loaded beside the main model: a draft or its own prediction context, a projector, adapters. Their terms per
//! device, so that whatever asks what a plan takes (fitting, limits, remedies, the report) gets them too.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::adapter;
use super::compute::Purpose;
use super::config::{Config, Shape};
use super::draft;
use super::placed::Placed;
use super::projector;
use super::subject::Subject;
use crate::engine::Inputs;
use crate::model::Unread;
use crate::projection::{Category, Note, Part, Term};
use crate::units::Bytes;

/// Terms of everything beside the main model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Parts {
    /// Per GPU used, in the engine's order.
    gpus: Vec<Vec<Term>>,
    /// Of main memory.
    host: Vec<Term>,
}

impl Parts {
    /// The terms of a GPU, or of main memory.
    pub(super) fn on(&self, home: Option<usize>) -> &[Term] {
        match home {
            Some(gpu) => self.gpus.get(gpu).map_or(&[], Vec::as_slice),
            None => &self.host,
        }
    }

    /// Their bytes.
    pub(super) fn bytes(&self, home: Option<usize>) -> Bytes {
        self.on(home).iter().map(|term| term.bytes).sum()
    }

    /// Bytes of one category on a GPU, or in main memory.
    pub(super) fn of(&self, category: Category, home: Option<usize>) -> Bytes {
        let own = self.on(home).iter();
        own.filter(|term| term.category == category)
            .map(|term| term.bytes)
            .sum()
    }

    /// Bytes of adapters on a GPU, or in main memory.
    pub(super) fn adapters(&self, home: Option<usize>) -> Bytes {
        let own = self.on(home).iter();
        own.filter(|term| term.part == Part::Adapter)
            .map(|term| term.bytes)
            .sum()
    }

    /// Weights of one part on a GPU, or in main memory.
    pub(super) fn weights(&self, part: Part, home: Option<usize>) -> Bytes {
        let own = self.on(home).iter();
        own.filter(|term| (term.part, term.category) == (part, Category::Weights))
            .map(|term| term.bytes)
            .sum()
    }

    /// Bytes of one category over all devices.
    pub(super) fn total(&self, category: Category) -> Bytes {
        let gpus = (0..self.gpus.len()).map(Some).chain([None]);
        gpus.map(|home| self.of(category, home)).sum()
    }

    /// There is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.host.is_empty() && self.gpus.iter().all(Vec::is_empty)
    }

    /// Adds terms of a GPU, or of main memory.
    pub(super) fn add(&mut self, home: Option<usize>, terms: impl IntoIterator<Item = Term>) {
        match home {
            Some(gpu) => {
                if self.gpus.len() <= gpu {
                    self.gpus.resize(gpu + 1, Vec::new());
                }
                if let Some(own) = self.gpus.get_mut(gpu) {
                    own.extend(terms);
                }
            }
            None => self.host.extend(terms),
        }
    }
}

/// Everything that a configuration loads beside its model.
pub(super) fn parts(
    subject: &Subject<'_>,
    config: &Config,
    shape: Shape,
    placed: &Placed,
    purpose: Purpose,
) -> Parts {
    let mut parts = Parts::default();
    draft::add(subject, config, shape, placed, purpose, &mut parts);
    projector::add(subject, &mut parts);
    adapter::add(subject, shape, placed, &mut parts);
    parts
}

/// What a person should know about them.
pub(super) fn notes(subject: &Subject<'_>, config: &Config, notes: &mut Vec<Note>) {
    draft::notes(subject, config, notes);
    projector::notes(subject, notes);
    adapter::notes(subject, notes);
}

/// What is said of a file that could not be read.
pub(super) fn unread_note(unread: &Unread, setting: &'static str) -> Note {
    let reason = unread.reason.as_str();
    let note = if unread.wrong {
        Note::error("attached-file-refused", reason)
    } else {
        Note::hint("attached-file-absent", reason)
    };
    note.on(setting)
}

/// Settings that nothing but these parts depends on.
const SETTINGS: &[&str] = &[
    "draft_weights",
    "n_gpu_layers_draft",
    "cpu_moe_draft",
    "n_cpu_moe_draft",
    "override_tensor_draft",
    "device_draft",
    "cache_type_k_draft",
    "cache_type_v_draft",
    "mmproj",
    "mmproj_type",
    "mmproj_offload",
    "image_min_tokens",
    "image_max_tokens",
    "lora",
    "control_vector",
];

/// Equal where the same is loaded beside the model; keys of caches are made of it.
pub(super) fn key(inputs: Inputs<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    inputs
        .draft
        .map(|draft| draft.fingerprint)
        .hash(&mut hasher);
    for name in SETTINGS {
        if let Some(value) = inputs.settings.get(*name) {
            // Floating-point numbers have no hash of their own.
            (name, format!("{value:?}")).hash(&mut hasher);
        }
    }
    hasher.finish()
}

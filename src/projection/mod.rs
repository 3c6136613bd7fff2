//! What an engine will allocate: moments, devices, terms, and why each term is what it is.

mod note;
mod why;

pub use note::{Fix, Gain, Note, Severity};
pub use why::{Input, Why, counted, grouped};

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Every allocation of an engine over its life, by moment and device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projection {
    /// In order of time; an engine has at least one.
    pub moments: Vec<Moment>,
    /// Index into `moments` of the one that decides whether the plan fits.
    pub peak: usize,
}

impl Projection {
    /// The moment that decides.
    pub fn peak_moment(&self) -> Option<&Moment> {
        self.moments.get(self.peak)
    }
}

/// What is allocated at one point of the engine's life.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// "load", "run", or an event of a training step.
    pub name: &'static str,
    /// Terms per device, in the order of [`Place`]: GPUs in plan order, the host last.
    pub devices: Vec<DeviceTerms>,
}

/// The terms of one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceTerms {
    /// In the order of [`Category`]; several of one category where parts or rules differ.
    pub terms: Vec<Term>,
}

impl DeviceTerms {
    /// The sum of the terms.
    pub fn total(&self) -> Bytes {
        self.terms.iter().map(|term| term.bytes).sum()
    }
}

/// One allocation, or several of one kind and reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// What it is for.
    pub category: Category,
    /// Of which part of the plan.
    pub part: Part,
    /// The best estimate; verdicts use it.
    pub bytes: Bytes,
    /// Least and most, where the engine does not determine it. Equal to `bytes` where it does.
    pub range: (Bytes, Bytes),
    /// Rule, inputs and source.
    pub why: Why,
}

impl Term {
    /// A term that the engine determines exactly.
    pub fn exact(category: Category, bytes: Bytes, why: Why) -> Self {
        Self {
            category,
            part: Part::Model,
            bytes,
            range: (bytes, bytes),
            why,
        }
    }
}

/// What memory is used for. The order is that of tables and bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Model weights, rotary tables included.
    Weights,
    /// Keys and values of attention, indexer caches included.
    KvCache,
    /// State of recurrent layers, compressor states included.
    RecurrentState,
    /// Graph and scratch of inference, weights copied for it included.
    Compute,
    /// Logits and embeddings handed to the caller.
    Output,
    /// Prompt cache and checkpoints in main memory.
    HostCache,
    /// Training: tensors saved for the backward pass.
    Activations,
    /// Training: gradients.
    Gradients,
    /// Training: optimizer states.
    Optimizer,
    /// Training: logits, loss, recomputation, cast copies, optimizer scratch.
    Temporary,
    /// Buffers of collective operations.
    Communication,
    /// Captured CUDA graphs.
    CudaGraphs,
    /// Context, libraries, allocator.
    Overhead,
}

impl Category {
    /// Every category, in order.
    pub const ALL: [Self; 13] = [
        Self::Weights,
        Self::KvCache,
        Self::RecurrentState,
        Self::Compute,
        Self::Output,
        Self::HostCache,
        Self::Activations,
        Self::Gradients,
        Self::Optimizer,
        Self::Temporary,
        Self::Communication,
        Self::CudaGraphs,
        Self::Overhead,
    ];
}

impl Category {
    /// In English, as tables name it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Weights => "Weights",
            Self::KvCache => "KV cache",
            Self::RecurrentState => "Recurrent state",
            Self::Compute => "Compute",
            Self::Output => "Output",
            Self::HostCache => "Host cache",
            Self::Activations => "Activations",
            Self::Gradients => "Gradients",
            Self::Optimizer => "Optimizer",
            Self::Temporary => "Temporary",
            Self::Communication => "Communication",
            Self::CudaGraphs => "CUDA graphs",
            Self::Overhead => "Overhead",
        }
    }
}

/// Which part of a plan a term belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The model itself.
    #[default]
    Model,
    /// The draft model of speculative decoding.
    Draft,
    /// The vision or audio projector.
    Projector,
    /// An adapter.
    Adapter,
}

impl Part {
    /// Every part, in order.
    pub const ALL: [Self; 4] = [Self::Model, Self::Draft, Self::Projector, Self::Adapter];

    /// In English, as tables name it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Draft => "draft",
            Self::Projector => "projector",
            Self::Adapter => "adapter",
        }
    }
}

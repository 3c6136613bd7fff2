//! What a model is, in words and figures for people and programs: made from its configuration and, where it was opened
//! from files, from their tensors. Nothing is read here.

mod cache;
mod figures;
mod kind;
mod layers;
mod part;
mod tensors;
mod words;

pub use cache::CacheGrowth;
pub use figures::{Figure, HyperParameters};
pub use kind::TensorKind;
pub use layers::LayerKind;
pub use part::adapter_line;
pub use tensors::Share;

use serde::Serialize;

use crate::model::{Container, Model};
use crate::source::access::Entry;
use crate::units::Bytes;

/// Everything that is known of a model before it is planned with (`plimsoll inspect --json`,
/// `assets/inspection.schema.json`). Fields are only ever added.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// Version of this form.
    pub schema: u32,
    /// What it is: "model", or "projector", "adapter", "importance matrix", "vocabulary" of a GGUF file that is none.
    pub what: &'static str,
    /// What to call it.
    pub name: String,
    /// The language model's `model_type`, or the architecture of a GGUF file.
    pub model_type: String,
    /// The configuration's first `architectures` entry; empty where it has none.
    pub architecture: String,
    /// The outer `model_type` where the language model is nested in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrapper_type: Option<String>,
    /// The kind of its files; absent where it was described by a configuration alone.
    pub container: Option<&'static str>,
    /// What the files call the form of their weights.
    pub label: Option<String>,
    /// How sure the figures are.
    pub certainty: Certainty,
    /// Hyper-parameters under the names of configurations; of a file that is no model, what it says of itself.
    pub hyper_parameters: HyperParameters,
    /// Layers that are alike, with how many of them there are.
    pub layers: Vec<LayerKind>,
    /// Parameters of the model: of its tensors where there are files, else of its configuration.
    pub params_total: u64,
    /// Parameters that one token of text passes through.
    pub params_active: u64,
    /// Bytes of all tensors; absent without files.
    pub tensor_bytes: Option<Bytes>,
    /// 8 × `tensor_bytes` / the parameters of the tensors; absent without files.
    pub bits_per_weight: Option<f64>,
    /// What the tensors are for, each kind once.
    pub by_kind: Vec<Share>,
    /// How the tensors are stored, each type once; empty without files.
    pub by_type: Vec<Share>,
    /// The files it was read from.
    pub files: Vec<Entry>,
    /// What a token of context takes; absent where no engine can say.
    pub cache: Option<CacheGrowth>,
    /// Why it is not known what a token of context takes, where it is a model and that is so.
    pub cache_unknown: Option<String>,
    /// What had to be assumed because the files do not say it.
    pub assumptions: Vec<String>,
}

/// How sure figures of a model are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Weights are counted from the tensors of the files; everything else is as they say.
    Exact,
    /// Weights are counted from the configuration, which does not say how they are stored; or only the sizes of archives
    /// are known.
    Configuration,
    /// Something that matters is not said anywhere and was assumed.
    Assumed,
    /// Nothing is known but the weights, which are counted from the files.
    Weights,
}

impl Certainty {
    /// What that means, for the reader.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Exact => "Weights are exact: counted tensor by tensor from the files.",
            Self::Configuration => {
                "Counted from the configuration: exact where the weights are stored as it says."
            }
            Self::Assumed => "Some figures rest on assumptions, listed below.",
            Self::Weights => "Only the weights are known, counted from the files.",
        }
    }

    fn of(model: &Model) -> Self {
        if model.only_weights().is_some() {
            return Self::Weights;
        }
        let tensors = model.checkpoint.as_ref();
        let counted = tensors.is_some_and(|checkpoint| checkpoint.elements() > 0);
        match (counted, model.assumptions.is_empty()) {
            (_, false) => Self::Assumed,
            (true, true) => Self::Exact,
            (false, true) => Self::Configuration,
        }
    }
}

impl Inspection {
    /// What there is to say of a model that was read from these files.
    pub fn new(model: &Model, files: Vec<Entry>) -> Self {
        let checkpoint = model.checkpoint.as_deref();
        let counted = tensors::counted(model);
        let (by_kind, by_type) = match checkpoint {
            Some(checkpoint) => tensors::of_files(model.layers.len(), checkpoint),
            None => (tensors::of_configuration(&model.parameters()), Vec::new()),
        };
        let (cache, cache_unknown) = match cache::of(model) {
            Ok(cache) => (Some(cache), None),
            Err(reason) => (None, Some(reason)),
        };
        let tensor_bytes = checkpoint.map(|checkpoint| checkpoint.bytes);
        Self {
            schema: 1,
            what: "model",
            name: model.name.clone(),
            model_type: model.model_type.clone(),
            architecture: model.architecture.clone(),
            wrapper_type: model.wrapper_type.clone(),
            container: checkpoint.map(|checkpoint| Container::name(checkpoint.container)),
            label: checkpoint.and_then(|checkpoint| checkpoint.label.clone()),
            certainty: Certainty::of(model),
            hyper_parameters: figures::of(model),
            layers: layers::of(model),
            params_total: counted.total,
            params_active: counted.active,
            tensor_bytes,
            bits_per_weight: tensor_bytes
                .filter(|_| counted.stored > 0)
                .map(|bytes| 8.0 * bytes.get() as f64 / counted.stored as f64),
            by_kind,
            by_type,
            files,
            cache,
            cache_unknown,
            assumptions: model.assumptions.clone(),
        }
    }
}

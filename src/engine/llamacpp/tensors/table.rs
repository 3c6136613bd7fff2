//! The tensors of one file with their types and sizes: what placement and graphs work on, made once per model and
//! file type.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::architecture::queries_per_key;
use super::native::{self, Findings};
use super::row::{Row, StateShape};
use super::{Architecture, Layer, Tensor, Unsupported, tensors};
use crate::engine::llamacpp::file_type::{self, FileType, Weights};
use crate::engine::llamacpp::mixture::{Mixture, NoFallback, Traits, mixture};
use crate::model::{Checkpoint, FeedForward, Model};
use crate::units::Bytes;

/// A model file, tensor by tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorTable {
    /// The architecture.
    pub architecture: Architecture,
    /// What it is quantized to.
    pub weights: Weights,
    /// What that is called where it is read.
    pub title: String,
    /// Every tensor of the file, by block and name.
    pub rows: Vec<Row>,
    /// Blocks of the main model.
    pub blocks: u32,
    /// Blocks in the file, prediction blocks included (`n_layer_all`): what `n_gpu_layers` counts.
    pub all_blocks: u32,
    /// Output head and embedding are one tensor.
    pub tied: bool,
    /// Tensors that got another type because of the length of their rows.
    pub fallbacks: usize,
    /// The quantizer writes such a file only with an importance matrix.
    pub requires_imatrix: bool,
    /// What the loader would say of the model's own file.
    pub findings: Findings,
    /// Bytes and elements of all tensors.
    totals: (Bytes, u64),
    /// Equal for equal tables; keys of caches are made of it.
    pub fingerprint: u64,
}

/// Why there is no such file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The engine has no architecture for the model.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The quantizer stops.
    #[error(transparent)]
    NoFallback(#[from] NoFallback),
}

impl TensorTable {
    /// The file that converter and quantizer write. Costs about a millisecond for the largest models: keep it.
    ///
    /// # Errors
    /// Converter or quantizer would not write it.
    pub fn new(model: &Model, file_type: FileType, imatrix: bool) -> Result<Self, Error> {
        Self::loading(model, Weights::Quantized(file_type), imatrix, false)
    }

    /// The file in any form; where the prediction blocks are loaded too, and the file holds them. A model without a file
    /// of its own has none of its own form.
    ///
    /// # Errors
    /// Converter or quantizer would not write it.
    pub fn loading(
        model: &Model,
        weights: Weights,
        imatrix: bool,
        prediction: bool,
    ) -> Result<Self, Error> {
        let mut hasher = DefaultHasher::new();
        (model.fingerprint, weights, imatrix, prediction).hash(&mut hasher);
        let fingerprint = hasher.finish();
        let parts = match (weights, file_type::native(model)) {
            (Weights::Native, Some(file)) => Parts::native(model, file, prediction)?,
            (Weights::Native, None) => {
                Parts::quantized(model, FileType::usual(model), imatrix, prediction)?
            }
            (Weights::Quantized(file_type), _) => {
                Parts::quantized(model, file_type, imatrix, prediction)?
            }
        };
        Ok(Self {
            weights,
            title: weights.title(model),
            fingerprint,
            ..parts.finish(model)
        })
    }

    /// Bytes of all tensors in the file.
    pub fn file_bytes(&self) -> Bytes {
        self.totals.0
    }

    /// Elements of all tensors in the file: what the engine prints as its parameters.
    pub fn elements(&self) -> u64 {
        self.totals.1
    }

    /// Parameters of the model without prediction blocks, and those of them that take part in one token: as its
    /// configuration has them, or as its own file holds them.
    pub fn parameters(&self, model: &Model) -> (u64, u64) {
        if self.weights != Weights::Native || model.only_weights().is_some() {
            let parameters = model.parameters();
            return (parameters.text(), parameters.active());
        }
        let predicts = |row: &&Row| match row.tensor.layer {
            Layer::Block(block) => block >= self.blocks.max(1),
            _ => false,
        };
        let rows = self.rows.iter().filter(|row| !predicts(row));
        rows.map(|row| row.parameters(model)).fold(
            (0, 0),
            |(total, active): (u64, u64), (all, used)| {
                (total.saturating_add(all), active.saturating_add(used))
            },
        )
    }

    /// Bits per element over the whole file.
    pub fn bits_per_weight(&self) -> f64 {
        let elements = self.elements();
        if elements == 0 {
            return 0.0;
        }
        8.0 * self.file_bytes().get() as f64 / elements as f64
    }
}

/// What differs between a file that there is and one that would be written.
struct Parts {
    architecture: Architecture,
    rows: Vec<Row>,
    fallbacks: usize,
    requires_imatrix: bool,
    findings: Findings,
}

impl Parts {
    fn native(model: &Model, file: &Checkpoint, prediction: bool) -> Result<Self, Error> {
        let native::Loaded {
            architecture,
            tensors,
            findings,
        } = native::loaded(model, file, prediction)?;
        let states = StateShape::of(model);
        let rows = tensors
            .into_iter()
            .map(|(tensor, stored)| Row::stored(tensor, stored, states))
            .collect();
        Ok(Self {
            architecture,
            rows,
            fallbacks: 0,
            requires_imatrix: false,
            findings,
        })
    }

    fn quantized(
        model: &Model,
        file_type: FileType,
        imatrix: bool,
        prediction: bool,
    ) -> Result<Self, Error> {
        let (architecture, tensors) = tensors(model, prediction)?;
        let traits = Traits {
            architecture,
            blocks: u64::from(all_blocks(model, tensors.iter())),
            experts: experts(model),
            queries_per_key: queries_per_key(architecture, model),
            is_70b: architecture.is_70b(model),
        };
        let Mixture {
            types,
            fallbacks,
            requires_imatrix,
        } = mixture(&tensors, traits, file_type, imatrix)?;
        let states = StateShape::of(model);
        let rows = tensors
            .into_iter()
            .zip(types)
            .map(|(tensor, kind)| Row::new(tensor, kind, states))
            .collect();
        Ok(Self {
            architecture,
            rows,
            fallbacks,
            requires_imatrix,
            findings: Findings::default(),
        })
    }

    /// The table but for what it is called.
    fn finish(self, model: &Model) -> TensorTable {
        let Self {
            architecture,
            rows,
            fallbacks,
            requires_imatrix,
            findings,
        } = self;
        let elements = rows.iter().map(|row| row.tensor.elements());
        TensorTable {
            architecture,
            weights: Weights::Native,
            title: String::new(),
            totals: (
                rows.iter().map(|row| row.bytes).sum(),
                elements.fold(0, u64::saturating_add),
            ),
            blocks: model.blocks(),
            all_blocks: all_blocks(model, rows.iter().map(|row| &row.tensor)),
            // Of a model that is not known nobody can tell whether it has a head at all.
            tied: model.only_weights().is_none()
                && !rows.iter().any(|row| row.tensor.name == "output.weight"),
            rows,
            fallbacks,
            requires_imatrix,
            findings,
            fingerprint: 0,
        }
    }
}

/// Blocks of a file, prediction blocks included.
fn all_blocks<'a>(model: &Model, tensors: impl Iterator<Item = &'a Tensor>) -> u32 {
    let blocks = tensors.filter_map(|tensor| match tensor.layer {
        Layer::Block(block) => Some(block.saturating_add(1)),
        _ => None,
    });
    blocks.fold(model.blocks(), u32::max)
}

/// `n_expert`: the most routed experts of any layer.
fn experts(model: &Model) -> u64 {
    model
        .layers
        .iter()
        .map(|layer| match &layer.feed_forward {
            FeedForward::Experts(experts) => experts.num_experts,
            _ => 0,
        })
        .max()
        .unwrap_or(0)
}

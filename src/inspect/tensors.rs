//! Tensors by kind and by type, and how many parameters they are.

use std::collections::BTreeMap;

use serde::Serialize;

use super::kind::TensorKind;
use crate::model::{Checkpoint, FileTensor, Model, Parameters, TensorRole};
use crate::units::Bytes;

/// A part of all tensors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The kind, or the type as the files name it.
    pub name: String,
    /// What the tensors are for, where the part is one of a kind.
    #[serde(skip)]
    pub kind: Option<TensorKind>,
    /// How many tensors there are; absent without files.
    pub tensors: Option<u64>,
    /// Their elements: parameters, where they are not packed.
    pub elements: u64,
    /// Their bytes; absent without files.
    pub bytes: Option<Bytes>,
    /// Part of all bytes, or of all parameters without files; 0 to 1.
    pub share: f64,
}

/// Parameters of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// All of them.
    pub(super) total: u64,
    /// What one token passes through.
    pub(super) active: u64,
    /// Those of the files, for which the bytes stand.
    pub(super) stored: u64,
}

/// Counts parameters: from tensors where each element of them is one, else from the configuration. Of PyTorch archives
/// no element is known.
pub(super) fn counted(model: &Model) -> Counted {
    let described = model.parameters();
    let (total, active) = (described.total(), described.active());
    let Some(checkpoint) = model.checkpoint.as_deref() else {
        return Counted {
            total,
            active,
            stored: model.stored_parameters(),
        };
    };
    let tensors = checkpoint.tensors.iter();
    let weights = tensors.filter(|tensor| tensor.role != TensorRole::Beside);
    let mut elements = 0_u64;
    let mut beside_text = 0_u64;
    let mut experts = 0_u64;
    for tensor in weights {
        let count = tensor.elements();
        elements = elements.saturating_add(count);
        match TensorKind::of(&tensor.name, model.layers.len()) {
            TensorKind::Experts => experts = experts.saturating_add(count),
            TensorKind::Prediction | TensorKind::Vision | TensorKind::Audio => {
                beside_text = beside_text.saturating_add(count);
            }
            _ => {}
        }
    }
    if (checkpoint.is_opaque() || elements == 0) && total > 0 {
        return Counted {
            total,
            active,
            stored: model.stored_parameters(),
        };
    }
    // Experts that a token leaves alone, by the part that the configuration says.
    let idle = match described.experts {
        0 => 0,
        all => (u128::from(experts) * u128::from(described.idle_experts) / u128::from(all)) as u64,
    };
    Counted {
        total: elements,
        active: elements.saturating_sub(beside_text).saturating_sub(idle),
        stored: elements,
    }
}

/// Tensors of files by kind and by type, the largest type first.
pub(super) fn of_files(layers: usize, checkpoint: &Checkpoint) -> (Vec<Share>, Vec<Share>) {
    let mut kinds: BTreeMap<TensorKind, Sum> = BTreeMap::new();
    let mut types: BTreeMap<&str, Sum> = BTreeMap::new();
    for tensor in &checkpoint.tensors {
        let kind = TensorKind::of(&tensor.name, layers);
        kinds.entry(kind).or_default().add(tensor);
        types.entry(&tensor.type_name).or_default().add(tensor);
    }
    let all = checkpoint.bytes.get();
    let kinds = kinds
        .into_iter()
        .map(|(kind, sum)| sum.share(kind.name(), Some(kind), all))
        .collect();
    let mut types: Vec<Share> = types
        .into_iter()
        .map(|(name, sum)| sum.share(name, None, all))
        .collect();
    types.sort_by_key(|share| std::cmp::Reverse(share.bytes));
    (kinds, types)
}

#[derive(Default)]
struct Sum {
    tensors: u64,
    elements: u64,
    bytes: Bytes,
}

impl Sum {
    fn add(&mut self, tensor: &FileTensor) {
        self.tensors += 1;
        self.elements = self.elements.saturating_add(tensor.elements());
        self.bytes += tensor.bytes;
    }

    fn share(self, name: &str, kind: Option<TensorKind>, all: u64) -> Share {
        Share {
            name: name.to_owned(),
            kind,
            tensors: Some(self.tensors),
            elements: self.elements,
            bytes: Some(self.bytes),
            share: part(self.bytes.get(), all),
        }
    }
}

/// Parameters by kind where there are no files.
pub(super) fn of_configuration(parameters: &Parameters) -> Vec<Share> {
    let counts = [
        (TensorKind::Embedding, parameters.embedding),
        (TensorKind::Attention, parameters.attention),
        (TensorKind::Recurrent, parameters.recurrent),
        (TensorKind::FeedForward, parameters.dense),
        (TensorKind::Experts, parameters.experts),
        (TensorKind::SharedExperts, parameters.shared),
        (TensorKind::Router, parameters.router),
        (TensorKind::Norms, parameters.norms),
        (TensorKind::Output, parameters.head),
        (TensorKind::Vision, parameters.vision),
        (TensorKind::Audio, parameters.audio),
        (TensorKind::Other, parameters.other),
    ];
    let all = parameters.total();
    counts
        .into_iter()
        .filter(|(_, elements)| *elements > 0)
        .map(|(kind, elements)| Share {
            name: kind.name().to_owned(),
            kind: Some(kind),
            tensors: None,
            elements,
            bytes: None,
            share: part(elements, all),
        })
        .collect()
}

fn part(some: u64, all: u64) -> f64 {
    if all == 0 {
        0.0
    } else {
        some as f64 / all as f64
    }
}

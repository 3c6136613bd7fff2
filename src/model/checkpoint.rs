//! The files that a model was opened from, tensor by tensor, as their headers describe them.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::quant::Type;
use crate::units::Bytes;

/// What the files of a model hold. A model of a preset or of a configuration alone has none.
///
/// Equal where its fingerprint is: comparing and hashing a model does not walk its tensors.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Kind of the files.
    pub container: Container,
    /// What the files call the form of their weights ("Q4_K_M", "fp8", "BF16"), where they say.
    pub label: Option<String>,
    /// Every tensor, in the files' order.
    pub tensors: Vec<FileTensor>,
    /// Bytes of all tensors.
    pub bytes: Bytes,
    /// Blocks that their names count ("blk.31.attn_q.weight": 32, the first being 0).
    pub blocks: u32,
    /// Path of the GGUF file on this computer that it was read from. The same tensors are the same wherever they lie.
    pub file: Option<String>,
    fingerprint: u64,
}

/// Words before the number of a block in the names of tensors: of GGUF, and of checkpoints.
const BLOCKS: [&str; 6] = ["blk", "layers", "layer", "blocks", "block", "h"];

/// Most blocks that names are believed to count, as many as configurations may have: an absurd number is part of a name.
const MOST_BLOCKS: u32 = 10_000;

/// A kind of model files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Container {
    /// GGUF, in one file or split.
    Gguf,
    /// safetensors, in one file or by an index.
    Safetensors,
    /// PyTorch archives: sizes only, they are never unpickled.
    PyTorch,
}

impl Container {
    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gguf => "GGUF",
            Self::Safetensors => "safetensors",
            Self::PyTorch => "PyTorch",
        }
    }
}

/// Files that are loaded beside a model, where they could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attached {
    /// Its projector.
    pub projector: Option<Arc<Checkpoint>>,
    /// Width of the tokens that the projector makes, where its file says so.
    pub projector_width: Option<u64>,
    /// Its adapters, in the order in which they are named; `None`: that one could not be read.
    pub adapters: Vec<Option<Arc<Checkpoint>>>,
    /// Files that are named and could not be read.
    pub unread: Vec<Unread>,
}

/// A file to be loaded beside a model, of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unread {
    /// What for.
    pub place: AttachedAs,
    /// It is here and is something else, so that no engine loads it; otherwise it may be where the launch will run.
    pub wrong: bool,
    /// What happened, what it means and what to do: whole sentences.
    pub reason: String,
}

/// As what a file is loaded beside a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttachedAs {
    /// Its eyes or ears.
    Projector,
    /// Low-rank changes.
    Adapter,
}

impl Attached {
    /// Nothing is named.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Files of a kind that could not be read.
    pub fn unread(&self, place: AttachedAs) -> impl Iterator<Item = &Unread> {
        self.unread.iter().filter(move |own| own.place == place)
    }
}

/// One tensor as a header describes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileTensor {
    /// Its name in the file.
    pub name: String,
    /// Its dimensions, fastest first; unused ones are 1 (ggml's `ne`). Those beyond the fourth are multiplied into it.
    /// Of packed numbers in safetensors (eight of four bits in one of 32), the dimensions of what is packed.
    pub shape: [u64; 4],
    /// How its elements are stored, where that is one of ggml's types.
    pub kind: Option<Type>,
    /// The type's name as the file has it ("q4_K", "F8_E4M3"); of unknown ones its number.
    pub type_name: Cow<'static, str>,
    /// Its bytes in the file.
    pub bytes: Bytes,
    /// What its elements are.
    pub role: TensorRole,
}

/// What the elements of a stored tensor are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TensorRole {
    /// Parameters of the model, as many as the shape says.
    #[default]
    Parameters,
    /// Scales, zero points, orders, codebooks: what packed parameters need to be read, and none themselves.
    Beside,
    /// Parameters in a form that nothing describes: how many is not known.
    Opaque,
}

impl FileTensor {
    /// Its number of elements.
    pub fn elements(&self) -> u64 {
        super::product(&self.shape)
    }

    /// The block that it belongs to, where its name says so ("blk.3.attn_q.weight", "model.layers.3.mlp.up_proj.weight").
    pub fn block(&self) -> Option<u32> {
        let mut words = self.name.split('.').peekable();
        while let Some(word) = words.next() {
            if BLOCKS.contains(&word)
                && let Some(number) = words.peek().and_then(|next| next.parse().ok())
                && number < MOST_BLOCKS
            {
                return Some(number);
            }
        }
        None
    }
}

impl Checkpoint {
    /// The tensors of the files of one model.
    pub fn new(container: Container, label: Option<String>, tensors: Vec<FileTensor>) -> Self {
        let mut hasher = DefaultHasher::new();
        (container, &label, &tensors).hash(&mut hasher);
        Self {
            container,
            label,
            bytes: tensors.iter().map(|tensor| tensor.bytes).sum(),
            blocks: tensors
                .iter()
                .filter_map(FileTensor::block)
                .map(|block| block + 1)
                .max()
                .unwrap_or(0),
            file: None,
            fingerprint: hasher.finish(),
            tensors,
        }
    }

    /// Equal for equal checkpoints.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The number of parameters: of all elements, without scales and the like of quantized safetensors. 0 where the
    /// files do not say (PyTorch).
    pub fn parameters(&self) -> u64 {
        let tensors = self.tensors.iter();
        let counted = tensors.filter(|tensor| tensor.role != TensorRole::Beside);
        counted
            .map(FileTensor::elements)
            .fold(0, u64::saturating_add)
    }

    /// Are there parameters of which nobody can say how many they are?
    pub fn is_opaque(&self) -> bool {
        let mut tensors = self.tensors.iter();
        tensors.any(|tensor| tensor.role == TensorRole::Opaque)
    }

    /// The number of all elements, scales of quantized safetensors included.
    pub fn elements(&self) -> u64 {
        let elements = self.tensors.iter().map(FileTensor::elements);
        elements.fold(0, u64::saturating_add)
    }
}

impl PartialEq for Checkpoint {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for Checkpoint {}

impl Hash for Checkpoint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_blocks() {
        for (name, expected) in [
            ("blk.12.attn_q.weight", Some(12)),
            ("model.layers.3.self_attn.q_proj.weight", Some(3)),
            ("transformer.h.0.mlp.c_fc.weight", Some(0)),
            ("model.layers.norm.weight", None),
            ("blk.4294967295.attn_q.weight", None),
            ("lm_head.weight", None),
        ] {
            let tensor = FileTensor {
                name: name.to_owned(),
                shape: [1; 4],
                kind: None,
                type_name: Cow::Borrowed(""),
                bytes: Bytes::ZERO,
                role: TensorRole::Parameters,
            };
            assert_eq!(tensor.block(), expected, "{name}");
        }
    }
}

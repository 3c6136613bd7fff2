//! What a GGUF file is for.

use super::metadata::Metadata;

/// What a GGUF file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A language model.
    Model,
    /// A vision or audio tower with its projector, which goes beside a model (`--mmproj`).
    Projector,
    /// A LoRA adapter, which goes on a model (`--lora`).
    Adapter,
    /// Directions that steer a model (`--control-vector`).
    ControlVector,
    /// Statistics for quantizers (`--imatrix`).
    ImportanceMatrix,
    /// A vocabulary without a model.
    Vocabulary,
    /// A container with nothing known in it.
    Other,
}

impl Kind {
    /// By what the file says of itself: `general.type` (`GGUFType` in `gguf-py/gguf/constants.py`, gguf 0.19), and the
    /// architectures that are no models.
    pub(super) fn of(metadata: &Metadata, has_tensors: bool) -> Self {
        let architecture = metadata.text("general.architecture");
        match (metadata.text("general.type"), architecture) {
            (Some("adapter"), _) => Self::Adapter,
            (Some("imatrix"), _) => Self::ImportanceMatrix,
            (Some("mmproj"), _) | (_, Some("clip")) => Self::Projector,
            (_, Some("controlvector")) => Self::ControlVector,
            // Files from before the key have what only adapters have.
            _ if metadata.text("adapter.type").is_some() => Self::Adapter,
            (Some("vocab"), _) => Self::Vocabulary,
            _ if !has_tensors && metadata.elements("tokenizer.ggml.tokens").is_some() => {
                Self::Vocabulary
            }
            (_, Some(_)) if has_tensors => Self::Model,
            _ => Self::Other,
        }
    }

    /// In words, with an article.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Model => "a model",
            Self::Projector => {
                "the projector of a model that sees or hears (named by `mmproj_path` under [launch] beside the model)"
            }
            Self::Adapter => {
                "a LoRA adapter (named by `lora_paths` under [launch] beside its model)"
            }
            Self::ControlVector => "a control vector",
            Self::ImportanceMatrix => "an importance matrix for quantizing",
            Self::Vocabulary => "a vocabulary without weights",
            Self::Other => "a GGUF file that does not say what it is (`general.architecture`)",
        }
    }
}

//! The file types that llama.cpp's quantizer writes (`llama_ftype` in `include/llama.h`, 0.6.0-dev).

use std::fmt;
use std::str::FromStr;

use super::tensors::Architecture;
use crate::model::{Checkpoint, Container, Model};
use crate::quant::Type;

/// What a model file is quantized to: a name for a mixture of tensor types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    missing_docs,
    non_camel_case_types,
    reason = "the engine's own names say what they are"
)]
pub enum FileType {
    F32,
    F16,
    BF16,
    Q8_0,
    Q6_K,
    Q5_K_M,
    Q5_K_S,
    Q5_1,
    Q5_0,
    Q4_K_M,
    Q4_K_S,
    Q4_1,
    Q4_0,
    IQ4_NL,
    IQ4_XS,
    MXFP4_MOE,
    Q3_K_L,
    Q3_K_M,
    Q3_K_S,
    IQ3_M,
    IQ3_S,
    IQ3_XS,
    IQ3_XXS,
    Q2_K,
    Q2_K_S,
    IQ2_M,
    IQ2_S,
    IQ2_XS,
    IQ2_XXS,
    Q2_0,
    TQ2_0,
    TQ1_0,
    IQ1_M,
    IQ1_S,
    Q1_0,
}

impl FileType {
    /// Every one that the quantizer can write, largest first.
    pub const ALL: [Self; 35] = [
        Self::F32,
        Self::BF16,
        Self::F16,
        Self::Q8_0,
        Self::Q6_K,
        Self::Q5_K_M,
        Self::Q5_K_S,
        Self::Q5_1,
        Self::Q5_0,
        Self::Q4_K_M,
        Self::Q4_K_S,
        Self::Q4_1,
        Self::Q4_0,
        Self::IQ4_NL,
        Self::IQ4_XS,
        Self::MXFP4_MOE,
        Self::Q3_K_L,
        Self::Q3_K_M,
        Self::Q3_K_S,
        Self::IQ3_M,
        Self::IQ3_S,
        Self::IQ3_XS,
        Self::IQ3_XXS,
        Self::Q2_K,
        Self::Q2_K_S,
        Self::IQ2_M,
        Self::IQ2_S,
        Self::IQ2_XS,
        Self::IQ2_XXS,
        Self::Q2_0,
        Self::TQ2_0,
        Self::TQ1_0,
        Self::IQ1_M,
        Self::IQ1_S,
        Self::Q1_0,
    ];

    /// The one that a model is usually had in: experts in MXFP4 where it is published that way (gpt-oss), else a mixture
    /// made of 16 bits by others.
    pub fn usual(model: &Model) -> Self {
        match Architecture::of(model) {
            Ok(Architecture::GptOss) => Self::MXFP4_MOE,
            _ => Self::Q4_K_M,
        }
    }

    /// The engine's own spelling ("Q4_K_M").
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The type of tensors for which the mixture has no better one (`llama_ftype_get_default_type`).
    pub const fn default_type(self) -> Type {
        self.row().1
    }

    const fn row(self) -> (&'static str, Type) {
        match self {
            Self::F32 => ("F32", Type::F32),
            Self::F16 => ("F16", Type::F16),
            Self::BF16 => ("BF16", Type::BF16),
            Self::Q8_0 => ("Q8_0", Type::Q8_0),
            Self::Q6_K => ("Q6_K", Type::Q6_K),
            Self::Q5_K_M => ("Q5_K_M", Type::Q5_K),
            Self::Q5_K_S => ("Q5_K_S", Type::Q5_K),
            Self::Q5_1 => ("Q5_1", Type::Q5_1),
            Self::Q5_0 => ("Q5_0", Type::Q5_0),
            Self::Q4_K_M => ("Q4_K_M", Type::Q4_K),
            Self::Q4_K_S => ("Q4_K_S", Type::Q4_K),
            Self::Q4_1 => ("Q4_1", Type::Q4_1),
            Self::Q4_0 => ("Q4_0", Type::Q4_0),
            Self::IQ4_NL => ("IQ4_NL", Type::IQ4_NL),
            Self::IQ4_XS => ("IQ4_XS", Type::IQ4_XS),
            Self::MXFP4_MOE => ("MXFP4_MOE", Type::MXFP4),
            Self::Q3_K_L => ("Q3_K_L", Type::Q3_K),
            Self::Q3_K_M => ("Q3_K_M", Type::Q3_K),
            Self::Q3_K_S => ("Q3_K_S", Type::Q3_K),
            Self::IQ3_M => ("IQ3_M", Type::IQ3_S),
            Self::IQ3_S => ("IQ3_S", Type::IQ3_S),
            Self::IQ3_XS => ("IQ3_XS", Type::IQ3_S),
            Self::IQ3_XXS => ("IQ3_XXS", Type::IQ3_XXS),
            Self::Q2_K => ("Q2_K", Type::Q2_K),
            Self::Q2_K_S => ("Q2_K_S", Type::Q2_K),
            Self::IQ2_M => ("IQ2_M", Type::IQ2_S),
            Self::IQ2_S => ("IQ2_S", Type::IQ2_XS),
            Self::IQ2_XS => ("IQ2_XS", Type::IQ2_XS),
            Self::IQ2_XXS => ("IQ2_XXS", Type::IQ2_XXS),
            Self::Q2_0 => ("Q2_0", Type::Q2_0),
            Self::TQ2_0 => ("TQ2_0", Type::TQ2_0),
            Self::TQ1_0 => ("TQ1_0", Type::TQ1_0),
            Self::IQ1_M => ("IQ1_M", Type::IQ1_M),
            Self::IQ1_S => ("IQ1_S", Type::IQ1_S),
            Self::Q1_0 => ("Q1_0", Type::Q1_0),
        }
    }

    /// Spellings that `tools/quantize` and repositories use for the same thing.
    const ALIASES: [(&'static str, Self); 6] = [
        ("Q3_K", Self::Q3_K_M),
        ("Q4_K", Self::Q4_K_M),
        ("Q5_K", Self::Q5_K_M),
        ("FP16", Self::F16),
        ("FP32", Self::F32),
        ("MXFP4", Self::MXFP4_MOE),
    ];
}

/// In which form a plan has the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weights {
    /// As the model's own file holds them, tensor by tensor.
    Native,
    /// As the quantizer would write them.
    Quantized(FileType),
}

impl Weights {
    /// The word of a plan for [`Self::Native`].
    pub const NATIVE: &'static str = "native";

    /// What a plan has that says nothing: the file that there is, else the file type that the model is usually had in.
    pub fn usual(model: &Model) -> Self {
        match native(model) {
            Some(_) => Self::Native,
            None => Self::Quantized(FileType::usual(model)),
        }
    }

    /// What a word means for a model, in any case of letters; `None`: nothing.
    pub fn named(word: &str, model: &Model) -> Option<Self> {
        if word.eq_ignore_ascii_case(Self::NATIVE) {
            return native(model).map(|_| Self::Native);
        }
        word.parse().ok().map(Self::Quantized)
    }

    /// What a draft has that a plan says nothing of: its own file where there is one, else the form of the model that it
    /// drafts for.
    pub(super) fn of_draft(main: Option<&str>, draft: &Model) -> Self {
        match Self::usual(draft) {
            Self::Native => Self::Native,
            usual @ Self::Quantized(_) => main
                .and_then(|word| Self::named(word, draft))
                .unwrap_or(usual),
        }
    }

    /// As written in a plan.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Native => Self::NATIVE,
            Self::Quantized(file_type) => file_type.name(),
        }
    }

    /// As few letters as tell it: of the model's own file its label, where it has one.
    pub fn short(self, model: &Model) -> &str {
        match self {
            Self::Native => native(model)
                .and_then(|file| file.label.as_deref())
                .unwrap_or(Self::NATIVE),
            Self::Quantized(file_type) => file_type.name(),
        }
    }

    /// What it is called where it is read: of the model's own file with its label, where it has one.
    pub fn title(self, model: &Model) -> String {
        match self {
            Self::Native => match native(model).and_then(|file| file.label.as_deref()) {
                Some(label) => format!("{AS_IN_FILE} ({label})"),
                None => AS_IN_FILE.to_owned(),
            },
            Self::Quantized(file_type) => file_type.name().to_owned(),
        }
    }
}

/// What the weights of a file that is open are called.
const AS_IN_FILE: &str = "as in the file";

/// The model's own file, where it is one that the engine loads, or where nothing else is known of the model.
pub(super) fn native(model: &Model) -> Option<&Checkpoint> {
    let checkpoint = model.checkpoint.as_deref();
    checkpoint.filter(|file| file.container == Container::Gguf || model.layers.is_empty())
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No file type that the quantizer writes has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("llama.cpp's quantizer writes no file type `{0}`")]
pub struct UnknownFileType(pub String);

impl FromStr for FileType {
    type Err = UnknownFileType;

    /// By name or alias, in any case of letters.
    fn from_str(name: &str) -> Result<Self, UnknownFileType> {
        Self::ALL
            .into_iter()
            .map(|kind| (kind.name(), kind))
            .chain(Self::ALIASES)
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, kind)| kind)
            .ok_or_else(|| UnknownFileType(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window must not offer what no projection exists for.
    #[test]
    fn the_setting_offers_these_and_no_others() {
        let setting = crate::engine::setting::find(&crate::engine::llamacpp::LlamaCpp, "weights")
            .expect("a setting");
        let crate::engine::setting::Kind::Choice { options } = setting.kind else {
            panic!("weights is a choice");
        };
        let model = crate::model::Model::default();
        let machine = crate::hardware::Machine {
            name: String::new(),
            os: crate::hardware::Os::Linux,
            host: crate::hardware::Host::with_ram(crate::units::Bytes::ZERO),
            gpus: Vec::new(),
            nodes: 1,
        };
        let settings = crate::plan::Settings::new();
        let offered: Vec<&str> = options(&crate::engine::setting::Scope {
            model: &model,
            draft: None,
            machine: &machine,
            settings: &settings,
        })
        .iter()
        .map(|choice| choice.word)
        .collect();
        assert_eq!(offered, FileType::ALL.map(FileType::name));
    }

    #[test]
    fn names_lead_back() {
        for kind in FileType::ALL {
            assert_eq!(kind.name().to_lowercase().parse(), Ok(kind));
        }
        assert_eq!("q4_k".parse(), Ok(FileType::Q4_K_M));
        // The converter writes NVFP4 files from NVFP4 checkpoints; the quantizer makes none.
        assert!("NVFP4".parse::<FileType>().is_err());
    }
}

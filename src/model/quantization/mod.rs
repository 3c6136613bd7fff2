//! How a published checkpoint is quantized, as its `quantization_config` says.

mod label;
mod read;
mod scheme;

pub use scheme::{Format, Grouping, Scheme};

use serde_json::Value;

/// The form in which weights were published.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quantization {
    /// What quantized them (`quant_method`).
    pub method: Method,
    /// The method's own name for how weights are packed (compressed-tensors' `format`, GPTQ's `checkpoint_format`,
    /// ModelOpt's `quant_algo`).
    pub format: Option<String>,
    /// How weights are stored, by module where modules differ. Empty where the configuration does not say.
    pub schemes: Vec<Scheme>,
    /// Modules, or patterns of their names, that are left as they were.
    pub skipped: Vec<String>,
    /// The form in which the cache of keys and values is meant to be kept, where the checkpoint comes with scales for it.
    pub kv_cache: Option<Format>,
}

/// Who quantized a checkpoint (`quant_method`, transformers 5.24.0 `utils/quantization_config.py`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// FP8 with a scale per tensor or block (DeepSeek-V3, Qwen3 FP8).
    Fp8,
    /// FBGEMM's FP8 with a scale per row (Llama 3.1 405B FP8).
    FbgemmFp8,
    /// llm-compressor and its kin.
    CompressedTensors,
    /// AutoAWQ.
    Awq,
    /// AutoGPTQ, GPTQModel.
    Gptq,
    /// bitsandbytes, NF4, FP4 or LLM.int8().
    BitsAndBytes,
    /// OCP microscaling, blocks of 32 (gpt-oss).
    Mxfp4,
    /// NVIDIA's Model Optimizer.
    ModelOpt,
    /// EETQ, 8-bit.
    Eetq,
    /// Half-quadratic quantization.
    Hqq,
    /// Additive quantization, by codebooks.
    Aqlm,
    /// PyTorch's own.
    TorchAo,
    /// AMD Quark.
    Quark,
    /// ExLlamaV2, a mixture of widths.
    Exl2,
    /// ExLlamaV3.
    Exl3,
    /// 1.58-bit.
    BitNet,
    /// Any other, by its name.
    Other(String),
}

impl Method {
    /// As configurations spell it.
    pub fn name(&self) -> &str {
        match self {
            Self::Fp8 => "fp8",
            Self::FbgemmFp8 => "fbgemm_fp8",
            Self::CompressedTensors => "compressed-tensors",
            Self::Awq => "awq",
            Self::Gptq => "gptq",
            Self::BitsAndBytes => "bitsandbytes",
            Self::Mxfp4 => "mxfp4",
            Self::ModelOpt => "modelopt",
            Self::Eetq => "eetq",
            Self::Hqq => "hqq",
            Self::Aqlm => "aqlm",
            Self::TorchAo => "torchao",
            Self::Quark => "quark",
            Self::Exl2 => "exl2",
            Self::Exl3 => "exl3",
            Self::BitNet => "bitnet",
            Self::Other(name) => name,
        }
    }
}

impl Quantization {
    /// Reads a `quantization_config`, or the `quantization` object of ModelOpt's own file. What it does not say stays
    /// open: a checkpoint is never refused for it. `None` where it is no object or names no method.
    pub fn read(config: &Value) -> Option<Self> {
        read::read(config)
    }

    /// Bits of a quantized weight, where all have the same.
    pub fn weight_bits(&self) -> Option<u64> {
        let first = self.schemes.first()?.weights.bits;
        let same = |scheme: &Scheme| scheme.weights.bits == first;
        self.schemes.iter().all(same).then_some(first)
    }

    /// What to call the form ("FP8 (blocks of 128x128)", "AWQ 4-bit, groups of 128").
    pub fn label(&self) -> String {
        label::of(self)
    }
}

//! Which of llama.cpp's architectures a model is converted to (`general.architecture`).

use crate::model::mixer::QkNorm;
use crate::model::{FeedForward, Mixer, Model};

/// An architecture of llama.cpp (`llm_arch` in `src/llama-arch.h`, 0.6.0-dev).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    /// Llama, Mistral, Mixtral, Yi, InternLM3, SmolLM2.
    Llama,
    /// Llama 4.
    Llama4,
    /// Ministral 3.
    Mistral3,
    /// Llama-Nemotron.
    Deci,
    /// Qwen2, Qwen2.5.
    Qwen2,
    /// Qwen2-VL, Qwen2.5-VL.
    Qwen2Vl,
    /// Qwen3.
    Qwen3,
    /// Qwen3 with experts.
    Qwen3Moe,
    /// Qwen3-VL.
    Qwen3Vl,
    /// Qwen3-VL with experts.
    Qwen3VlMoe,
    /// Qwen3-Next.
    Qwen3Next,
    /// Qwen3.5 and later.
    Qwen35,
    /// The same with experts.
    Qwen35Moe,
    /// DeepSeek-V2 to V3.1, Kimi K2, GLM-4.7-Flash.
    DeepSeek2,
    /// The same in files of before their keys and values were kept apart.
    DeepSeek2Expanded,
    /// MiniCPM3.
    MiniCpm3,
    /// DeepSeek-V3.2.
    DeepSeek32,
    /// DeepSeek-V4.
    DeepSeek4,
    /// Kimi K3.
    KimiK3,
    /// GLM-4-9B-Chat and ChatGLM.
    ChatGlm,
    /// GLM-4-0414.
    Glm4,
    /// GLM-4.5 to 4.7.
    Glm4Moe,
    /// GLM-5.
    GlmDsa,
    /// gpt-oss.
    GptOss,
    /// Gemma 2.
    Gemma2,
    /// Gemma 3.
    Gemma3,
    /// Gemma 3n.
    Gemma3n,
    /// Gemma 4.
    Gemma4,
    /// Phi-3 and Phi-4.
    Phi3,
    /// Phi-3.5-MoE.
    PhiMoe,
    /// Granite 3 and dense Granite 4.
    Granite,
    /// Granite-4-H.
    GraniteHybrid,
    /// Nemotron-H.
    NemotronH,
    /// Nemotron 3.
    NemotronHMoe,
    /// Falcon-H1.
    FalconH1,
    /// Command R.
    CommandR,
    /// InternLM2.
    InternLm2,
    /// Baichuan.
    Baichuan,
    /// OLMo 2 and 3.
    Olmo2,
    /// SmolLM3.
    SmolLm3,
    /// StableLM.
    StableLm,
    /// MiniMax-Text-01 and M1.
    MiniMax01,
    /// MiniMax-M2.
    MiniMaxM2,
    /// MiniMax-M3.
    MiniMaxM3,
    /// Seed-OSS.
    SeedOss,
    /// ERNIE 4.5.
    Ernie45,
    /// The same with experts.
    Ernie45Moe,
    /// Hunyuan.
    HunyuanDense,
    /// Hunyuan A13B.
    HunyuanMoe,
    /// Command R7B and Command A.
    Cohere2,
    /// EXAONE 4.
    Exaone4,
    /// OLMoE.
    Olmoe,
    /// dots.llm1.
    Dots1,
    /// Qwen1.5-MoE and Qwen2 with experts.
    Qwen2Moe,
    /// Ling and Ring of the second generation.
    BailingMoe2,
    /// StarCoder2.
    StarCoder2,
    /// None of these: what the file or configuration calls it is the model's type.
    Unknown,
}

/// There is no model file for llama.cpp.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no llama.cpp model file of `{name}`: {reason}")]
pub struct Unsupported {
    /// The model.
    pub name: String,
    /// Why not.
    pub reason: String,
}

impl Architecture {
    /// The architecture that the converter chooses; [`Self::Unknown`] where this build does not know it.
    ///
    /// # Errors
    /// The engine cannot have a file of the model.
    pub fn of(model: &Model) -> Result<Self, Unsupported> {
        let refuse = |reason: String| Unsupported {
            name: model.name.clone(),
            reason,
        };
        if model.layers.is_empty() {
            return Err(refuse(
                "it is described by its size only, not layer by layer".to_owned(),
            ));
        }
        if model.wrapper_type.as_deref() == Some("deepseek_vl_v2") {
            return Err(refuse("DeepSeek-VL2 has no converter".to_owned()));
        }
        Ok(Self::by_type(model).unwrap_or(Self::Unknown))
    }

    /// By `model_type`, as the converters register them.
    fn by_type(model: &Model) -> Option<Self> {
        let experts = has_experts(model);
        Some(match model.model_type.as_str() {
            // Whatever is registered so is written as `mistral3`, older models too (`conversion/mistral3.py`, 2026-08).
            "mistral" if model.architecture == "Mistral3ForConditionalGeneration" => Self::Mistral3,
            "llama" | "mistral" | "mixtral" | "internlm3" => Self::Llama,
            "llama4" | "llama4_text" => Self::Llama4,
            "ministral3" => Self::Mistral3,
            "nemotron-nas" => Self::Deci,
            "qwen2" => Self::Qwen2,
            "qwen2_vl" | "qwen2_5_vl" | "qwen2_vl_text" | "qwen2_5_vl_text" => Self::Qwen2Vl,
            "qwen3" => Self::Qwen3,
            "qwen3_moe" => Self::Qwen3Moe,
            "qwen3_vl" | "qwen3_vl_text" => Self::Qwen3Vl,
            "qwen3_vl_moe" | "qwen3_vl_moe_text" => Self::Qwen3VlMoe,
            "qwen3_next" => Self::Qwen3Next,
            "qwen3_5" | "qwen3_5_text" => Self::Qwen35,
            "qwen3_5_moe" | "qwen3_5_moe_text" => Self::Qwen35Moe,
            "deepseek_v2" | "deepseek_v3" | "kimi_k2" | "glm4_moe_lite" => Self::DeepSeek2,
            "minicpm3" => Self::MiniCpm3,
            "deepseek_v32" => Self::DeepSeek32,
            "deepseek_v4" => Self::DeepSeek4,
            "kimi_linear" | "kimi_k3" if model.block_residuals.is_some() => Self::KimiK3,
            "glm" | "chatglm" => Self::ChatGlm,
            "glm4" => Self::Glm4,
            "glm4_moe" => Self::Glm4Moe,
            "glm_moe_dsa" => Self::GlmDsa,
            "gpt_oss" => Self::GptOss,
            "gemma2" => Self::Gemma2,
            "gemma3" | "gemma3_text" => Self::Gemma3,
            "gemma3n" | "gemma3n_text" => Self::Gemma3n,
            "gemma4" | "gemma4_text" => Self::Gemma4,
            "phi3" => Self::Phi3,
            "phimoe" => Self::PhiMoe,
            "granite" => Self::Granite,
            "granitemoehybrid" => Self::GraniteHybrid,
            "nemotron_h" if experts => Self::NemotronHMoe,
            "nemotron_h" => Self::NemotronH,
            "falcon_h1" => Self::FalconH1,
            "cohere" => Self::CommandR,
            "internlm2" => Self::InternLm2,
            "baichuan" => Self::Baichuan,
            "olmo2" | "olmo3" => Self::Olmo2,
            "smollm3" => Self::SmolLm3,
            "stablelm" => Self::StableLm,
            "minimax_m1" | "minimax_text_01" | "minimax" => Self::MiniMax01,
            "minimax_m2" => Self::MiniMaxM2,
            "minimax_m3" | "minimax_m3_vl" => Self::MiniMaxM3,
            "seed_oss" => Self::SeedOss,
            "ernie4_5" => Self::Ernie45,
            "ernie4_5_moe" => Self::Ernie45Moe,
            "hunyuan_v1_dense" => Self::HunyuanDense,
            "hunyuan_v1_moe" => Self::HunyuanMoe,
            "cohere2" => Self::Cohere2,
            "exaone4" => Self::Exaone4,
            "olmoe" => Self::Olmoe,
            "dots1" => Self::Dots1,
            "bailing_moe" | "bailing_moe_v2" if has_query_norms(model) => Self::BailingMoe2,
            "starcoder2" => Self::StarCoder2,
            "qwen2_moe" => Self::Qwen2Moe,
            _ => return None,
        })
    }

    /// `general.architecture` of the file (`LLM_ARCH_NAMES` in `src/llama-arch.cpp`, 0.6.0-dev).
    pub fn name(self, model: &Model) -> &str {
        match self {
            Self::Unknown => &model.model_type,
            Self::Llama => "llama",
            Self::Llama4 => "llama4",
            Self::Mistral3 => "mistral3",
            Self::Deci => "deci",
            Self::Qwen2 => "qwen2",
            Self::Qwen2Vl => "qwen2vl",
            Self::Qwen3 => "qwen3",
            Self::Qwen3Moe => "qwen3moe",
            Self::Qwen3Vl => "qwen3vl",
            Self::Qwen3VlMoe => "qwen3vlmoe",
            Self::Qwen3Next => "qwen3next",
            Self::Qwen35 => "qwen35",
            Self::Qwen35Moe => "qwen35moe",
            Self::DeepSeek2 | Self::DeepSeek2Expanded => "deepseek2",
            Self::MiniCpm3 => "minicpm3",
            Self::DeepSeek32 => "deepseek32",
            Self::DeepSeek4 => "deepseek4",
            Self::KimiK3 => "kimi-k3",
            Self::ChatGlm => "chatglm",
            Self::Glm4 => "glm4",
            Self::Glm4Moe => "glm4moe",
            Self::GlmDsa => "glm-dsa",
            Self::GptOss => "gpt-oss",
            Self::Gemma2 => "gemma2",
            Self::Gemma3 => "gemma3",
            Self::Gemma3n => "gemma3n",
            Self::Gemma4 => "gemma4",
            Self::Phi3 => "phi3",
            Self::PhiMoe => "phimoe",
            Self::Granite => "granite",
            Self::GraniteHybrid => "granitehybrid",
            Self::NemotronH => "nemotron_h",
            Self::NemotronHMoe => "nemotron_h_moe",
            Self::FalconH1 => "falcon-h1",
            Self::CommandR => "command-r",
            Self::InternLm2 => "internlm2",
            Self::Baichuan => "baichuan",
            Self::Olmo2 => "olmo2",
            Self::SmolLm3 => "smollm3",
            Self::StableLm => "stablelm",
            Self::MiniMax01 => "minimax-01",
            Self::MiniMaxM2 => "minimax-m2",
            Self::MiniMaxM3 => "minimax-m3",
            Self::SeedOss => "seed_oss",
            Self::Ernie45 => "ernie4_5",
            Self::Ernie45Moe => "ernie4_5-moe",
            Self::HunyuanDense => "hunyuan-dense",
            Self::HunyuanMoe => "hunyuan-moe",
            Self::Cohere2 => "cohere2",
            Self::Exaone4 => "exaone4",
            Self::Olmoe => "olmoe",
            Self::Dots1 => "dots1",
            Self::BailingMoe2 => "bailingmoe2",
            Self::StarCoder2 => "starcoder2",
            Self::Qwen2Moe => "qwen2moe",
        }
    }

    /// Published files of it hold the prediction blocks, which the loader counts as layers and skips (measured files
    /// of GLM-4.5, GLM-4.6 and GLM-5.2; those of DeepSeek, Qwen and Nemotron come without).
    pub fn keeps_prediction_blocks(self) -> bool {
        matches!(self, Self::Glm4Moe | Self::GlmDsa)
    }

    /// Latent attention is computed, and cached, with keys and values of every head (`src/models/minicpm3.cpp`).
    pub fn expands_latents(self) -> bool {
        matches!(self, Self::MiniCpm3 | Self::DeepSeek2Expanded)
    }

    /// The loader makes the tied head before the embedding and so does not notice, where both end in main memory, that
    /// it has it already (`src/models/gemma3n.cpp`, `gemma4.cpp`, 0.6.0-dev).
    pub fn makes_head_first(self) -> bool {
        matches!(self, Self::Gemma3n | Self::Gemma4)
    }

    /// What `LLM_TYPE_70B` stands for: 80 layers (`load_arch_hparams` of `src/models/{llama,qwen2,deci}.cpp`).
    pub fn is_70b(self, model: &Model) -> bool {
        let full_heads = model
            .layers
            .first()
            .and_then(|layer| layer.mixer.attention())
            .is_some_and(|heads| heads.num_attention_heads == heads.num_key_value_heads);
        model.layers.len() == 80
            && match self {
                Self::Llama => !full_heads,
                Self::Qwen2 | Self::Deci => true,
                _ => false,
            }
    }

    /// `head_count_kv` is written per layer, with 0 where a layer has no attention.
    pub fn counts_heads_per_layer(self) -> bool {
        matches!(
            self,
            Self::GraniteHybrid | Self::NemotronH | Self::NemotronHMoe | Self::KimiK3 | Self::Deci
        )
    }
}

/// Whether queries and keys are normalized, which the first generation of Ling does not do.
fn has_query_norms(model: &Model) -> bool {
    let mut mixers = model.layers.iter().map(|layer| &layer.mixer);
    mixers.any(|mixer| {
        let attention = mixer.attention();
        attention.is_some_and(|attention| attention.qk_norm != QkNorm::None)
    })
}

fn has_experts(model: &Model) -> bool {
    model
        .layers
        .iter()
        .any(|layer| matches!(layer.feed_forward, FeedForward::Experts(_)))
}

/// Query heads and key-value heads of the first layer, as `n_gqa()` divides them (`src/llama-hparams.cpp`, 0.6.0-dev).
pub(super) fn queries_per_key(architecture: Architecture, model: &Model) -> u64 {
    let first = model.layers.first().map(|layer| &layer.mixer);
    let heads = |mixer: &Mixer| match mixer {
        Mixer::Attention(attention) | Mixer::AttentionAndMamba2(attention, _) => {
            Some((attention.num_attention_heads, attention.num_key_value_heads))
        }
        Mixer::Latent(latent) if architecture.expands_latents() => {
            Some((latent.num_attention_heads, latent.num_attention_heads))
        }
        // One cached key per token serves all heads.
        Mixer::Latent(latent) => Some((latent.num_attention_heads, 1)),
        Mixer::Compressed(compressed) => Some((compressed.num_attention_heads, 1)),
        Mixer::None
        | Mixer::GatedDelta(_)
        | Mixer::KimiDelta(_)
        | Mixer::Mamba2(_)
        | Mixer::Lightning(_) => None,
    };
    let found = match first.and_then(heads) {
        Some(found) => Some(found),
        None if architecture.counts_heads_per_layer() => None,
        // A single number for all layers: that of any layer with attention.
        None => model.layers.iter().find_map(|layer| heads(&layer.mixer)),
    };
    found.map_or(0, |(queries, keys)| queries.checked_div(keys).unwrap_or(0))
}

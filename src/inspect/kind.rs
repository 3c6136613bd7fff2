//! What a tensor is for, by its name: GGUF's names (llama.cpp 0.6.0-dev `src/llama-arch.cpp`, `tools/mtmd/clip-impl.h`)
//! and those of Hugging Face checkpoints. A name that says nothing makes a tensor `Other`; no figure depends on it but
//! those by kind.

use serde::Serialize;

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TensorKind {
    /// Rows of the vocabulary on the way in, those per layer included.
    Embedding,
    /// Softmax attention of every kind.
    Attention,
    /// Mixers with a state instead of a cache.
    Recurrent,
    /// Feed-forward networks that every token passes through.
    FeedForward,
    /// Routed experts.
    Experts,
    /// Experts that every token uses.
    SharedExperts,
    /// What chooses experts.
    Router,
    /// Norms.
    Norms,
    /// The output head.
    Output,
    /// Blocks that predict further tokens.
    Prediction,
    /// Vision tower and projector.
    Vision,
    /// Audio tower and projector.
    Audio,
    /// Low-rank changes to other tensors.
    Adapter,
    /// Everything else.
    Other,
}

impl TensorKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 14] = [
        Self::Embedding,
        Self::Attention,
        Self::Recurrent,
        Self::FeedForward,
        Self::Experts,
        Self::SharedExperts,
        Self::Router,
        Self::Norms,
        Self::Output,
        Self::Prediction,
        Self::Vision,
        Self::Audio,
        Self::Adapter,
        Self::Other,
    ];

    /// In English.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Attention => "attention",
            Self::Recurrent => "recurrent",
            Self::FeedForward => "feed-forward",
            Self::Experts => "experts",
            Self::SharedExperts => "shared experts",
            Self::Router => "router",
            Self::Norms => "norms",
            Self::Output => "output",
            Self::Prediction => "prediction",
            Self::Vision => "vision",
            Self::Audio => "audio",
            Self::Adapter => "adapter",
            Self::Other => "other",
        }
    }

    /// What a tensor of this name is for in a model of so many layers; 0: not known.
    pub fn of(name: &str, layers: usize) -> Self {
        let mut parts: Vec<&str> = name.split('.').collect();
        if parts.iter().any(|part| part.starts_with("lora_")) {
            return Self::Adapter;
        }
        // Encoder and decoder of one file (T5) are told apart by a first word.
        if parts.len() > 2 && matches!(parts.first(), Some(&("enc" | "dec"))) {
            parts.remove(0);
        }
        match Self::tower(&parts).or_else(|| Self::outside(&parts)) {
            Some(kind) => kind,
            None if beyond(&parts, layers) => Self::Prediction,
            None => Self::inside(&parts),
        }
    }

    /// Of another modality.
    fn tower(parts: &[&str]) -> Option<Self> {
        let first = parts.first().copied().unwrap_or_default();
        if first == "v" || first == "mm" && parts.get(1) != Some(&"a") || first == "resampler" {
            return Some(Self::Vision);
        }
        if first == "a" || first == "mm" {
            return Some(Self::Audio);
        }
        // What is meant is said before the layers begin.
        parts
            .iter()
            .take_while(|part| part.parse::<usize>().is_err())
            .find_map(|part| {
                let has = |words: &[&str]| words.iter().any(|word| part.contains(word));
                if has(&["audio", "embed_audio"]) {
                    Some(Self::Audio)
                } else if has(&[
                    "vision",
                    "visual",
                    "multi_modal_projector",
                    "mm_projector",
                    "patch_merger",
                    "image_newline",
                ]) {
                    Some(Self::Vision)
                } else {
                    None
                }
            })
    }

    /// Outside of the layers.
    fn outside(parts: &[&str]) -> Option<Self> {
        let block = parts.iter().any(|part| part.parse::<usize>().is_ok());
        if parts
            .iter()
            .any(|part| *part == "mtp" || part.starts_with("mtp_") || *part == "nextn")
        {
            return Some(Self::Prediction);
        }
        if block {
            return None;
        }
        let has = |words: &[&str]| parts.iter().any(|part| words.contains(part));
        if parts.iter().any(|part| is_norm(part)) {
            Some(Self::Norms)
        } else if has(&["output", "lm_head", "embed_out", "cls"]) {
            Some(Self::Output)
        } else if parts.iter().any(|part| {
            part.contains("embd")
                || part.contains("embed")
                || ["wte", "wpe", "token_types"].contains(part)
        }) {
            Some(Self::Embedding)
        } else {
            Some(Self::Other)
        }
    }

    /// In a layer.
    fn inside(parts: &[&str]) -> Self {
        let any = |words: &[&str]| {
            parts
                .iter()
                .any(|part| words.iter().any(|word| part.contains(word)))
        };
        let is = |words: &[&str]| parts.iter().any(|part| words.contains(part));
        // A gate is a router where it stands beside experts, and half of a network everywhere else ("gate_proj").
        if any(&["shared_expert", "shared_mlp", "_shexp"]) {
            Self::SharedExperts
        } else if any(&[
            "gate_inp",
            "exp_probs_b",
            "tid2eid",
            "router",
            "e_score_correction_bias",
        ]) || is(&["gate"])
        {
            Self::Router
        } else if any(&["_exps", "_chexps"]) || is(&["experts"]) {
            Self::Experts
        } else if parts.iter().any(|part| is_norm(part)) {
            Self::Norms
        } else if any(&[
            "ssm_",
            "time_mix",
            "shortconv",
            "linear_attn",
            "mamba",
            "conv1d",
            "A_log",
            "dt_bias",
            "dt_proj",
            "x_proj",
        ]) {
            Self::Recurrent
        } else if any(&["attn", "attention", "indexer", "inter_attn", "attn_sinks"])
            || is(&[
                "wq", "wk", "wv", "wo", "q_proj", "k_proj", "v_proj", "o_proj",
            ])
        {
            Self::Attention
        } else if any(&["ffn", "mlp", "feed_forward"]) || is(&["fc1", "fc2", "w1", "w2", "w3"]) {
            Self::FeedForward
        } else {
            Self::Other
        }
    }
}

/// A block after the last layer of the model.
fn beyond(parts: &[&str], layers: usize) -> bool {
    let number = parts.iter().find_map(|part| part.parse::<usize>().ok());
    layers > 0 && number.is_some_and(|number| number >= layers)
}

fn is_norm(part: &str) -> bool {
    part.contains("norm") || part.starts_with("ln_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: TensorKind) {
        assert_eq!(TensorKind::of(name, 61), expected, "{name}");
    }

    #[test]
    fn names_of_gguf() {
        check("token_embd.weight", TensorKind::Embedding);
        check("per_layer_token_embd.weight", TensorKind::Embedding);
        check("output.weight", TensorKind::Output);
        check("output_norm.weight", TensorKind::Norms);
        check("rope_freqs.weight", TensorKind::Other);
        check("blk.0.attn_q.weight", TensorKind::Attention);
        check("blk.0.attn_q_norm.weight", TensorKind::Norms);
        check("blk.60.attn_kv_a_mqa.weight", TensorKind::Attention);
        check("blk.0.indexer.proj.weight", TensorKind::Attention);
        check("blk.0.ssm_in.weight", TensorKind::Recurrent);
        check("blk.0.ffn_gate.weight", TensorKind::FeedForward);
        check("blk.3.ffn_gate_exps.weight", TensorKind::Experts);
        check("blk.3.ffn_gate_shexp.weight", TensorKind::SharedExperts);
        check("blk.3.ffn_gate_inp_shexp.weight", TensorKind::SharedExperts);
        check("blk.3.ffn_gate_inp.weight", TensorKind::Router);
        check("blk.3.exp_probs_b.bias", TensorKind::Router);
        check("blk.61.attn_q_b.weight", TensorKind::Prediction);
        check("blk.60.nextn.eh_proj.weight", TensorKind::Prediction);
        check("enc.blk.0.attn_q.weight", TensorKind::Attention);
        check("v.blk.0.attn_q.weight", TensorKind::Vision);
        check("mm.0.weight", TensorKind::Vision);
        check("a.blk.0.attn_q.weight", TensorKind::Audio);
        check("mm.a.mlp.1.weight", TensorKind::Audio);
        check("blk.0.attn_q.weight.lora_a", TensorKind::Adapter);
    }

    #[test]
    fn names_of_hugging_face() {
        check("model.embed_tokens.weight", TensorKind::Embedding);
        check("transformer.wte.weight", TensorKind::Embedding);
        check("lm_head.weight", TensorKind::Output);
        check("model.norm.weight", TensorKind::Norms);
        check("model.layers.0.input_layernorm.weight", TensorKind::Norms);
        check(
            "model.layers.0.self_attn.q_proj.weight",
            TensorKind::Attention,
        );
        check(
            "model.layers.0.self_attn.indexer.wk.weight",
            TensorKind::Attention,
        );
        check(
            "model.layers.0.linear_attn.in_proj_qkvz.weight",
            TensorKind::Recurrent,
        );
        check(
            "model.layers.0.mlp.gate_proj.weight",
            TensorKind::FeedForward,
        );
        check("model.layers.3.mlp.gate.weight", TensorKind::Router);
        check(
            "model.layers.3.mlp.experts.17.gate_proj.weight",
            TensorKind::Experts,
        );
        check(
            "model.layers.3.mlp.experts.gate_up_proj_blocks",
            TensorKind::Experts,
        );
        check(
            "model.layers.3.mlp.shared_experts.up_proj.weight",
            TensorKind::SharedExperts,
        );
        check(
            "model.layers.61.self_attn.q_proj.weight",
            TensorKind::Prediction,
        );
        check("model.visual.blocks.0.attn.qkv.weight", TensorKind::Vision);
        check(
            "vision_tower.transformer.layers.0.attention.q_proj.weight",
            TensorKind::Vision,
        );
        check(
            "audio_tower.layers.0.self_attn.k_proj.weight",
            TensorKind::Audio,
        );
        check("layers.0.feed_forward.w1.weight", TensorKind::FeedForward);
        check("\u{1b}[31m", TensorKind::Other);
        check("", TensorKind::Other);
    }

    #[test]
    fn without_a_number_of_layers_nothing_lies_beyond() {
        assert_eq!(
            TensorKind::of("blk.900.attn_q.weight", 0),
            TensorKind::Attention
        );
    }

    #[test]
    fn every_kind_is_shown_once() {
        let mut all = TensorKind::ALL.to_vec();
        all.dedup();
        assert_eq!(all.len(), TensorKind::ALL.len());
        assert!(all.is_sorted());
    }
}

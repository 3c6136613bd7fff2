//! What the quantizer tells from a tensor's name.

use std::collections::HashMap;

use super::Tensor;

/// Kinds of tensors with rules of their own (`tensor_category` in `src/llama-quant.cpp`, 0.6.0-dev).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    Embedding,
    AttentionQ,
    AttentionV,
    AttentionK,
    AttentionQkv,
    AttentionKvB,
    AttentionOutput,
    Up,
    Gate,
    Down,
    Output,
    Other,
}

impl Category {
    /// By name, the first that matches (`tensor_get_category`).
    pub(super) fn of(name: &str) -> Self {
        const PARTS: [(&str, Category); 9] = [
            ("attn_qkv.weight", Category::AttentionQkv),
            ("attn_kv_b.weight", Category::AttentionKvB),
            ("attn_v.weight", Category::AttentionV),
            ("attn_k.weight", Category::AttentionK),
            ("attn_q.weight", Category::AttentionQ),
            ("attn_output.weight", Category::AttentionOutput),
            ("ffn_up", Category::Up),
            ("ffn_gate", Category::Gate),
            ("ffn_down", Category::Down),
        ];
        match name {
            "output.weight" => Self::Output,
            "token_embd.weight" | "per_layer_token_embd.weight" => Self::Embedding,
            _ => PARTS
                .into_iter()
                .find(|(part, _)| name.contains(part))
                .map_or(Self::Other, |(_, category)| category),
        }
    }

    /// More sensitive than others (`category_is_attn_v`).
    pub(super) fn is_value(self) -> bool {
        matches!(
            self,
            Self::AttentionV | Self::AttentionQkv | Self::AttentionKvB
        )
    }
}

/// Parts of names that are never quantized, those of architectures without a model here left out
/// (`tensor_allows_quantization`).
const KEPT: [&str; 9] = [
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
];

/// What a name says, found once for all blocks: matching names is most of the quantizer's choice.
#[derive(Clone, Copy)]
pub(super) struct Named {
    /// Its kind.
    pub(super) category: Category,
    /// Nothing in the name keeps the quantizer away.
    quantized: bool,
}

impl Named {
    /// What each name says, in the order of the tensors.
    pub(super) fn all(tensors: &[Tensor]) -> Vec<Self> {
        // Blocks differ in their number only, and no rule looks at that.
        let mut known: HashMap<&str, Self> = HashMap::new();
        tensors
            .iter()
            .map(|tensor| {
                let name = tensor.name.as_str();
                let tail = name
                    .strip_prefix("blk.")
                    .and_then(|rest| rest.split_once('.'))
                    .map_or(name, |(_, tail)| tail);
                *known.entry(tail).or_insert_with(|| Self::of(tail))
            })
            .collect()
    }

    fn of(name: &str) -> Self {
        Self {
            category: Category::of(name),
            quantized: name.ends_with("weight") && !KEPT.iter().any(|part| name.contains(part)),
        }
    }

    /// Whether the quantizer touches the tensor (`tensor_allows_quantization`).
    pub(super) fn is_quantized(self, tensor: &Tensor) -> bool {
        self.quantized && tensor.dimensions() >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_come_from_names() {
        for (name, category) in [
            ("output.weight", Category::Output),
            ("blk.3.attn_output.weight", Category::AttentionOutput),
            ("blk.3.attn_v_b.weight", Category::Other),
            ("blk.3.ffn_gate_up_exps.weight", Category::Gate),
            ("blk.3.ffn_down_shexp.weight", Category::Down),
            ("per_layer_token_embd.weight", Category::Embedding),
        ] {
            assert_eq!(Category::of(name), category, "{name}");
        }
    }
}

use super::Indexer;
use crate::model::{product, sum};

/// DeepSeek-V4's attention: a sliding window over single-headed keys that are also the values, plus entries that each
/// stand for several tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompressedAttention {
    /// Query heads.
    pub num_attention_heads: u64,
    /// Width of a head; one key-value vector of that width is cached per token.
    pub head_dim: u64,
    /// Rotated dimensions of a head.
    pub qk_rope_head_dim: u64,
    /// Rank of the query compression.
    pub q_lora_rank: u64,
    /// Groups of the block-diagonal first output projection.
    pub o_groups: u64,
    /// Its rank per group.
    pub o_lora_rank: u64,
    /// Tokens seen uncompressed.
    pub sliding_window: u64,
    /// Tokens per compressed entry; 0: the layer has none.
    pub compress_ratio: u64,
    /// Selection among the compressed entries (layers of ratio 4).
    pub indexer: Option<Indexer>,
}

impl CompressedAttention {
    /// Parameters for vectors of `hidden_size`.
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        let q = product(&[self.num_attention_heads, self.head_dim]);
        sum(&[
            self.num_attention_heads,
            product(&[hidden_size, self.q_lora_rank]),
            self.q_lora_rank,
            product(&[self.q_lora_rank, q]),
            product(&[hidden_size, self.head_dim]),
            self.head_dim,
            product(&[q, self.o_lora_rank]),
            product(&[self.o_groups, self.o_lora_rank, hidden_size]),
            self.compressor_parameters(hidden_size, self.head_dim),
            self.indexer_parameters(hidden_size),
        ])
    }

    /// Parameters of a compressor to vectors of `width`: projections for value and weight (twice for ratio 4, whose
    /// entries overlap), a learnt position per token of an entry, a norm.
    pub fn compressor_parameters(&self, hidden_size: u64, width: u64) -> u64 {
        if self.compress_ratio == 0 {
            return 0;
        }
        let columns = product(&[if self.overlaps() { 2 } else { 1 }, width]);
        sum(&[
            product(&[2, hidden_size, columns]),
            product(&[self.compress_ratio, columns]),
            width,
        ])
    }

    /// Whether neighbouring entries share tokens.
    pub fn overlaps(&self) -> bool {
        self.compress_ratio == 4
    }

    /// Parameters of the indexer with its own compressor.
    pub fn indexer_parameters(&self, hidden_size: u64) -> u64 {
        let Some(indexer) = self.indexer else {
            return 0;
        };
        let dim = indexer.index_head_dim;
        sum(&[
            self.compressor_parameters(hidden_size, dim),
            product(&[self.q_lora_rank, indexer.index_n_heads, dim]),
            product(&[hidden_size, indexer.index_n_heads]),
        ])
    }
}

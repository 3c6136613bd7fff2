use crate::model::{product, sum};

/// Multi-head latent attention: keys and values are projections of one compressed vector per token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LatentAttention {
    /// Query heads.
    pub num_attention_heads: u64,
    /// Rank of the query compression; `None`: queries are projected directly.
    pub q_lora_rank: Option<u64>,
    /// Width of the compressed keys and values.
    pub kv_lora_rank: u64,
    /// Unrotated part of a query or key head.
    pub qk_nope_head_dim: u64,
    /// Rotated part, shared by all heads.
    pub qk_rope_head_dim: u64,
    /// Width of a value head.
    pub v_head_dim: u64,
    /// A full-rank gate on the output (Kimi K3).
    pub output_gate: bool,
    /// Sparse attention with this selection of tokens.
    pub sparse: Option<Indexer>,
}

/// The selection of tokens in front of a sparse attention (DeepSeek sparse attention).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Indexer {
    /// Index heads.
    pub index_n_heads: u64,
    /// Width of an index head; one key of that width is cached per token.
    pub index_head_dim: u64,
    /// Tokens attended to.
    pub index_topk: u64,
    /// The layer has its own indexer; otherwise it uses the selection of the last layer before it that has one.
    pub owned: bool,
}

impl LatentAttention {
    /// Width of a query or key head.
    pub fn qk_head_dim(&self) -> u64 {
        sum(&[self.qk_nope_head_dim, self.qk_rope_head_dim])
    }

    /// Elements cached per token in the latent form.
    pub fn latent_width(&self) -> u64 {
        sum(&[self.kv_lora_rank, self.qk_rope_head_dim])
    }

    /// Parameters for vectors of `hidden_size`.
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        let heads = self.num_attention_heads;
        let q = product(&[heads, self.qk_head_dim()]);
        let queries = match self.q_lora_rank {
            Some(rank) => sum(&[product(&[hidden_size, rank]), rank, product(&[rank, q])]),
            None => product(&[hidden_size, q]),
        };
        let expanded = product(&[heads, sum(&[self.qk_nope_head_dim, self.v_head_dim])]);
        let output = product(&[heads, self.v_head_dim, hidden_size]);
        sum(&[
            queries,
            product(&[hidden_size, self.latent_width()]),
            self.kv_lora_rank,
            product(&[self.kv_lora_rank, expanded]),
            output,
            if self.output_gate { output } else { 0 },
            self.indexer_parameters(hidden_size),
        ])
    }

    /// Parameters of the layer's own indexer: its queries come from the compressed queries.
    pub fn indexer_parameters(&self, hidden_size: u64) -> u64 {
        let Some(indexer) = self.sparse.filter(|indexer| indexer.owned) else {
            return 0;
        };
        let input = self.q_lora_rank.unwrap_or(hidden_size);
        let dim = indexer.index_head_dim;
        sum(&[
            product(&[input, indexer.index_n_heads, dim]),
            product(&[hidden_size, dim]),
            product(&[2, dim]),
            product(&[hidden_size, indexer.index_n_heads]),
        ])
    }
}

use crate::model::{product, sum};

/// Softmax attention with a cache of keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named as configurations name it"
)]
pub struct Attention {
    /// Query heads.
    pub num_attention_heads: u64,
    /// Heads of keys and values.
    pub num_key_value_heads: u64,
    /// Width of a query or key head.
    pub head_dim: u64,
    /// Width of a value head.
    pub v_head_dim: u64,
    /// Dimensions of a head that are rotated; 0 where the layer has no positions.
    pub rotary_dim: u64,
    /// Biases on the query, key and value projections.
    pub qkv_bias: bool,
    /// Bias on the output projection.
    pub o_bias: bool,
    /// Norms on queries and keys.
    pub qk_norm: QkNorm,
    /// A learnt sink per head (gpt-oss).
    pub sinks: bool,
    /// The query projection also yields a gate on the output, which doubles it (Qwen3-Next, Qwen3.5).
    pub output_gate: bool,
    /// How far it sees.
    pub reach: Reach,
    /// Values are the keys: there is no value projection (full layers of Gemma 4). Engines may still cache both.
    pub k_eq_v: bool,
    /// Whose cache it reads.
    pub cache: Cache,
    /// A tanh caps the scores (`attn_logit_softcapping`, Gemma 2).
    pub logit_softcapping: bool,
    /// Only the blocks that an indexer finds are attended to (MiniMax-M3).
    pub block_indexer: Option<BlockIndexer>,
}

/// Norms on queries and keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QkNorm {
    /// None.
    #[default]
    None,
    /// One weight per element of a head, shared by all heads (Qwen3, Gemma 3).
    PerHead,
    /// One weight per element of the whole projection (OLMo 2, MiniMax-M2, Command-R+).
    Full,
    /// A norm without weights (Llama 4).
    Weightless,
}

/// How far an attention sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reach {
    /// The whole context.
    #[default]
    Full,
    /// The last so many tokens.
    Window(u64),
    /// The chunk of so many tokens it is in (Llama 4).
    Chunk(u64),
}

/// Whose keys and values an attention uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cache {
    /// Its own.
    #[default]
    Own,
    /// Those of an earlier layer, by index (last layers of Gemma 3n and 4 E models). Its own key and value matrices
    /// are in the checkpoint all the same, unused.
    SharedWith(usize),
}

/// Block-sparse selection in front of an attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockIndexer {
    /// Index heads.
    pub num_heads: u64,
    /// Width of an index head; one key of that width is cached per token.
    pub head_dim: u64,
    /// Tokens per block.
    pub block_size: u64,
    /// Blocks attended to.
    pub topk_blocks: u64,
}

impl Attention {
    /// Elements of all query heads together.
    pub fn q_width(&self) -> u64 {
        product(&[self.num_attention_heads, self.head_dim])
    }

    /// Elements of all key heads together: what one token adds to the key cache.
    pub fn k_width(&self) -> u64 {
        product(&[self.num_key_value_heads, self.head_dim])
    }

    /// Elements of all value heads together: what one token adds to the value cache.
    pub fn v_width(&self) -> u64 {
        product(&[self.num_key_value_heads, self.v_head_dim])
    }

    /// Elements that enter the output projection.
    pub fn output_width(&self) -> u64 {
        product(&[self.num_attention_heads, self.v_head_dim])
    }

    /// Whether it has a cache of its own.
    pub fn owns_cache(&self) -> bool {
        self.cache == Cache::Own
    }

    /// Parameters for vectors of `hidden_size`, as checkpoints and GGUF files hold them: unused key and value
    /// matrices of layers that share a cache included.
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        let (q, k, v) = (self.q_width(), self.k_width(), self.v_width());
        let q_projection = if self.output_gate {
            product(&[2, q])
        } else {
            q
        };
        let projections = if self.k_eq_v {
            sum(&[q_projection, k])
        } else {
            sum(&[q_projection, k, v])
        };
        sum(&[
            product(&[hidden_size, projections]),
            product(&[self.output_width(), hidden_size]),
            if self.qkv_bias { projections } else { 0 },
            if self.o_bias { hidden_size } else { 0 },
            self.qk_norm_parameters(),
            if self.sinks {
                self.num_attention_heads
            } else {
                0
            },
            self.block_indexer
                .map_or(0, |indexer| indexer.parameters(hidden_size)),
        ])
    }

    fn qk_norm_parameters(&self) -> u64 {
        match self.qk_norm {
            QkNorm::None | QkNorm::Weightless => 0,
            QkNorm::PerHead => product(&[2, self.head_dim]),
            QkNorm::Full => sum(&[self.q_width(), self.k_width()]),
        }
    }
}

impl BlockIndexer {
    /// Parameters for vectors of `hidden_size` (llama.cpp 0.6.0-dev `src/models/minimax-m3.cpp`).
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        sum(&[
            product(&[hidden_size, self.num_heads, self.head_dim]),
            product(&[hidden_size, self.head_dim]),
            product(&[2, self.head_dim]),
        ])
    }
}

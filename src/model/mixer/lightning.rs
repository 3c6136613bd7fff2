use crate::model::{product, sum};

/// Lightning attention: linear attention with a fixed decay and a matrix state per head (MiniMax-M1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LightningAttention {
    /// Heads.
    pub num_attention_heads: u64,
    /// Width of a head.
    pub head_dim: u64,
}

impl LightningAttention {
    /// Elements of all heads together.
    pub fn width(&self) -> u64 {
        product(&[self.num_attention_heads, self.head_dim])
    }

    /// Elements of matrix state per sequence.
    pub fn matrix_state(&self) -> u64 {
        product(&[self.width(), self.head_dim])
    }

    /// Parameters for vectors of `hidden_size`: queries, keys and values, a gate, the output, a norm.
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        let width = self.width();
        sum(&[product(&[5, hidden_size, width]), width])
    }
}

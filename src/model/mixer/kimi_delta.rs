use crate::model::{product, sum};

/// Kimi delta attention: a gated delta net with a decay per channel and convolutions on queries, keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KimiDelta {
    /// Heads.
    pub num_heads: u64,
    /// Width of a head.
    pub head_dim: u64,
    /// Taps of each convolution.
    pub short_conv_kernel_size: u64,
    /// The output gate is one full matrix instead of two of rank `head_dim`.
    pub full_rank_gate: bool,
}

impl KimiDelta {
    /// Elements of all heads together.
    pub fn width(&self) -> u64 {
        product(&[self.num_heads, self.head_dim])
    }

    /// Elements of convolution state per sequence.
    pub fn conv_state(&self) -> u64 {
        product(&[
            self.short_conv_kernel_size.saturating_sub(1),
            3,
            self.width(),
        ])
    }

    /// Elements of matrix state per sequence.
    pub fn matrix_state(&self) -> u64 {
        product(&[self.width(), self.head_dim])
    }

    /// Parameters for vectors of `hidden_size` (llama.cpp 0.6.0-dev `src/models/kimi-k3.cpp`).
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        let width = self.width();
        let low_rank = sum(&[
            product(&[hidden_size, self.head_dim]),
            product(&[self.head_dim, width]),
        ]);
        sum(&[
            product(&[3, hidden_size, width]),
            product(&[3, width, self.short_conv_kernel_size]),
            low_rank,
            product(&[hidden_size, self.num_heads]),
            self.num_heads,
            width,
            if self.full_rank_gate {
                product(&[hidden_size, width])
            } else {
                low_rank
            },
            self.head_dim,
            product(&[width, hidden_size]),
        ])
    }
}

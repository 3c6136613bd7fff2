use crate::model::{product, sum};

/// Gated delta net: linear attention with a matrix state per value head and a short convolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatedDeltaNet {
    /// Key heads.
    pub linear_num_key_heads: u64,
    /// Value heads.
    pub linear_num_value_heads: u64,
    /// Width of a key head.
    pub linear_key_head_dim: u64,
    /// Width of a value head.
    pub linear_value_head_dim: u64,
    /// Taps of the convolution.
    pub linear_conv_kernel_dim: u64,
}

impl GatedDeltaNet {
    /// Elements of all key heads together.
    pub fn key_width(&self) -> u64 {
        product(&[self.linear_num_key_heads, self.linear_key_head_dim])
    }

    /// Elements of all value heads together.
    pub fn value_width(&self) -> u64 {
        product(&[self.linear_num_value_heads, self.linear_value_head_dim])
    }

    /// Channels of the convolution: queries, keys and values.
    pub fn conv_width(&self) -> u64 {
        sum(&[product(&[2, self.key_width()]), self.value_width()])
    }

    /// Elements of convolution state per sequence.
    pub fn conv_state(&self) -> u64 {
        product(&[
            self.linear_conv_kernel_dim.saturating_sub(1),
            self.conv_width(),
        ])
    }

    /// Elements of matrix state per sequence.
    pub fn matrix_state(&self) -> u64 {
        product(&[self.value_width(), self.linear_key_head_dim])
    }

    /// Parameters for vectors of `hidden_size`.
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        let heads = self.linear_num_value_heads;
        sum(&[
            product(&[hidden_size, sum(&[self.conv_width(), self.value_width()])]),
            product(&[hidden_size, 2, heads]),
            product(&[self.conv_width(), self.linear_conv_kernel_dim]),
            product(&[2, heads]),
            self.linear_value_head_dim,
            product(&[self.value_width(), hidden_size]),
        ])
    }
}

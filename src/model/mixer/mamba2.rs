use crate::model::{product, sum};

/// Mamba-2: a selective state space with a short convolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mamba2 {
    /// Inner width, all heads together.
    pub d_inner: u64,
    /// Heads.
    pub num_heads: u64,
    /// State elements per inner element.
    pub d_state: u64,
    /// Groups that share input and output projections of the state.
    pub n_groups: u64,
    /// Taps of the convolution.
    pub d_conv: u64,
    /// Bias of the convolution.
    pub conv_bias: bool,
    /// Biases of the projections in and out.
    pub proj_bias: bool,
    /// A gated norm before the output projection.
    pub norm: bool,
}

impl Mamba2 {
    /// Channels of the convolution.
    pub fn conv_width(&self) -> u64 {
        sum(&[self.d_inner, product(&[2, self.n_groups, self.d_state])])
    }

    /// Columns of the input projection: gate, convolution channels, one time step per head.
    pub fn in_width(&self) -> u64 {
        sum(&[self.d_inner, self.conv_width(), self.num_heads])
    }

    /// Elements of convolution state per sequence.
    pub fn conv_state(&self) -> u64 {
        product(&[self.d_conv.saturating_sub(1), self.conv_width()])
    }

    /// Elements of the state space per sequence.
    pub fn ssm_state(&self) -> u64 {
        product(&[self.d_inner, self.d_state])
    }

    /// Parameters for vectors of `hidden_size`: projections, convolution, per head a decay, a skip and a time-step
    /// bias, and the gated norm.
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        let in_width = self.in_width();
        sum(&[
            product(&[hidden_size, in_width]),
            product(&[self.conv_width(), self.d_conv]),
            if self.conv_bias { self.conv_width() } else { 0 },
            product(&[3, self.num_heads]),
            product(&[self.d_inner, hidden_size]),
            if self.norm { self.d_inner } else { 0 },
            if self.proj_bias {
                sum(&[in_width, hidden_size])
            } else {
                0
            },
        ])
    }
}

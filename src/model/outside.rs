use super::{Layer, Norm, product, sum};

/// How token positions enter the attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Positions {
    /// Rotary embedding; each attention knows how many dimensions it rotates.
    #[default]
    Rotary,
    /// As above, with tables of factors stored in the model file.
    RotaryWithFactors(RopeFactors),
    /// A bias by distance (ALiBi).
    Alibi,
    /// None at all (Granite-4-H).
    None,
}

/// Tables of frequency factors that converters store beside the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RopeFactors {
    /// One table (`rope_freqs`: Llama 3 scaling, Gemma 4's proportional rotation).
    One {
        /// Its length, half of the rotated dimensions.
        length: u64,
    },
    /// One for short and one for long contexts (`longrope`: Phi-3 and later).
    LongAndShort {
        /// Length of each.
        length: u64,
    },
}

/// Blocks after the last layer that predict further tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MultiTokenPrediction {
    /// One layer per block.
    pub layers: Vec<Layer>,
    /// Each block comes with its own copy of embedding and head.
    pub copies_embedding: bool,
    /// Norms over `hidden_size` around the joining projection, the layers' own not included.
    pub norms_per_block: u64,
    /// The published checkpoint contains the blocks.
    pub stored: bool,
}

/// A table of one small vector per token and layer, and what mixes it in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PerLayerInputs {
    /// Rows of the table.
    pub vocab_size_per_layer_input: u64,
    /// Width per layer.
    pub hidden_size_per_layer_input: u64,
}

impl PerLayerInputs {
    /// Parameters of the table itself.
    pub fn table_parameters(&self, layers: u64) -> u64 {
        product(&[
            self.vocab_size_per_layer_input,
            layers,
            self.hidden_size_per_layer_input,
        ])
    }

    /// Parameters of the projections and norms, over all layers.
    pub fn projection_parameters(&self, hidden_size: u64, layers: u64) -> u64 {
        let width = self.hidden_size_per_layer_input;
        let per_layer = sum(&[product(&[2, hidden_size, width]), hidden_size]);
        sum(&[
            product(&[hidden_size, layers, width]),
            width,
            product(&[layers, per_layer]),
        ])
    }
}

/// Alternating updates: several residual streams of which each layer computes one and predicts the others, and a
/// low-rank residual (LAuReL) in each layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AltUp {
    /// How many streams.
    pub altup_num_inputs: u64,
    /// Rank of the low-rank residual.
    pub laurel_rank: u64,
}

impl AltUp {
    /// Parameters outside of the layers: projections into and out of the further streams.
    pub fn projection_parameters(&self, hidden_size: u64) -> u64 {
        let further = self.altup_num_inputs.saturating_sub(1);
        product(&[2, further, hidden_size, hidden_size])
    }

    /// Parameters in one layer.
    pub fn parameters_per_layer(&self, hidden_size: u64) -> u64 {
        let streams = self.altup_num_inputs;
        sum(&[
            product(&[streams, streams]),
            hidden_size,
            product(&[streams, streams, streams]),
            product(&[hidden_size, streams]),
            hidden_size,
            product(&[2, hidden_size, self.laurel_rank]),
            hidden_size,
        ])
    }
}

/// Several residual streams that every mixer and feed-forward network reads from and writes to by learnt mixing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HyperConnections {
    /// How many streams.
    pub hc_mult: u64,
}

impl HyperConnections {
    /// Parameters in one layer (two sites).
    pub fn parameters_per_layer(&self, hidden_size: u64) -> u64 {
        let streams = self.hc_mult;
        let outputs = product(&[streams.saturating_add(2), streams]);
        let site = sum(&[product(&[outputs, streams, hidden_size]), outputs, 3]);
        product(&[2, site])
    }

    /// Parameters of the mixing before a head.
    pub fn head_parameters(&self, hidden_size: u64) -> u64 {
        let streams = self.hc_mult;
        sum(&[product(&[streams, streams, hidden_size]), streams, 1])
    }
}

/// Attention over the residuals at the ends of earlier blocks, in place of a plain residual stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockResiduals {
    /// Layers per block.
    pub attn_res_block_size: u64,
}

impl MultiTokenPrediction {
    /// Parameters of the joining projections and norms of all blocks, without layers and copies.
    pub fn joining_parameters(&self, hidden_size: u64, norm: Norm) -> u64 {
        let norms = product(&[self.norms_per_block, norm.parameters(hidden_size)]);
        let blocks = self.layers.len() as u64;
        product(&[
            blocks,
            sum(&[product(&[2, hidden_size, hidden_size]), norms]),
        ])
    }
}

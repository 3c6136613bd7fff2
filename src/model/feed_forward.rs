use super::{product, sum};

/// What works on each token alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum FeedForward {
    /// Nothing (mixer-only layers of Nemotron-H).
    #[default]
    None,
    /// One network for all tokens.
    Dense(Dense),
    /// A router and many networks.
    Experts(Box<Experts>),
}

/// One feed-forward network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dense {
    /// Its inner width.
    pub intermediate_size: u64,
    /// Three matrices (gate, up, down) instead of two.
    pub gated: bool,
    /// Each matrix has a bias.
    pub bias: bool,
}

impl Dense {
    /// Gated, without bias, as most models have it.
    pub const fn gated(intermediate_size: u64) -> Self {
        Self {
            intermediate_size,
            gated: true,
            bias: false,
        }
    }

    /// Parameters for vectors of `hidden_size`.
    pub fn parameters(&self, hidden_size: u64) -> u64 {
        let inner = if self.gated { 2 } else { 1 };
        let matrices = product(&[inner + 1, hidden_size, self.intermediate_size]);
        let biases = sum(&[product(&[inner, self.intermediate_size]), hidden_size]);
        sum(&[matrices, if self.bias { biases } else { 0 }])
    }
}

/// A router with its experts, and what always runs beside them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named as configurations name it"
)]
pub struct Experts {
    /// How many routed experts there are.
    pub num_experts: u64,
    /// How many of them a token uses.
    pub num_experts_per_tok: u64,
    /// Inner width of each (`moe_intermediate_size`).
    pub moe_intermediate_size: u64,
    /// Three matrices per expert instead of two.
    pub gated: bool,
    /// Biases of every expert matrix (gpt-oss).
    pub expert_bias: bool,
    /// Bias of the router (gpt-oss).
    pub router_bias: bool,
    /// A correction per expert for load balance (`e_score_correction_bias`).
    pub correction_bias: bool,
    /// The correction is kept beside the weights, where published counts leave it out (Nemotron-3).
    pub correction_is_buffer: bool,
    /// Experts work on vectors of this width, projected down before and up after (Nemotron-3, Kimi K3).
    pub latent_size: Option<u64>,
    /// A norm over the latent sum before it is projected up (Kimi K3).
    pub latent_norm: bool,
    /// What every token passes through and is added to the experts' sum.
    pub shared: Option<SharedExpert>,
    /// A dense network with norms of its own that runs beside the experts (Gemma 4 26B-A4B).
    pub beside: Option<Dense>,
    /// Experts are looked up by token instead of scored (first layers of DeepSeek-V4).
    pub hash_routing: Option<HashRouting>,
    /// How the router scores.
    pub scoring: Scoring,
    /// Groups of experts from which a token may choose; 1 where there are none.
    pub n_group: u64,
    /// How many of the groups a token may use.
    pub topk_group: u64,
    /// The chosen experts' weights are normalized to sum to one.
    pub norm_topk_prob: bool,
    /// The chosen experts' weights are multiplied by a constant other than one.
    pub routed_scaling: bool,
    /// The router scales its input per element and its output per expert (Gemma 4).
    pub router_scales: bool,
    /// Gate and up matrices come fused in the checkpoint (gpt-oss, Llama 4, Gemma 4).
    pub fused_gate_up: bool,
}

/// An expert that every token uses; several are one of their joint width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SharedExpert {
    /// How many the configuration speaks of.
    pub count: u64,
    /// Joint inner width of all of them.
    pub intermediate_size: u64,
    /// A learnt vector gates its output (Qwen3-Next and later).
    pub gate: bool,
}

/// A table from token to experts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HashRouting {
    /// Rows of the table.
    pub vocab_size: u64,
}

/// How a router turns scores into weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scoring {
    /// Softmax over all experts, then the best.
    #[default]
    Softmax,
    /// The best, then softmax over them (gpt-oss).
    SoftmaxOfChosen,
    /// Sigmoid of each.
    Sigmoid,
    /// Square root of softplus (DeepSeek-V4).
    SqrtSoftplus,
}

impl Experts {
    /// Width of the vectors the experts work on.
    pub fn expert_width(&self, hidden_size: u64) -> u64 {
        self.latent_size.unwrap_or(hidden_size)
    }

    /// Parameters of one routed expert.
    pub fn parameters_per_expert(&self, hidden_size: u64) -> u64 {
        Dense {
            intermediate_size: self.moe_intermediate_size,
            gated: self.gated,
            bias: self.expert_bias,
        }
        .parameters(self.expert_width(hidden_size))
    }

    /// Parameters of all routed experts.
    pub fn routed_parameters(&self, hidden_size: u64) -> u64 {
        product(&[self.num_experts, self.parameters_per_expert(hidden_size)])
    }

    /// Parameters that a token does not use: the experts it is not sent to.
    pub fn idle_parameters(&self, hidden_size: u64) -> u64 {
        let idle = self.num_experts.saturating_sub(self.num_experts_per_tok);
        product(&[idle, self.parameters_per_expert(hidden_size)])
    }

    /// Parameters of what runs for every token: shared expert with its gate.
    pub fn shared_parameters(&self, hidden_size: u64) -> u64 {
        let Some(shared) = self.shared else { return 0 };
        let network = Dense {
            intermediate_size: shared.intermediate_size,
            gated: self.gated,
            bias: false,
        };
        sum(&[
            network.parameters(hidden_size),
            if shared.gate { hidden_size } else { 0 },
        ])
    }

    /// Parameters of the router: its matrix, biases, scales, and the projections to and from the latent width.
    pub fn router_parameters(&self, hidden_size: u64) -> u64 {
        let latent = self.latent_size.map_or(0, |latent| {
            let norm = if self.latent_norm { latent } else { 0 };
            sum(&[product(&[2, hidden_size, latent]), norm])
        });
        let per_expert = [
            self.router_bias,
            self.correction_bias && !self.correction_is_buffer,
            self.router_scales,
        ];
        let vectors = per_expert.into_iter().filter(|present| *present).count() as u64;
        sum(&[
            product(&[sum(&[hidden_size, vectors]), self.num_experts]),
            if self.router_scales { hidden_size } else { 0 },
            latent,
        ])
    }
}

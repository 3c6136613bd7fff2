use super::{Experts, FeedForward, HyperConnections, Layer, Mixer, Model, Norm, product, sum};

/// Parameter counts of a model by class. The classes are disjoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// The input embedding.
    pub embedding: u64,
    /// The output head, bias included; 0 where it is the embedding.
    pub head: u64,
    /// Softmax attention of every kind, norms and indexers inside included.
    pub attention: u64,
    /// Recurrent mixers.
    pub recurrent: u64,
    /// Dense feed-forward networks, those beside experts included.
    pub dense: u64,
    /// Routed experts.
    pub experts: u64,
    /// Shared experts with their gates.
    pub shared: u64,
    /// Routers, latent projections included.
    pub router: u64,
    /// Norms of the residual stream.
    pub norms: u64,
    /// Everything else of the language model: per-layer inputs, hyper-connections, AltUp.
    pub other: u64,
    /// Routed experts that a token does not use.
    pub idle_experts: u64,
    /// Prediction blocks, with copies of embedding and head where they have them.
    pub mtp: u64,
    /// Tables of hash routing, entries that checkpoints hold as integers.
    pub hash_tables: u64,
    /// Vision tower and projector.
    pub vision: u64,
    /// Audio tower and projector.
    pub audio: u64,
}

impl Parameters {
    /// The language model without prediction blocks and tables of integers.
    pub fn text(&self) -> u64 {
        sum(&[
            self.embedding,
            self.head,
            self.attention,
            self.recurrent,
            self.dense,
            self.experts,
            self.shared,
            self.router,
            self.norms,
            self.other,
        ])
    }

    /// Text, vision and audio: what vendors call the size of the model.
    pub fn total(&self) -> u64 {
        sum(&[self.text(), self.vision, self.audio])
    }

    /// The same without towers that a file beside the model's own holds.
    pub fn of_own_file(&self, model: &Model) -> u64 {
        if model.attached.projector.is_some() {
            self.text()
        } else {
            self.total()
        }
    }

    /// What one token of text passes through, embedding and head included. Vendors differ in whether they count those.
    pub fn active(&self) -> u64 {
        self.text().saturating_sub(self.idle_experts)
    }

    fn add_layer(&mut self, layer: &Layer, hidden_size: u64) {
        let mixer = layer.mixer.parameters(hidden_size);
        match &layer.mixer {
            Mixer::AttentionAndMamba2(attention, mamba) => {
                self.attention = sum(&[self.attention, attention.parameters(hidden_size)]);
                self.recurrent = sum(&[self.recurrent, mamba.parameters(hidden_size)]);
            }
            other if other.is_recurrent() => self.recurrent = sum(&[self.recurrent, mixer]),
            _ => self.attention = sum(&[self.attention, mixer]),
        }
        match &layer.feed_forward {
            FeedForward::None => {}
            FeedForward::Dense(network) => {
                self.dense = sum(&[self.dense, network.parameters(hidden_size)]);
            }
            FeedForward::Experts(experts) => {
                self.add_experts(experts, layer.norms.kind, hidden_size);
            }
        }
        let norms = product(&[
            layer.norms.count(),
            layer.norms.kind.parameters(hidden_size),
        ]);
        self.norms = sum(&[self.norms, norms]);
    }

    fn add_experts(&mut self, experts: &Experts, norm: Norm, hidden_size: u64) {
        self.experts = sum(&[self.experts, experts.routed_parameters(hidden_size)]);
        self.idle_experts = sum(&[self.idle_experts, experts.idle_parameters(hidden_size)]);
        self.shared = sum(&[self.shared, experts.shared_parameters(hidden_size)]);
        self.router = sum(&[self.router, experts.router_parameters(hidden_size)]);
        if let Some(network) = experts.beside {
            self.dense = sum(&[self.dense, network.parameters(hidden_size)]);
            // Beside the layer's own: one before the experts, one after each of the two.
            self.norms = sum(&[self.norms, product(&[3, norm.parameters(hidden_size)])]);
        }
        if let Some(table) = experts.hash_routing {
            let entries = product(&[table.vocab_size, experts.num_experts_per_tok]);
            self.hash_tables = sum(&[self.hash_tables, entries]);
        }
    }
}

impl Model {
    /// How many parameters of which class.
    pub fn parameters(&self) -> Parameters {
        let mut parameters = Parameters {
            embedding: self.embedding_parameters(),
            head: self.head_parameters(),
            norms: self.final_norm_parameters(),
            other: self.outside_parameters(),
            mtp: self.mtp_parameters(),
            vision: self.vision.map_or(0, |vision| vision.encoder.parameters),
            audio: self.audio.map_or(0, |audio| audio.parameters),
            ..Parameters::default()
        };
        for layer in &self.layers {
            parameters.add_layer(layer, self.hidden_size);
        }
        parameters
    }

    /// Parameters of the published checkpoint as its headers count them: prediction blocks, a head stored although it
    /// is tied, and tables of integers included; scales of quantized checkpoints not.
    pub fn stored_parameters(&self) -> u64 {
        let parameters = self.parameters();
        let stored_mtp = self.mtp.as_ref().is_some_and(|mtp| mtp.stored);
        sum(&[
            parameters.total(),
            if stored_mtp { parameters.mtp } else { 0 },
            if self.stores_tied_head {
                parameters.embedding
            } else {
                0
            },
            parameters.hash_tables,
        ])
    }

    fn embedding_parameters(&self) -> u64 {
        match self.other {
            Some(_) => 0,
            None => product(&[self.vocab_size, self.hidden_size]),
        }
    }

    fn head_parameters(&self) -> u64 {
        if self.tie_word_embeddings {
            return 0;
        }
        let bias = if self.lm_head_bias {
            self.vocab_size
        } else {
            0
        };
        sum(&[self.embedding_parameters(), bias])
    }

    fn final_norm_parameters(&self) -> u64 {
        match self.other {
            Some(_) => 0,
            None => self.final_norm.parameters(self.hidden_size),
        }
    }

    /// What stands outside of layers, embedding and head, or in every layer alike.
    fn outside_parameters(&self) -> u64 {
        let (hidden, layers) = (self.hidden_size, self.layers.len() as u64);
        let inputs = self.per_layer_inputs.map_or(0, |inputs| {
            sum(&[
                inputs.table_parameters(layers),
                inputs.projection_parameters(hidden, layers),
            ])
        });
        let alt_up = self.alt_up.map_or(0, |alt_up| {
            sum(&[
                alt_up.projection_parameters(hidden),
                product(&[layers, alt_up.parameters_per_layer(hidden)]),
            ])
        });
        let connections = self.hyper_connections.map_or(0, |connections| {
            let per_layer = connections.parameters_per_layer(hidden);
            sum(&[
                connections.head_parameters(hidden),
                product(&[layers, per_layer]),
            ])
        });
        // A score vector before mixer and network of each layer, and one before the head
        // (llama.cpp 0.6.0-dev `src/models/kimi-k3.cpp`).
        let residuals = self
            .block_residuals
            .map_or(0, |_| product(&[hidden, sum(&[product(&[2, layers]), 1])]));
        let other = self.other.map_or(0, |other| other.parameters);
        sum(&[inputs, alt_up, connections, residuals, other])
    }

    fn mtp_parameters(&self) -> u64 {
        let Some(mtp) = &self.mtp else { return 0 };
        let mut layers = Parameters::default();
        for layer in &mtp.layers {
            layers.add_layer(layer, self.hidden_size);
        }
        let blocks = mtp.layers.len() as u64;
        let copies = if mtp.copies_embedding {
            product(&[2, blocks, self.vocab_size, self.hidden_size])
        } else {
            0
        };
        let mixing = |connections: HyperConnections| {
            sum(&[
                connections.parameters_per_layer(self.hidden_size),
                connections.head_parameters(self.hidden_size),
            ])
        };
        sum(&[
            layers.text(),
            mtp.joining_parameters(self.hidden_size, self.final_norm),
            copies,
            product(&[blocks, self.hyper_connections.map_or(0, mixing)]),
        ])
    }
}

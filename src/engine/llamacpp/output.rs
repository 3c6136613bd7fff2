//! The buffer that holds logits and embeddings for the caller.

use super::config::{Config, Shape};
use crate::model::Model;
use crate::units::Bytes;

/// Bytes of the output buffer at the start (`llama_context::output_reserve`, `src/llama-context.cpp` 0.6.0-dev): one
/// row per sequence. It grows when a batch asks for more rows.
pub(super) fn bytes(model: &Model, config: &Config, shape: Shape) -> Bytes {
    let rows = shape.sequences;
    let vocabulary = model.vocab_size;
    let mut elements = vocabulary;
    if config.embedding {
        elements = elements.saturating_add(model.hidden_size);
    }
    if config.backend_sampling {
        // Logits and probabilities as floats, candidates and the sampled token as 32-bit numbers.
        elements = elements
            .saturating_add(vocabulary.saturating_mul(3))
            .saturating_add(1);
    }
    Bytes::new(elements.saturating_mul(rows).saturating_mul(4))
}

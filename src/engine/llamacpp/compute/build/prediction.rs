//! The graph of a prediction block (MTP, NextN) in a context of its own: the last hidden state and the embedding of
//! the next token, joined, through one block to logits (`graph_mtp` of `src/models/{qwen35,qwen35moe,qwen3next,
//! glm4-moe,deepseek2,deepseek32,glm-dsa,nemotron-h-moe}.cpp`, 0.6.0-dev).

use super::Builder;
use super::family::{Family, family};
use super::latent::LatentStyle;
use super::transformer::norm_op;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Id, Part};
use crate::quant::Type;

impl Builder<'_> {
    /// The graph from a hidden state and a token to logits.
    pub(super) fn prediction(&mut self) -> Id {
        let plan = self.plan;
        // Of several blocks a graph runs one.
        let Some(block) = plan.blocks.first() else {
            return self.output_ids();
        };
        let joined = self.joined(block);
        let out_ids = self.output_ids();
        // Dense attention whatever the model's own layers choose.
        let known = match family(plan) {
            Family::Sparse => Family::Latent(LatentStyle::default()),
            known => known,
        };
        let stream = match known {
            Family::Latent(style) => self.predicting_latent(block, style, joined, out_ids),
            Family::Hybrid(style) => self.predicting_hybrid(block, style, joined, out_ids),
            Family::Transformer(style) => {
                let positions = self.positions(style.axes.max(1));
                let caches = self.attention_caches(style.windows);
                self.block(block, style, joined, positions, None, &caches, out_ids)
            }
            _ => joined,
        };
        self.predicted(block, stream, out_ids)
    }

    /// Embedding and hidden state, each normed, brought to one width.
    fn joined(&mut self, block: &Block) -> Id {
        let (tokens, hidden) = (self.batch.tokens, self.hidden_size());
        let ids = self.graph.input(Type::I32, [tokens, 1, 1, 1]);
        let table = match self.weight(block, "nextn.embed_tokens.weight") {
            Some(own) => Some(own),
            None => self.outside("token_embd.weight"),
        };
        let embedded = match table {
            Some(table) => self.graph.get_rows(table, ids),
            None => ids,
        };
        let state = self.graph.input(Type::F32, [hidden, tokens, 1, 1]);
        let state = self.rms_norm(block, "nextn.hnorm.weight", state);
        let embedded = self.rms_norm(block, "nextn.enorm.weight", embedded);
        let both = self.graph.concat(embedded, state, 0);
        self.project(block, "nextn.eh_proj.weight", both)
    }

    /// Norm and head; the normed state is handed to the next step.
    fn predicted(&mut self, block: &Block, stream: Id, out_ids: Id) -> Id {
        self.graph.stage(Part::Output, None);
        let own = block.weights.get("nextn.shared_head_norm.weight").is_some();
        let normed = if own {
            self.unbound_norm(block, "nextn.shared_head_norm.weight", stream)
        } else {
            let kind = norm_op(self.final_norm());
            self.outside_norm(kind, "output_norm.weight", stream)
        };
        self.graph.set_output(normed);
        let rows = if self.graph.at(normed).ne[1] == self.batch.outputs {
            normed
        } else {
            self.graph.get_rows(normed, out_ids)
        };
        match self.weight(block, "nextn.shared_head_head.weight") {
            Some(head) => self.graph.mul_mat(head, rows),
            None => self.logits(rows),
        }
    }
}

//! MiniMax-M3's attention of several tokens per stream: a mask that opens the blocks chosen for each group of heads
//! (`src/models/minimax-m3.cpp` 0.6.0-dev).

use super::Builder;
use super::blocks::Choice;
use crate::engine::llamacpp::compute::tensor::Id;
use crate::quant::Type;

impl Builder<'_> {
    /// Index queries and keys of one stream.
    pub(super) fn stream_of(
        &mut self,
        choice: &Choice,
        stream: u64,
        index_q: Id,
        index_keys: Id,
    ) -> [Id; 2] {
        let (width, count) = (choice.indexer.head_dim, choice.indexer.num_heads);
        let tokens = self.batch.tokens / self.streams().max(1);
        let [_, nb1, nb2, _] = self.graph.at(index_q).nb;
        let at = stream.saturating_mul(tokens).saturating_mul(nb2);
        let q = self
            .graph
            .view_3d(index_q, [width, count, tokens], [nb1, nb2], at);
        let ([_, _, cells, _], [_, _, kb2, kb3]) =
            (self.graph.at(index_keys).ne, self.graph.at(index_keys).nb);
        let at = stream.saturating_mul(kb3);
        let keys = self.graph.view_2d(index_keys, width, cells, kb2, at);
        [q, keys]
    }

    /// Attention of one stream under a mask that opens the chosen blocks of each group.
    pub(super) fn mask_blocks(
        &mut self,
        choice: &Choice,
        (block_of, causal): (Id, Id),
        stream: u64,
        [index_q, index_keys]: [Id; 2],
        [q, k, v]: [Id; 3],
    ) -> Id {
        let tokens = self.batch.tokens / self.streams().max(1);
        let (size, count) = (choice.indexer.block_size, choice.indexer.num_heads);
        let (positions, blocks) = (choice.positions, choice.positions / size.max(1));
        let from = stream.saturating_mul(tokens);
        let cell_of = self.row_of(choice.cell_of, stream);
        let seen = self.rows_of(choice.seen, from, tokens);
        let block_of = self.row_of(block_of, stream);
        let ([cells, _, _, _], [_, cb1, _, cb3]) =
            (self.graph.at(causal).ne, self.graph.at(causal).nb);
        let at = stream.saturating_mul(cb3);
        let causal = self
            .graph
            .view_3d(causal, [cells, tokens, 1], [cb1, cb3], at);
        let bias = self.rows_of(choice.bias, from, tokens);
        let q = self.part_of(q, from, tokens);
        let [k, v] = [k, v].map(|cached| self.cache_of(cached, stream));
        let keys = self.graph.get_rows(index_keys, cell_of);
        let rows = count.saturating_mul(tokens);
        let lines = self
            .graph
            .reshape(index_q, [choice.indexer.head_dim, rows, 1, 1]);
        let scores = self.graph.mul_mat(keys, lines);
        let scores = self.graph.reshape(scores, [positions, count, tokens, 1]);
        let scores = self.graph.add_in_place(scores, seen);
        let best = self.graph.pool(scores, size);
        let best = self.graph.add(best, bias);
        let kept = choice.blocks();
        let chosen = self.graph.top_k(best, kept);
        let closed = self.graph.scale(bias);
        let closed = self.graph.cast(closed, Type::F16);
        let closed = self.graph.repeat(closed, [blocks, count, tokens, 1]);
        let zero = self.graph.cast(chosen, Type::F32);
        let zero = self.graph.scale(zero);
        let closed = self.graph.reshape(closed, [1, blocks, rows, 1]);
        let zero = self.graph.reshape(zero, [1, kept, rows, 1]);
        let ids = self.graph.reshape(chosen, [kept, rows, 1, 1]);
        let open = self.graph.set_rows(closed, zero, ids);
        let open = self.graph.reshape(open, [blocks, count, tokens, 1]);
        let open = self.graph.permute(open, [0, 2, 1, 3]);
        let open = self.graph.cont(open);
        let open = self.graph.reshape(open, [blocks, rows, 1, 1]);
        let open = self.graph.transpose(open);
        let open = self.graph.cont(open);
        let by_cell = self.graph.get_rows(open, block_of);
        let by_cell = self.graph.transpose(by_cell);
        let by_cell = self.graph.cont(by_cell);
        let by_cell = self.graph.reshape(by_cell, [cells, tokens, count, 1]);
        let mask = self.graph.add_in_place(by_cell, causal);
        let mask = self.graph.reshape(mask, [cells, tokens, 1, count]);
        let mask = self.graph.cast(mask, Type::F16);
        let groups_last = [0, 3, 1, 2];
        let [_, kv, _, _] = self.graph.at(k).ne;
        let k = self.graph.permute(k, groups_last);
        let v = self.graph.permute(v, groups_last);
        self.attend_groups(q, k, v, mask, kv)
    }

    /// One row of a table with a row per stream.
    fn row_of(&mut self, a: Id, stream: u64) -> Id {
        let ([ne0, ..], [_, nb1, ..]) = (self.graph.at(a).ne, self.graph.at(a).nb);
        self.graph.view_1d(a, ne0, stream.saturating_mul(nb1))
    }

    /// Rows of a table with a row per token, each its own plane.
    fn rows_of(&mut self, a: Id, from: u64, count: u64) -> Id {
        let ([ne0, ..], [_, nb1, ..]) = (self.graph.at(a).ne, self.graph.at(a).nb);
        let at = from.saturating_mul(nb1);
        self.graph.view_3d(a, [ne0, 1, count], [nb1, nb1], at)
    }

    /// The cells of one stream.
    fn cache_of(&mut self, cached: Id, stream: u64) -> Id {
        let ([ne0, ne1, ne2, _], [_, nb1, nb2, nb3]) =
            (self.graph.at(cached).ne, self.graph.at(cached).nb);
        let at = stream.saturating_mul(nb3);
        self.graph
            .view(cached, [ne0, ne1, ne2, 1], [nb1, nb2, nb3], at)
    }

    /// Queries of some tokens.
    fn part_of(&mut self, q: Id, from: u64, count: u64) -> Id {
        let ([ne0, ne1, ..], [_, nb1, nb2, _]) = (self.graph.at(q).ne, self.graph.at(q).nb);
        let at = from.saturating_mul(nb2);
        self.graph.view_3d(q, [ne0, ne1, count], [nb1, nb2], at)
    }
}

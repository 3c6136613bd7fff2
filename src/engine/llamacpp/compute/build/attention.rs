//! Attention over a cache of keys and values (`build_qkv`, `build_attn`, `build_attn_mha`).

use super::input::CacheInputs;
use super::{Builder, Fused};
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Home, Id, Op, row_bytes};
use crate::quant::Type;

/// Shapes of one attention.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    /// Query heads.
    pub(super) q: u64,
    /// Heads of keys and values.
    pub(super) kv: u64,
    /// Width of a query or key head.
    pub(super) k_width: u64,
    /// Width of a value head.
    pub(super) v_width: u64,
}

/// Queries, keys and values as `[width, heads, tokens]`.
#[derive(Clone, Copy)]
pub(super) struct Qkv {
    pub(super) q: Id,
    pub(super) k: Id,
    pub(super) v: Id,
}

/// Further parts of a softmax attention.
#[derive(Clone, Copy, Default)]
pub(super) struct Softmax {
    /// A learnt sink per head.
    pub(super) sinks: Option<Id>,
    /// Decompression of values after latent attention.
    pub(super) v_up: Option<Id>,
    /// A tanh caps the scores.
    pub(super) capped: bool,
}

impl Builder<'_> {
    /// Projections to queries, keys and values (`build_qkv`).
    pub(super) fn qkv(&mut self, block: &Block, heads: Heads, a: Id) -> Qkv {
        let tokens = self.batch.tokens;
        let (q_all, k_all) = (
            heads.q.saturating_mul(heads.k_width),
            heads.kv.saturating_mul(heads.k_width),
        );
        if let Some(joint) = self.weight(block, "attn_qkv.weight") {
            let joint = self.graph.mul_mat(joint, a);
            let joint = self.bias(block, "attn_qkv.bias", joint);
            let row = self.graph.at(joint).nb[1];
            let part = |builder: &mut Self, width: u64, count: u64, from: u64| {
                builder
                    .graph
                    .view_3d(joint, [width, count, tokens], [4 * width, row], 4 * from)
            };
            return Qkv {
                q: part(self, heads.k_width, heads.q, 0),
                k: part(self, heads.k_width, heads.kv, q_all),
                v: part(self, heads.v_width, heads.kv, q_all.saturating_add(k_all)),
            };
        }
        let q = self.project(block, "attn_q.weight", a);
        let q = self.bias(block, "attn_q.bias", q);
        let k = self.project(block, "attn_k.weight", a);
        let k = self.bias(block, "attn_k.bias", k);
        let v = self.project(block, "attn_v.weight", a);
        let v = self.bias(block, "attn_v.bias", v);
        Qkv {
            q: self.graph.reshape(q, [heads.k_width, heads.q, tokens, 1]),
            k: self.graph.reshape(k, [heads.k_width, heads.kv, tokens, 1]),
            v: self.graph.reshape(v, [heads.v_width, heads.kv, tokens, 1]),
        }
    }

    /// Rotated as caches of fewer bits want it.
    pub(super) fn rotated(&mut self, cache: &CacheInputs, qkv: Qkv) -> Qkv {
        let Qkv { q, k, v } = qkv;
        let (q, k) = match cache.k_rotation {
            Some(rotation) => (self.rotate(q, rotation), self.rotate(k, rotation)),
            None => (q, k),
        };
        let v = match cache.v_rotation {
            Some(rotation) => self.rotate(v, rotation),
            None => v,
        };
        Qkv { q, k, v }
    }

    /// Stores keys and values and attends (`build_attn` without the output projection).
    pub(super) fn attend(
        &mut self,
        block: &Block,
        heads: Heads,
        cache: &CacheInputs,
        qkv: Qkv,
        softmax: Softmax,
    ) -> Id {
        let Qkv { q, k, v } = self.rotated(cache, qkv);
        self.graph.expand(q);
        let (first, second) = if cache.keys_first { (k, v) } else { (v, k) };
        self.graph.expand(first);
        self.graph.expand(second);
        let (k, v) = self.store(block, heads, cache, k, v);
        let mixed = self.mix(block, q, k, v, cache.mask, softmax);
        match cache.v_rotation {
            Some(rotation) => self.rotate(mixed, rotation),
            None => mixed,
        }
    }

    /// Writes into the cache and looks at all of it.
    pub(super) fn store(
        &mut self,
        block: &Block,
        heads: Heads,
        cache: &CacheInputs,
        k: Id,
        v: Id,
    ) -> (Id, Id) {
        let (k_cache, v_cache) = self.caches(block, heads, cache.cells);
        let stored = self.store_keys(k_cache, k, cache.k_cells);
        self.graph.expand(stored);
        let stored = self.store_values(v_cache, v, cache.v_cells);
        self.graph.expand(stored);
        (
            self.cached_keys(k_cache, heads, cache.cells),
            self.cached_values(v_cache, heads, cache.cells),
        )
    }

    /// The cache tensors of a block.
    pub(super) fn caches(&mut self, block: &Block, heads: Heads, cells: u64) -> (Id, Id) {
        let home = Home {
            backend: block.cache,
            weight: false,
        };
        let streams = self.cache_streams();
        let k_row = heads.kv.saturating_mul(heads.k_width);
        let mut v_row = heads.kv.saturating_mul(heads.v_width);
        if self.values_transposed {
            // `n_embd_v_gqa_max`: transposed values are as wide as those of the widest layer.
            v_row = v_row.max(self.plan.trunk.v_width);
        }
        let k = [k_row, cells, streams, 1];
        let v = [v_row, cells, streams, 1];
        let caches = (
            self.graph.existing(self.load.cache_k, k, home),
            self.graph.existing(self.load.cache_v, v, home),
        );
        self.caches_by_block.push((block.index, caches));
        caches
    }

    /// The cache tensors of an earlier block.
    pub(super) fn caches_of(
        &mut self,
        block: &Block,
        heads: Heads,
        cells: u64,
        source: usize,
    ) -> (Id, Id) {
        let mut known = self.caches_by_block.iter();
        match known.find(|(index, _)| *index == source) {
            Some((_, caches)) => *caches,
            None => self.caches(block, heads, cells),
        }
    }

    /// Streams the caches have, whatever the batch.
    pub(super) fn cache_streams(&self) -> u64 {
        if self.load.kv_unified {
            1
        } else {
            self.load.sequences
        }
    }

    /// Keys written row by row (`cpy_k`).
    pub(super) fn store_keys(&mut self, cache: Id, k: Id, cells: Id) -> Id {
        let ([width, heads, tokens, _], [_, _, row, _]) =
            (self.graph.at(k).ne, self.graph.at(k).nb);
        let k = self
            .graph
            .view_2d(k, width.saturating_mul(heads), tokens, row, 0);
        let cache = self.merge_streams(cache);
        self.graph.set_rows(cache, k, cells)
    }

    fn merge_streams(&mut self, cache: Id) -> Id {
        let [row, cells, streams, _] = self.graph.at(cache).ne;
        if streams > 1 {
            let rows = cells.saturating_mul(streams);
            self.graph.reshape(cache, [row, rows, 1, 1])
        } else {
            cache
        }
    }

    /// Values written row by row, or element by element where they are kept transposed (`cpy_v`).
    fn store_values(&mut self, cache: Id, v: Id, cells: Id) -> Id {
        if !self.values_transposed {
            return self.store_keys(cache, v, cells);
        }
        let ([width, heads, tokens, _], [_, _, row, _]) =
            (self.graph.at(v).ne, self.graph.at(v).nb);
        let all = width.saturating_mul(heads);
        let flat = [all, tokens, 1, 1];
        let mut v = if row == 4 * all {
            self.graph.reshape(v, flat)
        } else {
            self.graph.cont_as(v, flat)
        };
        let [cached, ..] = self.graph.at(cache).ne;
        if all < cached {
            v = self.graph.pad(v, [cached - all, 0, 0, 0]);
        }
        let elements = self.graph.at(cache).elements();
        let cache = self.graph.reshape(cache, [1, elements, 1, 1]);
        let elements = self.graph.at(v).elements();
        let v = self.graph.reshape(v, [1, elements, 1, 1]);
        self.graph.set_rows(cache, v, cells)
    }

    /// All keys as `[width, heads, cells, streams]` (`get_k`).
    pub(super) fn cached_keys(&mut self, cache: Id, heads: Heads, cells: u64) -> Id {
        let dtype = self.graph.at(cache).dtype;
        let [row, ..] = self.graph.at(cache).ne;
        let (row, head) = (row_bytes(dtype, row), row_bytes(dtype, heads.k_width));
        let streams = self.streams();
        let ne = [heads.k_width, heads.kv, cells, streams];
        let nb = [head, row, row.saturating_mul(cells)];
        self.graph.view(cache, ne, nb, 0)
    }

    /// All values, as they are kept (`get_v`).
    pub(super) fn cached_values(&mut self, cache: Id, heads: Heads, cells: u64) -> Id {
        let dtype = self.graph.at(cache).dtype;
        let [row, ..] = self.graph.at(cache).ne;
        let streams = self.streams();
        if !self.values_transposed {
            let (row, head) = (row_bytes(dtype, row), row_bytes(dtype, heads.v_width));
            let ne = [heads.v_width, heads.kv, cells, streams];
            return self
                .graph
                .view(cache, ne, [head, row, row.saturating_mul(cells)], 0);
        }
        let line = row_bytes(dtype, cells);
        let ne = [cells, heads.kv, heads.v_width, streams];
        let nb = [
            line.saturating_mul(heads.v_width),
            line,
            line.saturating_mul(row),
        ];
        self.graph.view(cache, ne, nb, 0)
    }

    /// Scores, softmax, weighted values (`build_attn_mha`).
    pub(super) fn mix(
        &mut self,
        block: &Block,
        q: Id,
        k: Id,
        v: Id,
        mask: Id,
        softmax: Softmax,
    ) -> Id {
        let [_, _, _, streams] = self.graph.at(k).ne;
        let ([ne0, ne1, ne2, _], [_, nb1, nb2, _]) = (self.graph.at(q).ne, self.graph.at(q).nb);
        let rows = ne2 / streams.max(1);
        let q = self.graph.view(
            q,
            [ne0, ne1, rows, streams],
            [nb1, nb2, nb2.saturating_mul(rows)],
            0,
        );
        let [_, v_nb1, v_nb2, _] = self.graph.at(v).nb;
        let transposed = v_nb1 > v_nb2;
        let heads_last = [0, 2, 1, 3];
        let q = self.graph.permute(q, heads_last);
        let k = self.graph.permute(k, heads_last);
        let v = self.graph.permute(v, heads_last);
        let mixed = if self.flash_attn {
            self.fused(block, q, k, v, mask, softmax)
        } else {
            self.unfused(q, k, v, transposed, mask, softmax)
        };
        self.graph.expand(mixed);
        mixed
    }

    fn fused(&mut self, block: &Block, q: Id, k: Id, v: Id, mask: Id, softmax: Softmax) -> Id {
        let [k, v] = [k, v].map(|cached| {
            // The kernels have no f32 input.
            if self.graph.at(cached).dtype == Type::F32 {
                self.graph.cast(cached, Type::F16)
            } else {
                cached
            }
        });
        let mut mixed = self.graph.flash_attn(q, k, v, mask, softmax.sinks);
        self.fused_nodes
            .push((Fused::Attention, mixed, block.backend));
        if let Some(v_up) = softmax.v_up {
            mixed = self.graph.permute(mixed, [0, 2, 1, 3]);
            mixed = self.graph.mul_mat(v_up, mixed);
            mixed = self.graph.permute(mixed, [0, 2, 1, 3]);
            mixed = self.graph.cont(mixed);
        }
        let flat = flatten(self.graph.at(mixed).ne);
        self.graph.reshape(mixed, flat)
    }

    fn unfused(&mut self, q: Id, k: Id, v: Id, transposed: bool, mask: Id, softmax: Softmax) -> Id {
        let mut scores = self.graph.mul_mat(k, q);
        if softmax.capped {
            scores = self.graph.scale(scores);
            scores = self.graph.map(Op::Unary, scores);
            scores = self.graph.scale(scores);
        }
        let scores = self.graph.soft_max(scores, Some(mask), softmax.sinks);
        let v = if transposed {
            v
        } else {
            let v = self.graph.transpose(v);
            self.graph.cont(v)
        };
        let mut mixed = self.graph.mul_mat(v, scores);
        if let Some(v_up) = softmax.v_up {
            mixed = self.graph.mul_mat(v_up, mixed);
        }
        let mixed = self.graph.permute(mixed, [0, 2, 1, 3]);
        let flat = flatten(self.graph.at(mixed).ne);
        let mixed = self.graph.cont_as(mixed, flat);
        if !self.kv_offload {
            self.graph.pin(mixed, self.rules.cpu());
        }
        mixed
    }

    /// Hadamard rotation of each head (`llama_mul_mat_hadamard`).
    pub(super) fn rotate(&mut self, a: Id, rotation: Id) -> Id {
        let ne = self.graph.at(a).ne;
        let [size, ..] = self.graph.at(rotation).ne;
        let rows = self.graph.at(a).elements() / size.max(1);
        let flat = [size, rows, 1, 1];
        let lines = if self.graph.at(a).is_contiguous() {
            self.graph.reshape(a, flat)
        } else {
            self.graph.cont_as(a, flat)
        };
        let rotated = self.graph.mul_mat(rotation, lines);
        self.graph.reshape(rotated, ne)
    }

    /// Attention's output projection with its bias.
    pub(super) fn output_projection(&mut self, block: &Block, a: Id) -> Id {
        let a = self.project(block, "attn_output.weight", a);
        self.bias(block, "attn_output.bias", a)
    }
}

/// Heads side by side, streams one after the other.
pub(super) fn flatten(ne: [u64; 4]) -> [u64; 4] {
    let [ne0, ne1, ne2, ne3] = ne;
    [ne0.saturating_mul(ne1), ne2.saturating_mul(ne3), 1, 1]
}

//! Compressors of DeepSeek-V4 (`src/models/deepseek4.cpp`, `llama_dsv4_comp_state` and
//! `dsv4_build_reserve_comp_plan` in `src/llama-kv-cache-dsv4.cpp` 0.6.0-dev): several tokens become one cached entry;
//! what an entry still lacks waits in a state.

use super::Builder;
use super::attention::Heads;
use super::input::CacheShape;
use super::sparse::hadamard;
use crate::engine::llamacpp::compute::plan::Block;
use crate::engine::llamacpp::compute::tensor::{Home, Id};
use crate::quant::Type;

/// One of the three compressors.
#[derive(Clone, Copy)]
pub(super) struct Compressor {
    /// Tokens per entry.
    pub(super) ratio: u64,
    /// Width of an entry.
    pub(super) width: u64,
    /// Neighbouring entries share tokens.
    pub(super) overlaps: bool,
}

/// Names of the weights of a compressor.
#[derive(Clone, Copy)]
pub(super) struct Names {
    values: &'static str,
    scores: &'static str,
    positions: &'static str,
    norm: &'static str,
}

impl Names {
    /// Entries that are attended to.
    pub(super) const ATTENTION: Self = Self {
        values: "attn_compressor_kv.weight",
        scores: "attn_compressor_gate.weight",
        positions: "attn_compressor_ape.weight",
        norm: "attn_compressor_norm.weight",
    };

    /// Entries by which the indexer chooses.
    pub(super) const INDEXER: Self = Self {
        values: "indexer_compressor_kv.weight",
        scores: "indexer_compressor_gate.weight",
        positions: "indexer_compressor_ape.weight",
        norm: "indexer_compressor_norm.weight",
    };
}

/// What every block with such a compressor reads.
#[derive(Clone, Copy)]
pub(super) struct CompressorInputs {
    /// Place of each token in its entry.
    positions: Id,
    /// Tokens that are kept in the state, and where.
    kept: (Id, Id),
    /// Rows of the state that are brought back after a rollback, from and to.
    restored: Option<(Id, Id)>,
    /// Rows that are put aside for a rollback, from and to.
    put_aside: Option<(Id, Id)>,
    /// Rows of state and batch from which entries are made.
    read: Id,
    /// Cells that entries are written to.
    cells: Id,
    /// Positions of the entries.
    entry_positions: Id,
    /// Who sees which entry.
    pub(super) mask: Id,
    /// Hadamard rotation of the entries.
    pub(super) rotation: Option<Id>,
    /// Cells per stream.
    pub(super) entries: u64,
}

/// Values and scores of the tokens of an unfinished entry.
#[derive(Clone, Copy)]
struct Pair {
    values: Id,
    scores: Id,
}

impl Pair {
    fn map(self, mut change: impl FnMut(Id) -> Id) -> Self {
        Self {
            values: change(self.values),
            scores: change(self.scores),
        }
    }
}

impl Compressor {
    /// Values per row of the state; entries that overlap need each token twice.
    fn columns(self) -> u64 {
        self.factor().saturating_mul(self.width)
    }

    fn factor(self) -> u64 {
        if self.overlaps { 2 } else { 1 }
    }

    /// Rows of the state of one sequence.
    fn rows(self) -> u64 {
        self.factor().saturating_mul(self.ratio)
    }

    /// Cells for the entries of `cells` tokens.
    fn entries(self, cells: u64) -> u64 {
        let entries = cells.div_ceil(self.ratio.max(1)).max(1);
        entries.checked_next_multiple_of(256).unwrap_or(entries)
    }
}

impl Builder<'_> {
    /// Inputs of a compressor, as many as the worst batch needs. The mask of the indexer is always in f16.
    pub(super) fn compressor_inputs(
        &mut self,
        compressor: Compressor,
        indexer: bool,
    ) -> CompressorInputs {
        let tokens = self.batch.tokens;
        let entries = self.finished_entries(compressor);
        let rows = compressor.rows().saturating_mul(self.load.sequences);
        let aside = rows.saturating_mul(self.load.rollback_states);
        let mut numbers = |dtype: Type, count: u64| self.graph.input(dtype, [count, 1, 1, 1]);
        let kept = rows.min(tokens);
        let positions = numbers(Type::I32, tokens);
        let kept = (numbers(Type::I32, kept), numbers(Type::I32, kept));
        let rolls_back = aside > 0;
        let restored = rolls_back.then(|| (numbers(Type::I32, rows), numbers(Type::I32, rows)));
        let put_aside = rolls_back.then(|| (numbers(Type::I32, aside), numbers(Type::I32, aside)));
        let read = compressor.rows().saturating_mul(entries);
        let read = numbers(Type::I32, read);
        let cells = numbers(Type::I64, entries);
        let entry_positions = numbers(Type::I32, entries);
        let cached = compressor.entries(self.load.cells);
        let mask = if indexer {
            let streams = self.streams();
            let rows = tokens / streams.max(1);
            self.graph.input(Type::F16, [cached, rows, 1, streams])
        } else {
            self.mask(cached)
        };
        let rotation = if indexer {
            let size = hadamard(compressor.width);
            Some(self.graph.input(Type::F32, [size, size, 1, 1]))
        } else {
            self.key_rotation(compressor.width)
        };
        CompressorInputs {
            positions,
            kept,
            restored,
            put_aside,
            read,
            cells,
            entry_positions,
            mask,
            rotation,
            entries: cached,
        }
    }

    /// Hadamard rotation of keys, where they are quantized.
    pub(super) fn key_rotation(&mut self, width: u64) -> Option<Id> {
        let (rotation, _) = self.rotations(CacheShape {
            cells: 0,
            head_k: width,
            head_v: 0,
            v_width: 0,
        });
        rotation
    }

    /// Most entries that a batch finishes.
    fn finished_entries(&self, compressor: Compressor) -> u64 {
        let whole = self.batch.tokens / compressor.ratio.max(1);
        whole.saturating_add(self.batch.sequences.max(1))
    }

    /// Values and scores of the batch, from which entries are made.
    fn compressor_rows(
        &mut self,
        block: &Block,
        names: Names,
        inputs: &CompressorInputs,
        a: Id,
    ) -> Pair {
        let values = self.project(block, names.values, a);
        let scores = self.project(block, names.scores, a);
        let scores = match self.weight(block, names.positions) {
            Some(table) => {
                let rows = self.graph.get_rows(table, inputs.positions);
                self.graph.add(scores, rows)
            }
            None => scores,
        };
        Pair { values, scores }
    }

    /// Makes entries of what is complete and keeps the rest in the state. Nothing of the batch is in the graph before.
    pub(super) fn compress(
        &mut self,
        block: &Block,
        names: Names,
        compressor: Compressor,
        inputs: &CompressorInputs,
        cache: Id,
        a: Id,
    ) {
        let batch = self.compressor_rows(block, names, inputs, a);
        let states = self.compressor_states(block, compressor);
        let restored = self.restored(states, inputs);
        let rows = compressor.rows().saturating_mul(self.load.sequences);
        let base = restored.map(|state| {
            let ([columns, ..], [_, row, ..]) = (self.graph.at(state).ne, self.graph.at(state).nb);
            self.graph.view_2d(state, columns, rows, row, 0)
        });
        let source = Pair {
            values: self.graph.concat(base.values, batch.values, 1),
            scores: self.graph.concat(base.scores, batch.scores, 1),
        };
        let entries = if compressor.overlaps {
            self.overlapping(compressor, source, inputs)
        } else {
            self.separate(compressor, source, inputs)
        };
        let entries = self.rms_norm(block, names.norm, entries);
        let entries = self.graph.rope(entries, inputs.entry_positions, None);
        let entries = match inputs.rotation {
            Some(rotation) => self.rotate(entries, rotation),
            None => entries,
        };
        let stored = self.store_keys(cache, entries, inputs.cells);
        self.graph.expand(stored);
        self.put_aside(states, restored, batch, inputs);
        let (from, to) = inputs.kept;
        let kept = batch.map(|rows| self.graph.get_rows(rows, from));
        let values = self.write_state(states.values, kept.values, to);
        let scores = self.write_state(states.scores, kept.scores, to);
        self.graph.expand(values);
        self.graph.expand(scores);
    }

    /// The state tensors of a block, one plane per sequence and rollback state.
    fn compressor_states(&mut self, block: &Block, compressor: Compressor) -> Pair {
        let home = Home {
            backend: block.cache,
            weight: false,
        };
        let planes = self.load.rollback_states.saturating_add(1);
        let planes = planes.saturating_mul(self.load.sequences);
        let ne = [compressor.columns(), compressor.rows(), planes, 1];
        Pair {
            values: self.graph.existing(Type::F32, ne, home),
            scores: self.graph.existing(Type::F32, ne, home),
        }
    }

    /// All rows of a state.
    fn whole_state(&mut self, state: Id) -> Id {
        let ([columns, rows, planes, _], [_, row, ..]) =
            (self.graph.at(state).ne, self.graph.at(state).nb);
        let rows = rows.saturating_mul(planes);
        self.graph.view_2d(state, columns, rows, row, 0)
    }

    fn write_state(&mut self, state: Id, rows: Id, to: Id) -> Id {
        let whole = self.whole_state(state);
        self.graph.set_rows(whole, rows, to)
    }

    /// The states, after a rollback as they were (`dsv4_build_state_restore`).
    fn restored(&mut self, states: Pair, inputs: &CompressorInputs) -> Pair {
        let whole = states.map(|state| self.whole_state(state));
        let Some((from, to)) = inputs.restored else {
            return whole;
        };
        let values = self.graph.get_rows(whole.values, from);
        let values = self.write_state(states.values, values, to);
        let scores = self.graph.get_rows(whole.scores, from);
        let scores = self.write_state(states.scores, scores, to);
        Pair { values, scores }
    }

    /// Copies for a rollback (`dsv4_build_state_snapshot`).
    fn put_aside(&mut self, states: Pair, restored: Pair, batch: Pair, inputs: &CompressorInputs) {
        let Some((from, to)) = inputs.put_aside else {
            return;
        };
        let values = self.graph.concat(restored.values, batch.values, 1);
        let scores = self.graph.concat(restored.scores, batch.scores, 1);
        let values = self.graph.get_rows(values, from);
        let values = self.write_state(states.values, values, to);
        let scores = self.graph.get_rows(scores, from);
        let scores = self.write_state(states.scores, scores, to);
        self.graph.expand(values);
        self.graph.expand(scores);
    }

    /// Entries of their own tokens only (`build_hca_compressed_kv_from_state`).
    fn separate(&mut self, compressor: Compressor, source: Pair, inputs: &CompressorInputs) -> Id {
        let entries = self.finished_entries(compressor);
        let ne = [compressor.width, compressor.ratio, entries, 1];
        let rows = source.map(|rows| {
            let rows = self.graph.get_rows(rows, inputs.read);
            self.graph.reshape(rows, ne)
        });
        self.pooled(rows)
    }

    /// Entries of their own tokens and of those of the entry before (`build_overlap_compressed_kv_from_state`).
    fn overlapping(
        &mut self,
        compressor: Compressor,
        source: Pair,
        inputs: &CompressorInputs,
    ) -> Id {
        let width = compressor.width;
        let entries = self.finished_entries(compressor);
        let read = compressor.ratio.saturating_mul(entries);
        let ne = [width, compressor.ratio, entries, 1];
        // The first entry has none before it: a row of nothing stands for it.
        let source = source.map(|rows| {
            let [columns, ..] = self.graph.at(rows).ne;
            let nothing = self.graph.view_1d(rows, columns, 0);
            let nothing = self.graph.scale(nothing);
            let nothing = self.graph.reshape(nothing, [columns, 1, 1, 1]);
            self.graph.concat(rows, nothing, 1)
        });
        let rows = source.map(|rows| self.graph.get_rows(rows, inputs.read));
        let mut half = |rows: Id, own: bool| {
            let [nb0, row, ..] = self.graph.at(rows).nb;
            let offset = if own {
                read.saturating_mul(row)
                    .saturating_add(width.saturating_mul(nb0))
            } else {
                0
            };
            let part = self.graph.view_2d(rows, width, read, row, offset);
            let part = self.graph.cont(part);
            self.graph.reshape(part, ne)
        };
        let before = rows.map(|rows| half(rows, false));
        let own = rows.map(|rows| half(rows, true));
        let rows = Pair {
            values: self.graph.concat(before.values, own.values, 1),
            scores: self.graph.concat(before.scores, own.scores, 1),
        };
        self.pooled(rows)
    }

    /// The values of each entry, weighted by the softmax of their scores.
    fn pooled(&mut self, rows: Pair) -> Id {
        let turned = rows.map(|rows| {
            let turned = self.graph.permute(rows, [1, 0, 2, 3]);
            self.graph.cont(turned)
        });
        let weights = self.graph.soft_max(turned.scores, None, None);
        let weighted = self.graph.mul(turned.values, weights);
        let sum = self.graph.sum_rows(weighted);
        let sum = self.graph.permute(sum, [1, 0, 2, 3]);
        self.graph.cont(sum)
    }

    /// A cache of keys of one head.
    pub(super) fn key_cache(&mut self, block: &Block, width: u64, cells: u64) -> Id {
        let home = Home {
            backend: block.cache,
            weight: false,
        };
        let ne = [width, cells, self.cache_streams(), 1];
        self.graph.existing(self.load.cache_k, ne, home)
    }

    /// All entries of a cache, as a view of the view that the engine makes.
    pub(super) fn cached_entries(&mut self, cache: Id, cells: u64) -> Id {
        let [width, ..] = self.graph.at(cache).ne;
        let all = self.cached_keys(cache, single_head(width), cells);
        let (ne, [_, nb1, nb2, nb3]) = (self.graph.at(all).ne, self.graph.at(all).nb);
        self.graph.view(all, ne, [nb1, nb2, nb3], 0)
    }
}

/// Keys of one head that are values too.
pub(super) fn single_head(width: u64) -> Heads {
    Heads {
        q: 1,
        kv: 1,
        k_width: width,
        v_width: width,
    }
}

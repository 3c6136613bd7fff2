//! Inputs of a graph: embeddings, positions, rows of logits, masks (`build_inp_*`, `build_attn_inp_*`).

use super::Builder;
use super::sparse::hadamard;
use crate::engine::llamacpp::compute::tensor::{Id, Op};
use crate::model::mixer::{Attention, Reach};
use crate::quant::Type;

/// What every attention over keys and values reads.
#[derive(Clone, Copy)]
pub(super) struct CacheInputs {
    /// Cells that keys are written to.
    pub(super) k_cells: Id,
    /// Cells that values are written to.
    pub(super) v_cells: Id,
    /// Who sees what.
    pub(super) mask: Id,
    /// Hadamard rotation of keys, where they are quantized.
    pub(super) k_rotation: Option<Id>,
    /// Hadamard rotation of values, where they are quantized.
    pub(super) v_rotation: Option<Id>,
    /// Cells per stream.
    pub(super) cells: u64,
    /// Keys are computed before values (where there is a second cache for windows).
    pub(super) keys_first: bool,
}

/// What of a cache the inputs depend on.
#[derive(Clone, Copy)]
pub(super) struct CacheShape {
    /// Cells per stream.
    pub(super) cells: u64,
    /// Width of a key head, 0 where layers differ.
    pub(super) head_k: u64,
    /// Width of a value head.
    pub(super) head_v: u64,
    /// Largest width of all value heads of a layer.
    pub(super) v_width: u64,
}

/// Caches of the two reaches.
#[derive(Clone, Copy)]
pub(super) struct Caches {
    full: CacheInputs,
    window: Option<CacheInputs>,
}

impl Caches {
    /// Who sees what of the whole context.
    pub(super) fn full_mask(&self) -> Id {
        self.full.mask
    }

    /// The cache that an attention uses.
    pub(super) fn of(&self, attention: &Attention) -> CacheInputs {
        match attention.reach {
            Reach::Full => self.full,
            Reach::Window(_) | Reach::Chunk(_) => self.window.unwrap_or(self.full),
        }
    }
}

impl Builder<'_> {
    /// Token embeddings, with the alternatives of embedded and mixed inputs (`build_inp_embd`). `width` is that of the
    /// input, which exceeds the model's where images enter further layers.
    pub(super) fn embeddings(&mut self, width: u64, mixed: bool) -> Id {
        let tokens = self.batch.tokens;
        let ids = self.graph.input(Type::I32, [tokens, 1, 1, 1]);
        let embedded = self.graph.input(Type::F32, [width, tokens, 1, 1]);
        let from_tokens = self.token_rows(ids, width);
        if !(mixed && self.load.since_mid_2026) {
            let chosen = self.graph.select(&[from_tokens, embedded], 0);
            return chosen;
        }
        let mixed_ids = self.graph.input(Type::I32, [tokens, 1, 1, 1]);
        let slots = self.graph.input(Type::I64, [tokens, 1, 1, 1]);
        let mixed = self.graph.input(Type::F32, [width, tokens, 1, 1]);
        let copy = self.graph.map(Op::Dup, mixed);
        let rows = self.token_rows(mixed_ids, width);
        let mixed = self.graph.set_rows(copy, rows, slots);
        self.graph.select(&[from_tokens, embedded, mixed], 0)
    }

    pub(super) fn token_rows(&mut self, ids: Id, width: u64) -> Id {
        let Some(table) = self.outside("token_embd.weight") else {
            return ids;
        };
        let rows = self.graph.get_rows(table, ids);
        let [own, ..] = self.graph.at(rows).ne;
        if own < width {
            self.graph.pad(rows, [width - own, 0, 0, 0])
        } else {
            rows
        }
    }

    /// Position of each token; `per_token` values for multi-axis rotation.
    pub(super) fn positions(&mut self, per_token: u64) -> Id {
        let count = self.batch.tokens.saturating_mul(per_token);
        self.graph.input(Type::I32, [count, 1, 1, 1])
    }

    /// Rows of which logits are wanted.
    pub(super) fn output_ids(&mut self) -> Id {
        self.graph.input(Type::I32, [self.batch.outputs, 1, 1, 1])
    }

    /// Inputs of a cache of keys and values.
    pub(super) fn cache_inputs(&mut self, shape: CacheShape) -> CacheInputs {
        let tokens = self.batch.tokens;
        let k_cells = self.graph.input(Type::I64, [tokens, 1, 1, 1]);
        // Transposed values are written element by element.
        let v_rows = if self.values_transposed {
            tokens.saturating_mul(shape.v_width)
        } else {
            tokens
        };
        let v_cells = self.graph.input(Type::I64, [v_rows, 1, 1, 1]);
        let mask = self.mask(shape.cells);
        let (k_rotation, v_rotation) = self.rotations(shape);
        CacheInputs {
            k_cells,
            v_cells,
            mask,
            k_rotation,
            v_rotation,
            cells: shape.cells,
            keys_first: false,
        }
    }

    /// A mask over the cells of each stream.
    pub(super) fn mask(&mut self, cells: u64) -> Id {
        let streams = self.streams();
        let dtype = if self.flash_attn {
            Type::F16
        } else {
            Type::F32
        };
        let rows = self.batch.tokens / streams.max(1);
        self.graph.input(dtype, [cells, rows, 1, streams])
    }

    /// Rotations that spread outliers before quantization (`llama-kv-cache.cpp`).
    pub(super) fn rotations(&mut self, shape: CacheShape) -> (Option<Id>, Option<Id>) {
        let (k, v) = (self.load.cache_k, self.load.cache_v);
        let fits = |head: u64| head > 0 && head.is_multiple_of(64);
        let k = (k.is_quantized() && fits(shape.head_k)).then(|| {
            let size = hadamard(shape.head_k);
            self.graph.input(Type::F32, [size, size, 1, 1])
        });
        let v = (v.is_quantized() && fits(shape.head_v))
            .then(|| self.graph.input(Type::F32, [64, 64, 1, 1]));
        (k, v)
    }

    /// Inputs of the cache, and of a second one where some blocks see only a window.
    pub(super) fn attention_caches(&mut self, windows: bool) -> Caches {
        let plan = self.plan;
        let attentions = || {
            plan.blocks
                .iter()
                .filter_map(|block| block.layer.mixer.attention())
        };
        let windowed = windows && attentions().any(|attention| attention.reach != Reach::Full);
        let shape = |cells, full: bool| {
            let mut own = attentions()
                .filter(|attention| !windowed || (attention.reach == Reach::Full) == full);
            let first = own.next();
            CacheShape {
                cells,
                head_k: first.map_or(0, |attention| attention.head_dim),
                head_v: first.map_or(0, |attention| attention.v_head_dim),
                v_width: plan.trunk.v_width,
            }
        };
        let (cells, window_cells) = (self.load.cells, self.load.window_cells);
        if !windowed {
            return Caches {
                full: self.cache_inputs(shape(cells, true)),
                window: None,
            };
        }
        let mut full = self.cache_inputs(shape(cells, true));
        let mut window = self.cache_inputs(shape(window_cells, false));
        full.keys_first = true;
        window.keys_first = true;
        Caches {
            full,
            window: Some(window),
        }
    }
}

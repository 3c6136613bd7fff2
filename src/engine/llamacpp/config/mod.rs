//! The settings of a plan as the engine understands them: defaults filled in, then clamped and rounded as it does.

mod devices;
mod lists;
mod read;
mod words;

pub(super) use devices::{Device, devices, free_memory, remote_names};
pub(super) use read::read;
pub(super) use words::{Flash, GpuLayers, LazyMode, LoadMode, SplitMode};

use std::hash::{Hash, Hasher};

use super::draft::Speculation;
use super::file_type::Weights;
use super::version::Version;
use crate::model::Model;
use crate::quant::Type;

/// What the command line asks for (`common_params`, 0.6.0-dev). Fitting changes it; [`Config::shape`] derives from it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line, named as there"
)]
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    /// Whose rules.
    pub(super) version: Version,
    /// Form of the weights as written; `None`: the model's usual one.
    pub(super) written_weights: Option<String>,
    /// The file was made with an importance matrix.
    pub(super) imatrix: bool,
    /// Context asked for.
    pub(super) context: Context,
    /// Sequences (`n_seq_max`), at least 1.
    pub(super) sequences: u64,
    /// One cache for all sequences.
    pub(super) unified: bool,
    /// `n_batch` before it is limited by the context.
    pub(super) batch: u64,
    /// `n_ubatch` before it is limited by the batch; 0 = as the batch.
    pub(super) micro_batch: u64,
    /// Rows of logits reserved; 0 = one per token of the batch.
    pub(super) outputs: u64,
    /// Embeddings are kept instead of logits alone.
    pub(super) embedding: bool,
    /// Samplers run on the device.
    pub(super) backend_sampling: bool,
    /// Who drafts tokens.
    pub(super) speculation: Speculation,
    /// Rollback states per sequence.
    pub(super) rollback: u64,
    /// Flash attention as asked for.
    pub(super) flash: Flash,
    /// Format of cached keys.
    pub(super) cache_k: Type,
    /// Format of cached values.
    pub(super) cache_v: Type,
    /// Window layers get a cache of the whole context.
    pub(super) swa_full: bool,
    /// Caches live with their layers.
    pub(super) kv_offload: bool,
    /// Large batches are computed on the GPU whatever their weights' place.
    pub(super) op_offload: bool,
    /// Layers on GPUs.
    pub(super) gpu_layers: GpuLayers,
    /// How several GPUs are used.
    pub(super) split_mode: SplitMode,
    /// Servers whose GPUs are used too ("host:port"), in order.
    pub(super) rpc: Vec<String>,
    /// Proportions per GPU; empty = by free memory.
    pub(super) tensor_split: Vec<f64>,
    /// The GPU of split mode "none"; `None` = none at all.
    pub(super) main_gpu: Option<usize>,
    /// Tensors sent elsewhere, first match wins.
    pub(super) overrides: Vec<Override>,
    /// How the file is read.
    pub(super) load_mode: LoadMode,
    /// Tensors left on disk.
    pub(super) lazy_mode: LazyMode,
    /// Weights of the processor are repacked.
    pub(super) repack: bool,
    /// Host weights may be pinned.
    pub(super) host_buffer: bool,
    /// Tensors are checked for invalid numbers while they are read.
    pub(super) check_tensors: bool,
    /// Limit of the prompt cache in MiB; negative = none, 0 = off.
    pub(super) cache_ram_mib: i64,
    /// Checkpoints per slot.
    pub(super) checkpoints: u64,
    /// Least tokens between checkpoints.
    pub(super) checkpoint_step: u64,
    /// Automatic fitting is on.
    pub(super) fit: bool,
    /// MiB that fitting leaves free per GPU, one number for all; empty = as the plan's margin.
    pub(super) fit_target: Vec<u64>,
    /// Least context that fitting may choose.
    pub(super) fit_context: u64,
}

/// The context a plan asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Context {
    /// Nothing: the trained context, which fitting may reduce.
    Unset,
    /// 0: the trained context as it is.
    Trained,
    /// So many tokens.
    Tokens(u64),
}

/// One rule that sends tensors to another buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Override {
    /// Routed experts of every block to main memory (`--cpu-moe`).
    AllExperts,
    /// Routed experts of the first blocks to main memory (`--n-cpu-moe`).
    Experts {
        /// Blocks from 0.
        blocks: u64,
    },
    /// Dense feed-forward matrices of the first blocks to main memory (`--n-cpu-ffn`).
    Dense {
        /// Blocks from 0.
        blocks: u64,
    },
    /// Tensors whose name matches a regular expression (`--override-tensor`).
    Pattern {
        /// The expression.
        regex: String,
        /// Buffer type as written ("CPU", "CUDA0").
        target: String,
    },
}

/// What a context is created with (`llama_cparams`), derived from a [`Config`] and the trained context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// `n_ctx` after padding.
    pub(super) context: u64,
    /// `n_ctx_seq`: cells of one stream.
    pub(super) cells: u64,
    /// Streams of the cache: 1 where it is unified.
    pub(super) streams: u64,
    /// `n_seq_max`.
    pub(super) sequences: u64,
    /// `n_batch`.
    pub(super) batch: u64,
    /// `n_ubatch`.
    pub(super) micro_batch: u64,
    /// `n_outputs_max`.
    pub(super) outputs: u64,
}

/// Caches are padded to this many cells (`GGML_PAD(cparams.n_ctx, 256)`, `src/llama-context.cpp` 0.6.0-dev).
pub(super) const CELL_PADDING: u64 = 256;

/// Rounded up to whole paddings.
pub(super) fn padded(cells: u64) -> u64 {
    cells
        .checked_next_multiple_of(CELL_PADDING)
        .unwrap_or(u64::MAX)
}

impl Hash for Config {
    #[expect(
        clippy::too_many_lines,
        reason = "every field once, so that none is forgotten"
    )]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            version,
            written_weights,
            imatrix,
            context,
            sequences,
            unified,
            batch,
            micro_batch,
            outputs,
            embedding,
            backend_sampling,
            speculation,
            rollback,
            flash,
            cache_k,
            cache_v,
            swa_full,
            kv_offload,
            op_offload,
            gpu_layers,
            split_mode,
            rpc,
            tensor_split,
            main_gpu,
            overrides,
            load_mode,
            lazy_mode,
            repack,
            host_buffer,
            check_tensors,
            cache_ram_mib,
            checkpoints,
            checkpoint_step,
            fit,
            fit_target,
            fit_context,
        } = self;
        (version, written_weights, context).hash(state);
        (flash, cache_k, cache_v).hash(state);
        (
            sequences,
            batch,
            micro_batch,
            outputs,
            speculation,
            rollback,
        )
            .hash(state);
        (gpu_layers, split_mode, main_gpu, overrides).hash(state);
        (load_mode, lazy_mode, cache_ram_mib, checkpoints).hash(state);
        (checkpoint_step, fit_target, fit_context, rpc).hash(state);
        for share in tensor_split {
            share.to_bits().hash(state);
        }
        [
            imatrix,
            unified,
            embedding,
            backend_sampling,
            swa_full,
            kv_offload,
            op_offload,
            repack,
            host_buffer,
            check_tensors,
            fit,
        ]
        .hash(state);
    }
}

impl Config {
    /// The form of the weights, that of the model where none is written; `None`: there is none of that name for it.
    pub(super) fn weights(&self, model: &Model) -> Option<Weights> {
        match &self.written_weights {
            Some(word) => Weights::named(word, model),
            None => Some(Weights::usual(model)),
        }
    }

    /// The context in tokens as asked for, before padding.
    pub(super) fn asked_context(&self, trained: u64) -> u64 {
        match self.context {
            Context::Unset | Context::Trained => trained,
            Context::Tokens(tokens) => tokens,
        }
    }

    /// With a context of so many tokens.
    pub(super) fn with_context(&self, tokens: u64) -> Self {
        Self {
            context: Context::Tokens(tokens),
            ..self.clone()
        }
    }

    /// What the context is created with (constructor of `llama_context`, `src/llama-context.cpp` 0.6.0-dev).
    pub(super) fn shape(&self, trained: u64) -> Shape {
        let asked = self.asked_context(trained);
        let sequences = self.sequences.max(1);
        let batch = self.batch.min(asked);
        let micro_batch = match self.micro_batch {
            0 => batch,
            micro_batch => micro_batch.min(batch),
        };
        let context = padded(asked);
        let (cells, streams) = if self.unified {
            (context, 1)
        } else {
            (padded(context / sequences), sequences)
        };
        Shape {
            context: cells.saturating_mul(streams),
            cells,
            streams,
            sequences,
            batch,
            micro_batch,
            outputs: match self.outputs {
                0 => batch,
                outputs => outputs,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Settings, Value};

    fn shape(settings: &[(&str, Value)]) -> Shape {
        let settings: Settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        read(&settings, false, &mut Vec::new()).shape(131_072)
    }

    #[test]
    fn slots_of_their_own_round_the_context() {
        let shape = shape(&[
            ("ctx_size", Value::Integer(10_000)),
            ("parallel", Value::Integer(3)),
        ]);
        assert_eq!(
            (shape.context, shape.cells, shape.streams),
            (10_752, 3_584, 3)
        );
    }

    #[test]
    fn automatic_slots_share_one_cache() {
        let shape = shape(&[("ctx_size", Value::Integer(10_000))]);
        assert_eq!(
            (shape.cells, shape.streams, shape.sequences),
            (10_240, 1, 4)
        );
        assert_eq!(shape.outputs, 4);
    }

    #[test]
    fn batches_follow_the_context_before_padding() {
        let shape = shape(&[
            ("ctx_size", Value::Integer(3_000)),
            ("batch_size", Value::Integer(4_096)),
            ("ubatch_size", Value::Integer(4_096)),
        ]);
        assert_eq!((shape.cells, shape.micro_batch), (3_072, 3_000));
    }

    #[test]
    fn without_a_context_it_is_the_trained_one() {
        assert_eq!(shape(&[]).context, 131_072);
        assert_eq!(shape(&[("ctx_size", Value::Integer(0))]).context, 131_072);
    }
}

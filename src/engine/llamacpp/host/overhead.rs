//! Memory of a process that none of the engine's buffers count.

use super::context::Context;
use crate::engine::Overhead;
use crate::hardware::{Gpu, Os, Vendor};
use crate::model::{FeedForward, Model, product};
use crate::projection::{Category, Part, Term, Why};
use crate::units::{Bytes, MIB};

/// Largest group of a quantized activation: 32 values in 36 bytes (`block_q8_1`, `ggml/src/ggml-common.h`).
const Q8_1: (u64, u64) = (36, 32);

/// The context of the driver on one card, and the scratch that its kernels take as they run. `width` is
/// [`widest_input`].
pub(in super::super) fn gpu_overhead(gpu: &Gpu, os: Os, width: u64, micro_batch: u64) -> Vec<Term> {
    let context = Context::of(gpu, os);
    let mut terms = vec![ranged(
        context.usual,
        (context.low, context.high),
        context.why(),
    )];
    terms.extend(Pools::of(gpu, width, micro_batch).map(|pools| pools.term(width, micro_batch)));
    terms
}

/// The sum of [`gpu_overhead`].
pub(in super::super) fn gpu_overhead_bytes(
    gpu: &Gpu,
    os: Os,
    width: u64,
    micro_batch: u64,
) -> Overhead {
    let context = gpu_context_bytes(gpu, os);
    let pools = Pools::of(gpu, width, micro_batch);
    let [usual, most] = [Pools::usual, Pools::most].map(|of| pools.map_or(Bytes::ZERO, of));
    Overhead {
        usual: context.usual + usual,
        most: context.most + most,
    }
}

/// Part of it that is there before anything runs: the context of the driver.
pub(in super::super) fn gpu_context_bytes(gpu: &Gpu, os: Os) -> Overhead {
    let context = Context::of(gpu, os);
    Overhead {
        usual: context.usual,
        most: context.high,
    }
}

/// The driver's granularity, 2 MiB on every card.
const STEP: u64 = 2 * MIB;

/// What kernels of the CUDA code, which HIP builds too, take as batches run.
#[derive(Clone, Copy)]
struct Pools {
    /// Workspace of cuBLAS.
    workspace: Bytes,
    /// Quantized copies of the inputs of the widest product.
    inputs: Bytes,
    /// Grows by virtual memory in steps, instead of by blocks with room to spare.
    virtual_memory: bool,
}

impl Pools {
    fn of(gpu: &Gpu, width: u64, micro_batch: u64) -> Option<Self> {
        let virtual_memory = match gpu.vendor {
            Vendor::Nvidia => true,
            // Not built with it by default (`GGML_HIP_NO_VMM`, `ggml/CMakeLists.txt` 0.6.0-dev).
            Vendor::Amd => false,
            Vendor::Intel | Vendor::Apple | Vendor::Other => return None,
        };
        // Workspaces of `ggml/src/ggml-cuda/common.cuh` (0.6.0-dev): 32 MiB from Hopper on, else 4 MiB.
        let hopper = gpu.compute_capability.is_some_and(|(major, _)| major >= 9);
        let (bytes, values) = Q8_1;
        Some(Self {
            workspace: Bytes::from_mib(if hopper { 32 } else { 4 }),
            inputs: Bytes::new(product(&[width, micro_batch, bytes]) / values),
            virtual_memory,
        })
    }

    fn usual(self) -> Bytes {
        // Blocks are taken with a twentieth to spare (`ggml_cuda_pool_leg`, `ggml-cuda.cu` 0.6.0-dev).
        let inputs = if self.virtual_memory {
            self.inputs
        } else {
            self.inputs.mul_ratio(21, 20).align_up(256)
        };
        self.workspace + inputs
    }

    /// In whole steps of the driver's granularity.
    fn most(self) -> Bytes {
        self.usual().align_up(STEP)
    }

    fn term(self, width: u64, micro_batch: u64) -> Term {
        let template = if self.virtual_memory {
            "{workspace} of cuBLAS workspace + {tokens} tokens × {width} inputs of the widest matrix in 8 bits, taken as \
             the first batches run, in steps of {step}; the pool never shrinks"
        } else {
            "{workspace} of BLAS workspace + {tokens} tokens × {width} inputs of the widest matrix in 8 bits with a \
             twentieth to spare, taken as the first batches run; blocks are kept, and longer prompts add more"
        };
        let why = Why::new(
            super::loading::POOLS,
            template,
            "ggml/src/ggml-cuda/common.cuh, ggml-cuda.cu and mmq.cu, 0.6.0-dev",
        )
        .with("workspace", self.workspace)
        .with("tokens", micro_batch)
        .with("width", width)
        .with("step", Bytes::new(STEP));
        ranged(self.usual(), (Bytes::ZERO, self.most()), why)
    }
}

/// Elements per token that enter the widest matrix product, all chosen experts together.
pub(in super::super) fn widest_input(model: &Model) -> u64 {
    let inner = model.layers.iter().map(|layer| match &layer.feed_forward {
        FeedForward::None => 0,
        FeedForward::Dense(dense) => dense.intermediate_size,
        FeedForward::Experts(experts) => {
            product(&[experts.num_experts_per_tok, experts.moe_intermediate_size])
        }
    });
    inner.max().unwrap_or(0).max(model.hidden_size)
}

/// Bytes per token of vocabulary: text, score, type and the maps by text. An estimate: resident sizes of 100 to 300
/// MiB were seen with vocabularies of 128 to 256 thousand tokens, and no closer figure is known.
const VOCABULARY_BYTES: (u64, u64, u64) = (400, 800, 1_200);

/// The bytes of [`host_overhead`].
pub(in super::super) fn host_overhead_bytes(model: &Model) -> Bytes {
    let (_, usual, _) = VOCABULARY_BYTES;
    Bytes::new(product(&[model.vocab_size, usual]))
}

/// The process itself in main memory.
pub(in super::super) fn host_overhead(model: &Model) -> Term {
    let (low, usual, high) = VOCABULARY_BYTES;
    let bytes = |per_token: u64| Bytes::new(product(&[model.vocab_size, per_token]));
    ranged(
        bytes(usual),
        (bytes(low), bytes(high)),
        Why::new(
            "llama.cpp/overhead/vocabulary",
            "about {per_token} × {tokens} tokens of the tokenizer (an estimate)",
            "resident size of llama-server beside its buffers, reported for vocabularies of 128k and 256k tokens",
        )
        .with("per_token", Bytes::new(usual))
        .with("tokens", model.vocab_size),
    )
}

fn ranged(bytes: Bytes, range: (Bytes, Bytes), why: Why) -> Term {
    Term {
        category: Category::Overhead,
        part: Part::Model,
        bytes,
        range,
        why,
    }
}

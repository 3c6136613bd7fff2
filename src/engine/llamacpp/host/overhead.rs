//! Memory of a process that none of the engine's buffers count.

use crate::hardware::{Gpu, Vendor};
use crate::model::{FeedForward, Model, product};
use crate::projection::{Category, Part, Term, Why};
use crate::units::{Bytes, MIB};

/// Context and kernels of a CUDA process: least, usual, most. Usual is what Ollama sets aside per GPU
/// (`ml/device.go` at fb30760); the ends are 325 MiB "unaccounted" with a 0.6B model on an RTX 5090 less its pools, and
/// 712 MiB on an RTX PRO 6000 (both by `llama-server`'s own table).
const CUDA_CONTEXT_MIB: (u64, u64, u64) = (300, 457, 712);

/// What Ollama sets aside on Metal (`ml/device.go` at fb30760); no measurement bounds it.
const METAL_CONTEXT_MIB: (u64, u64, u64) = (0, 512, 512);

/// Largest group of a quantized activation: 32 values in 36 bytes (`block_q8_1`, `ggml/src/ggml-common.h`).
const Q8_1: (u64, u64) = (36, 32);

/// The context of the driver on one card, and the scratch that its kernels take as they run. `width` is
/// [`widest_input`].
pub(in super::super) fn gpu_overhead(gpu: &Gpu, width: u64, micro_batch: u64) -> Vec<Term> {
    let mut terms = vec![context(gpu)];
    terms.extend(pools(gpu, width, micro_batch));
    terms
}

/// The sum of [`gpu_overhead`].
pub(in super::super) fn gpu_overhead_bytes(gpu: &Gpu, width: u64, micro_batch: u64) -> Bytes {
    let (_, usual, _) = context_mib(gpu);
    let pools = pool_bytes(gpu, width, micro_batch);
    Bytes::from_mib(usual) + pools.map_or(Bytes::ZERO, |(workspace, inputs)| workspace + inputs)
}

fn context_mib(gpu: &Gpu) -> (u64, u64, u64) {
    match gpu.vendor {
        Vendor::Apple => METAL_CONTEXT_MIB,
        Vendor::Nvidia | Vendor::Amd | Vendor::Intel | Vendor::Other => CUDA_CONTEXT_MIB,
    }
}

fn context(gpu: &Gpu) -> Term {
    let (low, usual, high) = context_mib(gpu);
    let (template, source) = match gpu.vendor {
        Vendor::Apple => (
            "about {usual} that the Metal driver takes for a process",
            "Ollama ml/device.go fb30760: set aside on Metal",
        ),
        Vendor::Nvidia => (
            "about {usual} that CUDA takes for a process: context and loaded kernels, by card and driver",
            "Ollama ml/device.go fb30760; llama-server memory tables of an RTX 5090 and an RTX PRO 6000",
        ),
        Vendor::Amd | Vendor::Intel | Vendor::Other => (
            "about {usual} that the driver takes for a process; taken from CUDA, for want of a measurement",
            "Ollama ml/device.go fb30760",
        ),
    };
    ranged(
        usual * MIB,
        (low * MIB, high * MIB),
        Why::new("llama.cpp/overhead/context", template, source)
            .with("usual", Bytes::from_mib(usual)),
    )
}

/// Workspace of cuBLAS and the quantized copies of activations in the pool, for backends built from the CUDA code.
fn pool_bytes(gpu: &Gpu, width: u64, micro_batch: u64) -> Option<(Bytes, Bytes)> {
    if !matches!(gpu.vendor, Vendor::Nvidia | Vendor::Amd) {
        return None;
    }
    // Workspaces of `ggml/src/ggml-cuda/common.cuh` (0.6.0-dev): 32 MiB from Hopper on, else 4 MiB.
    let hopper = gpu.compute_capability.is_some_and(|(major, _)| major >= 9);
    let (bytes, values) = Q8_1;
    Some((
        Bytes::from_mib(if hopper { 32 } else { 4 }),
        Bytes::new(product(&[width, micro_batch, bytes]) / values),
    ))
}

/// Workspace of cuBLAS, and the pool in which matrix products keep quantized copies of their inputs.
fn pools(gpu: &Gpu, width: u64, micro_batch: u64) -> Option<Term> {
    let (workspace, inputs) = pool_bytes(gpu, width, micro_batch)?;
    // The pool grows in steps of the driver's granularity, 2 MiB.
    let most = workspace + inputs.align_up(2 * MIB);
    let why = Why::new(
        super::loading::POOLS,
        "{workspace} of cuBLAS workspace + {tokens} tokens × {width} inputs of the widest matrix in 8 bits, taken as \
         the first batches run",
        "ggml/src/ggml-cuda/common.cuh and mmq.cu, 0.6.0-dev",
    )
    .with("workspace", workspace)
    .with("tokens", micro_batch)
    .with("width", width);
    Some(ranged((workspace + inputs).get(), (0, most.get()), why))
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
    let bytes = |per_token: u64| product(&[model.vocab_size, per_token]);
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

fn ranged(bytes: u64, (low, high): (u64, u64), why: Why) -> Term {
    Term {
        category: Category::Overhead,
        part: Part::Model,
        bytes: Bytes::new(bytes),
        range: (Bytes::new(low), Bytes::new(high)),
        why,
    }
}

//! Allocations as terms, each with its reason.

use super::compute::{ComputeBuffer, Exactness, Part as GraphPart, Use};
use super::config::{Config, Shape};
use super::kv_cache::{self, Kind};
use super::recurrent;
use crate::hardware::Os;
use crate::model::Model;
use crate::projection::{Category, Term, Why};
use crate::units::Bytes;

/// Caches of one kind on one device.
pub(super) fn cache(group: &kv_cache::Group, config: &Config) -> Term {
    let kv_cache::Group {
        kind,
        home: _,
        cells,
        streams,
        k_row,
        v_row,
        layers,
        bytes,
    } = *group;
    let (rule, template, source) = words(kind, v_row == Bytes::ZERO, streams > 1);
    let mut why = Why::new(rule, template, source)
        .with("layers", layers)
        .with("cells", cells)
        .with("k_row", k_row.get())
        .with("k", config.cache_k.name());
    if v_row > Bytes::ZERO {
        why = why
            .with("v_row", v_row.get())
            .with("v", config.cache_v.name());
    }
    if streams > 1 {
        why = why.with("streams", streams);
    }
    match kind {
        Kind::Window(tokens) | Kind::CompressedWindow(tokens) => why = why.with("window", tokens),
        Kind::Compressed(ratio) | Kind::CompressedIndexer(ratio) => why = why.with("ratio", ratio),
        Kind::Full | Kind::Latent | Kind::Indexer | Kind::BlockIndexer => {}
    }
    Term::exact(Category::KvCache, bytes, why)
}

/// Rule, sentence and source of a kind of cache.
#[expect(clippy::too_many_lines, reason = "a table of sentences")]
fn words(kind: Kind, keys_only: bool, several: bool) -> (&'static str, &'static str, &'static str) {
    let rule = match kind {
        Kind::Full => "llama.cpp/kv-cache/full",
        Kind::Window(_) => "llama.cpp/kv-cache/window",
        Kind::Latent => "llama.cpp/kv-cache/latent",
        Kind::Indexer => "llama.cpp/kv-cache/indexer",
        Kind::BlockIndexer => "llama.cpp/kv-cache/block-indexer",
        Kind::CompressedWindow(_) => "llama.cpp/kv-cache/compressed-window",
        Kind::Compressed(_) => "llama.cpp/kv-cache/compressed",
        Kind::CompressedIndexer(_) => "llama.cpp/kv-cache/compressed-indexer",
    };
    let source = match kind {
        Kind::Full | Kind::Latent => "src/llama-kv-cache.cpp, 0.6.0-dev",
        Kind::Window(_) => "src/llama-kv-cache-iswa.cpp, 0.6.0-dev",
        Kind::Indexer => "src/llama-kv-cache-dsa.cpp, 0.6.0-dev",
        Kind::BlockIndexer => "src/llama-kv-cache-msa.cpp, 0.6.0-dev",
        Kind::CompressedWindow(_) | Kind::Compressed(_) | Kind::CompressedIndexer(_) => {
            "src/llama-kv-cache-dsv4.cpp, 0.6.0-dev"
        }
    };
    let template = match (kind, keys_only, several) {
        (Kind::Window(_), _, false) => {
            "{layers} layers × {cells} cells (a window of {window} tokens and a micro-batch) × ({k_row} B of {k} keys + {v_row} B of {v} values)"
        }
        (Kind::Window(_), _, true) => {
            "{layers} layers × {cells} cells (a window of {window} tokens and a micro-batch) × {streams} slots × ({k_row} B of {k} keys + {v_row} B of {v} values)"
        }
        (Kind::Compressed(_), _, false) => {
            "{layers} layers × {cells} cells (one per {ratio} tokens) × {k_row} B of {k}"
        }
        (Kind::Compressed(_), _, true) => {
            "{layers} layers × {cells} cells (one per {ratio} tokens) × {streams} slots × {k_row} B of {k}"
        }
        (Kind::CompressedIndexer(_), _, false) => {
            "indexer: {layers} layers × {cells} cells (one per {ratio} tokens) × {k_row} B of {k}"
        }
        (Kind::CompressedIndexer(_), _, true) => {
            "indexer: {layers} layers × {cells} cells (one per {ratio} tokens) × {streams} slots × {k_row} B of {k}"
        }
        (Kind::CompressedWindow(_), _, false) => {
            "{layers} layers × {cells} cells (a window of {window} tokens and a micro-batch) × {k_row} B of {k}"
        }
        (Kind::CompressedWindow(_), _, true) => {
            "{layers} layers × {cells} cells (a window of {window} tokens and a micro-batch) × {streams} slots × {k_row} B of {k}"
        }
        (Kind::Indexer | Kind::BlockIndexer, true, false) => {
            "indexer: {layers} layers × {cells} cells × {k_row} B of {k} keys"
        }
        (Kind::Indexer | Kind::BlockIndexer, true, true) => {
            "indexer: {layers} layers × {cells} cells × {streams} slots × {k_row} B of {k} keys"
        }
        (_, true, false) => {
            "{layers} layers × {cells} cells × {k_row} B of {k} for keys and values as one"
        }
        (_, true, true) => {
            "{layers} layers × {cells} cells × {streams} slots × {k_row} B of {k} for keys and values as one"
        }
        (_, false, false) => {
            "{layers} layers × {cells} cells × ({k_row} B of {k} keys + {v_row} B of {v} values)"
        }
        (_, false, true) => {
            "{layers} layers × {cells} cells × {streams} slots × ({k_row} B of {k} keys + {v_row} B of {v} values)"
        }
    };
    (rule, template, source)
}

/// States of recurrent layers on one device.
pub(super) fn state(group: &recurrent::Group) -> Term {
    let recurrent::Group {
        home: _,
        elements,
        rows,
        layers,
        bytes,
    } = *group;
    let why = Why::new(
        "llama.cpp/recurrent-state",
        "{layers} layers × {rows} (sequences and their rollback states) × {elements} elements in f32",
        "src/llama-memory-recurrent.cpp and src/llama-kv-cache-dsv4.cpp, 0.6.0-dev",
    )
    .with("layers", layers)
    .with("rows", rows)
    .with("elements", elements);
    Term::exact(Category::RecurrentState, bytes, why)
}

/// A compute buffer; none where it is empty.
pub(super) fn compute(buffer: &ComputeBuffer, exactness: Exactness, shape: Shape) -> Option<Term> {
    if buffer.bytes == Bytes::ZERO {
        return None;
    }
    let mut why = Why::new(
        "llama.cpp/compute",
        compute_words(buffer),
        "src/llama-context.cpp graph_reserve, ggml/src/ggml-alloc.c, 0.6.0-dev",
    )
    .with("tokens", shape.micro_batch)
    .with("cells", shape.cells)
    .with("part", part(buffer.peak.part));
    if let Some(block) = buffer.peak.block {
        why = why.with("block", u64::from(block));
    }
    let names = [("first", "a"), ("second", "b"), ("third", "c")];
    for ((bytes_name, name), (used, bytes)) in
        names.into_iter().zip(buffer.largest.into_iter().flatten())
    {
        why = why.with(bytes_name, bytes).with(name, use_of(used));
    }
    let term = Term::exact(Category::Compute, buffer.bytes, why);
    Some(match exactness {
        Exactness::Emulated | Exactness::Unknown => term,
        // An architecture with nodes of its own needs more than the nearest one, seldom less.
        Exactness::Approximate => Term {
            range: (
                Bytes::new(buffer.bytes.get() / 2),
                Bytes::new(buffer.bytes.get().saturating_mul(3)),
            ),
            ..term
        },
    })
}

fn compute_words(buffer: &ComputeBuffer) -> &'static str {
    let named = buffer.largest.iter().flatten().count();
    match (buffer.peak.block, named) {
        (Some(_), 0) => {
            "graph of {tokens} tokens over {cells} cells, fullest in {part} of block {block}"
        }
        (Some(_), 1) => {
            "graph of {tokens} tokens over {cells} cells, fullest in {part} of block {block}: {first} of {a}"
        }
        (Some(_), 2) => {
            "graph of {tokens} tokens over {cells} cells, fullest in {part} of block {block}: {first} of {a}, {second} of {b}"
        }
        (Some(_), _) => {
            "graph of {tokens} tokens over {cells} cells, fullest in {part} of block {block}: {first} of {a}, {second} of {b}, {third} of {c}"
        }
        (None, 0) => "graph of {tokens} tokens over {cells} cells, fullest in {part}",
        (None, 1) => {
            "graph of {tokens} tokens over {cells} cells, fullest in {part}: {first} of {a}"
        }
        (None, 2) => {
            "graph of {tokens} tokens over {cells} cells, fullest in {part}: {first} of {a}, {second} of {b}"
        }
        (None, _) => {
            "graph of {tokens} tokens over {cells} cells, fullest in {part}: {first} of {a}, {second} of {b}, {third} of {c}"
        }
    }
}

fn use_of(used: Use) -> &'static str {
    match used {
        Use::Weights => "weights copied here for large batches",
        Use::Cache => "keys and values copied here",
        Use::Handed => "results handed over by other devices",
        Use::Inputs => "masks and other inputs",
        Use::Scores => "scores over the cells",
        Use::Attention => "attention's result and f16 copies of keys and values",
        Use::Experts => "expert products",
        Use::FeedForward => "feed-forward products",
        Use::Logits => "logits",
        Use::Activations => "activations",
    }
}

fn part(part: GraphPart) -> &'static str {
    match part {
        GraphPart::Input => "the inputs",
        GraphPart::Attention => "the attention",
        GraphPart::Recurrent => "the recurrent mixer",
        GraphPart::Indexer => "the choice of positions",
        GraphPart::FeedForward => "the feed-forward network",
        GraphPart::Experts => "the experts",
        GraphPart::Output => "the logits",
    }
}

/// What GPUs that compute one layer together need to add up their results.
pub(super) fn communication(os: Os) -> Term {
    let why = Why::new(
        "llama.cpp/communication",
        "{usual} of scratch for adding up the results of all GPUs after each attention and each network; with NCCL, which \
         Linux builds use where they have it, up to {high}",
        "GGML_CUDA_AR_COPY_MAX_BYTES in ggml/src/ggml-cuda/allreduce.cu (llama.cpp 0.6.0-dev); NCCL: 0.98 GiB beside the \
         buffers of an 80 GB card (PrimeIntellect-ai/verifiers#106) less a context of about 0.4",
    )
    .with("usual", AllReduce::SCRATCH)
    .with("high", AllReduce::NCCL);
    Term {
        category: Category::Communication,
        part: crate::projection::Part::Model,
        bytes: AllReduce::SCRATCH,
        range: match os {
            Os::Linux => (Bytes::ZERO, AllReduce::NCCL),
            Os::Windows | Os::Macos => (AllReduce::SCRATCH, AllReduce::SCRATCH),
        },
        why,
    }
}

/// Memory of all-reduce on one GPU.
pub(super) struct AllReduce;

impl AllReduce {
    /// The engine's own: scratch for copies.
    pub(super) const SCRATCH: Bytes = Bytes::from_mib(32);
    /// NCCL's channels, at most.
    const NCCL: Bytes = Bytes::from_mib(600);
}

/// The output buffer.
pub(super) fn output(bytes: Bytes, model: &Model, shape: Shape) -> Term {
    let why = Why::new(
        "llama.cpp/output",
        if shape.sequences == 1 {
            "{rows} row of {vocabulary} logits in f32, one per slot; grows when a batch asks for more"
        } else {
            "{rows} rows of {vocabulary} logits in f32, one per slot; grows when a batch asks for more"
        },
        "src/llama-context.cpp output_reserve, 0.6.0-dev",
    )
    .with("rows", shape.sequences)
    .with("vocabulary", model.vocab_size);
    Term::exact(Category::Output, bytes, why)
}

//! What only the finished projection shows.

use super::set_number;
use crate::engine::llamacpp::compute::Exactness;
use crate::engine::llamacpp::config::{Config, Flash, Shape};
use crate::engine::llamacpp::host::{HostWeights, Loader};
use crate::engine::llamacpp::kv_cache;
use crate::engine::{Margin, Overhead};
use crate::hardware::Machine;
use crate::plan::Value;
use crate::projection::{DeviceTerms, Fix, Note, grouped};
use crate::quant::Type;
use crate::units::Bytes;

/// What these notes look at.
#[derive(Clone, Copy)]
pub(in super::super) struct Seen<'a> {
    /// The machine.
    pub(in super::super) machine: &'a Machine,
    /// Settings as taken.
    pub(in super::super) config: &'a Config,
    /// Contexts and batches.
    pub(in super::super) shape: Shape,
    /// Trained context.
    pub(in super::super) trained: u64,
    /// Caches.
    pub(in super::super) caches: &'a [kv_cache::Group],
    /// Terms when running: GPUs in machine order, the host last.
    pub(in super::super) devices: &'a [DeviceTerms],
    /// Terms while loading, in the same order.
    pub(in super::super) load: &'a [DeviceTerms],
    /// How the loader works.
    pub(in super::super) loader: Loader,
    /// How main memory holds weights.
    pub(in super::super) host_weights: &'a HostWeights,
    /// Bytes of the file.
    pub(in super::super) file: Bytes,
    /// Whether flash attention is on in the end; `None` where that is not known.
    pub(in super::super) flash: Option<bool>,
    /// Memory to keep free on each GPU.
    pub(in super::super) margin: Margin,
    /// The engine chose layers so that the margin stays free.
    pub(in super::super) fitted: bool,
    /// Whether compute buffers are from the architecture's own graph.
    pub(in super::super) graphs: Exactness,
}

/// Warnings and hints on the result.
pub(in super::super) fn after(seen: &Seen<'_>, notes: &mut Vec<Note>) {
    context(seen, notes);
    attention(seen, notes);
    super::memory::memory(seen, notes);
    margin(seen, notes);
    if seen.config.speculation.tokens() > 0 {
        notes.push(
            Note::hint(
                "drafting-not-estimated",
                "What drafted tokens gain is not in the estimate of speed: it depends on how many of them the model accepts, \
                 which only a measurement on your own texts tells.",
            )
            .on("spec_type"),
        );
    }
    if seen.graphs == Exactness::Approximate {
        notes.push(Note::warning(
            "compute-is-approximate",
            "Plimsoll does not know this architecture's graph node by node; compute buffers are those of the nearest one and may turn out larger.",
        ));
    }
}

fn context(seen: &Seen<'_>, notes: &mut Vec<Note>) {
    let (asked, trained) = (seen.config.asked_context(seen.trained), seen.trained);
    let per_slot = seen.shape.cells;
    if trained > 0 && per_slot > kv_cache_padding(trained) {
        notes.push(
            Note::warning(
                "context-above-trained",
                format!(
                    "A slot of {} tokens is longer than the {} the model was trained for; answers get worse beyond.",
                    grouped(per_slot),
                    grouped(trained)
                ),
            )
            .on("ctx_size")
            .fixed_by(set_number("ctx_size", trained)),
        );
    }
    if seen.shape.streams > 1 {
        notes.push(
            Note::hint(
                "context-is-shared-out",
                format!(
                    "Each of {} slots has {} tokens of the {}.",
                    seen.shape.streams,
                    grouped(per_slot),
                    grouped(asked)
                ),
            )
            .on("parallel"),
        );
    }
}

fn kv_cache_padding(tokens: u64) -> u64 {
    crate::engine::llamacpp::config::padded(tokens)
}

fn attention(seen: &Seen<'_>, notes: &mut Vec<Note>) {
    let config = seen.config;
    kernels(seen, notes);
    if !config.kv_offload && !seen.machine.gpus.is_empty() {
        notes.push(
            Note::hint(
                "cache-in-main-memory",
                "With its KV cache in main memory the model answers much more slowly.",
            )
            .on("kv_offload"),
        );
    }
}

/// Fused attention that GPUs have no kernel for.
fn kernels(seen: &Seen<'_>, notes: &mut Vec<Note>) {
    let config = seen.config;
    let on_gpu = seen.caches.iter().any(|group| group.home.is_some());
    let types = [
        ("cache_type_k", config.cache_k),
        ("cache_type_v", config.cache_v),
    ];
    let without: Vec<&'static str> = types
        .into_iter()
        .filter(|(_, kind)| on_gpu && *kind == Type::IQ4_NL)
        .map(|(setting, _)| setting)
        .collect();
    let words = without
        .iter()
        .map(|setting| ((*setting).to_owned(), Value::Text("q4_0".to_owned())));
    let fix = Fix {
        set: words.collect(),
        gain: None,
    };
    let turned_off = seen.flash == Some(false) && config.flash == Flash::Auto;
    match without.first() {
        // Without fused attention keys of any type are multiplied on the GPU.
        Some(first) if seen.flash != Some(false) => notes.push(
            Note::warning(
                "cache-type-without-kernel",
                "CUDA has no attention kernel for iq4_nl: every layer's attention runs on the processor, and each token \
                 copies the cache there.",
            )
            .on(first)
            .fixed_by(fix),
        ),
        Some(first) if turned_off => notes.push(
            Note::warning(
                "no-flash-attention",
                "CUDA has no attention kernel for iq4_nl, so the engine will turn flash attention off: scores take memory \
                 that grows with the context.",
            )
            .on(first)
            .fixed_by(fix),
        ),
        None if turned_off => notes.push(
            Note::warning(
                "no-flash-attention",
                "The engine will turn flash attention off for this model: scores take memory that grows with the context.",
            )
            .on("flash_attn"),
        ),
        _ => {}
    }
}

/// Fitting counts the engine's own buffers (`common/fit.cpp`, 0.6.0-dev), and what the driver takes for the process
/// comes out of the margin that it keeps.
fn margin(seen: &Seen<'_>, notes: &mut Vec<Note>) {
    let gpus = || {
        let used = seen.machine.gpus.iter().zip(seen.devices);
        used.filter(|(_, terms)| terms.total() != Bytes::ZERO)
            .map(|(gpu, terms)| {
                let overhead = Overhead::of(terms);
                let free = gpu.memory.usable.saturating_sub(gpu.memory.in_use);
                let buffers = terms.total().saturating_sub(overhead.usual);
                let by_engine = buffers + seen.margin.of(gpu.memory.usable);
                let by_us = terms.total() + seen.margin.beside(gpu.memory.usable, overhead);
                (free, by_engine, by_us, overhead)
            })
    };
    let kept = gpus().all(|(free, by_engine, ..)| by_engine <= free);
    let tightest = gpus().find(|(free, _, by_us, _)| by_us > free);
    if let Some((.., overhead)) = tightest
        && seen.fitted
        && kept
    {
        let (margin, most) = (seen.margin, overhead.most);
        notes.push(Note::hint(
            crate::report::MARGIN_KEPT_BY_ENGINE,
            format!(
                "The engine chose the layers so that {margin} stay free beside its own buffers. The driver's context and \
                 pools come out of that, and may take {most}: more than is kept."
            ),
        ));
    }
}

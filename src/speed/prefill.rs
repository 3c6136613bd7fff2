//! Reading a prompt: operations over a share of the matrix rate, and weights uploaded from main memory.

use super::class::CLASSES;
use super::decode::{GIGA, GpuRate, Rates, Time};
use super::{Estimate, link};
use crate::engine::traffic::Traffic;
use crate::projection::Why;
use crate::units::Bytes;

/// Tokens per second at the beginning, and seconds for a prompt of the whole planned context.
pub(super) fn estimate(traffic: &Traffic, rates: &Rates<'_>) -> (Estimate, Estimate) {
    let tokens = traffic.micro_batch.max(1);
    let beginning = micro_batch(traffic, rates, tokens, tokens / 2);
    let rate = Estimate::of_times(
        beginning.fast,
        beginning.likely,
        beginning.slow,
        tokens as f64,
    );
    let prompt = traffic.context.max(1);
    let batches = (prompt as f64 / tokens as f64).max(1.0);
    // Attention grows in proportion to the depth, so the middle of the prompt is its mean.
    let mean = micro_batch(traffic, rates, tokens.min(prompt), prompt / 2);
    let first = rates.tokens_per_second(1, prompt);
    let seconds = Estimate {
        low: mean.fast * batches + 1.0 / first.high,
        likely: mean.likely * batches + 1.0 / first.likely,
        high: mean.slow * batches + 1.0 / first.low,
    };
    (rate, seconds)
}

/// Seconds of one micro-batch behind so many tokens.
fn micro_batch(traffic: &Traffic, rates: &Rates<'_>, tokens: u64, depth: u64) -> Time {
    let count = tokens as f64;
    let mut time = Time::default();
    for gpu in &rates.gpus {
        time = time.and(gpu.products(count, gpu.work.operations()));
        time = time.and(gpu.products(count, gpu.work.attention_operations(depth)));
    }
    let host = &traffic.host;
    let uploads = traffic.uploads_from.is_some_and(|least| tokens >= least);
    match rates.gpus.first() {
        Some(gpu) if uploads => {
            let [low, likely, high] = link::gb_s(gpu.gpu);
            let bytes = uploaded(traffic, tokens);
            time = time.and(Time {
                fast: bytes / (high * GIGA),
                likely: bytes / (likely * GIGA),
                slow: bytes / (low * GIGA),
            });
            time.and(gpu.products(count, host.operations()))
        }
        _ => time.and(rates.host_products(count, depth)),
    }
}

impl GpuRate<'_> {
    /// Seconds for so many operations per token.
    fn products(&self, tokens: f64, operations: f64) -> Time {
        let class = self.class;
        let rate = self.gpu.fp16_tflops.map_or_else(
            || self.bandwidth * class.operations_per_byte,
            |tera| tera * TERA,
        );
        let [low, likely, high] = if self.work.expert_layers > 0 {
            class.expert_prefill
        } else {
            class.prefill
        };
        let seconds = |share: f64| tokens * operations / (rate * share);
        Time {
            fast: seconds(high),
            likely: seconds(likely),
            slow: seconds(low),
        }
    }
}

/// 10^12.
const TERA: f64 = 1e12;

/// Cores where nothing says: a small laptop, a desktop, a workstation.
const CORES: [f64; 3] = [4.0, 8.0, 32.0];

impl Rates<'_> {
    /// Seconds for a batch on the processor.
    fn host_products(&self, tokens: f64, depth: u64) -> Time {
        let host = self.host();
        let operations = tokens * (host.operations() + host.attention_operations(depth));
        let [few, usual, many] = self
            .cores()
            .map_or(CORES, |cores| [f64::from(cores.max(1)); 3]);
        let [low, likely, high] = CLASSES.links.core_tflops;
        let seconds = |cores: f64, tera: f64| operations / (cores * tera * TERA);
        Time {
            fast: seconds(many, high),
            likely: seconds(usual, likely),
            slow: seconds(few, low),
        }
    }
}

/// Why a prompt takes so long.
pub(super) fn why(traffic: &Traffic, rates: &Rates<'_>) -> Why {
    let tokens = traffic.micro_batch.max(1);
    let uploads = traffic.uploads_from.is_some_and(|least| tokens >= least);
    let uploaded = Bytes::new(uploaded(traffic, tokens) as u64);
    let operations: f64 = rates
        .gpus
        .iter()
        .map(|gpu| gpu.work.operations())
        .chain([traffic.host.operations()])
        .sum();
    let giga = operations / GIGA;
    match rates.gpus.first() {
        Some(gpu) if uploads && uploaded > Bytes::ZERO => Why::new(
            "speed/prefill/upload",
            "{uploaded} of weights in main memory go over the link at about {link} GB/s for every {tokens} tokens, and {giga} GFLOP per token are computed; a larger ubatch_size makes the uploads count less",
            "presets/speed.toml; ggml_backend_cuda_device_offload_op, ggml/src/ggml-cuda/ggml-cuda.cu, 0.6.0-dev",
        )
        .with("uploaded", uploaded)
        .with("link", link::gb_s(gpu.gpu)[1])
        .with("tokens", tokens)
        .with("giga", giga),
        Some(gpu) => {
            let [low, _, high] = if gpu.work.expert_layers > 0 {
                gpu.class.expert_prefill
            } else {
                gpu.class.prefill
            };
            Why::new(
                "speed/prefill/gpu",
                "{giga} GFLOP per token; GPUs of this class ({class}) reach {low} to {high} % of their matrix rate, so this is a wide range: only a measurement tells",
                "presets/speed.toml",
            )
            .with("giga", giga)
            .with("class", gpu.class.label.as_str())
            .with("low", low * 100.0)
            .with("high", high * 100.0)
            .with("basis", gpu.class.basis.as_str())
        }
        None => Why::new(
            "speed/prefill/host",
            "{giga} GFLOP per token on the processor, which depends on its cores and their vector units: only a measurement tells",
            "presets/speed.toml",
        )
        .with("giga", giga),
    }
}

/// Bytes copied to a GPU for a batch of so many tokens.
fn uploaded(traffic: &Traffic, tokens: u64) -> f64 {
    let products = traffic.host.weights.iter().filter(|read| read.elements > 0);
    products
        .map(|read| read.bytes.get() as f64 * read.share(tokens as f64))
        .sum()
}

//! Reading a prompt: operations over a share of the matrix rate, and weights uploaded from main memory.

use super::class::CLASSES;
use super::decode::{GIGA, GpuRate, Rates, Time};
use super::{Estimate, link};
use crate::engine::traffic::{Together, Traffic};
use crate::projection::Why;
use crate::units::Bytes;

/// Tokens per second at the beginning, and seconds for a prompt of the whole planned context.
pub(super) fn estimate(traffic: &Traffic, rates: &Rates<'_>) -> (Estimate, Estimate) {
    let beginning = tokens_per_second(traffic, rates, traffic.micro_batch.max(1), 0);
    let prompt = traffic.context.max(1);
    let whole = prompt_time(traffic, rates, prompt, 0);
    let first = rates.tokens_per_second(1, prompt);
    let seconds = Estimate {
        low: whole.fast + 1.0 / first.high,
        likely: whole.likely + 1.0 / first.likely,
        high: whole.slow + 1.0 / first.low,
    };
    (beginning, seconds)
}

/// Tokens per second of a prompt of so many tokens behind so many others.
pub(super) fn tokens_per_second(
    traffic: &Traffic,
    rates: &Rates<'_>,
    tokens: u64,
    depth: u64,
) -> Estimate {
    let time = prompt_time(traffic, rates, tokens, depth);
    Estimate::of_times(time.fast, time.likely, time.slow, tokens as f64)
}

/// Seconds of a prompt, micro-batch by micro-batch.
fn prompt_time(traffic: &Traffic, rates: &Rates<'_>, tokens: u64, depth: u64) -> Time {
    let batch = traffic.micro_batch.clamp(1, tokens);
    let batches = tokens as f64 / batch as f64;
    // Attention grows in proportion to the depth, so the middle of the prompt is its mean.
    let middle = depth.saturating_add(tokens / 2);
    micro_batch(traffic, rates, batch, middle).times(batches)
}

/// Seconds of one micro-batch behind so many tokens.
fn micro_batch(traffic: &Traffic, rates: &Rates<'_>, tokens: u64, depth: u64) -> Time {
    let count = tokens as f64;
    let gpus = rates.gpus.iter().map(|gpu| {
        let operations = gpu.work.operations() + gpu.work.attention_operations(depth);
        gpu.products(count, operations)
    });
    let mut time = rates.combined(gpus);
    if rates.gpus.len() > 1 && traffic.together == Together::InTurn {
        let [low, likely, high] = CLASSES.links.pipelining;
        time = Time {
            fast: time.fast / high,
            likely: time.likely / likely,
            slow: time.slow / low,
        };
    }
    // Each micro-batch reads weights and caches once, and its tokens cross to other nodes.
    time = time
        .and(rates.stand_ins(count, 1.0, depth))
        .and(rates.between_nodes());
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
                .and(rates.carried_products(count, depth))
        }
        _ => time.and(rates.host_products(count, depth)),
    }
}

impl GpuRate<'_> {
    /// Seconds for so many operations per token.
    pub(super) fn products(&self, tokens: f64, operations: f64) -> Time {
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
    pub(super) fn host_products(&self, tokens: f64, depth: u64) -> Time {
        let host = self.host();
        let operations = host.operations() + host.attention_operations(depth);
        self.on_cores(tokens * operations)
            .and(self.carried_products(tokens, depth))
    }

    /// Seconds of attention that the processor does for GPUs without a kernel.
    fn carried_products(&self, tokens: f64, depth: u64) -> Time {
        let gpus = self.gpus.iter();
        let operations: f64 = gpus.map(|gpu| gpu.work.carried_operations(depth)).sum();
        self.on_cores(tokens * operations)
    }

    fn on_cores(&self, operations: f64) -> Time {
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
            "ggml_backend_cuda_device_offload_op, ggml/src/ggml-cuda/ggml-cuda.cu, 0.6.0-dev; uploads of gpt-oss-120b's experts to a RTX 3090",
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
                &gpu.class.basis,
            )
            .with("giga", giga)
            .with("class", gpu.class.label.as_str())
            .with("low", low * 100.0)
            .with("high", high * 100.0)
        }
        None => Why::new(
            "speed/prefill/host",
            "{giga} GFLOP per token on the processor, which depends on its cores and their vector units: only a measurement tells",
            &CLASSES.links.core_basis,
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

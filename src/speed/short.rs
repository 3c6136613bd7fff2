//! Where memory does not suffice and something stands in for it: a disk for pages of the file, main memory for a GPU
//! that is full, the processor for a GPU without a kernel.

use super::class::CLASSES;
use super::decode::{GIGA, Rates, Time, read_per_stream};
use super::{Figure, Missing, link};
use crate::engine::traffic::{DeviceTraffic, Traffic};
use crate::hardware::Machine;
use crate::projection::Why;
use crate::units::Bytes;

/// Whether something stands in for all that is lacking.
///
/// # Errors
/// The device for which nothing does.
pub(super) fn check(traffic: &Traffic, machine: &Machine) -> Result<(), Missing> {
    let missing = |device: String, bytes| Err(Missing::Memory { device, bytes });
    let cards = machine.gpus.len().max(1);
    let mut lent = Bytes::ZERO;
    for (index, gpu) in traffic.gpus.iter().enumerate() {
        if gpu.lacking == Bytes::ZERO {
            continue;
        }
        if !traffic.spills {
            let name = match index / cards {
                0 => format!("gpu{index}"),
                node => format!("node{node}/gpu{}", index % cards),
            };
            return missing(name, gpu.lacking);
        }
        lent += gpu.lacking;
    }
    // `SharedSystemMemory` of an adapter is half of main memory (DXGI_ADAPTER_DESC1).
    let most = machine.host.ram.mul_ratio(1, 2);
    if lent > most {
        return missing(
            "the GPUs' shared memory".to_owned(),
            lent.saturating_sub(most),
        );
    }
    if traffic.host.lacking > traffic.pages {
        let lacking = traffic.host.lacking;
        return missing("main memory".to_owned(), lacking);
    }
    Ok(())
}

/// Part of what a device reads that lies elsewhere.
fn part(lacking: Bytes, of: f64) -> f64 {
    if of > 0.0 {
        (lacking.get() as f64 / of).min(1.0)
    } else {
        0.0
    }
}

/// Share of the weights in main memory that is read from the disk again.
fn paged(host: &DeviceTraffic) -> f64 {
    let all = host.weights.iter().map(|read| read.bytes.get() as f64);
    part(host.lacking, all.sum())
}

/// Share of what a GPU holds that lies in main memory.
fn spilled(gpu: &DeviceTraffic) -> f64 {
    part(gpu.lacking, gpu.held.get() as f64)
}

/// Seconds for so many bytes at low, likely and high rates in GB/s.
fn at(bytes: f64, [low, likely, high]: [f64; 3]) -> Time {
    Time {
        fast: bytes / (high * GIGA),
        likely: bytes / (likely * GIGA),
        slow: bytes / (low * GIGA),
    }
}

impl Rates<'_> {
    /// Further seconds of a step in which so many tokens read weights and so many streams read caches.
    pub(super) fn stand_ins(&self, tokens: f64, streams: f64, depth: u64) -> Time {
        let host = self.host();
        let bytes = host.weight_bytes(tokens) * paged(host);
        let disk = at(bytes, CLASSES.links.disk_gb_s);
        let gpus = self.gpus.iter().map(|gpu| {
            let read = gpu.work.weight_bytes(tokens) + streams * read_per_stream(gpu.work, depth);
            let carried = streams * gpu.work.carried_bytes(depth);
            let over_link = read * spilled(gpu.work) + carried;
            at(over_link, link::gb_s(gpu.gpu)).and(self.ram_time(carried))
        });
        disk.and(self.combined(gpus))
    }

    /// Why a step takes longer than what the devices hold.
    pub(super) fn stand_in_reasons(&self) -> Vec<(Figure, Why)> {
        let mut reasons = Vec::new();
        let host = self.host();
        if host.lacking > Bytes::ZERO && paged(host) > 0.0 {
            let [low, _, high] = CLASSES.links.disk_gb_s;
            let bytes = host.weight_bytes(1.0) * paged(host);
            reasons.push(
                Why::new(
                    "speed/decode/disk",
                    "main memory lacks {lacking} for the pages of the file: {bytes} per token are read from a disk of {low} to {high} GB/s again",
                    &CLASSES.links.disk_basis,
                )
                .with("lacking", host.lacking)
                .with("bytes", Bytes::new(bytes as u64))
                .with("low", low)
                .with("high", high),
            );
        }
        for gpu in &self.gpus {
            let [low, _, high] = link::gb_s(gpu.gpu);
            if gpu.work.lacking > Bytes::ZERO {
                let bytes = gpu.work.weight_bytes(1.0) * spilled(gpu.work);
                reasons.push(
                    Why::new(
                        "speed/decode/spill",
                        "{lacking} of {held} lie in main memory, lent to the full GPU: {bytes} of weights per token go over a link of {low} to {high} GB/s",
                        "CUDA - Sysmem Fallback Policy, nvidia.custhelp.com a_id 5490",
                    )
                    .with("lacking", gpu.work.lacking)
                    .with("held", gpu.work.held)
                    .with("bytes", Bytes::new(bytes as u64))
                    .with("low", low)
                    .with("high", high),
                );
            }
            let carried = gpu.work.carried_bytes(self.context());
            if carried > 0.0 {
                reasons.push(
                    Why::new(
                        "speed/decode/carried",
                        "the GPU has no attention kernel for this cache: with the context full {bytes} per token go over a link of {low} to {high} GB/s and are read by the processor",
                        "ggml_cuda_get_best_fattn_kernel, ggml/src/ggml-cuda/fattn.cu, 0.6.0-dev",
                    )
                    .with("bytes", Bytes::new(carried as u64))
                    .with("low", low)
                    .with("high", high),
                );
            }
        }
        reasons
            .into_iter()
            .map(|why| (Figure::Decode, why))
            .collect()
    }
}

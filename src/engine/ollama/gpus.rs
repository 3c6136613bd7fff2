//! The GPUs that Ollama finds, as it sees them.

use super::config::Config;
use crate::hardware::{Gpu, Machine, Vendor};

/// A GPU that models can be loaded on (`ml.DeviceInfo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Device {
    /// Its index in the machine.
    pub(super) index: usize,
    /// Whose devices it is grouped with.
    pub(super) library: Library,
    /// It shares the processor's memory.
    pub(super) integrated: bool,
    /// What a program can allocate, in bytes.
    pub(super) total: u64,
    /// Part of it that is free now.
    pub(super) free: u64,
    /// Its library has flash attention for it.
    pub(super) flash: bool,
}

/// A backend of llama.cpp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Library {
    /// NVIDIA.
    Cuda,
    /// AMD.
    Rocm,
    /// Apple.
    Metal,
    /// Any other.
    Vulkan,
}

/// AMD parts that share the processor's memory and are used all the same (`defaultIntegratedROCmGFXTargets`,
/// `discover/runner.go` v0.33.0-rc2).
const INTEGRATED_TARGETS: [&str; 1] = ["gfx1151"];

/// Every GPU that is not dropped (`filterIntegratedGPUs`, `discover/runner.go` v0.33.0-rc2).
pub(super) fn devices(machine: &Machine, config: &Config) -> Vec<Device> {
    let host_free = machine.host.ram.saturating_sub(machine.host.in_use).get();
    machine
        .gpus
        .iter()
        .enumerate()
        .filter(|(_, gpu)| !is_integrated(gpu) || takes(gpu, config.integrated))
        .map(|(index, gpu)| {
            let memory = gpu.memory;
            let total = memory.usable.get();
            Device {
                index,
                library: library(gpu),
                integrated: is_integrated(gpu),
                total,
                free: if total == 0 {
                    host_free
                } else {
                    memory.usable.saturating_sub(memory.in_use).get()
                },
                flash: has_flash_attention(gpu),
            }
        })
        .collect()
}

/// Metal reports its GPUs as devices of their own.
fn is_integrated(gpu: &Gpu) -> bool {
    gpu.unified && gpu.vendor != Vendor::Apple
}

fn takes(gpu: &Gpu, asked: Option<bool>) -> bool {
    let by_default = match library(gpu) {
        Library::Cuda => true,
        Library::Rocm => gpu
            .gfx_target
            .as_deref()
            .is_some_and(|target| INTEGRATED_TARGETS.contains(&target)),
        Library::Metal | Library::Vulkan => false,
    };
    asked.unwrap_or(by_default)
}

fn library(gpu: &Gpu) -> Library {
    match gpu.vendor {
        Vendor::Nvidia => Library::Cuda,
        Vendor::Amd => Library::Rocm,
        Vendor::Apple => Library::Metal,
        Vendor::Intel | Vendor::Other => Library::Vulkan,
    }
}

/// `cudaFlashAttentionSupported`, `ml/device.go` v0.33.0-rc2; the other libraries all have it.
fn has_flash_attention(gpu: &Gpu) -> bool {
    match (gpu.vendor, gpu.compute_capability) {
        (Vendor::Nvidia, Some((major, minor))) => major >= 6 && (major, minor) != (7, 2),
        _ => true,
    }
}

//! Which GPUs the engine uses, and how much it takes each to have free.

use super::{Config, SplitMode};
use crate::hardware::{Gpu, Machine, Vendor};
use crate::units::Bytes;

/// A GPU the engine uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Device<'a> {
    /// Its index among the GPUs of all nodes.
    pub(in super::super) index: usize,
    /// Its node; those after the first are reached by RPC.
    pub(in super::super) node: u32,
    /// What it is.
    pub(in super::super) gpu: &'a Gpu,
}

/// The GPUs in the engine's order (`llama_prepare_model_devices`, `src/llama.cpp` 0.6.0-dev): integrated ones only
/// where there is no other; one alone where the split mode says so.
pub(in super::super) fn devices<'a>(machine: &'a Machine, config: &Config) -> Vec<Device<'a>> {
    let discrete = machine.gpus.iter().any(|gpu| !gpu.unified);
    let mut devices: Vec<Device<'a>> = machine
        .gpus
        .iter()
        .enumerate()
        // A tensor split takes whatever there is.
        .filter(|(_, gpu)| gpu.unified != discrete || config.split_mode == SplitMode::Tensor)
        .map(|(index, gpu)| Device {
            index,
            node: 0,
            gpu,
        })
        .collect();
    if config.split_mode == SplitMode::None {
        let main = config.main_gpu.and_then(|main| devices.get(main)).copied();
        devices = main.into_iter().collect();
    }
    devices
}

/// Bytes that a GPU has free before anything is loaded; for one without memory of its own, what main memory has free
/// (`src/llama-model.cpp`, 0.6.0-dev).
pub(in super::super) fn free_memory(gpu: &Gpu, host_free: Bytes) -> u64 {
    if gpu.memory.usable == Bytes::ZERO {
        return host_free.get();
    }
    gpu.memory.usable.saturating_sub(gpu.memory.in_use).get()
}

impl Device<'_> {
    /// It is on another node, reached by RPC.
    pub(in super::super) fn is_remote(&self) -> bool {
        self.node > 0
    }

    /// Compute capability times ten; where there is none, that of a current card, whose rules other backends come
    /// closest to.
    pub(in super::super) fn compute_capability(&self) -> u32 {
        match self.gpu.compute_capability {
            Some((major, minor)) => major.saturating_mul(10).saturating_add(minor.min(9)),
            None => 89,
        }
    }

    /// Name of its buffer type on a command line, `position` counted among cards of its maker.
    pub(in super::super) fn buffer_name(&self, position: usize) -> String {
        match self.gpu.vendor {
            Vendor::Nvidia => format!("CUDA{position}"),
            Vendor::Amd => format!("ROCm{position}"),
            Vendor::Apple => format!("MTL{position}"),
            Vendor::Intel | Vendor::Other => format!("Vulkan{position}"),
        }
    }
}

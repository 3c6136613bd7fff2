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

/// The GPUs in the engine's order (`llama_prepare_model_devices`, `src/llama.cpp` 0.6.0-dev): those of other nodes
/// first, in the order of their servers; integrated ones of this node only where it has no other; one alone where the
/// split mode says so.
pub(in super::super) fn devices<'a>(machine: &'a Machine, config: &Config) -> Vec<Device<'a>> {
    let discrete = machine.gpus.iter().any(|gpu| !gpu.unified);
    let on = |node: u32| {
        let before = machine.gpus.len().saturating_mul(node as usize);
        let gpus = machine.gpus.iter().enumerate();
        gpus.map(move |(index, gpu)| Device {
            index: before.saturating_add(index),
            node,
            gpu,
        })
    };
    // The last nodes are not used where there are fewer servers.
    let servers = u32::try_from(config.rpc.len()).unwrap_or(u32::MAX);
    let remote = servers.min(machine.nodes.saturating_sub(1));
    // A tensor split takes whatever there is.
    let local = on(0)
        .filter(|device| device.gpu.unified != discrete || config.split_mode == SplitMode::Tensor);
    let mut devices: Vec<Device<'a>> = (1..=remote).flat_map(on).chain(local).collect();
    if config.split_mode == SplitMode::None {
        let main = config.main_gpu.and_then(|main| devices.get(main)).copied();
        devices = main.into_iter().collect();
    }
    devices
}

/// Names of the buffer types of GPUs that are reached by RPC, in the engine's order: `RPC0[host:port]`
/// (`ggml/src/ggml-rpc/ggml-rpc.cpp`, 0.6.0-dev).
pub(in super::super) fn remote_names(devices: &[Device<'_>], config: &Config) -> Vec<String> {
    let remote = devices.iter().filter(|device| device.is_remote());
    let mut names: Vec<String> = Vec::new();
    let mut last = None;
    let mut position = 0;
    for device in remote {
        position = if last == Some(device.node) {
            position + 1
        } else {
            0
        };
        last = Some(device.node);
        let server = (device.node as usize).checked_sub(1);
        let server = server.and_then(|server| config.rpc.get(server));
        names.push(format!(
            "RPC{position}[{}]",
            server.map_or("", String::as_str)
        ));
    }
    names
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

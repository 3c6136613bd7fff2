//! What a machine is: devices, host memory, links. Pure data; [`probe`] finds out what is really there.

pub mod detection;
pub mod diagnostic;
pub mod facts;
pub mod merge;
mod pool;
pub mod probe;
mod rules;
pub mod visibility;

pub use pool::Pool;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Most accelerators that one machine may have, over all its nodes. More are a mistake, and each costs time and room.
pub const DEVICES_LIMIT: usize = 1024;

/// A computer, real or simulated, as the engines see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// What to call it ("This machine", "4x A100 40 GB").
    pub name: String,
    /// Operating system the engine runs on.
    pub os: Os,
    /// Processor and main memory of one node.
    pub host: Host,
    /// Accelerators of one node in plan order (`gpu0`, `gpu1`, ...). Empty: the processor alone.
    pub gpus: Vec<Gpu>,
    /// How many nodes like this one; at least 1.
    pub nodes: u32,
}

/// Operating system, where memory rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Os {
    /// Linux, WSL2 included.
    Linux,
    /// Windows (WDDM unless a driver says otherwise).
    Windows,
    /// macOS.
    Macos,
}

/// Processor and main memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Memory the processes here may use: physical RAM, or the container's limit where that is less.
    pub ram: Bytes,
    /// Part of `ram` that others use now.
    pub in_use: Bytes,
    /// Swap space.
    pub swap: Bytes,
    /// Physical cores, where known.
    pub physical_cores: Option<u32>,
    /// Processor name, where known.
    pub cpu_name: Option<String>,
    /// Instruction sets that engines choose kernels by ("avx2", "avx512f", "amx_int8", "neon"), sorted.
    pub cpu_features: Vec<String>,
    /// Bandwidth of main memory in GB/s (10^9), where known.
    pub bandwidth_gb_s: Option<f64>,
    /// Free space where models are kept, where known.
    pub disk_free: Option<Bytes>,
}

impl Host {
    /// So much memory that nobody uses, and nothing else known.
    pub fn with_ram(ram: Bytes) -> Self {
        Self {
            ram,
            in_use: Bytes::ZERO,
            swap: Bytes::ZERO,
            physical_cores: None,
            cpu_name: None,
            cpu_features: Vec::new(),
            bandwidth_gb_s: None,
            disk_free: None,
        }
    }
}

/// One accelerator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// The vendor's product name ("NVIDIA GeForce RTX 4090").
    pub name: String,
    /// Who made it.
    pub vendor: Vendor,
    /// Stable identity (`GPU-...`), where the driver gives one.
    pub uuid: Option<String>,
    /// PCI address `domain:bus:device.function` with a four-digit domain, where there is one.
    pub pci_address: Option<String>,
    /// Its memory.
    pub memory: GpuMemory,
    /// Memory is shared with the processor (Apple, GB10, Strix Halo and other integrated parts).
    pub unified: bool,
    /// CUDA compute capability as (major, minor).
    pub compute_capability: Option<(u32, u32)>,
    /// LLVM target of an AMD part ("gfx1100").
    pub gfx_target: Option<String>,
    /// Newest Metal family of an Apple part ("MTLGPUFamilyApple7").
    #[serde(default)]
    pub metal_family: Option<String>,
    /// Memory bandwidth in GB/s (10^9).
    pub bandwidth_gb_s: Option<f64>,
    /// Dense matrix rate in 16 bits with 32-bit sums, in 10^12 operations per second, by the data sheet.
    #[serde(default)]
    pub fp16_tflops: Option<f64>,
    /// Link to the host.
    pub pcie: Option<Pcie>,
    /// A display is attached, so the desktop takes some memory.
    pub drives_display: bool,
    /// Driver version as the driver prints it.
    pub driver: Option<String>,
}

/// Memory of an accelerator. `usable <= total`; `in_use` counts what others hold now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuMemory {
    /// What the driver calls total (NVML total, amdgpu vram_total, recommended working set).
    pub total: Bytes,
    /// What a program can allocate (CUDA total: the driver's total less its reserve).
    pub usable: Bytes,
    /// In use by other programs.
    pub in_use: Bytes,
}

/// Metal's recommended working set where neither Metal nor `iogpu.wired_limit_mb` says: 0.74 of 16, 18 and 24 GiB in
/// logs of macOS with Metal 4, three quarters on larger Macs (gpustack issue 1375).
pub fn metal_working_set(ram: Bytes) -> Bytes {
    if ram <= Bytes::from_gib(24) {
        ram.mul_ratio(74, 100)
    } else {
        ram.mul_ratio(3, 4)
    }
}

/// Maker of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Intel.
    Intel,
    /// Apple.
    Apple,
    /// Any other.
    Other,
}

/// PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pcie {
    /// Highest generation of card and slot together.
    pub generation: u32,
    /// Highest number of lanes.
    pub lanes: u32,
}

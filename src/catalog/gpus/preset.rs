//! One product, and the card it makes.

use serde::Deserialize;

use crate::catalog::names;
use crate::hardware::{Gpu, GpuMemory, Os, Pcie, Vendor, metal_working_set};
use crate::units::Bytes;

/// One row: figures of one product, as the driver lists it (a board with two GPUs is two).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuPreset {
    /// The driver's name for it.
    pub name: String,
    /// Other names: marketing names, and driver names that several products share.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Who made it; given once per file.
    #[serde(skip, default = "vendor_of_file")]
    pub vendor: Vendor,
    /// The vendor's name for the generation.
    pub architecture: String,
    /// Where it is built in.
    pub form: Form,
    /// Memory is shared with the processor; `memory_options_gib` says which sizes are sold.
    #[serde(default)]
    pub unified: bool,
    /// Advertised memory in MiB; absent for unified parts.
    pub vram_mib: Option<u64>,
    /// Sizes of the whole pool that are sold.
    #[serde(default)]
    pub memory_options_gib: Vec<u64>,
    /// Share of main memory that the GPU may use by default.
    pub pool_percent: Option<u64>,
    /// What the driver calls total in MiB, ECC as delivered.
    pub driver_total_mib: Option<u64>,
    /// Where `driver_total_mib` comes from, if it was not observed on this product.
    pub driver_total_basis: Option<String>,
    /// Lowest total that CUDA was seen to report on Linux in MiB.
    pub cuda_total_mib: Option<u64>,
    /// Kind of memory ("GDDR6X").
    pub memory_type: String,
    /// Memory bandwidth in GB/s (10^9).
    pub bandwidth_gb_s: Option<f64>,
    /// What error correction costs.
    pub ecc: Option<Ecc>,
    /// CUDA compute capability ("8.9").
    #[serde(default, deserialize_with = "capability")]
    pub compute_capability: Option<(u32, u32)>,
    /// LLVM target of an AMD part.
    pub gfx_target: Option<String>,
    /// Newest Metal family it belongs to.
    pub metal_family: Option<String>,
    /// Numbers of GPU cores that it is sold with.
    #[serde(default)]
    pub gpu_cores: Vec<u32>,
    /// PCI Express generation.
    pub pcie_generation: Option<u32>,
    /// PCI Express lanes.
    pub pcie_lanes: Option<u32>,
    /// NVLink bandwidth in GB/s, both directions together.
    pub nvlink_gb_s: Option<f64>,
    /// Dense matrix rate with fp32 accumulation.
    pub fp16_tflops: Option<f64>,
    /// Dense matrix rate.
    pub bf16_tflops: Option<f64>,
    /// Dense matrix rate.
    pub fp8_tflops: Option<f64>,
    /// Dense matrix rate.
    pub int8_tops: Option<f64>,
    /// Dense matrix rate.
    pub fp4_tflops: Option<f64>,
    /// PCI identities, `vendor:device`.
    #[serde(default)]
    pub pci_ids: Vec<String>,
    /// What else to know.
    pub note: Option<String>,
    /// Keys into the file's `[sources]`, or a source spelled out.
    pub sources: Vec<String>,
}

/// Where an accelerator is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A consumer card.
    Desktop,
    /// A portable computer; clocks depend on its power limit.
    Laptop,
    /// A professional card.
    Workstation,
    /// A data centre part.
    Server,
    /// Part of a system on a chip.
    Soc,
}

/// What error correction costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecc {
    /// Kept inside GDDR: 1/16 of the memory while it is on.
    Inline,
    /// Part of HBM: no loss.
    Free,
}

/// Distance of a row that has the wanted name only as an alias.
pub(super) const ALIAS: usize = 1;

impl GpuPreset {
    /// Advertised memory; zero for unified parts.
    pub fn nominal(&self) -> Bytes {
        Bytes::from_mib(self.vram_mib.unwrap_or(0))
    }

    /// What the driver calls total: observed, else nominal by the vendor's rule.
    pub fn driver_total(&self) -> Bytes {
        match self.driver_total_mib {
            Some(mib) => Bytes::from_mib(mib),
            // HIP and amdgpu tell 16 MiB less than nominal on every part observed before RDNA 4.
            None if self.vendor == Vendor::Amd => {
                self.nominal().saturating_sub(Bytes::from_mib(16))
            }
            None => self.nominal(),
        }
    }

    /// What a program can allocate of `total` on a card that nobody has at hand to ask.
    pub fn usable(&self, total: Bytes, os: Os) -> Bytes {
        match (self.vendor, os) {
            // Under WDDM CUDA's total is the driver's less 1 MiB (llama.cpp logs of seven cards).
            (Vendor::Nvidia, Os::Windows) => total.saturating_sub(Bytes::from_mib(1)),
            (Vendor::Nvidia, _) if total == self.driver_total() => self
                .cuda_total_mib
                .map_or_else(|| self.less_reserve(total), Bytes::from_mib),
            (Vendor::Nvidia, _) => self.less_reserve(total),
            _ => total,
        }
    }

    /// The driver's reserve on Linux where no log shows it: NVML total less CUDA total of neighbouring cards
    /// (llama.cpp logs: GTX 1080 82-94 MiB, V100 274, RTX 3090 450-455, L40S 601, A100 769, B200 717).
    fn less_reserve(&self, total: Bytes) -> Bytes {
        let reserve_mib = match self.compute_capability {
            Some((0..=6, _)) => 85,
            Some((7, 0)) => 274,
            _ if total <= Bytes::from_gib(24) => 460,
            _ if total <= Bytes::from_gib(48) => 600,
            _ => 700,
        };
        total.saturating_sub(Bytes::from_mib(reserve_mib))
    }

    /// Most that the GPU of a unified part may use of `ram`, settings as delivered.
    pub fn pool(&self, ram: Bytes) -> Bytes {
        if self.metal_family.is_some() {
            return metal_working_set(ram);
        }
        ram.mul_ratio(self.pool_percent.unwrap_or(100), 100)
    }

    /// The card in a machine with `ram` of main memory, nothing in use.
    pub fn gpu(&self, os: Os, ram: Bytes) -> Gpu {
        let (total, usable) = if self.unified {
            (self.pool(ram), self.pool(ram))
        } else {
            let total = self.driver_total();
            (total, self.usable(total, os))
        };
        Gpu {
            name: self.name.clone(),
            vendor: self.vendor,
            uuid: None,
            pci_address: None,
            memory: GpuMemory {
                total,
                usable,
                in_use: Bytes::ZERO,
            },
            unified: self.unified,
            compute_capability: self.compute_capability,
            gfx_target: self.gfx_target.clone(),
            metal_family: self.metal_family.clone(),
            bandwidth_gb_s: self.bandwidth_gb_s,
            fp16_tflops: self.fp16_tflops.or(self.bf16_tflops),
            pcie: self
                .pcie_generation
                .zip(self.pcie_lanes)
                .map(|(generation, lanes)| Pcie { generation, lanes }),
            drives_display: false,
            driver: None,
        }
    }

    /// How many words beyond the wanted ones the nearest of its names has; absent if a wanted word is missing.
    pub(super) fn distance(&self, wanted: &[String]) -> Option<usize> {
        // A row's own name wins over an alias that it shares with others.
        let own = names::distance(wanted, &self.name).map(|distance| distance * 2);
        let aliases = self.aliases.iter().filter_map(|alias| {
            names::distance(wanted, alias).map(|distance| distance * 2 + ALIAS)
        });
        own.into_iter().chain(aliases).min()
    }

    /// The two cannot be told apart by a projection.
    pub(super) fn projects_like(&self, other: &Self) -> bool {
        self.vram_mib == other.vram_mib
            && self.driver_total_mib == other.driver_total_mib
            && self.compute_capability == other.compute_capability
            && self.gfx_target == other.gfx_target
            && self.unified == other.unified
            && self.memory_options_gib == other.memory_options_gib
    }
}

const fn vendor_of_file() -> Vendor {
    Vendor::Other
}

fn capability<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<(u32, u32)>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| {
        parse_capability(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is no compute capability")))
    })
    .transpose()
}

/// Reads a compute capability as NVIDIA writes it ("8.9").
pub fn parse_capability(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

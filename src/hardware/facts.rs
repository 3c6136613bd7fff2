//! What the probes can learn about a card and about the host, each value optional and each gap with its reason.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Os, Pcie, Vendor};
use crate::units::Bytes;

/// What is known of one card. A field that is `None` was not reported; `missing` says why where a probe asked for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CardFacts {
    /// Identities of the probes that saw it, the most trusted first.
    pub seen_by: Vec<String>,
    /// Product name as the first source that knows one gives it.
    pub name: Option<String>,
    /// Who made it.
    pub vendor: Option<Vendor>,
    /// Stable identity: `GPU-...` or `MIG-...`.
    pub uuid: Option<String>,
    /// `domain:bus:device.function`, lower case, four-digit domain.
    pub pci_address: Option<String>,
    /// Windows' locally unique identity, as 16 hexadecimal digits.
    pub luid: Option<String>,
    /// PCI identity `vendor:device` in lower-case hexadecimal ("10de:2684").
    pub device_id: Option<String>,
    /// What kind of device it is.
    pub kind: Option<CardKind>,
    /// Memory is shared with the processor.
    pub unified: Option<bool>,
    /// What the driver calls total.
    pub total: Option<Bytes>,
    /// Part of `total` that the driver keeps for itself (NVML v2).
    pub reserved: Option<Bytes>,
    /// In use by all programs, the reserved part not counted.
    pub used: Option<Bytes>,
    /// Free as the driver says.
    pub free: Option<Bytes>,
    /// Main memory that the card may map (amdgpu's GTT).
    pub gtt_total: Option<Bytes>,
    /// Part of `gtt_total` in use.
    pub gtt_used: Option<Bytes>,
    /// CUDA compute capability.
    pub compute_capability: Option<(u32, u32)>,
    /// LLVM target of an AMD part.
    pub gfx_target: Option<String>,
    /// Number of GPU cores, which tells binned Apple chips apart.
    pub gpu_cores: Option<u32>,
    /// Width of the memory bus.
    pub bus_width_bits: Option<u32>,
    /// Highest memory clock.
    pub memory_clock_mhz: Option<u32>,
    /// Memory bandwidth in GB/s (10^9), measured by nobody: bus width times clock, or the catalogue's figure.
    pub bandwidth_gb_s: Option<f64>,
    /// Highest link of card and slot together.
    pub pcie_max: Option<Pcie>,
    /// Link now; idle cards run slower links.
    pub pcie_now: Option<Pcie>,
    /// Error correction is on.
    pub ecc: Option<bool>,
    /// Multi-instance mode of the card is on.
    pub mig: Option<bool>,
    /// Windows manages the card's memory (WDDM); compute-only driver models leave it to the driver.
    pub wddm: Option<bool>,
    /// Memory node of the system that the card's memory appears as (Grace Hopper and the like).
    pub numa_node: Option<u32>,
    /// A display is attached.
    pub drives_display: Option<bool>,
    /// Driver version as the driver prints it.
    pub driver: Option<String>,
    /// Highest CUDA version that the driver serves, as (major, minor).
    pub cuda_version: Option<(u32, u32)>,
    /// Programs that hold memory on the card.
    pub processes: Option<Vec<GpuProcess>>,
    /// Most that one backend ("vulkan", "metal") can allocate, where that differs from backend to backend.
    pub ceilings: BTreeMap<String, Bytes>,
    /// Position in Vulkan's own list, which is what `GGML_VK_VISIBLE_DEVICES` counts by.
    pub vulkan_index: Option<u32>,
    /// Why a field has no value, by field name.
    pub missing: BTreeMap<String, Reason>,
}

/// What kind of device a card is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// A card with memory of its own.
    Discrete,
    /// Part of the processor or its package.
    Integrated,
    /// A share of a card in a virtual machine.
    Virtual,
    /// One instance of a card in multi-instance mode.
    MigInstance,
}

/// A program that holds memory on a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuProcess {
    /// Process number; in a container that of the host.
    pub pid: u32,
    /// File name of the program, where it can be read.
    pub name: Option<String>,
    /// Memory it holds; absent where the driver does not say (Windows, WSL2).
    pub memory: Option<Bytes>,
    /// It draws rather than computes.
    pub graphics: bool,
}

/// Why something has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The card or its driver does not offer it.
    Unsupported,
    /// The driver is older than the call.
    OldDriver,
    /// This user may not ask.
    NoPermission,
    /// The card shares the processor's memory and has none of its own.
    UnifiedMemory,
    /// The card no longer answers.
    Lost,
    /// The driver answered with its mark for "not available".
    NotReported,
    /// The answer was nonsense or of a kind that this build does not know.
    Unreadable,
}

impl Reason {
    /// In words, to stand behind a field's name.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unsupported => "not offered by this card or driver",
            Self::OldDriver => "needs a newer driver",
            Self::NoPermission => "no permission",
            Self::UnifiedMemory => "shares the processor's memory",
            Self::Lost => "the card no longer answers",
            Self::NotReported => "not reported by the driver",
            Self::Unreadable => "the driver's answer could not be understood",
        }
    }
}

/// Memory of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeMemory {
    /// All of it.
    pub total: Bytes,
    /// Not in use at all.
    pub free: Bytes,
}

/// What is known of processor, main memory and system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// Operating system.
    pub os: Option<Os>,
    /// Name and version of the system as it calls itself.
    pub os_version: Option<String>,
    /// Linux inside Windows.
    pub wsl: bool,
    /// Processor architecture ("x86_64").
    pub arch: Option<String>,
    /// Physical memory that the system sees.
    pub ram_total: Option<Bytes>,
    /// Memory that can be had without swapping.
    pub ram_available: Option<Bytes>,
    /// Limit of the control group (container, service), where one is set.
    pub cgroup_limit: Option<Bytes>,
    /// Memory left below that limit.
    pub cgroup_free: Option<Bytes>,
    /// Swap space.
    pub swap_total: Option<Bytes>,
    /// Physical cores.
    pub physical_cores: Option<u32>,
    /// Processor name.
    pub cpu_name: Option<String>,
    /// Instruction sets, sorted.
    pub cpu_features: Vec<String>,
    /// Free space where models are kept.
    pub disk_free: Option<Bytes>,
    /// Product name of a board computer ("NVIDIA Jetson AGX Orin").
    pub board: Option<String>,
    /// Memory of each node by its number; several where sockets, or coherent GPUs, have memory of their own.
    pub numa_memory: BTreeMap<u32, NodeMemory>,
}

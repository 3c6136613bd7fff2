//! Constants per class of device: the rows of `presets/speed.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::hardware::{Gpu, Vendor};
use crate::quant::Type;

/// The table. Built into the program: a mistake in it fails the test below, and means no estimates here.
pub(super) static CLASSES: LazyLock<Classes> = LazyLock::new(|| parse().unwrap_or_default());

fn parse() -> Result<Classes, toml::de::Error> {
    toml::from_str(include_str!("../../presets/speed.toml"))
}

/// All constants of estimates.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Classes {
    /// GPUs; the first that matches counts.
    #[serde(rename = "class")]
    pub(super) gpus: Vec<Class>,
    /// Processors, by bandwidth of main memory.
    pub(super) ram: Vec<RamClass>,
    /// How much of a GPU's rate formats reach that are slow to unpack.
    pub(super) formats: Vec<FormatFactor>,
    /// Rates of links and disks.
    pub(super) links: Links,
}

/// GPUs that reach similar shares of what their data sheets say.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Stable identity ("nvidia-rtx").
    pub id: String,
    /// In words, for a reason.
    pub label: String,
    vendor: Option<Vendor>,
    unified: Option<bool>,
    /// Ranges of CUDA compute capabilities, least and most of each.
    #[serde(default)]
    capabilities: Vec<[(u32, u32); 2]>,
    /// Beginnings of LLVM targets.
    #[serde(default)]
    gfx: Vec<String>,
    /// Metal families.
    #[serde(default)]
    metal: Vec<String>,
    /// Share of the bandwidth that reading weights reaches.
    pub(super) eta: f64,
    /// Share of the bandwidth that reading caches reaches: low, likely, high.
    pub(super) eta_cache: [f64; 3],
    /// Microseconds per layer and token beside reading.
    pub(super) layer_us: f64,
    /// The same for layers with routed experts.
    pub(super) expert_layer_us: f64,
    /// At least eight of ten measured rates of decoding are between these multiples of the likely one.
    pub(super) spread: [f64; 2],
    /// The same for models with routed experts.
    pub(super) expert_spread: [f64; 2],
    /// Share of the matrix rate that reading prompts reaches: low, likely, high.
    pub(super) prefill: [f64; 3],
    /// The same for models with routed experts.
    pub(super) expert_prefill: [f64; 3],
    /// Matrix rate per bandwidth, in operations per byte, for parts whose rate no data sheet says.
    pub(super) operations_per_byte: f64,
    /// How many measurements, of which builds, from where.
    pub(super) basis: String,
}

/// Main memory that reaches similar shares of its bandwidth.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RamClass {
    /// Up to this bandwidth in GB/s.
    pub(super) up_to_gb_s: f64,
    /// Share of the bandwidth that reading weights reaches which every token uses.
    pub(super) eta: f64,
    /// The same for routed experts.
    pub(super) expert_eta: f64,
    /// At least eight of ten measured rates are between these multiples of the likely one.
    pub(super) spread: [f64; 2],
    /// How many measurements, of which builds, from where.
    pub(super) basis: String,
}

/// A format that takes longer to unpack than to read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FormatFactor {
    #[serde(deserialize_with = "format")]
    format: Type,
    factor: f64,
}

/// Rates of links and disks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Links {
    /// GB/s that one lane of PCI Express 4.0 moves.
    pub(super) pcie4_lane_gb_s: f64,
    /// How much faster several GPUs of a layer split read a prompt than one after the other: low, likely, high.
    pub(super) pipelining: [f64; 3],
    /// Power of the number of streams that stands for how many choose their experts independently: fast, likely, slow.
    pub(super) alike: [f64; 3],
    /// Milliseconds per token for each further GPU of a layer split.
    pub(super) further_gpu_ms: f64,
    /// Microseconds for one exchange of sums among GPUs that each hold a part of every layer: fast, likely, slow.
    pub(super) exchange_us: [f64; 3],
    /// Milliseconds per token for each further node: fast, likely, slow.
    pub(super) node_ms: [f64; 3],
    /// Matrix rate of one core of a processor in 10^12 operations per second: low, likely, high.
    pub(super) core_tflops: [f64; 3],
    /// GB/s of a disk: low, likely, high.
    pub(super) disk_gb_s: [f64; 3],
    /// Where `core_tflops` comes from.
    pub(super) core_basis: String,
    /// Where `disk_gb_s` comes from.
    pub(super) disk_basis: String,
}

impl Class {
    fn matches(&self, gpu: &Gpu) -> bool {
        let starts = |beginnings: &[String], name: Option<&String>| {
            beginnings.is_empty()
                || name.is_some_and(|name| beginnings.iter().any(|start| name.starts_with(start)))
        };
        self.vendor.is_none_or(|vendor| vendor == gpu.vendor)
            && self.unified.is_none_or(|unified| unified == gpu.unified)
            && (self.capabilities.is_empty()
                || gpu.compute_capability.is_some_and(|capability| {
                    let mut ranges = self.capabilities.iter();
                    ranges.any(|[least, most]| (least..=most).contains(&&capability))
                }))
            && starts(&self.gfx, gpu.gfx_target.as_ref())
            && starts(&self.metal, gpu.metal_family.as_ref())
    }
}

/// The class of a GPU, told by maker, capability and kind of memory.
pub fn of_gpu(gpu: &Gpu) -> Option<&'static Class> {
    CLASSES.gpus.iter().find(|class| class.matches(gpu))
}

impl Classes {
    /// The class of main memory with this bandwidth.
    pub(super) fn of_ram(&self, gb_s: f64) -> Option<&RamClass> {
        let fits = |class: &&RamClass| gb_s <= class.up_to_gb_s;
        self.ram.iter().find(fits).or(self.ram.last())
    }

    /// Share of a GPU's usual rate at which a format is read.
    pub(super) fn format_factor(&self, kind: Type) -> f64 {
        let row = self.formats.iter().find(|row| row.format == kind);
        row.map_or(1.0, |row| row.factor)
    }
}

fn format<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Type, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let classes = parse().expect("presets/speed.toml is well-formed");
        let share = |value: f64| value > 0.0 && value <= 1.1;
        let around = |[low, high]: [f64; 2]| low > 0.0 && low <= 1.0 && high >= 1.0;
        for class in &classes.gpus {
            assert!(share(class.eta), "{}", class.id);
            assert!(
                around(class.spread) && around(class.expert_spread),
                "{}",
                class.id
            );
            for [low, likely, high] in [class.prefill, class.expert_prefill, class.eta_cache] {
                let sorted = 0.0 < low && low <= likely && likely <= high && high <= 1.0;
                assert!(sorted, "{}", class.id);
            }
            assert!(!class.basis.is_empty(), "{}", class.id);
        }
        let last = classes.gpus.last().expect("classes");
        assert!(
            last.vendor.is_none() && last.unified.is_none(),
            "one for all others"
        );
        for class in &classes.ram {
            assert!(share(class.eta) && share(class.expert_eta) && around(class.spread));
            assert!(!class.basis.is_empty());
        }
        assert!(!classes.formats.is_empty() && !classes.links.core_basis.is_empty());
    }
}

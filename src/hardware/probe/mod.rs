//! Finding out what is really there: one file per way, each with a root that tests point elsewhere.
//!
//! [`detect`] blocks (driver calls, files) and is meant for a background thread.

mod amdgpu;
pub mod apple;
mod intel;
mod nvml;
mod pci;
pub mod sample;
mod sysfs;
mod system;
pub mod vulkan;

use std::path::PathBuf;

use super::detection::{Detection, Finding};
use super::facts::{CardFacts, HostFacts};
use super::merge;

/// Every way of finding out, the most trusted first: where two know a field, the earlier one wins.
pub const PROBES: &[&dyn Probe] = &[
    &system::System,
    &nvml::Nvml,
    &amdgpu::Amdgpu,
    &intel::Intel,
    &apple::Apple,
    &vulkan::Vulkan,
    &pci::Pci,
];

/// One way of finding out about cards or the host.
pub trait Probe: Sync {
    /// Stable identity ("nvml").
    fn id(&self) -> &'static str;

    /// What is being asked, for a progress line ("NVIDIA driver").
    fn title(&self) -> &'static str;

    /// Asks. What fails becomes a finding, never a panic.
    fn read(&self, sources: &Sources) -> Reading;
}

/// What one probe found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Cards seen, in the source's own order.
    pub cards: Vec<CardFacts>,
    /// Processor and memory, from the probe that knows.
    pub host: Option<HostFacts>,
    /// What could not be read.
    pub findings: Vec<Finding>,
}

/// Where to ask. The default is the real machine; tests point each field elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Sources {
    /// NVIDIA's management library; absent: where the system keeps it.
    pub nvml_library: Option<PathBuf>,
    /// Root of sysfs.
    pub sysfs_root: PathBuf,
    /// Root of procfs.
    pub proc_root: PathBuf,
    /// Where lists of device names are kept.
    pub share_root: PathBuf,
    /// How to ask Vulkan.
    pub vulkan: VulkanSource,
    /// How to ask Metal.
    pub apple: AppleSource,
    /// How to ask for memory and processor.
    pub system: SystemSource,
    /// Folder whose free space matters.
    pub models_folder: Option<PathBuf>,
    /// Value of `CUDA_VISIBLE_DEVICES`, where set.
    pub cuda_visible_devices: Option<String>,
    /// Value of `CUDA_DEVICE_ORDER`, where set.
    pub cuda_device_order: Option<String>,
}

/// How to ask Vulkan.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum VulkanSource {
    /// The system's loader, where there is one.
    #[default]
    System,
    /// This loader.
    Library(PathBuf),
    /// Answers taken down elsewhere.
    Recorded(Vec<vulkan::Answer>),
    /// Not at all.
    Off,
}

/// How to ask Metal.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AppleSource {
    /// This machine, if it is a Mac.
    #[default]
    System,
    /// Answers taken down elsewhere.
    Recorded(apple::Answer),
    /// Not at all.
    Off,
}

/// How to ask for memory and processor.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SystemSource {
    /// This machine.
    #[default]
    System,
    /// Answers taken down elsewhere.
    Recorded(Box<HostFacts>),
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            nvml_library: None,
            sysfs_root: PathBuf::from("/sys"),
            proc_root: PathBuf::from("/proc"),
            share_root: PathBuf::from("/usr/share"),
            vulkan: VulkanSource::System,
            apple: AppleSource::System,
            system: SystemSource::System,
            models_folder: None,
            cuda_visible_devices: None,
            cuda_device_order: None,
        }
    }
}

impl Sources {
    /// The real machine as a program with these environment variables sees it; the caller reads the environment.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            cuda_visible_devices: variable("CUDA_VISIBLE_DEVICES"),
            cuda_device_order: variable("CUDA_DEVICE_ORDER"),
            // Where llama-server keeps what it downloads, in its own order of preference; else the user's home.
            models_folder: [
                "LLAMA_CACHE",
                "HF_HOME",
                "XDG_CACHE_HOME",
                "HOME",
                "USERPROFILE",
            ]
            .into_iter()
            .find_map(&variable)
            .map(PathBuf::from),
            ..Self::default()
        }
    }
}

/// How far a detection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being asked now.
    pub title: &'static str,
    /// How many probes are done.
    pub done: usize,
    /// How many there are.
    pub of: usize,
}

/// Asks every probe and merges what they saw.
pub fn detect(sources: &Sources, progress: &dyn Fn(Progress)) -> Detection {
    let mut readings = Vec::with_capacity(PROBES.len());
    for (done, probe) in PROBES.iter().enumerate() {
        progress(Progress {
            title: probe.title(),
            done,
            of: PROBES.len(),
        });
        readings.push((probe.id(), probe.read(sources)));
    }
    merge::detection(
        readings,
        sources.cuda_visible_devices.as_deref(),
        sources.cuda_device_order.as_deref(),
    )
}

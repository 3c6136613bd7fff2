//! Machines by name (`presets/machines/*.toml`), and the way from a plan's `[machine]` table to a machine.

mod describe;

use include_dir::{Dir, include_dir};
use serde::Deserialize;

use super::gpus::{self, GpuCatalog};
use super::names;
use crate::hardware::{DEVICES_LIMIT, Machine, Os};
use crate::plan::{GpuRef, MachineRef};
use describe::described;
pub use describe::reference;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/presets/machines");

/// Every machine preset, by id.
#[derive(Clone, Debug, Default)]
pub struct MachineCatalog {
    presets: Vec<MachinePreset>,
}

/// A machine as a preset describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachinePreset {
    /// Identity: the file's stem.
    #[serde(skip)]
    pub id: String,
    /// What to call it.
    pub name: String,
    /// Operating system.
    #[serde(default = "linux")]
    pub os: Os,
    /// Main memory in MiB.
    pub ram_mib: u64,
    /// Bandwidth of main memory in GB/s (10^9), where the product fixes it.
    pub ram_bandwidth_gb_s: Option<f64>,
    /// Part of main memory that system and desktop use.
    #[serde(default)]
    pub ram_in_use_mib: u64,
    /// Cards, as in a plan.
    #[serde(default)]
    pub gpus: Vec<GpuRef>,
    /// How many nodes like this one.
    #[serde(default = "one")]
    pub nodes: u32,
    /// Where it is met, or what to know of it.
    pub note: Option<String>,
}

const fn linux() -> Os {
    Os::Linux
}

const fn one() -> u32 {
    1
}

/// Why a description is no machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// No preset has this id.
    #[error("no machine preset is called `{id}`{}", names::suggestion(.nearest))]
    UnknownPreset {
        /// As asked.
        id: String,
        /// Ids that come near.
        nearest: Vec<String>,
    },
    /// A card's name.
    #[error(transparent)]
    Gpu(#[from] gpus::Error),
    /// A figure of a card.
    #[error("{problem} of GPU `{gpu}`")]
    Figure {
        /// What is wrong with which figure.
        problem: String,
        /// As written.
        gpu: String,
    },
    /// Nothing says how much memory there is.
    #[error("`ram_mib` is missing in [machine], and no machine was detected to take it from")]
    NoRam,
    /// The plan means this machine, which is unknown.
    #[error("the plan has no [machine], and this machine was not detected")]
    NothingDetected,
    /// Too many devices.
    #[error("{asked} GPUs in one machine; at most {DEVICES_LIMIT} over all nodes are projected")]
    TooMany {
        /// How many were asked for.
        asked: u64,
    },
    /// No node at all.
    #[error("`nodes` in [machine] must be at least 1")]
    NoNodes,
    /// Main memory that no machine has.
    #[error("`{field}` in [machine] is more than {} (1 PiB)", describe::MOST_MIB)]
    Memory {
        /// The figure's name.
        field: &'static str,
    },
    /// A bandwidth that no memory has.
    #[error("`ram_bandwidth_gb_s` in [machine] must be between 0.1 and 100,000 GB/s")]
    RamBandwidth,
    /// A preset file cannot be read.
    #[error("{reason} in {file}")]
    Malformed {
        /// File name.
        file: String,
        /// What the reader says.
        reason: String,
    },
}

impl MachineCatalog {
    /// The presets that come with the program.
    ///
    /// # Errors
    /// A preset file that cannot be read; a test keeps that from being released.
    pub fn embedded() -> Result<Self, Error> {
        let mut catalog = Self::default();
        for file in EMBEDDED.files() {
            let stem = file.path().file_stem().unwrap_or_default();
            catalog.add(
                &stem.to_string_lossy(),
                file.contents_utf8().unwrap_or_default(),
            )?;
        }
        Ok(catalog)
    }

    /// Adds one more preset, such as the user's own; it replaces an earlier one of the same id.
    ///
    /// # Errors
    /// Text that is not a machine preset.
    pub fn add(&mut self, id: &str, text: &str) -> Result<(), Error> {
        let mut preset: MachinePreset = toml::from_str(text).map_err(|error| Error::Malformed {
            file: format!("{id}.toml"),
            reason: error.message().to_owned(),
        })?;
        id.clone_into(&mut preset.id);
        self.presets.retain(|earlier| earlier.id != id);
        self.presets.push(preset);
        self.presets.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(())
    }

    /// All presets, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = &MachinePreset> {
        self.presets.iter()
    }

    /// The preset with this id, whatever the case.
    ///
    /// # Errors
    /// An id that no preset has.
    pub fn find(&self, id: &str) -> Result<&MachinePreset, Error> {
        self.presets
            .iter()
            .find(|preset| preset.id.eq_ignore_ascii_case(id.trim()))
            .ok_or_else(|| Error::UnknownPreset {
                id: id.to_owned(),
                nearest: names::nearest(id, self.presets.iter().map(|preset| preset.id.as_str())),
            })
    }
}

impl MachinePreset {
    /// The machine it describes.
    ///
    /// # Errors
    /// A card that the catalogue does not know.
    pub fn machine(&self, gpus: &GpuCatalog) -> Result<Machine, Error> {
        let description = MachineRef {
            preset: None,
            os: Some(self.os),
            ram_mib: Some(self.ram_mib),
            ram_in_use_mib: Some(self.ram_in_use_mib),
            ram_bandwidth_gb_s: self.ram_bandwidth_gb_s,
            gpus: Some(self.gpus.clone()),
            nodes: Some(self.nodes),
        };
        let mut machine = described(&description, None, gpus)?;
        machine.name.clone_from(&self.name);
        Ok(machine)
    }
}

/// Whether a plan's `[machine]` leaves something open that only detection can tell.
pub fn needs_detection(reference: Option<&MachineRef>) -> bool {
    reference.is_none_or(|reference| {
        reference.preset.is_none() && (reference.ram_mib.is_none() || reference.gpus.is_none())
    })
}

/// The machine that a plan means. What its table leaves open comes from its preset, else from the detected machine.
///
/// # Errors
/// An unknown preset or card, figures that make no sense, more devices than can be shown.
pub fn resolve(
    reference: Option<&MachineRef>,
    detected: Option<&Machine>,
    gpus: &GpuCatalog,
    machines: &MachineCatalog,
) -> Result<Machine, Error> {
    let Some(reference) = reference else {
        return detected.cloned().ok_or(Error::NothingDetected);
    };
    let Some(id) = &reference.preset else {
        return described(reference, detected, gpus);
    };
    let base = machines.find(id)?.machine(gpus)?;
    let plain = MachineRef {
        preset: Some(id.clone()),
        ..MachineRef::default()
    };
    if *reference == plain {
        return Ok(base);
    }
    // Whatever the plan changes, a unified pool or a share of RAM must follow, so the cards are built anew.
    let preset = machines.find(id)?;
    let mut changed = reference.clone();
    changed.gpus.get_or_insert_with(|| preset.gpus.clone());
    changed.os.get_or_insert(preset.os);
    changed.nodes.get_or_insert(preset.nodes);
    changed.ram_mib.get_or_insert(preset.ram_mib);
    changed.ram_in_use_mib.get_or_insert(preset.ram_in_use_mib);
    changed.ram_bandwidth_gb_s = changed.ram_bandwidth_gb_s.or(preset.ram_bandwidth_gb_s);
    let mut machine = described(&changed, None, gpus)?;
    machine.name = format!("{}, changed", base.name);
    Ok(machine)
}

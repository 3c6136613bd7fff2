//! Machines by name (`presets/machines/*.toml`), and the way from a plan's `[machine]` table to a machine.

use include_dir::{Dir, include_dir};
use serde::Deserialize;

use super::gpus::{self, GpuCatalog, parse_capability};
use super::names;
use crate::hardware::{DEVICES_LIMIT, Gpu, GpuMemory, Host, Machine, Os, Vendor};
use crate::plan::{GpuRef, MachineRef};
use crate::units::Bytes;

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
            gpus: Some(self.gpus.clone()),
            nodes: Some(self.nodes),
        };
        let mut machine = described(&description, None, gpus)?;
        machine.name.clone_from(&self.name);
        machine.host.bandwidth_gb_s = self.ram_bandwidth_gb_s;
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
    let mut machine = described(&changed, None, gpus)?;
    machine.name = format!("{}, changed", base.name);
    machine.host.bandwidth_gb_s = base.host.bandwidth_gb_s;
    Ok(machine)
}

fn described(
    reference: &MachineRef,
    detected: Option<&Machine>,
    catalog: &GpuCatalog,
) -> Result<Machine, Error> {
    let os = reference
        .os
        .or(detected.map(|machine| machine.os))
        .unwrap_or(Os::Linux);
    let mut host = match (reference.ram_mib, detected) {
        // Another amount of RAM is another computer: nothing of this one is in use there.
        (Some(mib), _) => simulated_host(Bytes::from_mib(mib)),
        (None, Some(machine)) => machine.host.clone(),
        (None, None) => return Err(Error::NoRam),
    };
    if let Some(mib) = reference.ram_in_use_mib {
        host.in_use = Bytes::from_mib(mib).min(host.ram);
    }
    let nodes = reference.nodes.unwrap_or(1);
    if nodes == 0 {
        return Err(Error::NoNodes);
    }
    let cards = match &reference.gpus {
        Some(references) => cards(references, nodes, os, &host, catalog)?,
        None => detected
            .map(|machine| machine.gpus.clone())
            .unwrap_or_default(),
    };
    within_limit(cards.len() as u64, nodes)?;
    Ok(Machine {
        name: title(&cards, &host),
        os,
        host,
        gpus: cards,
        nodes,
    })
}

fn within_limit(cards: u64, nodes: u32) -> Result<(), Error> {
    // A node without cards still is a device.
    let asked = cards.max(1).saturating_mul(u64::from(nodes));
    if asked > DEVICES_LIMIT as u64 {
        return Err(Error::TooMany { asked });
    }
    Ok(())
}

fn cards(
    references: &[GpuRef],
    nodes: u32,
    os: Os,
    host: &Host,
    catalog: &GpuCatalog,
) -> Result<Vec<Gpu>, Error> {
    let asked = references.iter().fold(0_u64, |sum, reference| {
        sum.saturating_add(u64::from(reference.count.unwrap_or(1)))
    });
    within_limit(asked, nodes)?;
    let mut cards = Vec::new();
    for reference in references {
        let card = card(reference, os, host, catalog)?;
        for _ in 0..reference.count.unwrap_or(1) {
            cards.push(card.clone());
        }
    }
    Ok(cards)
}

fn card(reference: &GpuRef, os: Os, host: &Host, catalog: &GpuCatalog) -> Result<Gpu, Error> {
    let figure = |problem: &str| Error::Figure {
        problem: problem.to_owned(),
        gpu: reference.name.clone(),
    };
    let vram = reference.vram_mib.map(Bytes::from_mib);
    let usable = reference.usable_mib.map(Bytes::from_mib);
    let mut card = match catalog.find_sized(&reference.name, vram) {
        Ok(preset) => {
            let mut card = preset.gpu(os, host.ram);
            if let Some(total) = vram {
                card.memory.total = total;
                card.memory.usable = if preset.unified {
                    total
                } else {
                    preset.usable(total, os)
                };
            }
            card
        }
        Err(_) if vram.is_some() || usable.is_some() => custom(reference, vram, usable),
        Err(error) => return Err(error.into()),
    };
    if let Some(usable) = usable {
        if vram.is_some_and(|vram| usable > vram) {
            return Err(figure("`usable_mib` is more than `vram_mib`"));
        }
        card.memory.usable = usable;
        card.memory.total = card.memory.total.max(usable);
    }
    if let Some(bandwidth) = reference.bandwidth_gb_s {
        if !bandwidth.is_finite() || bandwidth <= 0.0 {
            return Err(figure("`bandwidth_gb_s` must be a positive number"));
        }
        card.bandwidth_gb_s = Some(bandwidth);
    }
    if let Some(text) = &reference.compute_capability {
        let capability = parse_capability(text)
            .ok_or_else(|| figure("`compute_capability` must look like \"8.9\""))?;
        card.compute_capability = Some(capability);
    }
    card.memory.in_use = match reference.in_use_mib {
        Some(mib) => Bytes::from_mib(mib),
        // What others use of a shared pool counts where it leaves less than the GPU may take.
        None if card.unified => card
            .memory
            .usable
            .saturating_sub(host.ram.saturating_sub(host.in_use)),
        None => Bytes::ZERO,
    };
    Ok(card)
}

/// A card that no catalogue knows: all that is known is what is written.
fn custom(reference: &GpuRef, vram: Option<Bytes>, usable: Option<Bytes>) -> Gpu {
    let total = vram.or(usable).unwrap_or_default();
    let vendor = if reference.compute_capability.is_some() {
        Some(Vendor::Nvidia)
    } else {
        names::vendor(&reference.name)
    };
    Gpu {
        name: reference.name.clone(),
        vendor: vendor.unwrap_or(Vendor::Other),
        uuid: None,
        pci_address: None,
        memory: GpuMemory {
            total,
            usable: usable.unwrap_or(total),
            in_use: Bytes::ZERO,
        },
        unified: false,
        compute_capability: None,
        gfx_target: None,
        bandwidth_gb_s: None,
        pcie: None,
        drives_display: false,
        driver: None,
    }
}

fn simulated_host(ram: Bytes) -> Host {
    Host {
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

/// "2x NVIDIA GeForce RTX 3090 + 64 GiB".
fn title(cards: &[Gpu], host: &Host) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for card in cards {
        match counted.iter_mut().find(|(name, _)| *name == card.name) {
            Some((_, count)) => *count += 1,
            None => counted.push((&card.name, 1)),
        }
    }
    let mut parts: Vec<String> = counted
        .into_iter()
        .map(|(name, count)| {
            if count == 1 {
                name.to_owned()
            } else {
                format!("{count}x {name}")
            }
        })
        .collect();
    if parts.is_empty() {
        parts.push("CPU only".to_owned());
    }
    parts.push(format!("{:.0} GiB RAM", host.ram.as_gib()));
    parts.join(" + ")
}

//! The accelerators that simulated machines are built from: `presets/gpus/<vendor>.toml`.

mod preset;

use include_dir::{Dir, include_dir};
use indexmap::IndexMap;
use serde::Deserialize;

use super::names;
use crate::hardware::Vendor;
use crate::hardware::detection::Detection;
use crate::hardware::facts::{CardFacts, CardKind};
use crate::hardware::probe::{self, Progress, Sources};
use crate::units::Bytes;
use preset::ALIAS;
pub use preset::{Ecc, Form, GpuPreset, parse_capability};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/presets/gpus");

/// Every known accelerator, by vendor and name.
#[derive(Clone, Debug, Default)]
pub struct GpuCatalog {
    presets: Vec<GpuPreset>,
    sources: IndexMap<String, String>,
}

/// What is wrong with a name or a preset file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No row has this name.
    #[error("no GPU in the catalogue is called `{name}`{}; any other card can be described with `vram_mib`", names::suggestion(.nearest))]
    Unknown {
        /// As asked.
        name: String,
        /// Names that come near.
        nearest: Vec<String>,
    },
    /// Several rows have it, and they differ.
    #[error("`{name}` can be {}; write one of these", names::either(.choices))]
    Ambiguous {
        /// As asked.
        name: String,
        /// The rows.
        choices: Vec<String>,
    },
    /// A preset file cannot be read.
    #[error("{reason} in {file}")]
    Malformed {
        /// File name.
        file: String,
        /// What the reader says.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    vendor: Vendor,
    sources: IndexMap<String, String>,
    gpu: Vec<GpuPreset>,
}

impl GpuCatalog {
    /// The rows that come with the program.
    ///
    /// # Errors
    /// A preset file that cannot be read; a test keeps that from being released.
    pub fn embedded() -> Result<Self, Error> {
        let mut catalog = Self::default();
        let mut files: Vec<_> = EMBEDDED.files().collect();
        files.sort_by_key(|file| file.path());
        for file in files {
            let name = file.path().display().to_string();
            catalog.add(&name, file.contents_utf8().unwrap_or_default())?;
        }
        Ok(catalog)
    }

    /// Adds the rows of one more file, such as the user's own; a row replaces an earlier one of the same name.
    ///
    /// # Errors
    /// Text that is not a GPU preset file.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), Error> {
        let parsed: File = toml::from_str(text).map_err(|error| Error::Malformed {
            file: file.to_owned(),
            reason: error.message().to_owned(),
        })?;
        for mut preset in parsed.gpu {
            preset.vendor = parsed.vendor;
            match self
                .presets
                .iter_mut()
                .find(|earlier| earlier.name == preset.name)
            {
                Some(earlier) => *earlier = preset,
                None => self.presets.push(preset),
            }
        }
        self.sources.extend(parsed.sources);
        Ok(())
    }

    /// All rows, sorted by vendor's file and name.
    pub fn iter(&self) -> impl Iterator<Item = &GpuPreset> {
        self.presets.iter()
    }

    /// The text behind a key of [`GpuPreset::sources`]; a source that is spelled out is its own text.
    pub fn source<'a>(&'a self, key: &'a str) -> &'a str {
        self.sources.get(key).map_or(key, String::as_str)
    }

    /// The row that a name means: as the driver writes it or shorter ("RTX 4090", "4090", "a100 80gb pcie").
    ///
    /// # Errors
    /// A name that means no row, or several that differ in memory.
    pub fn find(&self, name: &str) -> Result<&GpuPreset, Error> {
        self.find_sized(name, None)
    }

    /// As [`GpuCatalog::find`], with the memory size to tell products of one name apart.
    ///
    /// # Errors
    /// A name that means no row, or several that differ in memory.
    pub fn find_sized(&self, name: &str, vram: Option<Bytes>) -> Result<&GpuPreset, Error> {
        let mut wanted = names::telling(name);
        let vendor = names::vendor(name);
        let mut best = self.best(&wanted, vendor);
        let mut size = vram;
        if best.is_empty()
            && let Some(written) = names::take_size(&mut wanted)
        {
            best = self.best(&wanted, vendor);
            best.retain(|preset| preset.nominal() == written);
            size = size.or(Some(written));
        }
        if let Some(size) = size
            && best.len() > 1
        {
            // A driver's total is a little below the nominal size, never above it.
            let nominal = best
                .iter()
                .map(|preset| preset.nominal())
                .filter(|nominal| *nominal >= size)
                .min();
            best.retain(|preset| nominal.is_none_or(|nominal| preset.nominal() == nominal));
        }
        match best.as_slice() {
            [] => Err(Error::Unknown {
                name: name.to_owned(),
                nearest: names::nearest(
                    name,
                    self.presets.iter().map(|preset| preset.name.as_str()),
                ),
            }),
            [first, rest @ ..] if rest.iter().all(|other| other.projects_like(first)) => Ok(first),
            choices => Err(Error::Ambiguous {
                name: name.to_owned(),
                choices: choices.iter().map(|preset| preset.name.clone()).collect(),
            }),
        }
    }

    /// The row of a card that was found: by PCI identity and memory size, else by name and, for Apple, cores.
    pub fn identify(&self, facts: &CardFacts) -> Option<&GpuPreset> {
        let device_id = facts.device_id.as_deref();
        let same_id: Vec<&GpuPreset> = self
            .presets
            .iter()
            .filter(|preset| device_id.is_some_and(|id| preset.pci_ids.iter().any(|own| own == id)))
            .collect();
        let name = facts.name.as_deref().unwrap_or_default();
        let of_size = |preset: &&GpuPreset| {
            facts.total.is_none_or(|total| {
                total <= preset.nominal() && total > preset.nominal().mul_ratio(7, 8)
            })
        };
        // One identity can be several products; their names or sizes tell them apart, else none is meant.
        let mut products: Vec<&GpuPreset> = same_id.iter().copied().filter(of_size).collect();
        if products.len() > 1
            && let Ok(named) = self.find_sized(name, facts.total)
            && products.contains(&named)
        {
            products = vec![named];
        }
        if let [product] = products.as_slice() {
            return Some(product);
        }
        if let Some(cores) = facts.gpu_cores {
            let wanted = names::telling(name);
            let binned = self.best(&wanted, facts.vendor);
            return binned
                .into_iter()
                .find(|preset| preset.gpu_cores.contains(&cores));
        }
        self.find_sized(name, facts.total)
            .ok()
            .filter(|preset| preset.unified || of_size(preset))
    }

    /// Asks every probe, and fills what no driver told. Blocks, so meant for a background thread.
    pub fn detect(&self, sources: &Sources, progress: &dyn Fn(Progress)) -> Detection {
        let mut detection = probe::detect(sources, progress);
        self.complete(&mut detection);
        detection
    }

    /// Fills what no driver told from the catalogue's rows: bandwidth, matrix rate, and what kernels depend on.
    pub fn complete(&self, detection: &mut Detection) {
        for card in &mut detection.cards {
            let Some(preset) = self.identify(&card.facts) else {
                continue;
            };
            // An instance of a split card has only a share of its bandwidth.
            if card.facts.kind != Some(CardKind::MigInstance) {
                card.gpu.bandwidth_gb_s = card.gpu.bandwidth_gb_s.or(preset.bandwidth_gb_s);
                card.gpu.fp16_tflops = preset.fp16_tflops.or(preset.bf16_tflops);
            }
            let gpu = &mut card.gpu;
            gpu.compute_capability = gpu.compute_capability.or(preset.compute_capability);
            gpu.gfx_target = gpu.gfx_target.take().or_else(|| preset.gfx_target.clone());
            gpu.metal_family.clone_from(&preset.metal_family);
        }
        detection.machine = detection.machine_with(|card| card.aside.is_none());
    }

    /// The rows that the wanted words name exactly; if there is none, all whose names contain them.
    fn best(&self, wanted: &[String], vendor: Option<Vendor>) -> Vec<&GpuPreset> {
        let matching: Vec<(usize, &GpuPreset)> = self
            .presets
            .iter()
            .filter(|preset| vendor.is_none_or(|vendor| vendor == preset.vendor))
            .filter_map(|preset| Some((preset.distance(wanted)?, preset)))
            .collect();
        let nearest = matching.iter().map(|(distance, _)| *distance).min();
        matching
            .into_iter()
            .filter(|(distance, _)| {
                nearest.is_none_or(|nearest| nearest > ALIAS || *distance == nearest)
            })
            .map(|(_, preset)| preset)
            .collect()
    }
}

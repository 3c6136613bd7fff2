//! Reading memory in use again and again, cheaply, for a live display.

use std::path::PathBuf;

use super::{Sources, nvml, sysfs};
use crate::hardware::{Gpu, Vendor};
use crate::units::Bytes;

/// Reads the memory in use of chosen cards. Opening it loads the driver's library once; a reading then costs a call or
/// a file per card. It may be moved to a thread of its own.
#[derive(Debug)]
pub struct Sampler {
    library: Option<nvml_wrapper::Nvml>,
    ways: Vec<Way>,
}

/// How to read one card.
#[derive(Debug)]
enum Way {
    Nvml { uuid: String },
    File { used: PathBuf },
    None,
}

impl Sampler {
    /// Prepares to read these cards.
    pub fn open(sources: &Sources, gpus: &[Gpu]) -> Self {
        let amd = sysfs::drm_cards(&sources.sysfs_root, Vendor::Amd);
        let ways: Vec<Way> = gpus
            .iter()
            .map(|gpu| match (gpu.vendor, &gpu.uuid, &gpu.pci_address) {
                // Use of a shared pool is main memory's, which the card's files count only in part.
                _ if gpu.unified => Way::None,
                (Vendor::Nvidia, Some(uuid), _) => Way::Nvml { uuid: uuid.clone() },
                (Vendor::Amd, _, Some(address)) => amd
                    .iter()
                    .find(|device| device.address == *address)
                    .map_or(Way::None, |device| Way::File {
                        used: device.path.join("mem_info_vram_used"),
                    }),
                _ => Way::None,
            })
            .collect();
        let needs_library = ways.iter().any(|way| matches!(way, Way::Nvml { .. }));
        Self {
            library: needs_library
                .then(|| nvml::open(sources.nvml_library.as_deref()).ok())
                .flatten(),
            ways,
        }
    }

    /// Memory in use by all programs, in the order of the cards given; absent where it cannot be read.
    pub fn in_use(&self) -> Vec<Option<Bytes>> {
        self.ways
            .iter()
            .map(|way| match way {
                Way::Nvml { uuid } => {
                    let device = self.library.as_ref()?.device_by_uuid(uuid.as_str()).ok()?;
                    nvml::memory(&device).ok().map(|memory| memory.used)
                }
                Way::File { used } => sysfs::bytes(used),
                Way::None => None,
            })
            .collect()
    }
}

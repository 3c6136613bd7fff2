//! What the bus knows: that a card is there at all, its link and its display, whether or not a driver answers.

use super::sysfs::{self, PciDevice};
use super::{Probe, Reading, Sources};
use crate::hardware::facts::CardFacts;

/// The probe.
pub(super) struct Pci;

impl Probe for Pci {
    fn id(&self) -> &'static str {
        "pci"
    }

    fn title(&self) -> &'static str {
        "PCI bus"
    }

    fn read(&self, sources: &Sources) -> Reading {
        let cards = sysfs::entries(&sources.sysfs_root.join("bus/pci/devices"))
            .into_iter()
            .filter_map(PciDevice::read)
            // Boards carry small display chips of other makers for remote consoles; they are no accelerators.
            .filter(|device| device.vendor().is_some())
            .map(|device| {
                let (now, max) = device.links();
                CardFacts {
                    name: sysfs::product_name(&sources.share_root, &device),
                    vendor: device.vendor(),
                    device_id: Some(device.identity()),
                    pcie_now: now,
                    pcie_max: max,
                    drives_display: device.drives_display(),
                    driver: device.driver.clone(),
                    pci_address: Some(device.address),
                    ..CardFacts::default()
                }
            })
            .collect();
        Reading {
            cards,
            ..Reading::default()
        }
    }
}

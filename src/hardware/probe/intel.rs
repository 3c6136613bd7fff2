//! Intel cards through sysfs. Their memory size is in no file there (`mem_info_vram_total` is amdgpu's; llmfit issue
//! 609), so it comes from Vulkan.

use super::sysfs;
use super::{Probe, Reading, Sources};
use crate::hardware::Vendor;
use crate::hardware::facts::{CardFacts, CardKind, Reason};

/// The probe.
pub(super) struct Intel;

impl Probe for Intel {
    fn id(&self) -> &'static str {
        "intel"
    }

    fn title(&self) -> &'static str {
        "Intel driver"
    }

    fn read(&self, sources: &Sources) -> Reading {
        let cards = sysfs::drm_cards(&sources.sysfs_root, Vendor::Intel)
            .into_iter()
            .map(|device| {
                // Integrated parts sit at this address on every platform; cards are on other buses.
                let integrated = device.address.ends_with(":00:02.0");
                let (now, max) = device.links();
                let mut card = CardFacts {
                    name: sysfs::product_name(&sources.share_root, &device),
                    vendor: Some(Vendor::Intel),
                    kind: Some(if integrated {
                        CardKind::Integrated
                    } else {
                        CardKind::Discrete
                    }),
                    unified: Some(integrated),
                    device_id: Some(device.identity()),
                    pcie_now: now,
                    pcie_max: max,
                    drives_display: device.drives_display(),
                    driver: device.driver.clone(),
                    pci_address: Some(device.address),
                    ..CardFacts::default()
                };
                let memory = if integrated {
                    Reason::UnifiedMemory
                } else {
                    Reason::Unsupported
                };
                card.missing.insert("total".to_owned(), memory);
                card.missing.insert("used".to_owned(), Reason::NoPermission);
                card.missing
                    .insert("processes".to_owned(), Reason::Unsupported);
                card
            })
            .collect();
        Reading {
            cards,
            ..Reading::default()
        }
    }
}

//! AMD cards through the files of amdgpu and KFD: no ROCm needed, readable for everyone.

use std::path::Path;

use super::sysfs::{self, PciDevice};
use super::{Probe, Reading, Sources};
use crate::hardware::Vendor;
use crate::hardware::facts::{CardFacts, CardKind, Reason};
use crate::units::Bytes;

/// The probe.
pub(super) struct Amdgpu;

impl Probe for Amdgpu {
    fn id(&self) -> &'static str {
        "amdgpu"
    }

    fn title(&self) -> &'static str {
        "AMD driver"
    }

    fn read(&self, sources: &Sources) -> Reading {
        let targets = kfd_targets(&sources.sysfs_root);
        let version = sysfs::text(&sources.sysfs_root.join("module/amdgpu/version"));
        let cards = sysfs::drm_cards(&sources.sysfs_root, Vendor::Amd)
            .into_iter()
            .map(|device| {
                let mut card = card(&device, &targets);
                card.name = sysfs::text(&device.path.join("product_name"))
                    .filter(|name| !name.is_empty())
                    .or_else(|| sysfs::product_name(&sources.share_root, &device));
                card.driver = device.driver.clone().map(|driver| match &version {
                    Some(version) => format!("{driver} {version}"),
                    None => driver,
                });
                card
            })
            .collect();
        Reading {
            cards,
            ..Reading::default()
        }
    }
}

fn card(device: &PciDevice, targets: &[(u64, String)]) -> CardFacts {
    let file = |name: &str| sysfs::bytes(&device.path.join(name));
    let total = file("mem_info_vram_total");
    let gtt_total = file("mem_info_gtt_total");
    let kind = kind(device, total, gtt_total);
    let gfx_target = render_minor(device).and_then(|minor| {
        targets
            .iter()
            .find(|(other, _)| *other == minor)
            .map(|(_, target)| target.clone())
    });
    let (now, max) = device.links();
    let mut card = CardFacts {
        vendor: Some(Vendor::Amd),
        uuid: sysfs::text(&device.path.join("unique_id"))
            .filter(|id| !id.is_empty() && id.chars().any(|digit| digit != '0'))
            .map(|id| format!("GPU-{id}")),
        pci_address: Some(device.address.clone()),
        device_id: Some(device.identity()),
        kind,
        unified: kind.map(|kind| kind == CardKind::Integrated),
        total,
        used: file("mem_info_vram_used"),
        gtt_total,
        gtt_used: file("mem_info_gtt_used"),
        gfx_target,
        pcie_now: now,
        pcie_max: max,
        drives_display: device.drives_display(),
        ..CardFacts::default()
    };
    if card.total.is_none() {
        card.missing.insert("total".to_owned(), Reason::NotReported);
    }
    if card.gfx_target.is_none() {
        card.missing
            .insert("gfx_target".to_owned(), Reason::NotReported);
    }
    card.missing
        .insert("processes".to_owned(), Reason::Unsupported);
    card
}

/// As ollama tells them apart (`discover/amd.go` @ fb30760): only cards name a memory vendor or a board; parts of a
/// processor have a small carve-out beside much mappable memory. A large carve-out is left to the LLVM target.
fn kind(device: &PciDevice, total: Option<Bytes>, gtt: Option<Bytes>) -> Option<CardKind> {
    let exists = |name: &str| device.path.join(name).exists();
    if exists("mem_info_vram_vendor") || exists("board_info") {
        return Some(CardKind::Discrete);
    }
    let (total, gtt) = (total?, gtt?);
    let integrated = total <= Bytes::from_gib(4) && gtt >= Bytes::from_gib(8) && gtt >= total * 4;
    integrated.then_some(CardKind::Integrated)
}

/// The number of the card's render node (`renderD128`).
fn render_minor(device: &PciDevice) -> Option<u64> {
    sysfs::entries(&device.path.join("drm"))
        .iter()
        .find_map(|path| {
            sysfs::name_of(path)
                .strip_prefix("renderD")
                .and_then(|minor| minor.parse().ok())
        })
}

/// Render node and LLVM target of every GPU that the compute driver lists.
fn kfd_targets(sysfs_root: &Path) -> Vec<(u64, String)> {
    sysfs::entries(&sysfs_root.join("class/kfd/kfd/topology/nodes"))
        .iter()
        .filter_map(|node| {
            let properties = sysfs::text(&node.join("properties"))?;
            let property = |name: &str| -> Option<u64> {
                properties.lines().find_map(|line| {
                    let (key, value) = line.split_once(' ')?;
                    (key == name).then(|| value.trim().parse().ok())?
                })
            };
            let minor = property("drm_render_minor")?;
            Some((minor, target(property("gfx_target_version")?)?))
        })
        .collect()
}

/// 110000 is gfx1100, 90010 is gfx90a: decimal major, then minor and step as hexadecimal digits.
fn target(version: u64) -> Option<String> {
    let (major, minor, step) = (version / 10_000, version / 100 % 100, version % 100);
    // Processors are nodes too, with version 0.
    (major > 0 && minor < 16 && step < 16).then(|| format!("gfx{major}{minor:x}{step:x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_spelled_as_llvm_does() {
        for (version, expected) in [
            (110_000, Some("gfx1100")),
            (90_402, Some("gfx942")),
            (110_501, Some("gfx1151")),
            (120_001, Some("gfx1201")),
            (90_010, Some("gfx90a")),
            (0, None),
            (99, None),
        ] {
            assert_eq!(target(version).as_deref(), expected);
        }
    }
}

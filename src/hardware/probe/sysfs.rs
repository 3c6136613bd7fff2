//! Reading sysfs: small files, PCI addresses, links, display connectors, device names.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::hardware::{Pcie, Vendor};
use crate::units::Bytes;

/// Longest attribute that is read; sysfs itself ends at one page, `pci.ids` is about 1.4 MB.
const FILE_LIMIT: u64 = 4 << 20;

/// A display or compute device on the PCI bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PciDevice {
    /// Folder with the device's attributes.
    pub(super) path: PathBuf,
    /// `domain:bus:device.function`.
    pub(super) address: String,
    /// PCI vendor.
    pub(super) vendor_id: u16,
    /// PCI device.
    pub(super) device_id: u16,
    /// PCI revision.
    pub(super) revision: u8,
    /// Kernel driver bound to it.
    pub(super) driver: Option<String>,
}

impl PciDevice {
    /// Reads a device folder; absent where it is no display or compute device.
    pub(super) fn read(path: PathBuf) -> Option<Self> {
        let class = hex(&path.join("class"))?;
        // 0x03: display controllers; 0x12: processing accelerators, as Instinct cards call themselves.
        if !matches!(class >> 16, 0x03 | 0x12) {
            return None;
        }
        let uevent = text(&path.join("uevent")).unwrap_or_default();
        let field = |name: &str| {
            uevent
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
                .map(str::to_owned)
        };
        let address = field("PCI_SLOT_NAME").or_else(|| {
            let name = path.canonicalize().ok()?.file_name()?.to_str()?.to_owned();
            pci_address(&name).map(|_| name)
        })?;
        Some(Self {
            address: pci_address(&address)?,
            vendor_id: u16::try_from(hex(&path.join("vendor"))?).ok()?,
            device_id: u16::try_from(hex(&path.join("device"))?).ok()?,
            revision: hex(&path.join("revision"))
                .and_then(|revision| u8::try_from(revision).ok())
                .unwrap_or(0),
            driver: field("DRIVER").or_else(|| {
                let target = fs::read_link(path.join("driver")).ok()?;
                Some(target.file_name()?.to_str()?.to_owned())
            }),
            path,
        })
    }

    /// Who made it, for the makers of accelerators.
    pub(super) fn vendor(&self) -> Option<Vendor> {
        vendor(u32::from(self.vendor_id))
    }

    /// "10de:2684".
    pub(super) fn identity(&self) -> String {
        format!("{:04x}:{:04x}", self.vendor_id, self.device_id)
    }

    /// Links now and at most. A card may hang behind switches of its own, so the narrowest link on the way counts.
    pub(super) fn links(&self) -> (Option<Pcie>, Option<Pcie>) {
        let real = self
            .path
            .canonicalize()
            .unwrap_or_else(|_| self.path.clone());
        let on_the_way: Vec<&Path> = real
            .ancestors()
            .take_while(|folder| {
                *folder == real
                    || folder
                        .file_name()
                        .and_then(|name| name.to_str())
                        .is_some_and(|name| pci_address(name).is_some())
            })
            .collect();
        let narrowest = |kind: &str| {
            on_the_way
                .iter()
                .filter_map(|folder| link(folder, kind))
                .reduce(|a, b| Pcie {
                    generation: a.generation.min(b.generation),
                    lanes: a.lanes.min(b.lanes),
                })
        };
        (narrowest("current"), narrowest("max"))
    }

    /// Whether a display is attached: by connectors where the kernel lists any, else as the boot screen.
    pub(super) fn drives_display(&self) -> Option<bool> {
        let connectors: Vec<PathBuf> = entries(&self.path.join("drm"))
            .into_iter()
            .filter(|card| name_of(card).starts_with("card"))
            .flat_map(|card| entries(&card))
            .filter(|path| path.join("status").exists())
            .collect();
        if !connectors.is_empty() {
            return Some(
                connectors.iter().any(|connector| {
                    text(&connector.join("status")).as_deref() == Some("connected")
                }),
            );
        }
        number(&self.path.join("boot_vga")).map(|boot| boot == 1)
    }
}

/// The makers of accelerators by PCI vendor.
pub(super) fn vendor(id: u32) -> Option<Vendor> {
    match id {
        0x10de => Some(Vendor::Nvidia),
        0x1002 => Some(Vendor::Amd),
        0x8086 => Some(Vendor::Intel),
        0x106b => Some(Vendor::Apple),
        _ => None,
    }
}

/// One card of the kernel's display subsystem: its folder (`card0`) and the PCI device behind it.
pub(super) fn drm_cards(sysfs_root: &Path, vendor: Vendor) -> Vec<PciDevice> {
    entries(&sysfs_root.join("class/drm"))
        .into_iter()
        .filter(|path| {
            // `card0-HDMI-A-1` is a connector.
            name_of(path)
                .strip_prefix("card")
                .is_some_and(|rest| rest.parse::<u32>().is_ok())
        })
        .filter_map(|path| PciDevice::read(path.join("device")))
        .filter(|device| device.vendor() == Some(vendor))
        .collect()
}

/// A PCI address in the form used everywhere here: lower case, four-digit domain (NVML writes eight).
pub(super) fn pci_address(text: &str) -> Option<String> {
    let (domain, rest) = text.trim().split_once(':')?;
    let (bus, rest) = rest.split_once(':')?;
    let (device, function) = rest.split_once('.')?;
    let part = |text: &str| u32::from_str_radix(text, 16).ok();
    Some(format!(
        "{:04x}:{:02x}:{:02x}.{:x}",
        part(domain)?,
        part(bus)?,
        part(device)?,
        part(function)?
    ))
}

/// Entries of a folder in numeric order ("card2" before "card10"); none where it cannot be read.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| {
            entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .collect()
        })
        .unwrap_or_default();
    paths.sort_by_key(|path| (name_of(path).len(), path.clone()));
    paths
}

/// The last part of a path.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The trimmed text of a small file.
pub(super) fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_matches(['\0', '\n', ' ']).to_owned())
}

/// A file with one decimal number.
pub(super) fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// A file with a number of bytes.
pub(super) fn bytes(path: &Path) -> Option<Bytes> {
    number(path).map(Bytes::new)
}

/// A file with one hexadecimal number.
pub(super) fn hex(path: &Path) -> Option<u32> {
    let text = text(path)?;
    u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// "16.0 GT/s PCIe" and "16" of `current_link_*` or `max_link_*`.
fn link(folder: &Path, kind: &str) -> Option<Pcie> {
    let speed = text(&folder.join(format!("{kind}_link_speed")))?;
    let lanes = number(&folder.join(format!("{kind}_link_width")))?;
    // PCI Express base specification: transfer rates of the generations.
    let generation = match speed.split_whitespace().next()? {
        "2.5" => 1,
        "5.0" | "5" => 2,
        "8.0" | "8" => 3,
        "16.0" | "16" => 4,
        "32.0" | "32" => 5,
        "64.0" | "64" => 6,
        _ => return None,
    };
    let lanes = u32::try_from(lanes).ok()?;
    // 0 and 63 ("unknown") are what switches without a link say.
    (1..=32)
        .contains(&lanes)
        .then_some(Pcie { generation, lanes })
}

/// A product name by PCI identity: AMD's own list, which knows revisions, else the general one.
pub(super) fn product_name(share_root: &Path, device: &PciDevice) -> Option<String> {
    let from_amd = || {
        let list = text(&share_root.join("libdrm/amdgpu.ids"))?;
        list.lines().find_map(|line| {
            let mut columns = line.splitn(3, ',').map(str::trim);
            let id = u16::from_str_radix(columns.next()?, 16).ok()?;
            let revision = u8::from_str_radix(columns.next()?, 16).ok()?;
            let name = columns.next()?;
            (id == device.device_id && revision == device.revision).then(|| name.to_owned())
        })
    };
    let from_pci_ids = || {
        ["hwdata/pci.ids", "misc/pci.ids"]
            .iter()
            .find_map(|file| text(&share_root.join(file)))
            .and_then(|list| listed_name(&list, device.vendor_id, device.device_id))
    };
    if device.vendor() == Some(Vendor::Amd) {
        from_amd().or_else(from_pci_ids)
    } else {
        from_pci_ids()
    }
}

/// The device's line below its vendor's in `pci.ids`.
fn listed_name(list: &str, vendor: u16, device: u16) -> Option<String> {
    let vendor = format!("{vendor:04x}  ");
    let device = format!("\t{device:04x}  ");
    list.lines()
        .skip_while(|line| !line.starts_with(&vendor))
        .skip(1)
        .take_while(|line| line.starts_with('\t') || line.starts_with('#'))
        .find_map(|line| line.strip_prefix(&device))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form() {
        for text in ["00000000:01:00.0", "0000:01:00.0", "0:1:0.0"] {
            assert_eq!(pci_address(text).as_deref(), Some("0000:01:00.0"));
        }
        assert_eq!(pci_address("0000:0A:1F.3").as_deref(), Some("0000:0a:1f.3"));
        assert_eq!(pci_address("card0"), None);
        assert_eq!(pci_address("usb1:2"), None);
    }

    #[test]
    fn a_name_is_looked_up_below_its_vendor() {
        let list = "1002  AMD\n\t744c  Navi 31\n\t\t1002 0e3b  x\n10de  NVIDIA\n\t744c  wrong\n\t2684  AD102\n";
        assert_eq!(
            listed_name(list, 0x1002, 0x744c).as_deref(),
            Some("Navi 31")
        );
        assert_eq!(listed_name(list, 0x10de, 0x2684).as_deref(), Some("AD102"));
        assert_eq!(listed_name(list, 0x1002, 0x2684), None);
    }
}

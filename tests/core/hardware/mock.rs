//! Places to ask that are not this machine: a built stand-in for NVIDIA's library, folders that look like sysfs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::hardware::Os;
use plimsoll::hardware::detection::{DetectedCard, Detection};
use plimsoll::hardware::facts::HostFacts;
use plimsoll::hardware::probe::{AppleSource, Sources, SystemSource, VulkanSource, detect};
use plimsoll::units::Bytes;

/// A computer made of files, gone when dropped.
pub(super) struct Fake {
    root: tempfile::TempDir,
    pub(super) sources: Sources,
}

impl Fake {
    /// 64 GiB of RAM, nothing else.
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder for the fake machine");
        let sources = Sources {
            nvml_library: Some(root.path().join("no-such-library.so")),
            sysfs_root: root.path().join("sys"),
            proc_root: root.path().join("proc"),
            share_root: root.path().join("share"),
            vulkan: VulkanSource::Off,
            apple: AppleSource::Off,
            system: SystemSource::Recorded(Box::new(host(64))),
            models_folder: None,
            cuda_visible_devices: None,
            cuda_device_order: None,
        };
        Self { root, sources }
    }

    /// With NVIDIA's library answering as in a case of `tests/data/probe/mock_nvml.c`.
    pub(super) fn nvml(case: &str) -> Self {
        let mut fake = Self::new();
        let library = fake.root.path().join("libnvidia-ml.so.1");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/probe/mock_nvml.c");
        // `cc` is the linker that Rust itself needs.
        let output = Command::new("cc")
            .args(["-shared", "-fPIC"])
            .arg(format!("-DCASE_{case}"))
            .arg("-o")
            .arg(&library)
            .arg(&source)
            .output()
            .expect("cc starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        fake.sources.nvml_library = Some(library);
        fake
    }

    /// Writes a file below the root.
    pub(super) fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder is made");
        fs::write(path, text).expect("the file is written");
        self
    }

    /// A PCI device with these attributes, listed on the bus and, with a number, as a display card.
    pub(super) fn pci(
        &self,
        address: &str,
        card: Option<u32>,
        attributes: &[(&str, &str)],
    ) -> &Self {
        let mut folders = vec![format!("sys/bus/pci/devices/{address}")];
        folders.extend(card.map(|card| format!("sys/class/drm/card{card}/device")));
        for folder in folders {
            self.file(
                &format!("{folder}/uevent"),
                &format!("PCI_SLOT_NAME={address}\n"),
            );
            for (name, text) in attributes {
                self.file(&format!("{folder}/{name}"), text);
            }
        }
        self
    }

    pub(super) fn detect(&self) -> Detection {
        detect(&self.sources, &|_| {})
    }

    pub(super) fn path(&self) -> PathBuf {
        self.root.path().to_owned()
    }
}

/// A Linux host with so much RAM, an eighth of it in use.
pub(super) fn host(gib: u64) -> HostFacts {
    HostFacts {
        os: Some(Os::Linux),
        ram_total: Some(Bytes::from_gib(gib)),
        ram_available: Some(Bytes::from_gib(gib).mul_ratio(7, 8)),
        ..HostFacts::default()
    }
}

/// Names of the cards that are used by default.
pub(super) fn used(detection: &Detection) -> Vec<&str> {
    detection
        .machine
        .gpus
        .iter()
        .map(|gpu| gpu.name.as_str())
        .collect()
}

pub(super) fn only(detection: &Detection) -> &DetectedCard {
    assert_eq!(detection.cards.len(), 1, "{:#?}", detection.cards);
    &detection.cards[0]
}

pub(super) fn codes(detection: &Detection) -> Vec<&str> {
    detection
        .findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect()
}

pub(super) const MIB: u64 = 1 << 20;

/// Total, usable and in use in MiB.
pub(super) fn memory(card: &DetectedCard) -> [u64; 3] {
    let memory = card.gpu.memory;
    [memory.total, memory.usable, memory.in_use].map(|bytes| bytes.get() / MIB)
}

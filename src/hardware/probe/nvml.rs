//! NVIDIA cards through the management library of the driver, loaded at run time.

mod card;
mod memory;

use std::path::{Path, PathBuf};

use nvml_wrapper::error::NvmlError;

use super::{Probe, Reading, Sources};
use crate::hardware::Vendor;
use crate::hardware::detection::{Finding, Weight};
use crate::hardware::facts::{CardFacts, Reason};

pub(super) use memory::memory;

/// Where the library lies when the loader does not find it by name: WSL2 containers, and old drivers on Windows.
const OTHER_PLACES: &[&str] = &[
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    r"C:\Program Files\NVIDIA Corporation\NVSMI\nvml.dll",
];

/// Most cards and instances that are asked; a driver that claims more is not believed.
const ASKED_LIMIT: u32 = 256;

/// The probe.
pub(super) struct Nvml;

impl Probe for Nvml {
    fn id(&self) -> &'static str {
        "nvml"
    }

    fn title(&self) -> &'static str {
        "NVIDIA driver"
    }

    fn read(&self, sources: &Sources) -> Reading {
        match open(sources.nvml_library.as_deref()) {
            Ok(library) => read(&library, &sources.proc_root),
            Err(error) => Reading {
                findings: vec![explain(&error, nvidia_expected(sources))],
                ..Reading::default()
            },
        }
    }
}

/// Loads and starts the library.
pub(super) fn open(library: Option<&Path>) -> Result<nvml_wrapper::Nvml, NvmlError> {
    if let Some(path) = library {
        return nvml_wrapper::Nvml::builder()
            .lib_path(path.as_os_str())
            .init();
    }
    let first = nvml_wrapper::Nvml::init();
    if !matches!(first, Err(NvmlError::LibloadingError(_))) {
        return first;
    }
    OTHER_PLACES
        .iter()
        .map(PathBuf::from)
        .filter(|path| path.exists())
        .find_map(|path| {
            nvml_wrapper::Nvml::builder()
                .lib_path(path.as_os_str())
                .init()
                .ok()
        })
        .map_or(first, Ok)
}

fn read(library: &nvml_wrapper::Nvml, proc_root: &Path) -> Reading {
    let mut reading = Reading::default();
    let driver = library.sys_driver_version().ok();
    let cuda_version = library.sys_cuda_driver_version().ok().and_then(|version| {
        // 13000 is 13.0.
        let version = u32::try_from(version).ok()?;
        Some((version / 1000, version % 1000 / 10))
    });
    let count = match library.device_count() {
        Ok(count) => count,
        Err(error) => {
            reading.findings.push(explain(&error, true));
            return reading;
        }
    };
    if count == 0 {
        reading.findings.push(
            Finding::new(
                Weight::Warning,
                "nvml",
                "nvml-no-cards",
                "the NVIDIA driver is running but lists no card",
            )
            .remedy("in a container, start it with `--gpus all`; else look for errors in `dmesg`"),
        );
    }
    for index in 0..count.min(ASKED_LIMIT) {
        match library.device_by_index(index) {
            Ok(device) => {
                let mut cards = card::read(&device, proc_root, &mut reading.findings);
                for card in &mut cards {
                    card.driver.clone_from(&driver);
                    card.cuda_version = cuda_version;
                }
                reading.cards.append(&mut cards);
            }
            // The others still answer.
            Err(error) => {
                let name = format!("NVIDIA card {index}");
                reading.findings.push(
                    Finding::new(
                        Weight::Failure,
                        "nvml",
                        "nvml-card-lost",
                        format!("{name} does not answer: {error}"),
                    )
                    .of(name.clone())
                    .remedy("restart the computer; if it happens again, check power and seating of the card"),
                );
                let mut card = CardFacts {
                    name: Some(name),
                    vendor: Some(Vendor::Nvidia),
                    driver: driver.clone(),
                    ..CardFacts::default()
                };
                card.missing.insert("total".to_owned(), reason(&error));
                card.missing.insert("device".to_owned(), Reason::Lost);
                reading.cards.push(card);
            }
        }
    }
    reading
}

/// Why a field has no value, from the library's answer.
fn reason(error: &NvmlError) -> Reason {
    match error {
        NvmlError::NotSupported => Reason::Unsupported,
        NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => Reason::OldDriver,
        NvmlError::NoPermission => Reason::NoPermission,
        NvmlError::GpuLost | NvmlError::ResetRequired => Reason::Lost,
        NvmlError::NoData => Reason::NotReported,
        _ => Reason::Unreadable,
    }
}

/// Signs of an NVIDIA card or driver that do not need the library.
fn nvidia_expected(sources: &Sources) -> bool {
    sources.nvml_library.is_some()
        || sources.proc_root.join("driver/nvidia").exists()
        || super::sysfs::entries(&sources.sysfs_root.join("bus/pci/devices"))
            .into_iter()
            .filter_map(super::sysfs::PciDevice::read)
            .any(|device| device.vendor() == Some(Vendor::Nvidia))
}

/// What a failure to start means, and what to do.
fn explain(error: &NvmlError, expected: bool) -> Finding {
    let (code, message, remedy) = match error {
        NvmlError::LibloadingError(_) => (
            "nvml-not-found",
            "NVIDIA's driver library was not found".to_owned(),
            "install the NVIDIA driver; in a container, set NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        ),
        NvmlError::DriverNotLoaded => (
            "nvml-driver-not-loaded",
            "the NVIDIA kernel driver is not loaded".to_owned(),
            "load it (`modprobe nvidia`) or restart the computer",
        ),
        NvmlError::LibRmVersionMismatch => (
            "nvml-driver-mismatch",
            "the NVIDIA driver was updated while an older one is still loaded".to_owned(),
            "restart the computer",
        ),
        NvmlError::NoPermission | NvmlError::OperatingSystem => (
            "nvml-no-permission",
            "this user may not talk to the NVIDIA driver".to_owned(),
            "give access to /dev/nvidia* (group `video` or `render`, or the container's device list)",
        ),
        other => (
            "nvml-failed",
            format!("the NVIDIA driver does not answer: {other}"),
            "restart the computer; after standby, reloading the kernel module can be enough",
        ),
    };
    // A machine without any NVIDIA card needs no driver.
    let weight = if expected || !matches!(error, NvmlError::LibloadingError(_)) {
        Weight::Failure
    } else {
        Weight::Info
    };
    let finding = Finding::new(weight, "nvml", code, message);
    if weight == Weight::Info {
        finding
    } else {
        finding.remedy(remedy)
    }
}

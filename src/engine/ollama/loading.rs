//! How the file is read: mapped, unless Ollama finds a reason against it (`server/sched.go`, `llm/llama_server.go`
//! v0.33.0-rc2).

use super::config::Layers;
use super::gpus::{Device, Library};
use super::placement::{FILL, percent};
use crate::hardware::{Machine, Os};

/// What decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances<'a> {
    pub(super) machine: &'a Machine,
    /// Where the model goes.
    pub(super) gpus: &'a [Device],
    pub(super) layers: Layers,
    /// Layers of the file, the output layer counted.
    pub(super) all_layers: u64,
    /// Bytes of the file.
    pub(super) file: u64,
    /// What the model is believed to take.
    pub(super) predicted: u64,
    /// What the GPUs have free.
    pub(super) available: u64,
    /// `use_mmap`, where it is written.
    pub(super) asked: Option<bool>,
}

/// `--load-mode`, in its words; "auto" where nothing is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loading {
    /// As `llama-server` does by itself: mapped.
    Mapped,
    /// Read into memory.
    Read,
    /// Read around the page cache.
    Direct,
}

/// How it is read.
pub(super) fn loading(circumstances: &Circumstances<'_>) -> Loading {
    let Circumstances {
        machine,
        gpus,
        asked,
        ..
    } = circumstances;
    let direct = |device: &Device| {
        device.integrated && matches!(device.library, Library::Cuda | Library::Rocm)
    };
    if machine.os == Os::Linux && gpus.iter().any(direct) {
        return Loading::Direct;
    }
    let maps = asked.unwrap_or_else(|| {
        !processor_alone(circumstances)
            && !windows_cuda(circumstances)
            && !partly_on_metal(circumstances)
            && !host_pressure(circumstances)
    });
    if maps { Loading::Mapped } else { Loading::Read }
}

fn processor_alone(circumstances: &Circumstances<'_>) -> bool {
    circumstances.gpus.is_empty()
}

fn windows_cuda(circumstances: &Circumstances<'_>) -> bool {
    circumstances.machine.os == Os::Windows && has(circumstances.gpus, Library::Cuda)
}

fn partly_on_metal(circumstances: &Circumstances<'_>) -> bool {
    let Circumstances {
        layers,
        all_layers,
        predicted,
        available,
        ..
    } = *circumstances;
    has(circumstances.gpus, Library::Metal)
        && match layers {
            Layers::Auto => predicted > available && available > 0,
            Layers::Count(count) => count < all_layers,
            Layers::All => false,
        }
}

/// Mapping would push out what is in memory although the model fits the cards (`disableMmapForHostPressure`).
fn host_pressure(circumstances: &Circumstances<'_>) -> bool {
    let Circumstances {
        machine,
        gpus,
        file,
        predicted,
        available,
        ..
    } = *circumstances;
    let host = &machine.host;
    let free = host.ram.saturating_sub(host.in_use).get();
    let on_cards = !gpus.is_empty() && gpus.iter().all(|device| !device.integrated);
    // Eight gigabytes of a thousand each (`format.GigaByte`).
    let headroom = (host.ram.get() / 10).max(8_000_000_000);
    machine.os == Os::Linux
        && free > 0
        && on_cards
        && available > 0
        && predicted <= percent(available, FILL)
        && free < file.saturating_add(headroom)
}

fn has(gpus: &[Device], library: Library) -> bool {
    gpus.iter().any(|device| device.library == library)
}

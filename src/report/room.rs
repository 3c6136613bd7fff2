//! Notes on what a machine has room for, whatever the engine.

use super::{MomentReport, Request};
use crate::engine::Derived;
use crate::hardware::{Machine, Os};
use crate::projection::{DeviceTerms, Note, Projection};
use crate::units::Bytes;

/// What stands for the system in a machine that is only described makes a difference.
pub(super) fn crowded(system: Bytes, moments: &[MomentReport]) -> Option<Note> {
    let least = i64::try_from(system.get()).unwrap_or(i64::MAX);
    let mut hosts = moments.iter().filter_map(|moment| moment.devices.last());
    (system > Bytes::ZERO && hosts.any(|host| host.free() < least)).then(|| {
        Note::hint(
            "system-counted",
            format!(
                "{system} of main memory are counted for the system itself, since nothing in the machine's description says \
                 what it takes: ram_in_use_mib says how much is in use."
            ),
        )
    })
}

/// A GPU may take only part of a pool that it shares with the processor.
pub(super) fn over_ceiling(machine: &Machine, projection: &Projection) -> Option<Note> {
    let memory = machine.pool()?.gpu.memory;
    let ceiling = memory.usable.saturating_sub(memory.in_use);
    let asked = projection
        .moments
        .iter()
        .filter_map(|moment| moment.devices.first())
        .map(DeviceTerms::total)
        .max()?;
    (asked > ceiling).then(|| {
        let remedy = match machine.os {
            Os::Macos => "; `sudo sysctl iogpu.wired_limit_mb=N` raises it until the next start",
            Os::Linux | Os::Windows => "; the firmware or the driver sets it",
        };
        Note::warning(
            "over-gpu-share",
            format!(
                "the GPU needs {asked} of the shared memory and may take {ceiling}{remedy}, \
                 or move layers to the processor"
            ),
        )
    })
}

pub(super) fn file_larger_than_disk(request: &Request<'_>, derived: &Derived) -> Option<Note> {
    let free = request.machine.host.disk_free?;
    let file = derived.file_bytes;
    (file > free).then(|| {
        Note::warning(
            "file-larger-than-disk",
            format!("the model file has {file} and the disk has {free} free: make room before downloading it"),
        )
    })
}

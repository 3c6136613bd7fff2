//! What main memory has to hold, and what happens where it cannot.

use super::after::Seen;
use super::machine::spills;
use super::{set, set_word};
use crate::engine::llamacpp::host::HostWeights;
use crate::hardware::{Os, Vendor};
use crate::plan::Value;
use crate::projection::{Category, DeviceTerms, Note};
use crate::units::Bytes;

/// Weights in main memory that are worth a word: less than this is an embedding.
const WORTH_A_WORD: Bytes = Bytes::from_gib(2);

/// Part of a card's memory that Windows gives a program before it begins to move things out: the budget of a 64 GiB heap
/// was 60.8, that of one of 32 GiB 30.4 (ggml-org/llama.cpp#16832).
const WINDOWS_BUDGET: (u64, u64) = (95, 100);

/// Warnings and hints on memory.
pub(super) fn memory(seen: &Seen<'_>, notes: &mut Vec<Note>) {
    spilling(seen, notes);
    let need = Need::of(seen);
    short(seen, &need, notes);
    held(seen, &need, notes);
    pinned(seen, notes);
    locked(seen, &need, notes);
    file(seen, &need, notes);
    if seen.loader.maps
        && seen.config.load_mode != crate::engine::llamacpp::config::LoadMode::Auto
        && seen.uses_shared_memory()
    {
        notes.push(
            Note::hint(
                "mapping-on-shared-memory",
                "The GPU has no memory of its own: while the file is mapped its pages and the copies for the GPU lie in \
                 the same memory. Left to itself the engine reads the file instead.",
            )
            .on("load_mode")
            .fixed_by(set_word("load_mode", "auto")),
        );
    }
}

/// What is asked of main memory, and what it has.
struct Need {
    /// By the running server.
    running: Bytes,
    /// By the loader.
    loading: Bytes,
    free: Bytes,
}

impl Need {
    fn of(seen: &Seen<'_>) -> Self {
        let total =
            |devices: &[DeviceTerms]| devices.last().map_or(Bytes::ZERO, DeviceTerms::total);
        let host = &seen.machine.host;
        // Of one memory for all, the GPU's part is gone as well.
        let on_gpus = |devices: &[DeviceTerms]| -> Bytes {
            let shared = seen.machine.pool().is_some();
            let gpus = devices.iter().take(devices.len().saturating_sub(1));
            gpus.filter(|_| shared).map(DeviceTerms::total).sum()
        };
        Self {
            running: total(seen.devices) + on_gpus(seen.devices),
            loading: total(seen.load) + on_gpus(seen.load),
            free: host.ram.saturating_sub(host.in_use),
        }
    }

    fn most(&self) -> Bytes {
        self.running.max(self.loading)
    }

    fn fits(&self) -> bool {
        self.most() <= self.free
    }
}

fn spilling(seen: &Seen<'_>, notes: &mut Vec<Note>) {
    let machine = seen.machine;
    if !spills(machine) {
        return;
    }
    let mut over = Bytes::ZERO;
    let mut near = false;
    for (gpu, device) in machine.gpus.iter().zip(seen.devices) {
        let used = device.total() + gpu.memory.in_use;
        let (part, whole) = WINDOWS_BUDGET;
        over += used.saturating_sub(gpu.memory.usable);
        near |= device.total() > Bytes::ZERO && used > gpu.memory.usable.mul_ratio(part, whole);
    }
    if over > Bytes::ZERO {
        notes.push(Note::warning(
            "spills-to-main-memory",
            format!(
                "On Windows the driver lends main memory to a GPU that is full instead of failing: {over} would lie there, \
                 and every token would wait for them, many times slower. The NVIDIA control panel can forbid that (CUDA - \
                 Sysmem Fallback Policy: Prefer No Sysmem Fallback)."
            ),
        ));
    } else if near {
        notes.push(Note::hint(
            "near-windows-budget",
            "Windows gives a program about 95 % of a card and the driver begins to use main memory before it is full: the \
             last gigabyte is not worth having.",
        ));
    }
}

/// Main memory cannot hold what is asked of it.
fn short(seen: &Seen<'_>, need: &Need, notes: &mut Vec<Note>) {
    if need.fits() {
        return;
    }
    let HostWeights {
        mapped, repacked, ..
    } = *seen.host_weights;
    let (wanted, free) = (need.most(), need.free);
    let lacking = wanted.saturating_sub(free);
    if mapped > Bytes::ZERO && !seen.loader.locks {
        notes.push(
            Note::warning(
                "mapped-beyond-memory",
                format!(
                    "Main memory lacks {lacking}: {wanted} are needed and {free} are free. {}",
                    dropping(mapped, lacking)
                ),
            )
            .on("load_mode"),
        );
    } else if !seen.loader.maps {
        notes.push(
            Note::warning(
                "read-beyond-memory",
                format!(
                    "Main memory lacks {lacking}: {wanted} are needed and {free} are free. What is read instead of mapped \
                     cannot be dropped: the system swaps or stops the server while it loads."
                ),
            )
            .on("load_mode")
            .fixed_by(set_word("load_mode", "mmap")),
        );
    }
    if repacked >= lacking && repacked > Bytes::ZERO {
        notes.push(
            Note::warning(
                "repacked-beyond-memory",
                format!(
                    "{repacked} of the processor's weights are copied into another layout and can then not be dropped; \
                     without repacking they stay pages of the file, and prompts are read more slowly."
                ),
            )
            .on("repack")
            .fixed_by(set("repack", Value::Bool(false))),
        );
    }
    if need.loading > need.running {
        let staging = need.loading.saturating_sub(need.running);
        notes.push(
            Note::warning(
                "loading-needs-more",
                format!(
                    "Loading takes {staging} more of main memory than running: the largest tensors are read whole before \
                     they are handed on."
                ),
            )
            .on("load_mode")
            .fixed_by(set_word("load_mode", "mmap")),
        );
    }
}

/// What dropping pages of the file comes to where main memory lacks something.
fn dropping(mapped: Bytes, lacking: Bytes) -> String {
    if mapped >= lacking {
        format!(
            "The {mapped} of mapped weights can be dropped, so the server starts, and reads them from the disk again for \
             every few tokens, very slowly."
        )
    } else {
        format!(
            "No more than the {mapped} of mapped weights can be dropped; the other {} cannot, so the system swaps or \
             stops the server.",
            lacking.saturating_sub(mapped)
        )
    }
}

/// Weights that have to stay in main memory while the server runs.
fn held(seen: &Seen<'_>, need: &Need, notes: &mut Vec<Note>) {
    let weights = seen.host_weights;
    let all = weights.mapped + weights.pinned + weights.read + weights.repacked;
    // What is locked is told with the limit on locking.
    let quiet = seen.machine.gpus.is_empty() || seen.loader.locks;
    if quiet || all < WORTH_A_WORD || !need.fits() {
        return;
    }
    if weights.mapped >= WORTH_A_WORD {
        let mapped = weights.mapped;
        let note = Note::hint(
            "weights-in-main-memory",
            format!(
                "{mapped} of weights must stay in main memory while the server runs. They are pages of the file: should \
                 another program need the room, the system drops them and the model slows down to the speed of the disk. \
                 Read instead of mapped they are pinned for the GPU and stay."
            ),
        )
        .on("load_mode");
        // With room to spare; the engine itself advises it for experts in main memory (`create_tensor`).
        notes.push(if seen.loader_could_pin() {
            note.fixed_by(set_word("load_mode", "none"))
        } else {
            note
        });
    }
}

/// Memory that the GPU's driver pins.
fn pinned(seen: &Seen<'_>, notes: &mut Vec<Note>) {
    if !seen.loader.pins {
        return;
    }
    let compute: Bytes = seen
        .devices
        .last()
        .into_iter()
        .flat_map(|host| &host.terms)
        .filter(|term| matches!(term.category, Category::Compute | Category::Output))
        .map(|term| term.bytes)
        .sum();
    let pinned = seen.host_weights.pinned + compute + seen.host_weights.staging.bytes();
    let ram = seen.machine.host.ram;
    // 24,000 MiB could not be pinned on a machine with 48 GB (GenerelSchwerz/llama.cpp#101).
    if seen.machine.os == Os::Windows && pinned > ram.mul_ratio(1, 2) {
        notes.push(
            Note::warning(
                "pinned-memory-limit",
                format!(
                    "{pinned} would be pinned for the GPU, and Windows lets a driver pin about half of main memory ({}). \
                     The engine then takes ordinary memory, which works too.",
                    ram.mul_ratio(1, 2)
                ),
            )
            .on("host_buffer"),
        );
    } else if seen.host_weights.pinned >= WORTH_A_WORD {
        notes.push(
            Note::hint(
                "pinned-memory",
                format!(
                    "{pinned} are pinned for the GPU: the system can neither swap nor drop them for as long as the server \
                     runs. Where the driver refuses, the engine takes ordinary memory."
                ),
            )
            .on("load_mode"),
        );
    }
}

fn locked(seen: &Seen<'_>, need: &Need, notes: &mut Vec<Note>) {
    if !seen.loader.locks {
        return;
    }
    let HostWeights {
        mapped,
        pinned,
        read,
        locked_between,
        ..
    } = *seen.host_weights;
    let locked = mapped + pinned + read + locked_between;
    let between = if locked_between > Bytes::ZERO {
        format!(", {locked_between} of them only because they lie between others in the file")
    } else {
        String::new()
    };
    let limit = match seen.machine.os {
        Os::Linux => {
            "the limit on locked memory must be that high (ulimit -l, LimitMEMLOCK= in a unit)"
        }
        Os::Macos => "the system must leave as much unwired",
        Os::Windows => "the process's working set must be allowed to grow to that",
    };
    let message = format!(
        "{locked} are locked{between}: {limit}; otherwise the engine warns and goes on without."
    );
    let note = if need.fits() {
        Note::hint("lock-limit", message)
    } else {
        Note::warning("lock-limit", message)
    };
    notes.push(if locked_between > Bytes::ZERO {
        note.on("load_mode")
            .fixed_by(set_word("load_mode", "mlock"))
    } else {
        note.on("load_mode")
    });
}

/// What the file's size means for a start.
fn file(seen: &Seen<'_>, need: &Need, notes: &mut Vec<Note>) {
    let (file, free) = (seen.file, need.free);
    if need.fits() && file > free && seen.machine.pool().is_none() {
        notes.push(
            Note::hint(
                "file-larger-than-memory",
                format!(
                    "The file ({file}) is larger than free main memory ({free}). It loads all the same, in passing, but \
                     nothing of it stays cached: every start reads all of it from the disk."
                ),
            )
            .on("load_mode"),
        );
    }
    let on_demand = seen.host_weights.on_demand;
    if on_demand > Bytes::ZERO {
        notes.push(
            Note::hint(
                "read-on-demand",
                format!(
                    "{on_demand} of embeddings stay on disk and are read row by row: main memory need not hold them, and a \
                     slow disk is felt with every new token. \"off\" reads them into memory."
                ),
            )
            .on("lazy_mode"),
        );
    }
}

impl Seen<'_> {
    /// A GPU without memory of its own, other than Apple's, which takes pages as they are.
    fn uses_shared_memory(&self) -> bool {
        self.machine
            .pool()
            .is_some_and(|pool| pool.gpu.vendor != Vendor::Apple)
    }

    fn loader_could_pin(&self) -> bool {
        self.loader.pins && !self.config.overrides.is_empty()
    }
}

//! How the loader holds weights in main memory, and what it needs beside them while it reads the file
//! (`src/llama-model-loader.cpp`, `load_tensors` and `make_cpu_buft_list` in `src/llama-model.cpp`, 0.6.0-dev).

use super::super::config::{Config, Device, LazyMode, LoadMode, SplitMode};
use super::super::placement::{self, Placement};
use super::super::tensors::{Architecture, Row, TensorTable};
use super::packing::Packing;
use crate::hardware::{Machine, Os, Vendor};
use crate::units::{Bytes, GIB, MIB};

/// How a weight in main memory is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in super::super) enum Residence {
    /// Pages of the file, read when a row of it is asked for.
    OnDemand,
    /// A copy in the layout that the processor's vector units like.
    Repacked,
    /// Pages of the file.
    Mapped,
    /// Memory that the system cannot move, which a GPU reads at full speed.
    Pinned,
    /// Ordinary memory, read from the file.
    Read,
}

/// What the loader does on this machine with these settings.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about one loader"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Loader {
    /// The file is mapped.
    pub(in super::super) maps: bool,
    /// Weights of the processor are locked.
    pub(in super::super) locks: bool,
    /// Read around the page cache.
    pub(in super::super) direct: bool,
    /// Weights that are read go to memory that a GPU's driver pins.
    pub(in super::super) pins: bool,
    /// GPUs take the pages of the file as they are (Metal).
    pub(in super::super) shares_pages: bool,
    /// Layout of the processor's weights.
    pub(in super::super) packing: Option<Packing>,
    lazy: LazyMode,
    uploads: bool,
    /// GPUs on other nodes, the first of all: no buffers of this node send to them.
    remote: usize,
}

/// Least size of a tensor that `--lazy-mode auto` leaves on disk (`llama_model_loader::lazy_read::add`).
const LAZY_FROM: Bytes = Bytes::new(4 * GIB);

/// Buffers from which weights are uploaded while the next part of the file is read (`load_all_data`).
const UPLOAD_BUFFERS: u64 = 4;
const UPLOAD_BUFFER: Bytes = Bytes::new(MIB);

/// The same with direct I/O (`LLAMA_DIRECT_IO_BUFFER_SIZE`, `src/llama-mmap.h`), and an aligned page at each end.
const DIRECT_BUFFER: Bytes = Bytes::new(64 * MIB);
const DIRECT_ALIGNMENT: Bytes = Bytes::new(4096);

/// First version in which `auto` asks the devices (ggml-org/llama.cpp#20834, July 2026).
const ASKS_DEVICES: &str = "2026-08";

impl Loader {
    /// What the settings come to.
    pub(in super::super) fn new(
        config: &Config,
        machine: &Machine,
        devices: &[Device<'_>],
        architecture: Architecture,
    ) -> Self {
        let integrated = devices
            .iter()
            .any(|device| device.gpu.unified && device.gpu.vendor != Vendor::Apple);
        // Integrated CUDA, HIP and Vulkan devices say that mapping is not for them (`mmap_support`).
        let refused = integrated && config.version.at_least(ASKS_DEVICES);
        let maps = config.load_mode.maps() && !(config.load_mode == LoadMode::Auto && refused);
        let lazy = match config.lazy_mode {
            // Lazy reading is younger than the older generation.
            _ if !config.version.at_least("0.6.0") => LazyMode::Off,
            // The only one that marks a tensor (`TENSOR_READ_LAZY`, `src/models/gemma4.cpp`).
            _ if architecture != Architecture::Gemma4 => LazyMode::Off,
            LazyMode::Auto if refused => LazyMode::Off,
            mode => mode,
        };
        // Metal and remote devices have no host buffers (`get_host_buffer_type`).
        let host_buffers = devices
            .iter()
            .any(|device| device.gpu.vendor != Vendor::Apple && !device.is_remote());
        let pins = host_buffers && config.host_buffer;
        Self {
            maps,
            locks: config.load_mode.locks(),
            direct: config.load_mode == LoadMode::Direct && machine.os == Os::Linux,
            pins,
            shares_pages: maps
                && devices
                    .iter()
                    .any(|device| device.gpu.vendor == Vendor::Apple && !device.is_remote()),
            // Host buffers come before the processor's own layouts in the list of the loader.
            packing: (config.repack && !pins).then(|| Packing::of(machine)),
            lazy,
            remote: devices.iter().filter(|device| device.is_remote()).count(),
            // Checked tensors are needed whole, and the device that stands for all GPUs of a tensor split has no events.
            uploads: host_buffers
                && !maps
                && !config.check_tensors
                && config.split_mode != SplitMode::Tensor,
        }
    }

    /// How a tensor that was placed in main memory is held.
    pub(in super::super) fn residence(self, row: &Row) -> Residence {
        if self.is_lazy(row) {
            Residence::OnDemand
        } else if self.repacks(row) {
            Residence::Repacked
        } else if self.maps {
            Residence::Mapped
        } else if self.pins && row.gpu_can {
            Residence::Pinned
        } else {
            Residence::Read
        }
    }

    fn is_lazy(self, row: &Row) -> bool {
        let large = match self.lazy {
            LazyMode::Off => return false,
            LazyMode::On => true,
            LazyMode::Auto => row.bytes > LAZY_FROM,
        };
        large && row.tensor.name == "per_layer_token_embd.weight"
    }

    /// Whether the processor keeps a tensor in a layout of its own.
    pub(in super::super) fn repacks(self, row: &Row) -> bool {
        self.packing.is_some_and(|packing| packing.takes(row))
    }
}

/// Weights in main memory by how they are held, and what loading takes for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct HostWeights {
    /// Read on demand.
    pub(in super::super) on_demand: Bytes,
    /// Repacked.
    pub(in super::super) repacked: Bytes,
    /// Mapped.
    pub(in super::super) mapped: Bytes,
    /// Pinned.
    pub(in super::super) pinned: Bytes,
    /// In ordinary memory.
    pub(in super::super) read: Bytes,
    /// Tensors of GPUs whose pages are locked because they lie between locked ones.
    pub(in super::super) locked_between: Bytes,
    /// What the loader holds for a while.
    pub(in super::super) staging: Staging,
}

/// What the loader holds while it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Staging {
    /// Nothing.
    #[default]
    None,
    /// Pinned buffers for uploads: how many, of what size each.
    Uploads(u64, Bytes),
    /// The largest tensor that goes to a device, or to a layout, without such buffers.
    Tensor(Bytes),
    /// A buffer for aligned reads.
    Direct(Bytes),
}

impl Staging {
    /// All of it.
    pub(in super::super) fn bytes(self) -> Bytes {
        match self {
            Self::None => Bytes::ZERO,
            Self::Uploads(number, each) => each * number,
            Self::Tensor(bytes) | Self::Direct(bytes) => bytes,
        }
    }
}

impl HostWeights {
    /// Adds up a placement.
    pub(in super::super) fn new(
        loader: Loader,
        placement: &Placement,
        table: &TensorTable,
    ) -> Self {
        let mut weights = Self::default();
        let mut largest = Bytes::ZERO;
        let mut uploaded = false;
        let mut lock = Lock::default();
        let copies = placement
            .copies
            .iter()
            .filter_map(|(index, device)| Some((table.rows.get(*index)?, Some(*device))));
        let originals = table.rows.iter().zip(placement.rows.iter().copied());
        for (row, device) in originals {
            lock.pass(
                row,
                device == Some(placement::Device::Host) && !loader.is_lazy(row),
            );
            weights.add(
                (loader, placement),
                row,
                device,
                &mut largest,
                &mut uploaded,
            );
        }
        for (row, device) in copies {
            weights.add(
                (loader, placement),
                row,
                device,
                &mut largest,
                &mut uploaded,
            );
        }
        if loader.maps && loader.locks {
            weights.locked_between = lock.between;
        }
        weights.staging = staging(loader, largest, uploaded);
        weights
    }

    fn add(
        &mut self,
        (loader, placement): (Loader, &Placement),
        row: &Row,
        device: Option<placement::Device>,
        largest: &mut Bytes,
        uploaded: &mut bool,
    ) {
        match device {
            None => {}
            Some(placement::Device::Gpu(gpu)) => {
                let uploads = loader.uploads && gpu >= loader.remote;
                *uploaded |= uploads;
                if !loader.maps && !uploads {
                    *largest = row.bytes.max(*largest);
                }
            }
            Some(placement::Device::Host) => {
                let residence = loader.residence(row);
                if residence == Residence::Repacked && !loader.maps {
                    *largest = row.bytes.max(*largest);
                }
                let sum = match residence {
                    Residence::OnDemand => &mut self.on_demand,
                    Residence::Repacked => &mut self.repacked,
                    Residence::Mapped => &mut self.mapped,
                    Residence::Pinned => &mut self.pinned,
                    Residence::Read => &mut self.read,
                };
                *sum += placement.size(row, placement::Device::Host);
            }
        }
    }
}

fn staging(loader: Loader, largest: Bytes, uploaded: bool) -> Staging {
    if loader.maps {
        return Staging::None;
    }
    let buffer = if loader.direct {
        DIRECT_BUFFER + DIRECT_ALIGNMENT * 2
    } else {
        UPLOAD_BUFFER
    };
    let uploads = if uploaded {
        buffer * UPLOAD_BUFFERS
    } else {
        Bytes::ZERO
    };
    // One after the other: buffers of devices first, then those of the processor.
    if largest > uploads {
        Staging::Tensor(largest)
    } else if uploaded {
        Staging::Uploads(UPLOAD_BUFFERS, buffer)
    } else if loader.direct {
        Staging::Direct(DIRECT_BUFFER)
    } else {
        Staging::None
    }
}

/// Locking grows from the first to the last tensor of the processor in the file, over whatever lies between
/// (`llama_mlock::grow_to` on the mapping); files are written in the order of blocks and names.
#[derive(Default)]
struct Lock {
    begun: bool,
    pending: Bytes,
    between: Bytes,
}

impl Lock {
    fn pass(&mut self, row: &Row, on_host: bool) {
        if on_host {
            self.between += std::mem::take(&mut self.pending);
            self.begun = true;
        } else if self.begun {
            self.pending += row.bytes;
        }
    }
}

//! One memory for processor and GPU.

use super::{Gpu, Machine};
use crate::units::Bytes;

/// Memory that a processor shares with its only GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool<'a> {
    /// The GPU; what it may take is its share of the pool.
    pub gpu: &'a Gpu,
    /// All of it.
    pub bytes: Bytes,
    /// Part of it that others use.
    pub in_use: Bytes,
}

impl Machine {
    /// The pool, where this machine has one memory for everything.
    pub fn pool(&self) -> Option<Pool<'_>> {
        match self.gpus.as_slice() {
            [gpu] if gpu.unified && self.nodes <= 1 => Some(Pool {
                gpu,
                // A firmware carve-out is hidden from the system's RAM, so the larger of the two is what there is.
                bytes: self.host.ram.max(gpu.memory.usable),
                in_use: self.host.in_use.max(gpu.memory.in_use),
            }),
            _ => None,
        }
    }
}

impl Pool<'_> {
    /// What can be used of the pool, others' use included, where the processor holds `beside`: the GPU stops at its
    /// share, whatever is left beyond.
    pub fn capacity(&self, beside: Bytes) -> Bytes {
        let memory = self.gpu.memory;
        let share = memory.usable.saturating_sub(memory.in_use);
        self.bytes.min(share + self.in_use + beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{GpuMemory, Host, Os, Vendor};

    fn machine(ram_gib: u64, share_gib: u64, others_gib: u64) -> Machine {
        let share = Bytes::from_gib(share_gib);
        Machine {
            name: String::new(),
            os: Os::Macos,
            host: Host {
                in_use: Bytes::from_gib(others_gib),
                ..Host::with_ram(Bytes::from_gib(ram_gib))
            },
            gpus: vec![Gpu {
                name: String::new(),
                vendor: Vendor::Apple,
                uuid: None,
                pci_address: None,
                memory: GpuMemory {
                    total: share,
                    usable: share,
                    in_use: Bytes::ZERO,
                },
                unified: true,
                compute_capability: None,
                gfx_target: None,
                metal_family: None,
                bandwidth_gb_s: None,
                fp16_tflops: None,
                pcie: None,
                drives_display: false,
                driver: None,
            }],
            nodes: 1,
        }
    }

    #[test]
    fn the_gpu_stops_at_its_share() {
        let capacity = |others, beside| {
            let machine = machine(128, 96, others);
            machine.pool().unwrap().capacity(Bytes::from_gib(beside))
        };
        assert_eq!(capacity(0, 0), Bytes::from_gib(96));
        assert_eq!(capacity(8, 0), Bytes::from_gib(104));
        assert_eq!(capacity(8, 10), Bytes::from_gib(114));
        assert_eq!(capacity(8, 40), Bytes::from_gib(128));
    }

    #[test]
    fn two_gpus_or_two_nodes_are_no_pool() {
        let mut nodes = machine(128, 96, 0);
        nodes.nodes = 2;
        assert_eq!(nodes.pool(), None);
        let mut gpus = machine(128, 96, 0);
        let second = gpus.gpus.clone();
        gpus.gpus.extend(second);
        assert_eq!(gpus.pool(), None);
    }
}

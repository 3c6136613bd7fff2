//! Bandwidth of main memory: known, that of the pool, or a range from the channels a machine may have.

use crate::hardware::{Host, Machine};
use crate::units::Bytes;

/// Bandwidth in GB/s (10^9) with the range it may be in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bandwidth {
    pub(super) low: f64,
    pub(super) likely: f64,
    pub(super) high: f64,
    /// How it is known.
    pub(super) basis: Basis,
}

/// How a bandwidth is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// The machine says so.
    Known,
    /// The processor shares the GPU's memory.
    Pool,
    /// One or two channels, as in small boards and laptops.
    FewChannels,
    /// Two channels of DDR4 or DDR5, as in desktops and laptops.
    TwoChannels,
    /// Four to twelve channels, as in workstations and servers.
    ManyChannels,
}

/// Most memory of boards with two channels: four modules of 64 GB (JEDEC JESD79-5 UDIMMs of 2024).
const MOST_OF_TWO_CHANNELS: Bytes = Bytes::from_gib(256);
/// Most physical cores of processors with two channels (Core i9-14900K and Core Ultra 9 285K, Intel ARK).
const MOST_CORES_OF_TWO_CHANNELS: u32 = 24;

/// Most memory of boards with one channel: one module of 16 GB, or one package of LPDDR4X or LPDDR5.
const MOST_OF_ONE_CHANNEL: Bytes = Bytes::from_gib(16);

/// One channel of 4 or 8 bytes of LPDDR4X-4267 or DDR4-2133, two of DDR4-3200, and two of LPDDR5X-7500 (JEDEC JESD209-4,
/// JESD209-5, JESD79-4).
const FEW_CHANNELS: [f64; 3] = [17.1, 51.2, 120.0];
/// Two channels of 8 bytes: DDR4-2400, DDR5-5600 and DDR5-8000 (JEDEC JESD79-4, JESD79-5).
const TWO_CHANNELS: [f64; 3] = [38.4, 76.8, 128.0];
/// Four channels of DDR4-2666, eight of DDR4-3200 or DDR5-4800, twelve of DDR5-6400.
const MANY_CHANNELS: [f64; 3] = [85.3, 204.8, 614.4];

impl Bandwidth {
    /// Of a machine's main memory.
    pub(super) fn of(machine: &Machine) -> Self {
        let known = |gb_s: f64, basis: Basis| Self {
            low: gb_s,
            likely: gb_s,
            high: gb_s,
            basis,
        };
        let positive = |gb_s: &f64| *gb_s > 0.0 && gb_s.is_finite();
        if let Some(gb_s) = machine.host.bandwidth_gb_s.filter(positive) {
            return known(gb_s, Basis::Known);
        }
        let pool = machine.gpus.iter().find(|gpu| gpu.unified);
        if let Some(gb_s) = pool.and_then(|gpu| gpu.bandwidth_gb_s).filter(positive) {
            return known(gb_s, Basis::Pool);
        }
        let ([low, likely, high], basis) = if has_many_channels(&machine.host) {
            (MANY_CHANNELS, Basis::ManyChannels)
        } else if machine.host.ram <= MOST_OF_ONE_CHANNEL {
            (FEW_CHANNELS, Basis::FewChannels)
        } else {
            (TWO_CHANNELS, Basis::TwoChannels)
        };
        Self {
            low,
            likely,
            high,
            basis,
        }
    }
}

fn has_many_channels(host: &Host) -> bool {
    host.ram > MOST_OF_TWO_CHANNELS
        || host
            .physical_cores
            .is_some_and(|cores| cores > MOST_CORES_OF_TWO_CHANNELS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{Gpu, GpuMemory, Os, Vendor};

    fn machine(ram_gib: u64, cores: Option<u32>, known: Option<f64>) -> Machine {
        Machine {
            name: String::new(),
            os: Os::Linux,
            host: Host {
                physical_cores: cores,
                bandwidth_gb_s: known,
                ..Host::with_ram(Bytes::from_gib(ram_gib))
            },
            gpus: Vec::new(),
            nodes: 1,
        }
    }

    #[test]
    fn what_is_known_of_memory_narrows_its_bandwidth() {
        for (ram, cores, known, basis, likely) in [
            (64, None, Some(89.6), Basis::Known, 89.6),
            (64, None, Some(f64::NAN), Basis::TwoChannels, 76.8),
            (16, Some(4), None, Basis::FewChannels, 51.2),
            (256, Some(24), None, Basis::TwoChannels, 76.8),
            (512, None, None, Basis::ManyChannels, 204.8),
            (128, Some(64), None, Basis::ManyChannels, 204.8),
        ] {
            let bandwidth = Bandwidth::of(&machine(ram, cores, known));
            assert_eq!((bandwidth.basis, bandwidth.likely), (basis, likely));
            assert!(bandwidth.low <= likely && likely <= bandwidth.high);
        }
    }

    #[test]
    fn a_pool_has_the_bandwidth_of_its_gpu() {
        let mut machine = machine(128, None, None);
        let share = Bytes::from_gib(96);
        machine.gpus.push(Gpu {
            name: String::new(),
            vendor: Vendor::Amd,
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
            bandwidth_gb_s: Some(256.0),
            fp16_tflops: None,
            pcie: None,
            drives_display: false,
            driver: None,
        });
        let bandwidth = Bandwidth::of(&machine);
        assert_eq!((bandwidth.basis, bandwidth.low), (Basis::Pool, 256.0));
        machine.gpus[0].unified = false;
        assert_eq!(Bandwidth::of(&machine).basis, Basis::TwoChannels);
    }
}

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
    /// Two channels of DDR4 or DDR5, as in desktops and laptops.
    TwoChannels,
    /// Four to twelve channels, as in workstations and servers.
    ManyChannels,
}

/// Most memory of boards with two channels: four modules of 64 GB (JEDEC JESD79-5 UDIMMs of 2024).
const MOST_OF_TWO_CHANNELS: Bytes = Bytes::from_gib(256);
/// Most physical cores of processors with two channels (Core i9-14900K and Core Ultra 9 285K, Intel ARK).
const MOST_CORES_OF_TWO_CHANNELS: u32 = 24;

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

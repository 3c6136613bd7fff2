//! Rates between main memory and a GPU.

use super::class::CLASSES;
use crate::hardware::{Gpu, Pcie};

/// Slots that a card may be in where nothing says: eight lanes of PCI Express 3.0, and sixteen of 4.0 and of 5.0.
const UNKNOWN: [Pcie; 3] = [
    Pcie {
        generation: 3,
        lanes: 8,
    },
    Pcie {
        generation: 4,
        lanes: 16,
    },
    Pcie {
        generation: 5,
        lanes: 16,
    },
];

/// GB/s from main memory to a GPU: low, likely, high.
pub(super) fn gb_s(gpu: &Gpu) -> [f64; 3] {
    if let Some(bandwidth) = gpu.bandwidth_gb_s.filter(|_| gpu.unified) {
        return [bandwidth / 2.0, bandwidth, bandwidth];
    }
    match gpu.pcie {
        Some(pcie) => {
            // A card may sit in a slot of half its lanes, as second cards on desktop boards do.
            let whole = pcie_gb_s(pcie);
            [whole / 2.0, whole, whole]
        }
        None => UNKNOWN.map(pcie_gb_s),
    }
}

/// What a link moves in practice: each generation doubles the rate of a lane.
fn pcie_gb_s(pcie: Pcie) -> f64 {
    let doublings = f64::from(pcie.generation.clamp(1, 7)) - 4.0;
    CLASSES.links.pcie4_lane_gb_s * f64::from(pcie.lanes.clamp(1, 32)) * doublings.exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_double() {
        let of = |generation, lanes| pcie_gb_s(Pcie { generation, lanes });
        assert!((of(4, 16) - 26.0).abs() < 1e-9);
        assert!((of(5, 8) - 26.0).abs() < 1e-9);
        assert!((of(3, 1) - 0.8125).abs() < 1e-9);
    }
}

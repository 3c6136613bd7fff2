//! That graphs are left out only where they decide nothing.

use std::cell::Cell;

use super::candidate::{Candidate, gpu_layers, overflows};
use super::fit::{Fitted, Limits, fit};
use super::{DryRun, Fraction, Used};

const BLOCKS: u32 = 12;

/// A machine of three GPUs and a model whose buffers are larger where experts are elsewhere.
struct Machine {
    /// Compute buffers that do not depend on the layers.
    compute: i64,
    /// Whether anything is known without a graph.
    estimates: bool,
    measured: Cell<usize>,
}

impl Machine {
    /// Weights and compute buffer of every GPU.
    fn devices(&self, candidate: &Candidate) -> Vec<(i64, i64)> {
        let Some(layers) = &candidate.layers else {
            let block = if candidate.experts_on_host { 10 } else { 100 };
            return vec![(block * i64::from(BLOCKS) / 3, self.compute); 3];
        };
        let mut devices = vec![(0, self.compute); 3];
        let mut block = u64::from(BLOCKS) + 1 - gpu_layers(layers).min(u64::from(BLOCKS) + 1);
        let parts = overflows(layers, u64::from(BLOCKS));
        for (index, device) in layers.iter().enumerate() {
            for _ in 0..device.layers {
                let part = parts.iter().find(|part| part.block == block);
                let own = match part.map(|part| part.keeps) {
                    None => 100,
                    Some(Fraction::Dense) => 10,
                    Some(Fraction::Attention) => 4,
                    Some(Fraction::Up) => 40,
                    Some(Fraction::Gate) => 70,
                };
                if let Some((model, compute)) = devices.get_mut(index) {
                    *model += own;
                    *compute = self.compute + if part.is_some() { 35 } else { 0 };
                }
                let target = part.and_then(|part| part.target);
                if let Some((model, _)) = target.and_then(|target| devices.get_mut(target)) {
                    *model += 100 - own;
                }
                block += 1;
            }
        }
        devices
    }
}

impl DryRun for Machine {
    fn measure(&self, candidate: &Candidate) -> Vec<Used> {
        self.measured.set(self.measured.get() + 1);
        let devices = self.devices(candidate).into_iter();
        let used = devices.map(|(model, compute)| Used {
            model,
            total: model + compute,
        });
        used.chain([Used::default()]).collect()
    }

    fn least(&self, candidate: &Candidate) -> Vec<i64> {
        if !self.estimates {
            return vec![i64::MIN; 4];
        }
        let devices = self.devices(candidate).into_iter();
        devices.map(|(model, _)| model).chain([0]).collect()
    }
}

fn fitted(free: [i64; 3], compute: i64, estimates: bool) -> (Fitted, usize) {
    let machine = Machine {
        compute,
        estimates,
        measured: Cell::new(0),
    };
    let limits = Limits {
        free: free.to_vec(),
        margins: vec![50; 3],
        host_total: 0,
        trained: 4096,
        least_context: None,
        asked_context: Some(4096),
        streams: 1,
        blocks: BLOCKS,
        asked_layers: None,
        experts: true,
        fixed: false,
    };
    let fitted = fit(&limits, &machine);
    (fitted, machine.measured.get())
}

#[test]
fn the_choice_is_the_same_without_estimates() {
    let sizes = [40, 60, 95, 130, 200, 333, 700, 1500];
    let mut fewer = 0;
    for compute in [0, 20, 90, 240] {
        for first in sizes {
            for second in sizes {
                for third in sizes {
                    let free = [first, second, third];
                    let (quick, graphs) = fitted(free, compute, true);
                    let (slow, all) = fitted(free, compute, false);
                    assert_eq!(quick, slow, "{free:?} with {compute}");
                    fewer += usize::from(graphs < all);
                }
            }
        }
    }
    assert!(fewer > 100, "{fewer}");
}

#[test]
fn margins_beyond_what_is_free_need_no_search() {
    // All layers as asked, without their experts, and none.
    let (_, graphs) = fitted([40; 3], 20, true);
    assert!(graphs <= 3, "{graphs} graphs");
}

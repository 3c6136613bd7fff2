//! Everything one configuration makes the engine allocate.

use std::sync::Arc;

use super::auto::{Overflow, Used};
use super::compute::{Buffers, Purpose};
use super::config::{Config, Shape};
use super::host::{HostWeights, Loader};
use super::kv_cache;
use super::output;
use super::parts::{Parts, parts};
use super::placed::Placed;
use super::placement;
use super::recurrent;
use super::subject::Subject;
use crate::projection::Category;
use crate::units::Bytes;

/// What a configuration takes.
pub(super) struct Measured {
    pub(super) shape: Shape,
    pub(super) placed: Arc<Placed>,
    pub(super) caches: Vec<kv_cache::Group>,
    pub(super) states: Vec<recurrent::Group>,
    pub(super) output: Bytes,
    pub(super) compute: Buffers,
    /// How main memory holds weights, and what loading takes.
    pub(super) loader: Loader,
    pub(super) host_weights: HostWeights,
    /// What is loaded beside the model.
    pub(super) parts: Parts,
}

/// What a configuration puts on devices before there are graphs.
pub(super) struct Contents {
    pub(super) shape: Shape,
    pub(super) placed: Arc<Placed>,
    caches: Vec<kv_cache::Group>,
    states: Vec<recurrent::Group>,
}

impl Contents {
    /// Caches and states over all devices.
    pub(super) fn context(&self) -> Bytes {
        let caches = self.caches.iter().map(|group| group.bytes);
        caches
            .chain(self.states.iter().map(|group| group.bytes))
            .sum()
    }
}

impl Subject<'_> {
    /// What this configuration takes; `overflows` are tensor overrides of the engine's own fit, whose compute buffers
    /// are those of a dry run.
    ///
    /// # Errors
    /// Tensors cannot be placed as asked.
    pub(super) fn measure(
        &self,
        config: &Config,
        overflows: &[Overflow],
        purpose: Purpose,
    ) -> Result<Measured, placement::Error> {
        let Contents {
            shape,
            placed,
            caches,
            states,
        } = self.contents(config, overflows)?;
        let compute = self.compute(config, shape, &placed, !overflows.is_empty(), purpose);
        let loader = self.loader(config);
        let host_weights = self.host_weights(loader, &placed);
        let parts = if self.is_draft {
            Parts::default()
        } else {
            parts(self, config, shape, &placed, purpose)
        };
        Ok(Measured {
            parts,
            loader,
            host_weights,
            shape,
            caches,
            states,
            output: output::bytes(self.inputs.model, config, shape),
            compute,
            placed,
        })
    }

    /// Weights, caches and states in their places: much cheaper than the graphs.
    ///
    /// # Errors
    /// Tensors cannot be placed as asked.
    pub(super) fn contents(
        &self,
        config: &Config,
        overflows: &[Overflow],
    ) -> Result<Contents, placement::Error> {
        let shape = config.shape(self.trained);
        let placed = self.place(config, overflows)?;
        Ok(Contents {
            shape,
            caches: self.caches(config, &placed),
            states: self.states(config, shape, &placed),
            placed,
        })
    }

    /// The least that every GPU then holds, the host last: the contents, without compute buffers.
    pub(super) fn least(&self, contents: &Contents) -> Vec<i64> {
        let Contents {
            shape: _,
            placed,
            caches,
            states,
        } = contents;
        let gpus = self.devices.len();
        let devices = (0..=gpus).map(|position| (position < gpus).then_some(position));
        let least = devices.map(|home| {
            let context = context(caches, states, home);
            i64::try_from((placed.on(home) + context).get()).unwrap_or(i64::MAX)
        });
        least.collect()
    }
}

/// Caches and states of one device.
fn context(caches: &[kv_cache::Group], states: &[recurrent::Group], home: Option<usize>) -> Bytes {
    let caches = caches.iter().filter(|group| group.home == home);
    let states = states.iter().filter(|group| group.home == home);
    caches.map(|group| group.bytes).sum::<Bytes>() + states.map(|group| group.bytes).sum()
}

impl Measured {
    /// Bytes per GPU used, the host last: weights, caches and compute buffers.
    pub(super) fn used(&self) -> Vec<Used> {
        self.used_with(&self.caches, |bytes| bytes)
    }

    /// The same as the engine's own fit counts it: adapters are loaded after it (`common_init_result`,
    /// `common/common.cpp` 0.6.0-dev).
    pub(super) fn fitted(&self) -> Vec<Used> {
        let mut used = self.used();
        let gpus = used.len().saturating_sub(1);
        for (position, used) in used.iter_mut().enumerate() {
            let adapters = self.parts.adapters((position < gpus).then_some(position));
            let adapters = i64::try_from(adapters.get()).unwrap_or(i64::MAX);
            used.model = used.model.saturating_sub(adapters);
            used.total = used.total.saturating_sub(adapters);
        }
        used
    }

    /// The same with other caches, and compute buffers changed.
    pub(super) fn used_with(
        &self,
        caches: &[kv_cache::Group],
        changed: impl Fn(Bytes) -> Bytes,
    ) -> Vec<Used> {
        let gpus = self.compute.gpus.len();
        let signed = |bytes: Bytes| i64::try_from(bytes.get()).unwrap_or(i64::MAX);
        (0..=gpus)
            .map(|position| {
                let home = (position < gpus).then_some(position);
                let weights = self.weights(home);
                let context = context(caches, &self.states, home);
                let compute = match home {
                    Some(gpu) => self.compute.gpus.get(gpu),
                    None => Some(&self.compute.host),
                };
                let compute = compute.map_or(Bytes::ZERO, |buffer| changed(buffer.bytes));
                let beside = self.parts.bytes(home);
                Used {
                    model: signed(weights + self.parts.of(Category::Weights, home)),
                    total: signed(weights + context + compute + beside),
                }
            })
            .collect()
    }

    /// Weights on a device.
    pub(super) fn weights(&self, home: Option<usize>) -> Bytes {
        self.placed.on(home)
    }

    /// Every GPU holds a part of each tensor, and there are several.
    pub(super) fn splits_tensors(&self) -> bool {
        self.placed.sliced.is_some() && self.compute.gpus.len() > 1
    }

    /// Weights over all GPUs.
    pub(super) fn weights_on_gpus(&self) -> Bytes {
        (0..self.compute.gpus.len())
            .map(|gpu| self.weights(Some(gpu)))
            .sum()
    }
}

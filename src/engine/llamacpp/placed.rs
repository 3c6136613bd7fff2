//! Tensors in their places: by layers, by parts of each tensor, or by rows of each matrix.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use super::auto::Overflow;
use super::config::{self, Config, SplitMode};
use super::host::{HostWeights, Loader};
use super::measure::Measured;
use super::placement::{self, Device, Placement, PlacementConfig, Rows, Sliced};
use super::subject::Subject;
use crate::projection::Term;
use crate::units::Bytes;

/// First version without split buffers.
const WITHOUT_ROWS: &str = "0.6.0";

/// Tensors in their places.
pub(super) struct Placed {
    pub(super) placement: Placement,
    /// Devices of the blocks, as caches follow them.
    pub(super) homes: Vec<Option<usize>>,
    /// Parts per GPU where tensors are split; the placement's only GPU then stands for all of them.
    pub(super) sliced: Option<Sliced>,
    /// Rows per GPU where matrices are split by them.
    rows: Option<Rows>,
    /// Equal for equal places of equal files.
    pub(super) fingerprint: u64,
}

impl Placed {
    /// Bytes of weights over all devices.
    pub(super) fn total(&self) -> Bytes {
        let gpus: Bytes = match (&self.sliced, &self.rows) {
            (Some(sliced), _) => sliced.shares.iter().map(|share| share.bytes).sum(),
            (None, Some(rows)) => rows.total(),
            (None, None) => return self.placement.total(),
        };
        gpus + self.placement.host.bytes
    }

    /// Bytes of weights on a device.
    pub(super) fn on(&self, home: Option<usize>) -> Bytes {
        let Some(gpu) = home else {
            return self.placement.of(Device::Host).bytes;
        };
        match (&self.sliced, &self.rows) {
            (Some(sliced), _) => {
                let share = sliced.shares.get(gpu);
                share.map_or(Bytes::ZERO, |share| share.bytes)
            }
            (None, Some(rows)) => rows.on(gpu),
            (None, None) => self.placement.of(Device::Gpu(gpu)).bytes,
        }
    }

    /// The GPU of a block; `None` is main memory.
    pub(super) fn home(&self, block: usize) -> Option<usize> {
        self.homes.get(block).copied().flatten()
    }

    /// The GPUs of the blocks from `first` on, which predict further tokens.
    pub(super) fn prediction_homes(&self, first: usize) -> &[Option<usize>] {
        self.homes.get(first..).unwrap_or_default()
    }

    /// Equal for equal places of equal files.
    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

impl Subject<'_> {
    /// The weights of every GPU as terms, the host last; kept, since every tensor is added up.
    pub(super) fn weights_terms(&self, measured: &Measured) -> Arc<Vec<Vec<Term>>> {
        let Measured { placed, loader, .. } = measured;
        let key = (placed.fingerprint, *loader);
        self.inputs.memo.get(&key, || {
            let (placement, table) = (&placed.placement, &self.table);
            match (&placed.sliced, &placed.rows) {
                (Some(sliced), _) => placement::parts_terms(placement, sliced, table, *loader),
                (None, Some(rows)) => placement::rows_terms(placement, rows, table, *loader),
                (None, None) => placement::weights_terms(placement, table, *loader),
            }
        })
    }

    /// Weights in main memory by how they are held; kept, since every tensor is added up.
    pub(super) fn host_weights(&self, loader: Loader, placed: &Placed) -> HostWeights {
        let weights = self.inputs.memo.get(&(placed.fingerprint, loader), || {
            HostWeights::new(loader, &placed.placement, &self.table)
        });
        *weights
    }

    /// How the loader works with these settings.
    pub(super) fn loader(&self, config: &Config) -> Loader {
        let architecture = self.table.architecture;
        Loader::new(config, self.inputs.machine, &self.devices, architecture)
    }

    /// Whether every GPU holds a part of each tensor.
    pub(super) fn splits_tensors(&self, config: &Config) -> bool {
        config.split_mode == SplitMode::Tensor && !self.devices.is_empty()
    }

    /// Whether every GPU holds rows of each matrix.
    fn splits_rows(&self, config: &Config) -> bool {
        config.split_mode == SplitMode::Row
            && self.devices.len() > 1
            && !config.version.at_least(WITHOUT_ROWS)
    }

    /// Every tensor in its place, kept.
    ///
    /// # Errors
    /// Tensors cannot be placed as asked.
    pub(super) fn place(
        &self,
        config: &Config,
        overflows: &[Overflow],
    ) -> Result<Arc<Placed>, placement::Error> {
        // Over several GPUs of which each holds a part of every tensor, layers are laid as over one.
        let (by_tensor, by_rows) = (self.splits_tensors(config), self.splits_rows(config));
        let together = [self.free().iter().copied().sum()];
        let remote = config::remote_names(&self.devices, config);
        let request = PlacementConfig {
            free: if by_tensor { &together } else { self.free() },
            gpu_layers: config.gpu_layers.count(),
            // One GPU was singled out before; parts and rows are cut from layers in their places.
            split_mode: SplitMode::Layer,
            tensor_split: if by_tensor { &[] } else { &config.tensor_split },
            main_gpu: 0,
            overrides: &config.overrides,
            overflows,
            remote: &remote,
            packing: self.loader(config).packing,
        };
        let shares: Vec<u64> = config
            .tensor_split
            .iter()
            .map(|share| share.to_bits())
            .collect();
        let mut hasher = DefaultHasher::new();
        (
            self.table.fingerprint,
            self.free(),
            request.gpu_layers,
            shares,
            &config.overrides,
            overflows,
            request.packing,
            (by_tensor, by_rows, &remote),
        )
            .hash(&mut hasher);
        let fingerprint = hasher.finish();
        let placed: Arc<Result<Arc<Placed>, placement::Error>> =
            self.inputs.memo.get(&fingerprint, || {
                let placement = Placement::new(&request, &self.table, self.inputs.memo)?;
                Ok(Arc::new(Placed {
                    sliced: by_tensor.then(|| self.sliced(&placement, &config.tensor_split)),
                    rows: by_rows.then(|| self.rows(&placement, &config.tensor_split)),
                    homes: placement.blocks.iter().map(|home| home.gpu()).collect(),
                    placement,
                    fingerprint,
                }))
            });
        placed.as_ref().clone()
    }

    fn sliced(&self, placement: &Placement, shares: &[f64]) -> Sliced {
        let gpus = self.devices.len();
        Sliced::new(placement, &self.table, self.inputs.model, shares, gpus)
    }

    fn rows(&self, placement: &Placement, shares: &[f64]) -> Rows {
        let gpus = self.devices.iter().map(|device| device.gpu);
        let memory: Vec<Bytes> = gpus.clone().map(|gpu| gpu.memory.usable).collect();
        // Tiles of cards before Volta are half as high.
        let old_cards = gpus
            .clone()
            .all(|gpu| gpu.compute_capability.is_some_and(|(major, _)| major < 7));
        Rows::new(placement, &self.table, shares, &memory, old_cards)
    }
}

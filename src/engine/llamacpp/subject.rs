//! What is loaded, and what it could be loaded on.

use std::sync::Arc;

use super::config::{Config, Device, Shape, free_memory};
use super::draft::{Companion, Prediction};
use super::file_type::Weights;
use super::host::widest_input;
use super::kv_cache::{self, LayerCache};
use super::parts;
use super::placed::Placed;
use super::recurrent::{self, LayerState};
use super::tensors::{self, TensorTable};
use crate::engine::Inputs;
use crate::projection::Note;
use crate::units::Bytes;

/// What is loaded, and where it can go.
pub(super) struct Subject<'a> {
    pub(super) inputs: Inputs<'a>,
    /// Tensors of the file.
    pub(super) table: Arc<TensorTable>,
    /// GPUs used, in the engine's order.
    pub(super) devices: Vec<Device<'a>>,
    /// `n_ctx_train` of the file.
    pub(super) trained: u64,
    /// Elements per token that enter the widest matrix product.
    pub(super) width: u64,
    /// The draft model, where the plan names one.
    pub(super) companion: Option<Box<Companion<'a>>>,
    /// The context of the model's prediction blocks, where they draft.
    pub(super) prediction: Option<Box<Prediction>>,
    /// What stands beside the model is its own business: nothing stands beside a draft.
    pub(super) is_draft: bool,
    /// Equal where the same stands beside it.
    beside: u64,
    free: Vec<Bytes>,
    caches: Arc<Vec<LayerCache>>,
    states: Arc<Vec<LayerState>>,
}

type Table = Result<Arc<TensorTable>, tensors::Error>;

impl<'a> Subject<'a> {
    /// The model with what stands beside it; notes on what that cannot be.
    ///
    /// # Errors
    /// There is no such file.
    pub(super) fn new(
        inputs: Inputs<'a>,
        config: &Config,
        weights: Weights,
        devices: Vec<Device<'a>>,
        notes: &mut Vec<Note>,
    ) -> Result<Self, tensors::Error> {
        let mut subject = Self::alone(inputs, config, weights, devices)?;
        let architecture = subject.table.architecture;
        subject.companion = Companion::new(inputs, &subject.devices, notes).map(Box::new);
        subject.prediction = Prediction::new(inputs, config, architecture, notes).map(Box::new);
        subject.is_draft = false;
        subject.beside = parts::key(inputs);
        Ok(subject)
    }

    /// The model's file and caches, kept between calls; nothing beside it.
    ///
    /// # Errors
    /// There is no such file.
    pub(super) fn alone(
        inputs: Inputs<'a>,
        config: &Config,
        weights: Weights,
        devices: Vec<Device<'a>>,
    ) -> Result<Self, tensors::Error> {
        let model = inputs.model;
        let loads_prediction = config.speculation.loads_prediction();
        let key = (model.fingerprint, weights, config.imatrix, loads_prediction);
        let table: Arc<Table> = inputs.memo.get(&key, || {
            TensorTable::loading(model, weights, config.imatrix, loads_prediction).map(Arc::new)
        });
        let table = Arc::clone(table.as_ref().as_ref().map_err(Clone::clone)?);
        let architecture = table.architecture;
        let key = (model.fingerprint, architecture);
        let caches = inputs
            .memo
            .get(&key, || kv_cache::caches(model, architecture));
        let states = inputs
            .memo
            .get(&model.fingerprint, || recurrent::states(model));
        let host = inputs
            .machine
            .host
            .ram
            .saturating_sub(inputs.machine.host.in_use);
        let free = devices
            .iter()
            .map(|device| Bytes::new(free_memory(device.gpu, host)))
            .collect();
        Ok(Self {
            inputs,
            table,
            devices,
            trained: trained(model),
            width: widest_input(model),
            companion: None,
            prediction: None,
            is_draft: true,
            beside: 0,
            free,
            caches,
            states,
        })
    }

    /// Layers that the engine's own fit counts: prediction blocks where they are loaded (`hp_ngl`, `common/fit.cpp`
    /// 0.6.0-dev).
    pub(super) fn fitted_blocks(&self) -> u32 {
        match self.prediction {
            Some(_) => self.table.all_blocks,
            None => self.table.blocks,
        }
    }

    /// Free memory of the GPUs used.
    pub(super) fn free(&self) -> &[Bytes] {
        &self.free
    }

    /// Whatever else a measurement depends on beside a configuration, for keys of caches.
    pub(super) fn key(&self) -> impl std::hash::Hash {
        let machine = self.inputs.machine;
        let memory: Vec<_> = self
            .devices
            .iter()
            .map(|device| {
                (
                    device.gpu.memory.usable,
                    device.gpu.memory.in_use,
                    device.gpu.unified,
                    device.compute_capability(),
                    // The makers' drivers take different amounts.
                    device.gpu.vendor,
                )
            })
            .collect();
        (
            (self.inputs.model.fingerprint, self.beside),
            self.table.fingerprint,
            self.inputs.margin,
            (machine.host.ram, machine.host.in_use),
            // What the processor repacks, and what drivers take.
            (machine.os, &machine.host.cpu_features, machine.nodes),
            memory,
        )
    }

    /// The caches that the model's layers have.
    pub(super) fn layer_caches(&self) -> &[LayerCache] {
        &self.caches
    }

    /// The recurrent states that the model's layers have.
    pub(super) fn layer_states(&self) -> &[LayerState] {
        &self.states
    }

    /// The caches of a configuration.
    pub(super) fn caches(&self, config: &Config, placed: &Placed) -> Vec<kv_cache::Group> {
        kv_cache::groups(
            &self.caches,
            config,
            config.shape(self.trained),
            &placed.homes,
            placed.sliced.as_ref(),
        )
    }

    /// The recurrent states of a configuration.
    pub(super) fn states(
        &self,
        config: &Config,
        shape: Shape,
        placed: &Placed,
    ) -> Vec<recurrent::Group> {
        let rolls_back = recurrent::rolls_back(self.table.architecture);
        let (homes, sliced) = (&placed.homes, placed.sliced.as_ref());
        recurrent::groups(&self.states, rolls_back, config, shape, homes, sliced)
    }

    /// What caches and states of every block take, were each on a device of its own.
    pub(super) fn context_by_block(&self, config: &Config) -> Vec<Bytes> {
        let blocks = self.table.all_blocks as usize;
        let homes: Vec<Option<usize>> = (0..blocks).map(Some).collect();
        let shape = config.shape(self.trained);
        let mut bytes = vec![Bytes::ZERO; blocks];
        let mut add = |home: Option<usize>, more: Bytes| {
            if let Some(bytes) = home.and_then(|block| bytes.get_mut(block)) {
                *bytes += more;
            }
        };
        for group in kv_cache::groups(&self.caches, config, shape, &homes, None) {
            add(group.home, group.bytes);
        }
        let rolls_back = recurrent::rolls_back(self.table.architecture);
        for group in recurrent::groups(&self.states, rolls_back, config, shape, &homes, None) {
            add(group.home, group.bytes);
        }
        bytes
    }
}

/// `n_ctx_train` of the file: the configuration's positions as written.
fn trained(model: &crate::model::Model) -> u64 {
    if model.max_position_embeddings > 0 {
        model.max_position_embeddings
    } else {
        model.context_length
    }
}

//! Everything one configuration makes the engine allocate.

use std::sync::Arc;

use super::auto::{Overflow, Used};
use super::compute::{
    Buffers, GraphConfig, GraphLoad, GraphPlacement, GraphPlan, PlacedWeight, Purpose,
};
use super::config::{Config, Device, Flash, Shape, SplitMode, free_memory};
use super::draft::{self, Companion, Prediction};
use super::file_type::FileType;
use super::host::{HostWeights, Loader, widest_input};
use super::kv_cache::{self, Cells, Kind, LayerCache};
use super::output;
use super::parts::{self, Parts, parts};
pub(super) use super::placed::Placed;
use super::placement::{self, Placement};
use super::recurrent::{self, LayerState};
use super::tensors::{self, TensorTable};
use crate::engine::Inputs;
use crate::projection::{Category, Note};
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
    is_draft: bool,
    /// Equal where the same stands beside it.
    beside: u64,
    free: Vec<Bytes>,
    caches: Arc<Vec<LayerCache>>,
    states: Arc<Vec<LayerState>>,
}

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

type Table = Result<Arc<TensorTable>, tensors::Error>;

impl<'a> Subject<'a> {
    /// The model with what stands beside it; notes on what that cannot be.
    ///
    /// # Errors
    /// There is no such file.
    pub(super) fn new(
        inputs: Inputs<'a>,
        config: &Config,
        file_type: FileType,
        devices: Vec<Device<'a>>,
        notes: &mut Vec<Note>,
    ) -> Result<Self, tensors::Error> {
        let mut subject = Self::alone(inputs, config, file_type, devices)?;
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
        file_type: FileType,
        devices: Vec<Device<'a>>,
    ) -> Result<Self, tensors::Error> {
        let model = inputs.model;
        let loads_prediction = config.speculation.loads_prediction();
        let key = (
            model.fingerprint,
            file_type,
            config.imatrix,
            loads_prediction,
        );
        let table: Arc<Table> = inputs.memo.get(&key, || {
            TensorTable::loading(model, file_type, config.imatrix, loads_prediction).map(Arc::new)
        });
        let table = Arc::clone(table.as_ref().as_ref().map_err(Clone::clone)?);
        let architecture = table.architecture;
        let caches = inputs
            .memo
            .get(&model.fingerprint, || kv_cache::caches(model, architecture));
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
        let shape = config.shape(self.trained);
        let placed = self.place(config, overflows)?;
        let homes = &placed.homes;
        let sliced = placed.sliced.as_ref();
        let caches = kv_cache::groups(&self.caches, config, shape, homes, sliced);
        let rolls_back = recurrent::rolls_back(self.table.architecture);
        let states = recurrent::groups(&self.states, rolls_back, config, shape, homes, sliced);
        let compute = self.compute(config, shape, &placed, !overflows.is_empty(), purpose);
        let loader = self.loader(config);
        let host_weights = self.inputs.memo.get(&(placed.fingerprint, loader), || {
            HostWeights::new(loader, &placed.placement, &self.table)
        });
        let parts = if self.is_draft {
            Parts::default()
        } else {
            parts(self, config, shape, &placed, purpose)
        };
        Ok(Measured {
            parts,
            loader,
            host_weights: *host_weights,
            shape,
            caches,
            states,
            output: output::bytes(self.inputs.model, config, shape),
            compute,
            placed,
        })
    }

    /// Buffers are planned for whole tensors, and each GPU of a tensor split gets one of that size
    /// (`ggml_backend_meta_buffer_type_alloc_buffer`, `ggml/src/ggml-backend-meta.cpp` 0.6.0-dev).
    fn on_each(&self, config: &Config, mut buffers: Buffers) -> Buffers {
        let whole = buffers.gpus.first().cloned();
        if let (true, Some(whole)) = (self.splits_tensors(config), whole) {
            buffers.gpus.resize(self.devices.len(), whole);
        }
        buffers
    }

    fn compute(
        &self,
        config: &Config,
        shape: Shape,
        placed: &Placed,
        fitted: bool,
        purpose: Purpose,
    ) -> Buffers {
        let blocks = placed.homes.get(..self.inputs.model.layers.len());
        let graph = self.graph(config, blocks.unwrap_or(&placed.homes), fitted);
        let made = |make: fn(&GraphConfig<'_>) -> GraphPlan| {
            make(&GraphConfig {
                model: self.inputs.model,
                architecture: self.table.architecture.name(),
                prediction: false,
                weights: &self.weights(&placed.placement),
                placement: graph,
            })
        };
        let key = self.graph_key(placed, graph);
        let plan: Arc<GraphPlan> = self.inputs.memo.get(&key, || made(GraphPlan::new));
        let buffers = plan.reserve(&self.load(config, shape, &self.caches), purpose, || {
            made(GraphPlan::whole)
        });
        self.on_each(config, buffers)
    }

    /// The compute buffers of the prediction blocks' context.
    pub(super) fn predicting(
        &self,
        prediction: &Prediction,
        config: &Config,
        shape: Shape,
        placed: &Placed,
        purpose: Purpose,
    ) -> Buffers {
        let first = self.inputs.model.layers.len();
        let graph = self.graph(config, placed.prediction_homes(first), false);
        let key = ("prediction", self.graph_key(placed, graph));
        let made = |make: fn(&GraphConfig<'_>) -> GraphPlan| {
            let all = self.weights(&placed.placement);
            let names: Vec<Option<String>> = all
                .iter()
                .map(|weight| draft::block_name(weight.name, first))
                .collect();
            let weights: Vec<PlacedWeight<'_>> = all
                .iter()
                .zip(&names)
                .filter_map(|(weight, name)| {
                    Some(PlacedWeight {
                        name: name.as_deref()?,
                        ..*weight
                    })
                })
                .collect();
            make(&GraphConfig {
                model: &prediction.model,
                architecture: self.table.architecture.name(),
                prediction: true,
                weights: &weights,
                placement: graph,
            })
        };
        let plan: Arc<GraphPlan> = self.inputs.memo.get(&key, || made(GraphPlan::new));
        let buffers = plan.reserve(
            &self.load(config, shape, &prediction.caches),
            purpose,
            || made(GraphPlan::whole),
        );
        self.on_each(config, buffers)
    }

    fn graph<'b>(
        &self,
        config: &Config,
        blocks: &'b [Option<usize>],
        fitted: bool,
    ) -> GraphPlacement<'b> {
        // The device that stands for all has no operation that it takes over from main memory (`offload_op`).
        let together = self.splits_tensors(config);
        GraphPlacement {
            gpus: if together { 1 } else { self.devices.len() },
            blocks,
            all_offloaded: config.gpu_layers.count() > u64::from(self.table.all_blocks),
            // Remote devices have had events since the newer generation (`ggml-rpc.cpp`).
            may_pipeline: config.split_mode == SplitMode::Layer
                && (config.version.at_least("0.6.0")
                    || !self.devices.iter().any(Device::is_remote))
                && config.overrides.is_empty()
                && !fitted,
            kv_offload: config.kv_offload,
            op_offload: config.op_offload && !together,
            compute_capability: self.devices.first().map_or(0, Device::compute_capability),
        }
    }

    /// What a graph depends on beside its load.
    fn graph_key(
        &self,
        placed: &Placed,
        graph: GraphPlacement<'_>,
    ) -> impl std::hash::Hash + use<> {
        (
            self.inputs.model.fingerprint,
            placed.fingerprint,
            (graph.gpus, graph.compute_capability),
            [
                graph.all_offloaded,
                graph.may_pipeline,
                graph.kv_offload,
                graph.op_offload,
            ],
        )
    }

    /// Loaded tensors as graphs use them.
    fn weights(&self, placement: &Placement) -> Vec<PlacedWeight<'_>> {
        let weight = |row: &'_ tensors::Row, name, device: placement::Device| PlacedWeight {
            name,
            shape: row.tensor.shape,
            format: row.kind,
            gpu: device.gpu(),
        };
        let rows = &self.table.rows;
        let originals = rows.iter().zip(&placement.rows);
        let originals = originals
            .filter_map(|(row, device)| Some(weight(row, row.tensor.name.as_str(), (*device)?)));
        // A tied head that is held a second time is a tensor of its own.
        let copies = placement.copies.iter().filter_map(|(index, device)| {
            let row = rows.get(*index)?;
            let name = match row.tensor.name.as_str() {
                "token_embd.weight" => "output.weight",
                name => name,
            };
            Some(weight(row, name, *device))
        });
        originals.chain(copies).collect()
    }

    fn load(&self, config: &Config, shape: Shape, caches: &[LayerCache]) -> GraphLoad {
        let cells = Cells::new(config, shape);
        let window = caches.iter().find_map(|cache| match cache.kind {
            Kind::Window(_) | Kind::CompressedWindow(_) => Some(cells.of(cache.kind).0),
            _ => None,
        });
        GraphLoad {
            ubatch: shape.micro_batch,
            sequences: shape.sequences,
            // `llama_kv_cache_dsv4`: one stream per sequence even where the cache is shared.
            kv_unified: config.unified
                && !self
                    .caches
                    .iter()
                    .any(|cache| matches!(cache.kind, Kind::CompressedWindow(_))),
            outputs: shape.outputs,
            cells: shape.cells,
            window_cells: window.unwrap_or(shape.cells),
            cache_k: config.cache_k,
            cache_v: config.cache_v,
            flash_attn: match config.flash {
                Flash::On => Some(true),
                Flash::Off => Some(false),
                // Forced on (`llama_init_from_model`, `src/llama-context.cpp` 0.6.0-dev).
                Flash::Auto if config.cache_v.is_quantized() || self.splits_tensors(config) => {
                    Some(true)
                }
                Flash::Auto => None,
            },
            rollback_states: if recurrent::rolls_back(self.table.architecture) {
                config.rollback
            } else {
                0
            },
            since_mid_2026: config.version.lean_outputs(),
        }
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
                let caches = caches.iter().filter(|group| group.home == home);
                let states = self.states.iter().filter(|group| group.home == home);
                let compute = match home {
                    Some(gpu) => self.compute.gpus.get(gpu),
                    None => Some(&self.compute.host),
                };
                let compute = compute.map_or(Bytes::ZERO, |buffer| changed(buffer.bytes));
                let context = caches.map(|group| group.bytes).sum::<Bytes>()
                    + states.map(|group| group.bytes).sum();
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

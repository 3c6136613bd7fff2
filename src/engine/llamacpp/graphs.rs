//! The compute buffers of a configuration: its graphs from tensors in their places, kept.

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};

use super::compute::{
    Buffers, Extent, GraphConfig, GraphLoad, GraphPlacement, GraphPlan, PlacedWeight, Purpose,
};
use super::config::{Config, Device, Flash, Shape, SplitMode};
use super::draft::{self, Prediction};
use super::kv_cache::{Cells, Kind, LayerCache};
use super::placed::Placed;
use super::placement::{self, Placement};
use super::recurrent;
use super::subject::Subject;
use super::tensors;

/// Whether few blocks were too few for some plan of a model. Nothing but time depends on it.
#[derive(Default)]
struct TooFew(AtomicBool);

impl Subject<'_> {
    /// Buffers are planned for whole tensors, and each GPU of a tensor split gets one of that size
    /// (`ggml_backend_meta_buffer_type_alloc_buffer`, `ggml/src/ggml-backend-meta.cpp` 0.6.0-dev).
    fn on_each(&self, config: &Config, mut buffers: Buffers) -> Buffers {
        let whole = buffers.gpus.first().cloned();
        if let (true, Some(whole)) = (self.splits_tensors(config), whole) {
            buffers.gpus.resize(self.devices.len(), whole);
        }
        buffers
    }

    /// The compute buffers of a configuration; `fitted` where the engine's own fit added overrides.
    pub(super) fn compute(
        &self,
        config: &Config,
        shape: Shape,
        placed: &Placed,
        fitted: bool,
        purpose: Purpose,
    ) -> Buffers {
        if let Some(uncounted) = self.uncounted() {
            return uncounted;
        }
        let blocks = placed.homes.get(..self.inputs.model.layers.len());
        let graph = self.graph(config, blocks.unwrap_or(&placed.homes), fitted);
        let made = |extent: Extent| {
            let config = GraphConfig {
                model: self.inputs.model,
                architecture: self.table.architecture.name(self.inputs.model),
                prediction: false,
                weights: &self.weights(&placed.placement),
                placement: graph,
            };
            GraphPlan::new(&config, extent).sharing(self.inputs.memo)
        };
        let load = self.load(config, shape, self.layer_caches());
        let buffers = self.reserved(&self.graph_key(placed, graph), &load, purpose, &made);
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
        let made = |extent: Extent| {
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
            let config = GraphConfig {
                model: &prediction.model,
                architecture: self.table.architecture.name(self.inputs.model),
                prediction: true,
                weights: &weights,
                placement: graph,
            };
            GraphPlan::new(&config, extent).sharing(self.inputs.memo)
        };
        let load = self.load(config, shape, &prediction.caches);
        let buffers = self.reserved(&key, &load, purpose, &made);
        self.on_each(config, buffers)
    }

    /// The buffers of a plan, which `made` makes. It begins with few blocks until those turn out too few for one plan of
    /// this model.
    fn reserved(
        &self,
        key: &impl Hash,
        load: &GraphLoad,
        purpose: Purpose,
        made: &dyn Fn(Extent) -> GraphPlan,
    ) -> Buffers {
        let memo = self.inputs.memo;
        let too_few = memo.get(&self.inputs.model.fingerprint, TooFew::default);
        let extent = if too_few.0.load(Ordering::Relaxed) {
            Extent::Many
        } else {
            Extent::Few
        };
        let plan = memo.get(&(key, extent), || made(extent));
        let buffers = plan.reserve(load, purpose, made);
        if plan.fell_short() {
            too_few.0.store(true, Ordering::Relaxed);
        }
        buffers
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
                    .layer_caches()
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

//! What plans have in common: placements that differ in nothing that graphs tell apart have the same buffers.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::draft::Weight;
use super::plan::{Block, GraphPlan, Weights};
use super::segments::Segments;
use crate::engine::Memo;

impl GraphPlan {
    /// With the buffers that are known of other plans of the same content: the number of layers that are left out, or on
    /// which side of them they are, says nothing.
    pub(in crate::engine::llamacpp) fn sharing(mut self, memo: &Memo) -> Self {
        self.segments = memo.get(&("segments", self.content()), Segments::default);
        self
    }

    /// Equal where graphs are built, cut and placed alike.
    fn content(&self) -> u64 {
        let Self {
            architecture,
            prediction,
            trunk,
            blocks,
            outside,
            gpus,
            stand_ins,
            extent: _,
            is_whole,
            repeats,
            all_offloaded,
            pipeline,
            kv_offload,
            op_offload,
            compute_capability,
            all_on_gpus,
            segments: _,
            longer: _,
        } = self;
        let mut hasher = DefaultHasher::new();
        for block in blocks {
            let Block {
                layer,
                index,
                place: _,
                weights,
                backend,
                cache,
            } = block;
            // Of the position in the model only this is asked.
            let stacked = (*index as u64).min(trunk.deepstack);
            (layer, stacked, backend, cache).hash(&mut hasher);
            for (name, weight) in &weights.0 {
                let resident = weight.backend == *backend && weight.backend < *gpus;
                let as_shared = resident && type_as_shared(weights, name, *weight);
                (name, weight.told_apart(resident), as_shared).hash(&mut hasher);
            }
        }
        let has_head = outside.get("output.weight").is_some();
        for (name, weight) in &outside.0 {
            // A table is only looked up in where it is not the head, too.
            let table = has_head && **name == *"token_embd.weight" && weight.backend >= *gpus;
            let resident = weight.backend < *gpus || table;
            (name, weight.told_apart(resident)).hash(&mut hasher);
        }
        (
            (architecture, prediction, trunk),
            (gpus, stand_ins, is_whole, repeats),
            (all_offloaded, pipeline, kv_offload, op_offload),
            (compute_capability, all_on_gpus),
        )
            .hash(&mut hasher);
        hasher.finish()
    }
}

/// Whether experts have the type of the shared one beside them, with which they are then computed.
fn type_as_shared(weights: &Weights, name: &str, weight: Weight) -> bool {
    let Some(matrix) = name.strip_suffix("_exps.weight") else {
        return false;
    };
    let is_shared = |other: &str| other.strip_suffix("_shexp.weight") == Some(matrix);
    let mut weights = weights.0.iter();
    weights.any(|(other, shared)| is_shared(other) && shared.dtype == weight.dtype)
}

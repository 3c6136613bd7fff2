//! What lives on which device.

use super::super::super::setting::{Choice, Group, Kind, Scope, Setting, Step};
use super::bounds;
use super::meaning;
use super::relevance::{experts_and_gpu, gpu, several_gpus};
use super::shape::{auto, choices, empty, integer, off, on, zero};
use crate::plan::Value;

pub(super) const N_GPU_LAYERS: Setting = Setting {
    aliases: &["ngl", "gpu_layers"],
    counterparts: meaning::N_GPU_LAYERS,
    applies: gpu,
    ..Setting::new(
        "n_gpu_layers",
        "GPU layers",
        Group::Offload,
        Kind::Integer {
            bounds: bounds::gpu_layers,
            step: Step::By(1),
            words: &["auto", "all"],
            unit: "layers",
        },
        auto,
        "How many layers go to the GPUs, counted from the last; the output layer is one of them. \"auto\" lets the \
         engine fit as many as it can.",
    )
};

pub(super) const CPU_MOE: Setting = Setting {
    aliases: &["cmoe"],
    applies: experts_and_gpu,
    ..Setting::new(
        "cpu_moe",
        "All experts on CPU",
        Group::Advanced,
        Kind::Toggle,
        off,
        "Keeps the routed experts of every layer in main memory; attention and shared experts stay on the GPU.",
    )
};

pub(super) const N_CPU_MOE: Setting = Setting {
    aliases: &["ncmoe"],
    applies: experts_and_gpu,
    ..Setting::new(
        "n_cpu_moe",
        "Layers with experts on CPU",
        Group::Advanced,
        integer(bounds::layers, Step::By(1), "layers"),
        zero,
        "Keeps the routed experts of the first N layers in main memory, dense leading layers counted.",
    )
};

pub(super) const N_CPU_FFN: Setting = Setting {
    aliases: &["ncffn"],
    applies: gpu,
    since: Some("0.6.0"),
    ..Setting::new(
        "n_cpu_ffn",
        "Layers with FFN on CPU",
        Group::Advanced,
        integer(bounds::layers, Step::By(1), "layers"),
        zero,
        "Keeps the dense feed-forward weights of the first N layers in main memory.",
    )
};

pub(super) const OVERRIDE_TENSOR: Setting = Setting {
    aliases: &["ot"],
    applies: gpu,
    ..Setting::new(
        "override_tensor",
        "Tensor overrides",
        Group::Advanced,
        Kind::Lines {
            example: r"\.ffn_(up|down)_exps\.=CPU",
        },
        empty,
        "Sends tensors whose name matches a regular expression to a buffer type (CPU, CUDA0, ...); the first match wins.",
    )
};

pub(super) const KV_OFFLOAD: Setting = Setting {
    aliases: &["kvo"],
    applies: gpu,
    ..Setting::new(
        "kv_offload",
        "KV cache on GPU",
        Group::Offload,
        Kind::Toggle,
        on,
        "Keeps the KV cache of a layer on the device of that layer; off puts all of it in main memory, which is slow.",
    )
};

pub(super) const OP_OFFLOAD: Setting = Setting {
    applies: gpu,
    ..Setting::new(
        "op_offload",
        "Prompt work on GPU",
        Group::Advanced,
        Kind::Toggle,
        on,
        "Lets the GPU compute large batches with weights that live in main memory, by copying them over; needs room \
         for the largest such tensor.",
    )
};

const SPLIT_MODES: &[(&str, &str)] = &[
    ("layer", "whole layers per GPU"),
    ("none", "one GPU only"),
    ("row", "gone from current builds"),
    ("tensor", "experimental"),
];

fn split_modes(_: &Scope<'_>) -> Vec<Choice> {
    choices(SPLIT_MODES)
}

fn layer(_: &Scope<'_>) -> Value {
    Value::Text("layer".to_owned())
}

pub(super) const SPLIT_MODE: Setting = Setting {
    aliases: &["sm"],
    counterparts: meaning::SPLIT_MODE,
    applies: several_gpus,
    ..Setting::new(
        "split_mode",
        "Split across GPUs",
        Group::Offload,
        Kind::Choice {
            options: split_modes,
        },
        layer,
        "How the model is spread over several GPUs.",
    )
};

pub(super) const TENSOR_SPLIT: Setting = Setting {
    aliases: &["ts"],
    applies: several_gpus,
    ..Setting::new(
        "tensor_split",
        "Share per GPU",
        Group::Offload,
        Kind::Proportions,
        empty,
        "Proportions of the layers per GPU, such as 3,1; empty: by free memory.",
    )
};

pub(super) const MAIN_GPU: Setting = Setting {
    aliases: &["mg"],
    counterparts: meaning::MAIN_GPU,
    applies: several_gpus,
    ..Setting::new(
        "main_gpu",
        "Main GPU",
        Group::Advanced,
        integer(bounds::gpu, Step::By(1), ""),
        zero,
        "The GPU that is used where the split mode is \"none\".",
    )
};

/// Machines of several nodes.
fn several_nodes(scope: &Scope<'_>) -> bool {
    scope.machine.nodes > 1
}

pub(super) const RPC: Setting = Setting {
    applies: several_nodes,
    ..Setting::new(
        "rpc",
        "GPUs of other nodes",
        Group::Offload,
        Kind::Lines {
            example: "192.168.1.11:50052",
        },
        empty,
        "Servers on the other nodes, host:port, whose GPUs hold layers too; they come before this node's in every list. \
         The connection is neither encrypted nor protected.",
    )
};

//! Weights as terms.

use super::{Device, Placement};
use crate::engine::llamacpp::tensors::TensorTable;
use crate::projection::{Category, Term, Why};
use crate::units::Bytes;

/// The weights of a device: what belongs there, what is held a second time, what was sent there. Empty parts are left
/// out.
pub(in crate::engine::llamacpp) fn weights_terms(
    placement: &Placement,
    table: &TensorTable,
    device: Device,
) -> Vec<Term> {
    let share = placement.of(device);
    let own = share
        .bytes
        .saturating_sub(share.copied)
        .saturating_sub(share.moved);
    let output = placement.output == device;
    [
        (own, own_why(device, output), OWN_SOURCE),
        (share.copied, COPIED, COPIED_SOURCE),
        (share.moved, moved_why(device), MOVED_SOURCE),
    ]
    .into_iter()
    .filter(|(bytes, ..)| *bytes > Bytes::ZERO)
    .map(|(bytes, (rule, template), source)| {
        let why = Why::new(rule, template, source)
            .with("file_type", table.file_type.name())
            .with("bits_per_weight", table.bits_per_weight())
            .with("blocks", share.blocks)
            .with("all_blocks", u64::from(table.blocks))
            .with("bytes", bytes);
        Term::exact(Category::Weights, bytes, why)
    })
    .collect()
}

const OWN_SOURCE: &str =
    "src/llama-quant.cpp, src/llama-model.cpp load_tensors (llama.cpp 0.6.0-dev)";

/// What a device holds by the order of layers.
fn own_why(device: Device, output: bool) -> (&'static str, &'static str) {
    match (device, output) {
        (Device::Gpu(_), true) => (
            "llama.cpp/weights/blocks-and-output",
            "{file_type}, {bits_per_weight} bits per weight over the whole file: {blocks} of {all_blocks} blocks and the output layer = {bytes}",
        ),
        (Device::Gpu(_), false) => (
            "llama.cpp/weights/blocks",
            "{file_type}, {bits_per_weight} bits per weight over the whole file: {blocks} of {all_blocks} blocks = {bytes}",
        ),
        (Device::Host, true) => (
            "llama.cpp/weights/input-blocks-and-output",
            "{file_type}, {bits_per_weight} bits per weight over the whole file: input embedding, {blocks} of {all_blocks} blocks and the output layer = {bytes}",
        ),
        (Device::Host, false) => (
            "llama.cpp/weights/input-and-blocks",
            "{file_type}, {bits_per_weight} bits per weight over the whole file: input embedding and {blocks} of {all_blocks} blocks = {bytes}",
        ),
    }
}

const COPIED: (&str, &str) = (
    "llama.cpp/weights/copies",
    "held a second time, because a block or the output layer here needs it: the embedding as output head, rotary factors = {bytes}",
);
const COPIED_SOURCE: &str =
    "src/llama-model-loader.cpp create_tensor, TENSOR_DUPLICATED (llama.cpp 0.6.0-dev)";

/// What a device holds against the order of layers.
fn moved_why(device: Device) -> (&'static str, &'static str) {
    match device {
        Device::Gpu(_) => (
            "llama.cpp/weights/sent",
            "sent here by tensor overrides = {bytes}",
        ),
        Device::Host => (
            "llama.cpp/weights/kept",
            "kept in main memory by expert offload or tensor overrides, or because the GPU lacks the operation = {bytes}",
        ),
    }
}

const MOVED_SOURCE: &str =
    "src/llama-model-loader.cpp create_tensor, tensor_buft_overrides (llama.cpp 0.6.0-dev)";

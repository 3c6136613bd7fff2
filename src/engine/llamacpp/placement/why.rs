//! Weights as terms.

use super::{Device, Placement};
use crate::engine::llamacpp::tensors::TensorTable;
use crate::projection::{Category, Term, Why};

/// The weights of a device as one term, or none where it has none.
pub(in crate::engine::llamacpp) fn weights_terms(
    placement: &Placement,
    table: &TensorTable,
    device: Device,
) -> Option<Term> {
    let share = placement.of(device);
    if share.bytes.get() == 0 {
        return None;
    }
    let (rule, template) = template(device, share.copied.get() > 0, share.moved.get() > 0);
    let why = Why::new(
        rule,
        template,
        "src/llama-model.cpp load_tensors, src/llama-quant.cpp (0.6.0-dev)",
    )
    .with("file_type", table.file_type.name().to_owned())
    .with("bits_per_weight", table.bits_per_weight())
    .with("blocks", share.blocks)
    .with("all_blocks", u64::from(table.blocks))
    .with("copied", share.copied)
    .with("moved", share.moved)
    .with("bytes", share.bytes);
    Some(Term::exact(Category::Weights, share.bytes, why))
}

/// The sentence for what the share is made of; every part of it is said.
fn template(device: Device, copied: bool, moved: bool) -> (&'static str, &'static str) {
    match (device, copied, moved) {
        (Device::Gpu(_), false, false) => (
            "llama.cpp/weights/gpu",
            "{file_type} ({bits_per_weight} bits per weight): {blocks} of {all_blocks} blocks = {bytes}",
        ),
        (Device::Gpu(_), true, false) => (
            "llama.cpp/weights/gpu-copies",
            "{file_type} ({bits_per_weight} bits per weight): {blocks} of {all_blocks} blocks, {copied} of it held a second time here (tied output head, rotary factors) = {bytes}",
        ),
        (Device::Gpu(_), false, true) => (
            "llama.cpp/weights/gpu-overrides",
            "{file_type} ({bits_per_weight} bits per weight): {blocks} of {all_blocks} blocks without what overrides send away, {moved} of it brought here by overrides = {bytes}",
        ),
        (Device::Gpu(_), true, true) => (
            "llama.cpp/weights/gpu-copies-overrides",
            "{file_type} ({bits_per_weight} bits per weight): {blocks} of {all_blocks} blocks, {copied} of it held a second time here, {moved} of it brought here by overrides = {bytes}",
        ),
        (Device::Host, _, false) => (
            "llama.cpp/weights/host",
            "{file_type} ({bits_per_weight} bits per weight): input embedding and {blocks} of {all_blocks} blocks = {bytes}",
        ),
        (Device::Host, _, true) => (
            "llama.cpp/weights/host-overrides",
            "{file_type} ({bits_per_weight} bits per weight): input embedding, {blocks} of {all_blocks} blocks, and {moved} that overrides keep in main memory or the GPU cannot use = {bytes}",
        ),
    }
}

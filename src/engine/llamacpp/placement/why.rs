//! Weights as terms.

use std::cmp::Reverse;

use super::{Device, Placement, size};
use crate::engine::llamacpp::tensors::{Row, TensorTable};
use crate::projection::{Category, Term, Why};
use crate::quant::Type;
use crate::units::Bytes;

/// The weights of every device, GPUs first: what belongs there, what is held a second time, what was sent there. Empty
/// parts are left out. Adds up every tensor: keep it.
pub(in crate::engine::llamacpp) fn weights_terms(
    placement: &Placement,
    table: &TensorTable,
) -> Vec<Vec<Term>> {
    let mut shares: Vec<Tensors> = vec![Tensors::default(); placement.gpus.len() + 1];
    let position = |device: Device| device.gpu().unwrap_or(placement.gpus.len());
    for (row, device) in table.rows.iter().zip(&placement.rows) {
        let Some(device) = *device else { continue };
        let moved = placement.home(row) != Some(device);
        if let Some(share) = shares.get_mut(position(device)) {
            let part = if moved {
                &mut share.moved
            } else {
                &mut share.own
            };
            part.add(row, device);
        }
    }
    for (index, device) in &placement.copies {
        let row = table.rows.get(*index);
        if let (Some(row), Some(share)) = (row, shares.get_mut(position(*device))) {
            share.copied.add(row, *device);
        }
    }
    shares
        .iter()
        .enumerate()
        .map(|(index, share)| {
            let gpu = index < placement.gpus.len();
            let device = if gpu {
                Device::Gpu(index)
            } else {
                Device::Host
            };
            terms(placement, table, device, share)
        })
        .collect()
}

fn terms(
    placement: &Placement,
    table: &TensorTable,
    device: Device,
    tensors: &Tensors,
) -> Vec<Term> {
    let blocks = placement.of(device).blocks;
    let output = placement.output == device;
    [
        (&tensors.own, own_why(device, output), OWN_SOURCE),
        (&tensors.copied, COPIED, COPIED_SOURCE),
        (&tensors.moved, moved_why(device), MOVED_SOURCE),
    ]
    .into_iter()
    .filter(|(sums, ..)| sums.bytes() > Bytes::ZERO)
    .map(|(sums, (rule, template), source)| {
        let why = Why::new(rule, template, source)
            .with("file_type", table.file_type.name())
            .with("tensors", sums.sentence())
            .with("bits_per_weight", table.bits_per_weight())
            .with("blocks", blocks)
            .with("all_blocks", u64::from(table.blocks))
            .with("bytes", sums.bytes());
        Term::exact(Category::Weights, sums.bytes(), why)
    })
    .collect()
}

/// The tensors of one device by the reason they are there.
#[derive(Clone, Default)]
struct Tensors {
    own: Sums,
    copied: Sums,
    moved: Sums,
}

/// Number and bytes of tensors by type.
#[derive(Clone, Default)]
struct Sums(Vec<(Type, u64, Bytes)>);

/// Types that are named; a mixture of the quantizer rarely has more.
const NAMED_TYPES: usize = 4;

impl Sums {
    fn add(&mut self, row: &Row, device: Device) {
        let bytes = size(row, device);
        match self.0.iter_mut().find(|(kind, ..)| *kind == row.kind) {
            Some((_, number, sum)) => {
                *number += 1;
                *sum += bytes;
            }
            None => self.0.push((row.kind, 1, bytes)),
        }
    }

    fn bytes(&self) -> Bytes {
        self.0.iter().map(|(.., bytes)| *bytes).sum()
    }

    /// "320 tensors in Q4_K = 14.20 GiB, 96 in Q6_K = 3.65 GiB": the most bytes first.
    fn sentence(&self) -> String {
        let mut sums = self.0.clone();
        sums.sort_by_key(|(kind, _, bytes)| (Reverse(*bytes), kind.name()));
        let rest = sums.split_off(sums.len().min(NAMED_TYPES));
        let mut parts: Vec<String> = Vec::with_capacity(NAMED_TYPES + 1);
        for (kind, number, bytes) in sums {
            let noun = match (parts.is_empty(), number) {
                (false, _) => "",
                (true, 1) => " tensor",
                (true, _) => " tensors",
            };
            let name = kind.name().to_uppercase();
            parts.push(format!("{number}{noun} in {name} = {bytes}"));
        }
        if !rest.is_empty() {
            let number: u64 = rest.iter().map(|(_, number, _)| number).sum();
            let bytes: Bytes = rest.iter().map(|(.., bytes)| *bytes).sum();
            parts.push(format!("{number} in other types = {bytes}"));
        }
        parts.join(", ")
    }
}

const OWN_SOURCE: &str =
    "src/llama-quant.cpp, src/llama-model.cpp load_tensors (llama.cpp 0.6.0-dev)";

/// What a device holds by the order of layers.
fn own_why(device: Device, output: bool) -> (&'static str, &'static str) {
    match (device, output) {
        (Device::Gpu(_), true) => (
            "llama.cpp/weights/blocks-and-output",
            "{file_type}: {tensors} over {blocks} of {all_blocks} blocks and the output layer; {bits_per_weight} bits per weight over the whole file",
        ),
        (Device::Gpu(_), false) => (
            "llama.cpp/weights/blocks",
            "{file_type}: {tensors} over {blocks} of {all_blocks} blocks; {bits_per_weight} bits per weight over the whole file",
        ),
        (Device::Host, true) => (
            "llama.cpp/weights/input-blocks-and-output",
            "{file_type}: {tensors} over the input embedding, {blocks} of {all_blocks} blocks and the output layer; {bits_per_weight} bits per weight over the whole file",
        ),
        (Device::Host, false) => (
            "llama.cpp/weights/input-and-blocks",
            "{file_type}: {tensors} over the input embedding and {blocks} of {all_blocks} blocks; {bits_per_weight} bits per weight over the whole file",
        ),
    }
}

const COPIED: (&str, &str) = (
    "llama.cpp/weights/copies",
    "held a second time, because a block or the output layer here needs it (the embedding as output head, rotary factors): {tensors}",
);
const COPIED_SOURCE: &str =
    "src/llama-model-loader.cpp create_tensor, TENSOR_DUPLICATED (llama.cpp 0.6.0-dev)";

/// What a device holds against the order of layers.
fn moved_why(device: Device) -> (&'static str, &'static str) {
    match device {
        Device::Gpu(_) => (
            "llama.cpp/weights/sent",
            "sent here by tensor overrides: {tensors}",
        ),
        Device::Host => (
            "llama.cpp/weights/kept",
            "kept in main memory by expert offload or tensor overrides, or because the GPU lacks the operation: {tensors}",
        ),
    }
}

const MOVED_SOURCE: &str =
    "src/llama-model-loader.cpp create_tensor, tensor_buft_overrides (llama.cpp 0.6.0-dev)";

//! Weights as terms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Device, Placement, Rows, Sliced};
use crate::engine::llamacpp::host::{Loader, Residence};
use crate::engine::llamacpp::tensors::{Row, TensorTable};
use crate::projection::{Category, Term, Why};
use crate::units::Bytes;

/// Why a tensor is on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// By the order of layers.
    Own,
    /// It is there a second time.
    Copied,
    /// Overrides sent it.
    Moved,
}

/// The tensors of one device by the reason they are there, and how main memory holds them.
type Tensors = BTreeMap<(Reason, Option<Residence>), Sums>;

/// The weights of every device, GPUs first: what belongs there, what is held a second time, what was sent there. Empty
/// parts are left out. Adds up every tensor: keep it.
pub(in crate::engine::llamacpp) fn weights_terms(
    placement: &Placement,
    table: &TensorTable,
    loader: Loader,
) -> Vec<Vec<Term>> {
    let mut shares: Vec<Tensors> = vec![Tensors::default(); placement.gpus.len() + 1];
    let mut add = |row: &Row, device: Device, reason: Reason| {
        let held = (device == Device::Host).then(|| loader.residence(row));
        let position = device.gpu().unwrap_or(placement.gpus.len());
        if let Some(share) = shares.get_mut(position) {
            let sums = share.entry((reason, held)).or_default();
            sums.add(row, placement.size(row, device));
        }
    };
    for (row, device) in table.rows.iter().zip(&placement.rows) {
        let Some(device) = *device else { continue };
        let moved = placement.home(row) != Some(device);
        add(row, device, if moved { Reason::Moved } else { Reason::Own });
    }
    for (index, device) in &placement.copies {
        if let Some(row) = table.rows.get(*index) {
            add(row, *device, Reason::Copied);
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
            terms(placement, table, device, (share, loader))
        })
        .collect()
}

fn terms(
    placement: &Placement,
    table: &TensorTable,
    device: Device,
    (tensors, loader): (&Tensors, Loader),
) -> Vec<Term> {
    let blocks = placement.of(device).blocks;
    let output = placement.output == device;
    tensors
        .iter()
        .filter(|(_, sums)| sums.bytes() > Bytes::ZERO)
        .map(|((reason, held), sums)| {
            let (rule, template, source) = match reason {
                Reason::Own if blocks == 0 && device == Device::Host && !output => INPUT,
                Reason::Own => own_why(device, output),
                Reason::Copied => copied_why(device),
                Reason::Moved => moved_why(device),
            };
            let bytes = sums.bytes();
            let mut why = Why::new(rule, template, source)
                .with("file_type", table.title.as_str())
                .with("tensors", sums.sentence())
                .with("bits_per_weight", table.bits_per_weight())
                .with("blocks", blocks)
                .with("all_blocks", u64::from(table.blocks))
                .with("bytes", bytes);
            if let Some(held) = held {
                why = why.with("held", held_words(*held, loader.locks));
            }
            let mut term = Term::exact(Category::Weights, bytes, why);
            if *held == Some(Residence::OnDemand) {
                // Rows that nobody asks for never leave the disk.
                term.range = (Bytes::ZERO, bytes);
            }
            term
        })
        .collect()
}

/// The weights of every GPU of a tensor split, and of main memory: what each holds a part of, and what each holds whole.
pub(in crate::engine::llamacpp) fn parts_terms(
    placement: &Placement,
    sliced: &Sliced,
    table: &TensorTable,
    loader: Loader,
) -> Vec<Vec<Term>> {
    let host = weights_terms(placement, table, loader).pop();
    let all: Bytes = sliced.shares.iter().map(|share| share.bytes).sum();
    let gpus = sliced.shares.len() as u64;
    let mut devices: Vec<Vec<Term>> = sliced
        .shares
        .iter()
        .map(|share| {
            let part = share.bytes.saturating_sub(sliced.mirrored);
            let why = Why::new(
                "llama.cpp/weights/part",
                "{file_type}: {part} as this GPU's part of the matrices of {blocks} of {all_blocks} blocks, split over \
                 {gpus} GPUs along heads and inner widths; whole heads and blocks of the format, with the rest on another \
                 GPU in each layer",
                PARTS_SOURCE,
            )
            .with("file_type", table.title.as_str())
            .with("part", part)
            .with("blocks", share.blocks)
            .with("all_blocks", u64::from(table.blocks))
            .with("gpus", gpus)
            .with("all", all);
            let whole = Why::new(
                "llama.cpp/weights/mirrored",
                "{whole} of norms, routers, shared experts and what else cannot be split: every GPU holds all of it",
                PARTS_SOURCE,
            )
            .with("whole", sliced.mirrored);
            [(part, why), (sliced.mirrored, whole)]
                .into_iter()
                .filter(|(bytes, _)| *bytes > Bytes::ZERO)
                .map(|(bytes, why)| Term::exact(Category::Weights, bytes, why))
                .collect()
        })
        .collect();
    devices.extend(host);
    devices
}

/// The weights of every GPU where matrices are split by rows, and of main memory.
pub(in crate::engine::llamacpp) fn rows_terms(
    placement: &Placement,
    rows: &Rows,
    table: &TensorTable,
    loader: Loader,
) -> Vec<Vec<Term>> {
    let host = weights_terms(placement, table, loader).pop();
    let gpus = rows.parts.len() as u64;
    let mut devices: Vec<Vec<Term>> = rows
        .parts
        .iter()
        .zip(&rows.own)
        .zip(&placement.gpus)
        .map(|((part, own), share)| {
            let split = Why::new(
                "llama.cpp/weights/rows",
                "{file_type}: {part} of rows of the matrices of all layers on GPUs, split over {gpus} of them in tiles",
                ROWS_SOURCE,
            )
            .with("file_type", table.title.as_str())
            .with("part", *part)
            .with("gpus", gpus);
            let whole = Why::new(
                "llama.cpp/weights/unsplit",
                "{own} of the {blocks} blocks of this GPU that are not split: norms, experts, matrices with too few rows",
                ROWS_SOURCE,
            )
            .with("own", *own)
            .with("blocks", share.blocks);
            [(*part, split), (*own, whole)]
                .into_iter()
                .filter(|(bytes, _)| *bytes > Bytes::ZERO)
                .map(|(bytes, why)| Term::exact(Category::Weights, bytes, why))
                .collect()
        })
        .collect();
    devices.extend(host);
    devices
}

const ROWS_SOURCE: &str =
    "ggml/src/ggml-cuda/ggml-cuda.cu get_row_split, builds of 2025 (llama.cpp)";

const PARTS_SOURCE: &str = "src/llama-model.cpp llama_meta_device_get_split_state, \
     ggml/src/ggml-backend-meta.cpp (llama.cpp 0.6.0-dev)";

/// How main memory holds weights.
fn held_words(held: Residence, locked: bool) -> &'static str {
    match (held, locked) {
        (Residence::OnDemand, _) => {
            "left on disk and mapped: a row is read when its token is asked for, and the system may drop it again"
        }
        (Residence::Repacked, _) => {
            "copied into the layout of the processor's vector units: no pages of the file any more, and not to be dropped"
        }
        (Residence::Mapped, false) => {
            "pages of the file: every token needs them, and what the system drops is read from the disk again"
        }
        (Residence::Mapped, true) => "pages of the file, locked: the system may not drop them",
        (Residence::Pinned, _) => {
            "in memory that the GPU's driver pins: the system can neither move nor drop it"
        }
        (Residence::Read, false) => "read into ordinary memory, which the system can only swap",
        (Residence::Read, true) => "read into memory that is locked: the system may not swap it",
    }
}

/// Number and bytes of tensors by type.
#[derive(Clone, Default)]
struct Sums(Vec<(Cow<'static, str>, u64, Bytes)>);

/// Types that are named; a mixture of the quantizer rarely has more.
const NAMED_TYPES: usize = 4;

impl Sums {
    fn add(&mut self, row: &Row, bytes: Bytes) {
        match self.0.iter_mut().find(|(kind, ..)| *kind == row.type_name) {
            Some((_, number, sum)) => {
                *number += 1;
                *sum += bytes;
            }
            None => self.0.push((row.type_name.clone(), 1, bytes)),
        }
    }

    fn bytes(&self) -> Bytes {
        self.0.iter().map(|(.., bytes)| *bytes).sum()
    }

    /// "320 tensors in Q4_K = 14.20 GiB, 96 in Q6_K = 3.65 GiB": the most bytes first.
    fn sentence(&self) -> String {
        let mut sums = self.0.clone();
        sums.sort_by(|(a, _, bytes), (b, _, other)| other.cmp(bytes).then_with(|| a.cmp(b)));
        let rest = sums.split_off(sums.len().min(NAMED_TYPES));
        let mut parts: Vec<String> = Vec::with_capacity(NAMED_TYPES + 1);
        for (kind, number, bytes) in sums {
            let noun = match (parts.is_empty(), number) {
                (false, _) => "",
                (true, 1) => " tensor",
                (true, _) => " tensors",
            };
            let name = kind.to_uppercase();
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

type Words = (&'static str, &'static str, &'static str);

/// Main memory where every block is on a GPU.
const INPUT: Words = (
    "llama.cpp/weights/input",
    "{file_type}: {tensors} for the input embedding, whose rows the processor looks up wherever the layers are; {held}",
    OWN_SOURCE,
);

/// What a device holds by the order of layers.
fn own_why(device: Device, output: bool) -> Words {
    let (rule, template) = match (device, output) {
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
            "{file_type}: {tensors} over the input embedding, {blocks} of {all_blocks} blocks and the output layer; {held}",
        ),
        (Device::Host, false) => (
            "llama.cpp/weights/input-and-blocks",
            "{file_type}: {tensors} over the input embedding and {blocks} of {all_blocks} blocks; {held}",
        ),
    };
    (rule, template, OWN_SOURCE)
}

/// What a device holds of tensors that are elsewhere too.
fn copied_why(device: Device) -> Words {
    let template = match device {
        Device::Gpu(_) => {
            "held a second time, because a block or the output layer here needs it (the embedding as output head, rotary factors): {tensors}"
        }
        Device::Host => {
            "held a second time, because a block or the output layer here needs it (the embedding as output head, rotary factors): {tensors}; {held}"
        }
    };
    (
        "llama.cpp/weights/copies",
        template,
        "src/llama-model-loader.cpp create_tensor, TENSOR_DUPLICATED (llama.cpp 0.6.0-dev)",
    )
}

/// What a device holds against the order of layers.
fn moved_why(device: Device) -> Words {
    let (rule, template) = match device {
        Device::Gpu(_) => (
            "llama.cpp/weights/sent",
            "sent here by tensor overrides: {tensors}",
        ),
        Device::Host => (
            "llama.cpp/weights/kept",
            "kept in main memory by expert offload or tensor overrides, or because the GPU lacks the operation: {tensors}; {held}",
        ),
    };
    (
        rule,
        template,
        "src/llama-model-loader.cpp create_tensor, tensor_buft_overrides (llama.cpp 0.6.0-dev)",
    )
}

//! LoRA adapters and control vectors: tensors of their own in the buffers of the weights they change
//! (`src/llama-adapter.cpp`, 0.6.0-dev).

mod file;
mod line;

use line::{Adapter, Targets};

use super::config::Shape;
use super::parts::{Parts, unread_note};
use super::placed::Placed;
use super::placement::Device;
use super::subject::Subject;
use super::tensors::{Layer, Network, Row, Stored};
use crate::engine::Inputs;
use crate::model::{AttachedAs, Checkpoint, product};
use crate::plan::Value;
use crate::projection::{Category, Note, Part, Term, Why};
use crate::units::Bytes;

const SOURCE: &str = "src/llama-adapter.cpp, 0.6.0-dev";

/// Alignment of tensors in a CUDA buffer (`ggml_backend_cuda_buffer_type_get_alignment`) and in main memory
/// (`TENSOR_ALIGNMENT` in `ggml-impl.h`).
const ALIGNMENT: (u64, u64) = (128, 32);

/// Bytes of an activation.
const F32: u64 = 4;

/// Adapters and control vectors of a plan.
pub(super) fn add(subject: &Subject<'_>, shape: Shape, placed: &Placed, parts: &mut Parts) {
    for adapter in adapters(subject.inputs, &mut Vec::new()) {
        lora(subject, &adapter, shape, placed, parts);
    }
    for file in files(subject.inputs) {
        file::add(subject, file, shape, placed, parts);
    }
    if subject.inputs.settings.get("control_vector") == Some(&Value::Bool(true)) {
        control_vector(subject, placed, parts);
    }
}

/// Errors for adapters that the engine would refuse, or that are not described.
pub(super) fn notes(subject: &Subject<'_>, notes: &mut Vec<Note>) {
    for adapter in adapters(subject.inputs, notes) {
        for name in adapter.targets.names() {
            let known = subject.table.rows.iter().any(|row| base(row) == Some(name));
            if !known {
                notes.push(
                    Note::error(
                        "lora-target-unknown",
                        format!(
                            "The model has no matrix {name}: the engine refuses an adapter that changes it."
                        ),
                    )
                    .on("lora"),
                );
            }
        }
    }
    for file in files(subject.inputs) {
        file::notes(subject, file, notes);
    }
    let unread = subject.inputs.model.attached.unread(AttachedAs::Adapter);
    notes.extend(unread.map(|own| unread_note(own, "lora")));
}

/// Adapters that were read.
fn files(inputs: Inputs<'_>) -> impl Iterator<Item = &Checkpoint> {
    inputs
        .model
        .attached
        .adapters
        .iter()
        .flatten()
        .map(|file| &**file)
}

/// Adapters as the plan describes them, those that were read left out.
fn adapters(inputs: Inputs<'_>, notes: &mut Vec<Note>) -> Vec<Adapter> {
    let Some(Value::List(lines)) = inputs.settings.get("lora") else {
        return Vec::new();
    };
    let read = &inputs.model.attached.adapters;
    let unread = lines
        .iter()
        .enumerate()
        .filter(|(index, _)| !matches!(read.get(*index), Some(Some(_))));
    let texts = unread.filter_map(|(_, line)| match line {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts
        .filter_map(|text| match text.parse::<Adapter>() {
            Ok(adapter) => Some(adapter),
            Err(reason) => {
                let message = format!("The adapter {text:?} is not counted: {reason}.");
                notes.push(Note::error("lora-malformed", message).on("lora"));
                None
            }
        })
        .collect()
}

/// What an adapter takes of one device.
#[derive(Clone, Copy, Default)]
struct Share {
    matrices: u64,
    bytes: Bytes,
    widest: u64,
}

fn lora(
    subject: &Subject<'_>,
    adapter: &Adapter,
    shape: Shape,
    placed: &Placed,
    parts: &mut Parts,
) {
    let gpus = subject.devices.len();
    let mut shares = vec![Share::default(); gpus + 1];
    let rows = subject.table.rows.iter().zip(&placed.placement.rows);
    for (row, device) in rows {
        let Some(device) = *device else { continue };
        if !changes(&adapter.targets, row) {
            continue;
        }
        if let Some(share) = shares.get_mut(device.gpu().unwrap_or(gpus)) {
            share.matrices += 1;
            share.bytes += pair(row, adapter, device);
            let [_, rows, ..] = row.tensor.shape;
            share.widest = share.widest.max(rows);
        }
    }
    for (position, share) in shares.into_iter().enumerate() {
        if share.matrices > 0 {
            let home = (position < gpus).then_some(position);
            parts.add(
                home,
                [
                    weights(adapter, share),
                    scratch(adapter.rank, share.widest, shape.micro_batch),
                ],
            );
        }
    }
}

/// Bytes of both factors of a matrix: from its input to the rank, and from there to its output, for every expert.
fn pair(row: &Row, adapter: &Adapter, device: Device) -> Bytes {
    let [columns, rows, experts, _] = row.tensor.shape;
    let alignment = match device {
        Device::Gpu(_) => ALIGNMENT.0,
        Device::Host => ALIGNMENT.1,
    };
    let factor = |shape: [u64; 4]| {
        let bytes = adapter.kind.shape_bytes(&shape);
        bytes.unwrap_or(Bytes::new(u64::MAX)).align_up(alignment)
    };
    factor([columns, adapter.rank, experts, 1]) + factor([adapter.rank, rows, experts, 1])
}

fn weights(adapter: &Adapter, share: Share) -> Term {
    let why = Why::new(
        "llama.cpp/weights/lora",
        "two factors of rank {rank} in {type} for each of {matrices} matrices, beside the matrices they change",
        SOURCE,
    )
    .with("rank", adapter.rank)
    .with("type", adapter.kind.name())
    .with("matrices", share.matrices);
    adapting(Term::exact(Category::Weights, share.bytes, why))
}

/// What the adapter's product takes while a matrix is applied (`build_lora_mm`, `src/llama-graph.cpp` 0.6.0-dev): the
/// row of rank for sure, the row of the matrix's output where the buffer has no hole for it.
fn scratch(rank: u64, widest: u64, tokens: u64) -> Term {
    let low = Bytes::new(product(&[rank, tokens, F32]));
    let high = low + Bytes::new(product(&[widest, tokens, F32]));
    let why = Why::new(
        "llama.cpp/compute/lora",
        "{tokens} tokens × rank {rank} in f32; up to {widest} outputs more per token where the graph has no room for \
         them elsewhere",
        "src/llama-graph.cpp build_lora_mm, 0.6.0-dev",
    )
    .with("tokens", tokens)
    .with("rank", rank)
    .with("widest", widest);
    adapting(Term {
        range: (Bytes::ZERO, high),
        ..Term::exact(Category::Compute, low, why)
    })
}

/// One vector per layer but the first, on the device of the layer.
fn control_vector(subject: &Subject<'_>, placed: &Placed, parts: &mut Parts) {
    let width = subject.inputs.model.hidden_size;
    let gpus = subject.devices.len();
    for home in (0..gpus).map(Some).chain([None]) {
        let layers = (1..subject.inputs.model.layers.len())
            .filter(|layer| placed.home(*layer) == home)
            .count() as u64;
        if layers == 0 {
            continue;
        }
        let alignment = match home {
            Some(_) => ALIGNMENT.0,
            None => ALIGNMENT.1,
        };
        let each = Bytes::new(product(&[width, F32])).align_up(alignment);
        let why = Why::new(
            "llama.cpp/weights/control-vector",
            "{layers} layers × {width} values in f32",
            SOURCE,
        )
        .with("layers", layers)
        .with("width", width);
        parts.add(
            home,
            [adapting(Term::exact(Category::Weights, each * layers, why))],
        );
    }
}

fn adapting(term: Term) -> Term {
    Term {
        part: Part::Adapter,
        ..term
    }
}

/// Whether an adapter changes this tensor: a matrix of a block of the main model.
fn changes(targets: &Targets, row: &Row) -> bool {
    let tensor = &row.tensor;
    let matrix = match row.part {
        Some(part) if part.network == Network::Experts => targets.experts(),
        _ => tensor.dimensions() == 2 && tensor.stored == Stored::Plain,
    };
    matrix
        && matches!(tensor.layer, Layer::Block(_))
        && base(row).is_some_and(|name| targets.include(name))
}

/// "attn_q" of "blk.3.attn_q.weight".
fn base(row: &Row) -> Option<&str> {
    let (_, rest) = row.tensor.name.strip_prefix("blk.")?.split_once('.')?;
    rest.strip_suffix(".weight")
}

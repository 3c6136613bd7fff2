//! An adapter as its own file has it: a pair of tensors for each matrix that it changes (`src/llama-adapter.cpp`,
//! 0.6.0-dev).

use std::collections::{BTreeMap, HashMap};

use super::{SOURCE, adapting, scratch};
use crate::engine::llamacpp::config::Shape;
use crate::engine::llamacpp::parts::Parts;
use crate::engine::llamacpp::placed::Placed;
use crate::engine::llamacpp::placement::Device;
use crate::engine::llamacpp::subject::Subject;
use crate::engine::llamacpp::tensors::held;
use crate::model::{Checkpoint, FileTensor};
use crate::projection::{Category, Note, Term, Why};
use crate::units::Bytes;

/// What the file takes of one device.
#[derive(Clone, Copy, Default)]
struct Share {
    tensors: u64,
    matrices: u64,
    bytes: Bytes,
    /// The highest rank.
    rank: u64,
    /// Most outputs of a matrix.
    widest: u64,
}

/// The terms of an adapter: its tensors lie where the matrices lie that they change.
pub(super) fn add(
    subject: &Subject<'_>,
    file: &Checkpoint,
    shape: Shape,
    placed: &Placed,
    parts: &mut Parts,
) {
    let gpus = subject.devices.len();
    let mut devices = vec![Share::default(); gpus + 1];
    let rows = subject.table.rows.iter().zip(&placed.placement.rows);
    let homes: BTreeMap<&str, (Device, u64)> = rows
        .filter_map(|(row, device)| {
            let [_, outputs, ..] = row.tensor.shape;
            Some((row.tensor.name.as_str(), ((*device)?, outputs)))
        })
        .collect();
    for tensor in &file.tensors {
        let Some((name, first)) = changed(tensor) else {
            continue;
        };
        let Some((device, outputs)) = homes.get(name) else {
            continue;
        };
        let Some(held_here) = devices.get_mut(device.gpu().unwrap_or(gpus)) else {
            continue;
        };
        let (gpu, host) = held(tensor.bytes, tensor.kind, &tensor.shape);
        held_here.bytes += device.gpu().map_or(host, |_| gpu);
        held_here.tensors += 1;
        if first {
            let [_, rank, ..] = tensor.shape;
            held_here.matrices += 1;
            held_here.rank = held_here.rank.max(rank);
            held_here.widest = held_here.widest.max(*outputs);
        }
    }
    for (position, held_here) in devices.into_iter().enumerate() {
        if held_here.tensors > 0 {
            let home = (position < gpus).then_some(position);
            let scratch = scratch(held_here.rank, held_here.widest, shape.micro_batch);
            parts.add(home, [weights(held_here), scratch]);
        }
    }
}

/// What keeps the engine from loading the file.
pub(super) fn notes(subject: &Subject<'_>, file: &Checkpoint, notes: &mut Vec<Note>) {
    let rows = &subject.table.rows;
    let unknown = file.tensors.iter().find_map(|tensor| {
        let (name, _) = changed(tensor)?;
        let known = rows.iter().any(|row| row.tensor.name == name);
        (!known).then_some(name)
    });
    if let Some(name) = unknown {
        notes.push(
            Note::error(
                "lora-target-unknown",
                format!(
                    "The adapter's file changes {name}, which the model does not have: it is one of another model, and \
                     the engine refuses it."
                ),
            )
            .on("lora"),
        );
    } else if let Some(name) = misshapen(subject, file) {
        notes.push(
            Note::error(
                "lora-of-other-model",
                format!(
                    "The adapter's file changes a matrix {name} of another shape than the model's: it was made for another \
                     model, and the engine refuses it. Name an adapter of this model under lora_paths."
                ),
            )
            .on("lora"),
        );
    }
}

/// The first matrix whose inputs or outputs are not those of the adapter's own (`llama_adapter_lora_init_impl`). Of an
/// embedding both are turned round.
fn misshapen<'a>(subject: &Subject<'_>, file: &'a Checkpoint) -> Option<&'a str> {
    let rows = subject.table.rows.iter();
    let shapes: HashMap<&str, [u64; 4]> = rows
        .map(|row| (row.tensor.name.as_str(), row.tensor.shape))
        .collect();
    file.tensors.iter().find_map(|tensor| {
        let (name, first) = changed(tensor)?;
        let [inputs, outputs, ..] = *shapes.get(name)?;
        let [width, height, ..] = tensor.shape;
        let fits = match (name.starts_with("token_embd"), first) {
            (true, true) | (false, false) => height == outputs,
            (true, false) => height == inputs,
            (false, true) => width == inputs,
        };
        (!fits).then_some(name)
    })
}

/// The matrix that a tensor of an adapter belongs to, and whether it is the first of the pair.
fn changed(tensor: &FileTensor) -> Option<(&str, bool)> {
    let name = tensor.name.as_str();
    let first = name.strip_suffix(".lora_a").map(|name| (name, true));
    first.or_else(|| Some((name.strip_suffix(".lora_b")?, false)))
}

fn weights(share: Share) -> Term {
    let why = Why::new(
        "llama.cpp/weights/lora-file",
        "{tensors} tensors of the adapter's file, of ranks up to {rank}, beside the {matrices} matrices they change",
        SOURCE,
    )
    .with("tensors", share.tensors)
    .with("rank", share.rank)
    .with("matrices", share.matrices);
    adapting(Term::exact(Category::Weights, share.bytes, why))
}

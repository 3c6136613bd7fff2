//! Models of which nothing is known but their weights: those are exact, and the rest is told as not known.

use super::compute::Buffers;
use super::config::Config;
use super::measure::Measured;
use super::subject::Subject;
use super::tensors::{Layer, Row, is_architecture};
use crate::model::{Checkpoint, Container, Model};
use crate::projection::{Category, Note, Part, Term, Why};
use crate::quant::Type;
use crate::units::Bytes;

/// Endings of matrices that make the keys and values of one token, in GGUF files and in checkpoints.
const KEYS_AND_VALUES: [(&str, Side); 4] = [
    (".attn_k.weight", Side::Keys),
    (".attn_v.weight", Side::Values),
    (".k_proj.weight", Side::Keys),
    (".v_proj.weight", Side::Values),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Keys,
    Values,
}

impl Subject<'_> {
    /// Nothing is known of the model but what its files hold.
    pub(super) fn only_weights(&self) -> Option<&Checkpoint> {
        self.inputs.model.only_weights()
    }

    /// Where the graph of a model is not known, no buffers are counted for it.
    pub(super) fn uncounted(&self) -> Option<Buffers> {
        let unknown = self.only_weights().is_some();
        unknown.then(|| Buffers::unknown(self.devices.len()))
    }
}

/// The caches of one device, were every layer there to keep keys and values as wide as its matrices make them: up to
/// that much is possible, and nothing of it is certain. `None` where no tensor tells.
pub(super) fn cache(
    subject: &Subject<'_>,
    config: &Config,
    measured: &Measured,
    home: Option<usize>,
) -> Option<Term> {
    subject.only_weights()?;
    let shape = measured.shape;
    let cells = shape.cells.saturating_mul(shape.streams);
    let here = |row: &&Row| match row.tensor.layer {
        Layer::Block(block) => measured.placed.home(block as usize) == home,
        _ => false,
    };
    let mut matrices = 0_u64;
    let mut bytes = Bytes::ZERO;
    for row in subject.table.rows.iter().filter(here) {
        let Some((_, side)) = KEYS_AND_VALUES
            .iter()
            .find(|(ending, _)| row.tensor.name.ends_with(ending))
        else {
            continue;
        };
        let kind = match side {
            Side::Keys => config.cache_k,
            Side::Values => config.cache_v,
        };
        matrices += 1;
        bytes += cached(kind, row.tensor.shape[1]) * cells;
    }
    (bytes > Bytes::ZERO).then(|| Term {
        category: Category::KvCache,
        part: Part::Model,
        bytes: Bytes::ZERO,
        range: (Bytes::ZERO, bytes),
        why: Why::new(
            "llama.cpp/unknown/cache",
            "not known: up to {most}, were all {matrices} matrices of keys and values those of plain attention over \
             {cells} cells",
            "the shapes of the file's own tensors; src/llama-kv-cache.cpp, 0.6.0-dev",
        )
        .with("most", bytes)
        .with("matrices", matrices)
        .with("cells", cells),
    })
}

/// Bytes of so many elements in a cache, rows in whole blocks.
fn cached(kind: Type, width: u64) -> Bytes {
    let blocks = width.div_ceil(kind.block_elements().max(1));
    Bytes::new(blocks.saturating_mul(kind.block_bytes()))
}

/// What is counted, what is not, and whether the engine could load it.
pub(super) fn note(model: &Model, file: &Checkpoint) -> Note {
    let name = &model.model_type;
    let loads = match (file.container, name.as_str()) {
        (Container::Gguf, "") => {
            "The file names no architecture, and llama.cpp refuses such files.".to_owned()
        }
        (Container::Gguf, name) if is_architecture(name) => format!(
            "llama.cpp 0.6.0-dev has an architecture {name:?}, but the file lacks what it needs to know of it, and it \
             refuses such files."
        ),
        (Container::Gguf, name) => format!(
            "llama.cpp 0.6.0-dev does not know the architecture {name:?} and refuses to load it; only a build that knows \
             it can."
        ),
        (Container::Safetensors | Container::PyTorch, "") => {
            "Without a model type no converter to GGUF (llama.cpp 0.6.0-dev) can be told to write a file of it; weights \
             are counted as they are published."
                .to_owned()
        }
        (Container::Safetensors | Container::PyTorch, name) => format!(
            "No converter to GGUF is known here (llama.cpp 0.6.0-dev) for the model type {name:?}; weights are counted \
             as they are published, and a quantized file would be smaller."
        ),
    };
    let whole = file.tensors.iter().filter(|own| own.block().is_none());
    let placed = match (file.blocks, whole.count()) {
        (0, _) => {
            "No name of a tensor tells its layer: all of them go with the output layer.".to_owned()
        }
        (blocks, 0) => format!("Weights are placed by the {blocks} layers that their names tell."),
        (blocks, whole) => format!(
            "Weights are placed by the {blocks} layers that their names tell, and {whole} tensors with the embedding or \
             the output layer."
        ),
    };
    Note::warning(
        "only-weights-counted",
        format!(
            "Only weights and what the driver takes are counted: every total is at least that much. What the KV cache and \
             the compute buffers take is not known, so leave room for them. {placed} {loads}"
        ),
    )
}

/// The same of a model that drafts.
pub(super) fn note_on_draft(draft: &Model) -> Option<Note> {
    draft.only_weights()?;
    Some(Note::warning(
        "only-weights-counted",
        format!(
            "Of {}, which drafts, only the weights are known: what its cache and compute buffers take is not counted, and \
             every total is at least what is shown.",
            draft.name
        ),
    ))
}

//! What the model file makes of a plan.

use crate::engine::llamacpp::config::{Config, Override};
use crate::engine::llamacpp::file_type::Weights;
use crate::engine::llamacpp::subject::Subject;
use crate::engine::llamacpp::tensors::{Layer, Row};
use crate::projection::Note;

/// A word for the weights that means nothing here.
pub(in super::super) fn unknown_file_type(word: &str) -> Note {
    let message = if word.eq_ignore_ascii_case(Weights::NATIVE) {
        "The model was not opened from a file of its own (GGUF): choose a file type.".to_owned()
    } else {
        format!("llama.cpp has no file type {word:?}.")
    };
    Note::error("unknown-file-type", message).on("weights")
}

/// Warnings and hints on the file.
pub(in super::super) fn file(subject: &Subject<'_>, config: &Config, notes: &mut Vec<Note>) {
    let table = &subject.table;
    let name = table.title.as_str();
    if table.requires_imatrix && !config.imatrix {
        notes.push(
            Note::warning(
                "needs-imatrix",
                format!(
                    "The quantizer writes {name} only with an importance matrix; the file is sized as if it did without."
                ),
            )
            .on("imatrix")
            .fixed_by(super::set("imatrix", crate::plan::Value::Bool(true))),
        );
    }
    for rule in &config.overrides {
        let (setting, moves) = match rule {
            Override::AllExperts => ("cpu_moe", table.rows.iter().any(Row::is_routed)),
            Override::Experts { blocks } => (
                "n_cpu_moe",
                table
                    .rows
                    .iter()
                    .any(|row| row.is_routed() && is_below(row, *blocks)),
            ),
            Override::Dense { blocks } => (
                "n_cpu_ffn",
                table
                    .rows
                    .iter()
                    .any(|row| row.is_dense() && is_below(row, *blocks)),
            ),
            Override::Pattern { .. } => continue,
        };
        if !moves {
            notes.push(
                Note::hint(
                    "override-without-effect",
                    "No tensor of this model is moved by this: it has none of the kind in these layers.",
                )
                .on(setting),
            );
        }
    }
}

fn is_below(row: &Row, blocks: u64) -> bool {
    matches!(row.tensor.layer, Layer::Block(block) if u64::from(block) < blocks)
}

//! Models opened from a file of their own: projected from its tensors.

mod attached;
mod choices;
mod exact;
mod loader;
mod presets;
mod unknown;
mod weights_only;

use std::sync::Arc;

use plimsoll::accuracy::modelled;
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::llamacpp::tensors::TensorTable;
use plimsoll::engine::{Engine, Inputs, Margin, Memo, Outcome};
use plimsoll::model::{Checkpoint, Container, FileTensor, Model};
use plimsoll::plan::{Settings, Value};
use plimsoll::projection::{Category, Part};
use plimsoll::units::Bytes;

/// The tensors that converter and quantizer would write.
fn predicted(model: &Model, file_type: FileType, imatrix: bool) -> Vec<FileTensor> {
    let table = TensorTable::new(model, file_type, imatrix).expect("a file");
    let rows = table.rows.iter();
    rows.map(|row| FileTensor {
        name: row.tensor.name.clone(),
        shape: row.tensor.shape,
        kind: Some(row.kind),
        type_name: row.kind.name().into(),
        bytes: row.bytes,
        role: plimsoll::model::TensorRole::Parameters,
    })
    .collect()
}

/// The model as if it had been opened from a file of these tensors, in another order than the loader's.
fn opened(model: &Model, label: Option<&str>, mut tensors: Vec<FileTensor>) -> Model {
    tensors.reverse();
    let file = Checkpoint::new(Container::Gguf, label.map(str::to_owned), tensors);
    Model {
        checkpoint: Some(Arc::new(file)),
        ..model.clone()
    }
    .sealed()
}

fn settings(written: &str) -> Settings {
    toml::from_str(written).expect("settings")
}

fn projected_by(
    engine: &dyn Engine,
    model: &Model,
    cards: &[Bytes],
    settings: &Settings,
    memo: &Memo,
) -> Outcome {
    engine.project(&Inputs {
        model,
        draft: None,
        machine: &modelled(cards, (8, 9)),
        settings,
        margin: Margin::DEFAULT,
        memo,
    })
}

fn projected(model: &Model, cards: &[Bytes], written: &str) -> Outcome {
    projected_by(
        &LlamaCpp,
        model,
        cards,
        &settings(written),
        &Memo::default(),
    )
}

/// Category, part, bytes and range of every term of every moment and device.
type Terms = Vec<(usize, usize, Category, Part, Bytes, (Bytes, Bytes))>;

fn terms(outcome: &Outcome) -> Terms {
    let mut all = Vec::new();
    for (moment, in_moment) in outcome.projection.moments.iter().enumerate() {
        for (device, on_device) in in_moment.devices.iter().enumerate() {
            for term in &on_device.terms {
                let what = (term.category, term.part, term.bytes, term.range);
                all.push((moment, device, what.0, what.1, what.2, what.3));
            }
        }
    }
    all
}

fn codes(outcome: &Outcome) -> Vec<&'static str> {
    outcome.notes.iter().map(|note| note.code).collect()
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

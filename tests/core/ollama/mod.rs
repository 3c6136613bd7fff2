//! Ollama: what it makes of its settings, and that what it starts takes what llama.cpp takes.

mod carry;
mod fit;
mod properties;
mod rows;
mod rules;

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::ollama::Ollama;
use plimsoll::engine::{Engine, Inputs, Margin, Memo, Outcome};
use plimsoll::hardware::{Machine, Vendor};
use plimsoll::model::Model;
use plimsoll::plan::{FitOptions, LaunchOptions, Settings, Value};
use plimsoll::projection::{Category, Note};
use plimsoll::report::{self, Report, Request};
use plimsoll::units::Bytes;

use crate::modelled::machine;

fn model(id: &str) -> Model {
    let catalog = ModelCatalog::embedded();
    let preset = catalog.find(id).unwrap();
    preset.model(&serde_json::Map::default()).unwrap()
}

/// A machine with as much main memory, and cards of these sizes.
fn cards(gib: &[u64], ram_gib: u64) -> Machine {
    let sizes: Vec<Bytes> = gib.iter().map(|gib| Bytes::from_gib(*gib)).collect();
    let mut machine = machine(&sizes, (8, 9));
    machine.host.ram = Bytes::from_gib(ram_gib);
    machine
}

fn settings(text: &str) -> Settings {
    toml::from_str(text).unwrap()
}

fn project(engine: &dyn Engine, model: &Model, machine: &Machine, settings: &Settings) -> Outcome {
    engine.project(&Inputs {
        model,
        draft: None,
        machine,
        settings,
        margin: Margin::DEFAULT,
        memo: &Memo::default(),
    })
}

fn ollama(model: &Model, machine: &Machine, text: &str) -> Outcome {
    project(&Ollama, model, machine, &settings(text))
}

/// The most requests at once with as much context each.
fn most_users(model: &Model, machine: &Machine, text: &str) -> Option<u64> {
    let counted = asked(model, machine, &settings(text), |request| {
        report::with_users(request, &Memo::default()).unwrap()
    });
    counted.derived.max_batch
}

fn report(model: &Model, machine: &Machine, settings: &Settings) -> Report {
    asked(model, machine, settings, |request| {
        report::report(request, &Memo::default()).unwrap()
    })
}

fn asked(
    model: &Model,
    machine: &Machine,
    settings: &Settings,
    ask: impl Fn(&Request<'_>) -> Report,
) -> Report {
    ask(&Request {
        engine: &Ollama,
        model,
        draft: None,
        beside: &[],
        machine,
        settings,
        fit: &FitOptions::default(),
        launch: &LaunchOptions::default(),
    })
}

/// Bytes of a category over all devices as it runs.
fn of(outcome: &Outcome, category: Category) -> u64 {
    let moment = outcome.projection.peak_moment().unwrap();
    let terms = moment.devices.iter().flat_map(|device| &device.terms);
    terms
        .filter(|term| term.category == category)
        .map(|term| term.bytes.get())
        .sum()
}

fn note<'a>(notes: &'a [Note], code: &str) -> Option<&'a Note> {
    notes.iter().find(|note| note.code == code)
}

fn number(outcome: &Outcome, name: &str) -> i64 {
    match outcome.resolved.get(name) {
        Some(Value::Integer(number)) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

fn number_of(settings: &Settings, name: &str) -> i64 {
    match settings.get(name) {
        Some(Value::Integer(number)) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

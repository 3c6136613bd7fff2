//! What is loaded beside the model: draft, prediction blocks, projector, adapters.

mod adapter;
mod draft;
mod projector;

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::MachineCatalog;
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{FitOptions, LaunchOptions, Settings};
use plimsoll::projection::{Category, Part};
use plimsoll::report::{Report, Request, report};

fn model(id: &str) -> Model {
    let preset = ModelCatalog::embedded().find(id).unwrap();
    preset.model(&serde_json::Map::default()).unwrap()
}

fn machine(id: &str) -> Machine {
    let machines = MachineCatalog::embedded().unwrap();
    let preset = machines.find(id).unwrap();
    preset.machine(&GpuCatalog::embedded().unwrap()).unwrap()
}

fn project(target: &str, draft: Option<&str>, on: &str, settings: &str) -> Report {
    let draft = draft.map(model);
    projected(&model(target), draft.as_ref(), on, settings)
}

fn projected(target: &Model, draft: Option<&Model>, on: &str, settings: &str) -> Report {
    let settings: Settings = toml::from_str(settings).unwrap();
    let request = Request {
        engine: engine::find("llama.cpp").unwrap(),
        model: target,
        draft,
        beside: &[],
        machine: &machine(on),
        settings: &settings,
        fit: &FitOptions::default(),
        launch: &LaunchOptions::default(),
    };
    report(&request, &Memo::default()).unwrap()
}

/// Bytes of a category of a part on a device.
fn bytes(report: &Report, device: &str, category: Category, part: Part) -> u64 {
    let device = report.devices.iter().find(|own| own.id == device).unwrap();
    let terms = device.terms.terms.iter();
    terms
        .filter(|term| (term.category, term.part) == (category, part))
        .map(|term| term.bytes.get())
        .sum()
}

fn has_note(report: &Report, code: &str) -> bool {
    report.notes.iter().any(|note| note.code == code)
}

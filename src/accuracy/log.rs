//! Numbers that engines printed on other people's machines.

use serde_json::Value as Json;

use crate::catalog::models::ModelCatalog;
use crate::engine::{self, Inputs, Margin, setting};
use crate::plan::Settings;
use crate::projection::{Category, Projection};
use crate::units::Bytes;

use super::row::modelled;
use super::{Accuracy, Outcome};

/// One printed number beside ours.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// Which log.
    pub log: String,
    /// What is compared: a category and a device.
    pub what: String,
    /// In MiB.
    pub projected: f64,
    /// In MiB.
    pub reported: f64,
    /// Why they may differ, where that is known.
    pub reason: Option<String>,
}

impl LogLine {
    /// As a share of the printed number.
    pub fn error(&self) -> f64 {
        (self.projected - self.reported).abs() / self.reported.max(1.0)
    }
}

impl Accuracy {
    /// A row names its log, a preset, an engine's settings, cards, and a list of `[category, device, MiB, reason]`.
    pub(super) fn log(&mut self, row: &Json, catalog: &ModelCatalog) -> Outcome<Vec<LogLine>> {
        let word = |name: &str| row.get(name).and_then(Json::as_str);
        let engine = engine::find(word("engine").unwrap_or("llama.cpp"));
        let (Some(engine), Some(log), Some(id)) = (engine, word("log"), word("preset")) else {
            return Outcome::NotThis;
        };
        let Some(settings) = row
            .get("set")
            .and_then(|set| serde_json::from_value::<Settings>(set.clone()).ok())
        else {
            return Outcome::NotThis;
        };
        let cards: Vec<Bytes> = row
            .get("cards_mib")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_u64)
            .map(Bytes::from_mib)
            .collect();
        let machine = modelled(&cards, (8, 6));
        let Some(model) = self.model(id, None, catalog).cloned() else {
            return Outcome::NoPreset(id.to_owned());
        };
        let Ok(settings) = setting::checked(engine, &settings, &model, &machine) else {
            return Outcome::NotThis;
        };
        let outcome = engine.project(&Inputs {
            model: &model,
            draft: None,
            machine: &machine,
            settings: &settings,
            margin: Margin::DEFAULT,
            memo: &self.memo,
        });
        let numbers = row.get("numbers").and_then(Json::as_array);
        let lines = numbers
            .into_iter()
            .flatten()
            .filter_map(|number| line(log, number, cards.len(), &outcome.projection));
        Outcome::Compared(lines.collect())
    }
}

fn line(log: &str, number: &Json, gpus: usize, projection: &Projection) -> Option<LogLine> {
    let word = |index: usize| number.get(index).and_then(Json::as_str);
    let (category, device) = (word(0)?, word(1)?);
    let moment = projection.peak_moment()?;
    let devices: Vec<_> = match device {
        "all" => moment.devices.iter().collect(),
        "host" => moment.devices.get(gpus).into_iter().collect(),
        gpu => {
            let index: usize = gpu.strip_prefix("gpu")?.parse().ok()?;
            moment.devices.get(index).into_iter().collect()
        }
    };
    let category: Category = serde_json::from_value(Json::String(category.to_owned())).ok()?;
    let terms = devices.iter().flat_map(|device| &device.terms);
    let projected: Bytes = terms
        .filter(|term| term.category == category)
        .map(|term| term.bytes)
        .sum();
    Some(LogLine {
        log: log.to_owned(),
        what: format!("{} {device}", category.label()),
        projected: projected.as_mib(),
        reported: number.get(2)?.as_f64()?,
        reason: word(3).map(str::to_owned),
    })
}

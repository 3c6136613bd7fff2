//! Buffers that llama.cpp allocated.

use serde_json::Value as Json;

use crate::catalog::models::ModelCatalog;
use crate::engine::llamacpp::LlamaCpp;
use crate::engine::{self, Engine as _, Inputs, Margin};

use super::buffers::Buffers;
use super::model::from_hparams;
use super::row::Row;
use super::samples::{Sample, What};
use super::{Accuracy, Outcome};

impl Accuracy {
    pub(super) fn memory(
        &mut self,
        number: usize,
        json: &Json,
        catalog: &ModelCatalog,
    ) -> Outcome<()> {
        let Some(row) = Row::parse(json) else {
            return Outcome::NotThis;
        };
        let name = format!("{number} {}", row.label());
        let machine = row.machine();
        let settings = row.settings();
        let model = self.model(&row.model, None, catalog).cloned();
        let Some(model) = model.or_else(|| from_hparams(json)) else {
            return Outcome::NoPreset(row.model);
        };
        let outcome = LlamaCpp.project(&Inputs {
            model: &model,
            draft: None,
            machine: &machine,
            settings: &settings,
            margin: Margin::DEFAULT,
            memo: &self.memo,
        });
        if row.refused {
            self.refusals.push((name, outcome.refused));
        } else if outcome.refused {
            let reason = outcome.notes.into_iter().next();
            let reason = reason.map(|note| note.message).unwrap_or_default();
            self.refused.push(format!("{name}: {reason}"));
        } else {
            self.compare(&row, &name, &outcome);
        }
        Outcome::Compared(())
    }

    fn compare(&mut self, row: &Row, name: &str, outcome: &engine::Outcome) {
        let peak = outcome.projection.peak_moment();
        let reported = row.reported();
        let devices = peak.map(|moment| moment.devices.as_slice());
        let projected: Vec<Buffers> = (0..reported.len())
            .map(|index| {
                let device = devices.and_then(|devices| devices.get(index));
                device.map(Buffers::of).unwrap_or_default()
            })
            .collect();
        let groups = row.groups();
        let mut push = |what: What, device: &str, projected: f64, reported: f64| {
            self.samples.push(Sample {
                what,
                family: row.arch.clone(),
                groups: groups.clone(),
                name: format!("{name} {device}"),
                projected,
                reported,
            });
        };
        let host = reported.len().saturating_sub(1);
        for (index, (mine, theirs)) in projected.iter().zip(&reported).enumerate() {
            let device = if index == host {
                "host".to_owned()
            } else {
                format!("gpu{index}")
            };
            if index != host || !row.host_range {
                push(What::Device, &device, mine.total(), theirs.total());
                push(What::Weights, &device, mine.model, theirs.model);
            }
            let compute = if index == host {
                What::HostCompute
            } else {
                What::GpuCompute
            };
            push(compute, &device, mine.compute, theirs.compute);
            if index == host && !row.host_range {
                push(What::Output, &device, mine.output, theirs.output);
            }
        }
        let context = |all: &[Buffers]| all.iter().map(|buffers| buffers.context).sum();
        push(
            What::Cache,
            "all devices",
            context(&projected),
            context(&reported),
        );
    }
}

//! Ollama: a server that starts `llama-server` for a model, with settings, defaults and choices of its own.
//!
//! What is allocated is llama.cpp's business ([`super::llamacpp`]); this module knows what Ollama asks of it. Rules are
//! those of v0.33.0-rc2 (commit fb30760).

mod arrange;
mod batch;
mod config;
mod context;
mod gpus;
mod launch;
mod limits;
mod loading;
mod notes;
mod placement;
mod prediction;
mod project;
mod remedies;
mod settings;
mod start;
mod translate;
mod version;

use super::launch::{Launch, LaunchInputs};
use super::search::{Arrangement, Ask, Space};
use super::setting::Setting;
use super::traffic::Traffic;
use super::{Axis, Derived, Engine, Inputs, Margin, Outcome, Remedy, Users};
use crate::plan::Settings;

/// The engine.
pub struct Ollama;

impl Engine for Ollama {
    fn id(&self) -> &'static str {
        "ollama"
    }

    fn name(&self) -> &'static str {
        "Ollama"
    }

    fn settings(&self) -> &'static [Setting] {
        settings::SETTINGS
    }

    fn newest_version(&self) -> &'static str {
        version::NEWEST
    }

    fn usual_port(&self) -> u16 {
        launch::DEFAULT_PORT
    }

    fn serves_many(&self) -> bool {
        true
    }

    fn axes(&self) -> &'static [Axis] {
        &[
            Axis {
                setting: "num_ctx",
                logarithmic: true,
            },
            Axis {
                setting: "num_gpu",
                logarithmic: false,
            },
            Axis {
                setting: "num_batch",
                logarithmic: true,
            },
            Axis {
                setting: "num_parallel",
                logarithmic: false,
            },
        ]
    }

    fn project(&self, inputs: &Inputs<'_>) -> Outcome {
        project::project(inputs)
    }

    fn project_as_is(&self, inputs: &Inputs<'_>) -> Outcome {
        let (outcome, _) = project::project_as_is(inputs, &translate::translate(inputs));
        outcome
    }

    fn most_users(&self, inputs: &Inputs<'_>) -> Option<Users> {
        project::most_users(inputs)
    }

    fn free(&self, inputs: &Inputs<'_>) -> Option<Vec<i64>> {
        project::room(inputs, Margin::NONE)
    }

    fn traffic(&self, inputs: &Inputs<'_>) -> Option<Traffic> {
        project::traffic(inputs)
    }

    fn remedies(
        &self,
        inputs: &Inputs<'_>,
        _resolved: &Settings,
        derived: &Derived,
    ) -> Vec<Remedy> {
        remedies::remedies(inputs, derived)
    }

    fn room(&self, inputs: &Inputs<'_>, margin: Margin) -> Option<Vec<i64>> {
        project::room(inputs, margin)
    }

    fn space(&self, inputs: &Inputs<'_>) -> Option<Space> {
        arrange::space(inputs)
    }

    fn searched(&self) -> &'static [&'static str] {
        &arrange::SEARCHED
    }

    fn load(&self, context_per_slot: u64, slots: u64) -> Settings {
        arrange::load(context_per_slot, slots)
    }

    fn arrange(&self, inputs: &Inputs<'_>, ask: &Ask<'_>) -> Option<Arrangement> {
        arrange::arrange(inputs, ask)
    }

    fn starting_settings(&self, inputs: &Inputs<'_>) -> Settings {
        start::starting_settings(inputs)
    }

    fn launch(&self, inputs: &LaunchInputs<'_>) -> Launch {
        launch::launch(inputs)
    }
}

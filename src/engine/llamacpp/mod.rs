//! llama.cpp: `llama-server` as built from the versions in `version`.

mod accepted;
mod adapter;
mod arrange;
mod auto;
pub(in crate::engine) mod base;
mod compute;
mod config;
mod draft;
mod experts;
pub mod file_type;
mod graphs;
mod host;
mod ideas;
mod kv_cache;
mod launch;
mod limits;
mod measure;
mod mixture;
mod notes;
mod output;
mod parts;
mod placed;
mod placement;
mod project;
mod projector;
mod recurrent;
mod remedies;
mod resolved;
mod settings;
mod start;
mod subject;
pub mod tensors;
mod terms;
mod traffic;
mod unknown;
mod version;

use super::experts::{ExpertChange, ExpertLayers};
use super::launch::{Launch, LaunchInputs};
use super::search::{Arrangement, Ask, Bound, Space};
use super::setting::Setting;
use super::traffic::Traffic;
use super::{Axis, Derived, Engine, Inputs, Margin, Outcome, Remedy, Users};
use crate::plan::Settings;

/// The engine.
pub struct LlamaCpp;

impl Engine for LlamaCpp {
    fn id(&self) -> &'static str {
        "llama.cpp"
    }

    fn name(&self) -> &'static str {
        "llama.cpp"
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

    fn axes(&self) -> &'static [Axis] {
        &[
            Axis {
                setting: "ctx_size",
                logarithmic: true,
            },
            Axis {
                setting: "n_gpu_layers",
                logarithmic: false,
            },
            Axis {
                setting: "ubatch_size",
                logarithmic: true,
            },
            Axis {
                setting: "parallel",
                logarithmic: false,
            },
        ]
    }

    fn project(&self, inputs: &Inputs<'_>) -> Outcome {
        project::project(inputs, project::Extent::Full)
    }

    fn project_as_is(&self, inputs: &Inputs<'_>) -> Outcome {
        project::project(inputs, project::Extent::WithoutLimits)
    }

    fn most_users(&self, inputs: &Inputs<'_>) -> Option<Users> {
        project::most_users(inputs)
    }

    fn free(&self, inputs: &Inputs<'_>) -> Option<Vec<i64>> {
        // What is kept free counts for good plans, not for possible ones.
        remedies::room(inputs, Margin::NONE)
    }

    fn room(&self, inputs: &Inputs<'_>, margin: Margin) -> Option<Vec<i64>> {
        remedies::room(inputs, margin)
    }

    fn ideas(
        &self,
        inputs: &Inputs<'_>,
        resolved: &Settings,
        derived: &Derived,
        spare: &[i64],
    ) -> Vec<Remedy> {
        ideas::ideas(inputs, resolved, derived, spare)
    }

    fn traffic(&self, inputs: &Inputs<'_>) -> Option<Traffic> {
        traffic::traffic(inputs)
    }

    fn remedies(&self, inputs: &Inputs<'_>, resolved: &Settings, derived: &Derived) -> Vec<Remedy> {
        remedies::remedies(inputs, resolved, derived)
    }

    fn space(&self, inputs: &Inputs<'_>) -> Option<Space> {
        arrange::space(inputs)
    }

    fn same_choice(&self) -> &'static [&'static [&'static str]] {
        &[
            &["n_cpu_moe", "cpu_moe", "override_tensor"],
            &["n_cpu_moe_draft", "cpu_moe_draft", "override_tensor_draft"],
        ]
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

    fn bound(&self, inputs: &Inputs<'_>, pinned: &[String]) -> Option<Bound> {
        arrange::bound(inputs, pinned)
    }

    fn experts(&self, inputs: &Inputs<'_>) -> Option<Vec<ExpertLayers>> {
        experts::layers(inputs)
    }

    fn place_experts(&self, inputs: &Inputs<'_>, gpu: usize, in_ram: u64) -> Option<ExpertChange> {
        experts::place(inputs, gpu, in_ram)
    }

    fn starting_settings(&self, inputs: &Inputs<'_>) -> Settings {
        start::starting_settings(inputs)
    }

    fn launch(&self, inputs: &LaunchInputs<'_>) -> Launch {
        launch::launch(inputs)
    }
}

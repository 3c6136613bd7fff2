//! llama.cpp: `llama-server` as built from the versions in `version`.

mod auto;
mod compute;
mod config;
pub mod file_type;
mod host;
mod kv_cache;
mod launch;
mod mixture;
mod output;
mod placement;
mod recurrent;
mod settings;
pub mod tensors;
mod version;

use super::launch::{Launch, LaunchInputs};
use super::setting::Setting;
use super::{Axis, Engine, Inputs, Outcome};
use crate::plan::Settings;

/// The engine.
pub struct LlamaCpp;

impl Engine for LlamaCpp {
    fn id(&self) -> &'static str {
        "llama.cpp"
    }

    fn settings(&self) -> &'static [Setting] {
        settings::SETTINGS
    }

    fn newest_version(&self) -> &'static str {
        version::NEWEST
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

    fn project(&self, _inputs: &Inputs<'_>) -> Outcome {
        Outcome::default()
    }

    fn starting_settings(&self, _inputs: &Inputs<'_>) -> Settings {
        Settings::new()
    }

    fn launch(&self, inputs: &LaunchInputs<'_>) -> Launch {
        launch::launch(inputs)
    }
}

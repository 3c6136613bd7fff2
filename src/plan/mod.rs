//! The saved file: what the user chose, by reference, and an ordered map of settings not yet checked.
//!
//! A plan holds nothing derived. Its shape is a contract (TOML, `schema = 1`); see `README.md`. Relative paths in it count
//! from its own folder (`source::place`).

mod file;
mod moved;
mod objective;

pub use file::{Error, MAX_BYTES};
pub use moved::counted;
pub use objective::{Objective, UnknownObjective};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Everything the user chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this file format.
    pub schema: u32,
    /// Identity of the engine ("llama.cpp").
    pub engine: String,
    /// Plan files of what runs on the same machine at the same time, as paths from this one's folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// The model, by reference.
    pub model: ModelRef,
    /// The small model that drafts for it in speculative decoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<ModelRef>,
    /// The machine; absent: this machine, detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRef>,
    /// Values by the engine's own names; what is absent has the engine's default.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub settings: Settings,
    /// What a script needs beside memory.
    #[serde(default, skip_serializing_if = "LaunchOptions::is_empty")]
    pub launch: LaunchOptions,
    /// How automatic fitting may act.
    #[serde(default, skip_serializing_if = "FitOptions::is_empty")]
    pub fit: FitOptions,
}

impl Plan {
    /// Writes down what a fit chose and nobody decided, so that other fits may choose it anew.
    pub fn note_chosen(&mut self, further: &Settings) {
        let Self { settings, fit, .. } = self;
        let FitOptions { chosen, pinned, .. } = fit;
        chosen.extend(further.clone());
        chosen.retain(|name, value| settings.get(name) == Some(value) && !pinned.contains(name));
    }
}

/// Settings by name, in the order written.
pub type Settings = IndexMap<String, Value>;

/// Version of the plan file that this build writes.
pub const SCHEMA: u32 = 1;

/// Which model: exactly one of `preset`, `path` and `repo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRef {
    /// A preset's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// A model file, or a folder with `config.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A repository of a Hugging Face compatible endpoint ("owner/name").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// A file of that repository, the first of a split one; absent: the only model that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its commit, or a branch or tag; absent: "main".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Hyper-parameters that replace the configuration's, by configuration name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub overrides: IndexMap<String, Value>,
}

impl ModelRef {
    /// Names no model at all.
    pub const fn is_empty(&self) -> bool {
        self.preset.is_none() && self.path.is_none() && self.repo.is_none()
    }

    /// The repository and file that a launch downloads, where the model is one of a repository.
    pub fn published(&self) -> Option<(&str, Option<&str>)> {
        Some((self.repo.as_deref()?, self.file.as_deref()))
    }
}

/// Which machine: a preset, or one described here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineRef {
    /// A machine preset's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Operating system; Linux where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<crate::hardware::Os>,
    /// Main memory in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_mib: Option<u64>,
    /// Part of main memory that others use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_in_use_mib: Option<u64>,
    /// Bandwidth of main memory in GB/s, for estimates of speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_bandwidth_gb_s: Option<f64>,
    /// Cards, in order; `[]` is a machine without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<Vec<GpuRef>>,
    /// How many nodes like this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
}

/// One or several equal cards: a catalogue name, or a card described here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuRef {
    /// Catalogue name, or any name where `vram_mib` is given.
    pub name: String,
    /// How many of them; 1 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Memory that others use on each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use_mib: Option<u64>,
    /// What a program can allocate, in place of the catalogue's figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_mib: Option<u64>,
    /// What the driver calls total, in place of the catalogue's figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram_mib: Option<u64>,
    /// Memory bandwidth in GB/s, in place of the catalogue's figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_gb_s: Option<f64>,
    /// CUDA compute capability ("8.9"), in place of the catalogue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
}

/// A setting's value as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A switch.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A word or a text.
    Text(String),
    /// A list.
    List(Vec<Value>),
}

/// What a launch needs beside memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchOptions {
    /// The model file where the launch will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_path: Option<String>,
    /// Repository to download from, in place of the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hf_repo: Option<String>,
    /// Address to listen on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Port to listen on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Name of the environment variable that holds the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Further arguments, passed through as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<String>,
    /// The draft model's file where the launch will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_path: Option<String>,
    /// The projector's file where the launch will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mmproj_path: Option<String>,
    /// Files of LoRA adapters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lora_paths: Vec<String>,
    /// Files of control vectors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control_vector_paths: Vec<String>,
    /// UUIDs of the cards to use, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
}

impl LaunchOptions {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How automatic fitting may act.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitOptions {
    /// Memory to keep free on each GPU in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_mib: Option<u64>,
    /// The same in percent of each GPU; not beside `margin_mib`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<u8>,
    /// What to make best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Settings that fitting must not change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<String>,
    /// Settings with the values that an earlier fit chose: as long as they stand in the plan like that and are not pinned,
    /// they are nobody's wishes.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub chosen: Settings,
}

impl FitOptions {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

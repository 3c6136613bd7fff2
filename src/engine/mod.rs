//! Who runs a model: each engine describes its settings, projects its memory and builds its launch.

pub mod experts;
pub(crate) mod largest;
pub mod launch;
mod margin;
pub mod meaning;
mod memo;
mod remedy;
mod room;
pub mod search;
pub mod setting;
pub mod traffic;

pub mod llamacpp;
pub mod ollama;

pub use margin::{Margin, Overhead, left_to_system};
pub use meaning::carry_over;
pub use memo::Memo;
pub use remedy::{Remedy, Step};
pub use room::room;

use crate::hardware::Machine;
use crate::model::Model;
use crate::plan::Settings;
use crate::projection::{Note, Projection};
use crate::units::Bytes;

use experts::{ExpertChange, ExpertLayers};
use launch::{Launch, LaunchInputs};
use search::{Arrangement, Ask, Bound, Space};
use setting::Setting;
use traffic::Traffic;

/// Every engine, in the order offered.
pub const ENGINES: &[&dyn Engine] = &[&llamacpp::LlamaCpp, &ollama::Ollama];

/// The engine with this identity, in any case of letters.
pub fn find(id: &str) -> Option<&'static dyn Engine> {
    ENGINES
        .iter()
        .copied()
        .find(|engine| engine.id().eq_ignore_ascii_case(id))
}

/// What an engine is called, by its spelling in plan files; the same again where there is none.
pub fn name(id: &str) -> &str {
    find(id).map_or(id, |engine| engine.name())
}

/// An inference or training engine, as it behaves in the versions it knows.
pub trait Engine: Sync {
    /// Its own spelling, as in plan files ("llama.cpp", "ollama").
    fn id(&self) -> &'static str;

    /// What it is called, as people read it ("llama.cpp", "Ollama").
    fn name(&self) -> &'static str;

    /// Every setting that matters for memory or launch, in the order of the window.
    fn settings(&self) -> &'static [Setting];

    /// The newest version whose rules are known, as the user would write it.
    fn newest_version(&self) -> &'static str;

    /// Where its server listens unless told otherwise.
    fn usual_port(&self) -> u16;

    /// Serves every model from one server.
    fn serves_many(&self) -> bool {
        false
    }

    /// What can be swept: the settings for curves and tables, most useful first.
    fn axes(&self) -> &'static [Axis];

    /// What the engine would allocate. Total: odd input gives notes, and `refused` where the engine would not start.
    fn project(&self, inputs: &Inputs<'_>) -> Outcome;

    /// The same without how far the plan could go (`max_context_tokens`), which takes longest to find out.
    fn project_as_is(&self, inputs: &Inputs<'_>) -> Outcome {
        self.project(inputs)
    }

    /// The most users with as many tokens each as planned, counted to the one; `None` where none fits, or the engine would
    /// not start. Takes a graph for every number that is tried: not for a frame.
    fn most_users(&self, _inputs: &Inputs<'_>) -> Option<Users> {
        None
    }

    /// Bytes that every device has left, GPUs in plan order and the host last; negative where they lack. Much cheaper
    /// than a projection: no reasons, no limits. `None` where the engine would not start.
    fn free(&self, inputs: &Inputs<'_>) -> Option<Vec<i64>>;

    /// What it would read and compute per token, for an estimate of speed: tens of microseconds where the model's file
    /// is already known to the memo. `None` where the engine would not start, or where its work is not known.
    fn traffic(&self, inputs: &Inputs<'_>) -> Option<Traffic>;

    /// What every GPU in use has left beyond a margin, and main memory at all, the host last: as [`Engine::free`], which is
    /// the same without a margin.
    fn room(&self, inputs: &Inputs<'_>, margin: Margin) -> Option<Vec<i64>> {
        let mut room = self.free(inputs)?;
        for (room, gpu) in room.iter_mut().zip(&inputs.machine.gpus) {
            let kept = margin.of(gpu.memory.usable).get();
            *room = room.saturating_sub(i64::try_from(kept).unwrap_or(i64::MAX));
        }
        Some(room)
    }

    /// What could be done with memory that is left over, the most useful first, as far as arithmetic tells what fits; the
    /// advisor tries it. `spare` is what every device has left beyond its margin.
    fn ideas(
        &self,
        _inputs: &Inputs<'_>,
        _resolved: &Settings,
        _derived: &Derived,
        _spare: &[i64],
    ) -> Vec<Remedy> {
        Vec::new()
    }

    /// What could be done otherwise to need less, the cheapest for the user first; the advisor tries them.
    fn remedies(&self, inputs: &Inputs<'_>, resolved: &Settings, derived: &Derived) -> Vec<Remedy>;

    /// What can be searched for better settings; `None` where nothing can.
    fn space(&self, _inputs: &Inputs<'_>) -> Option<Space> {
        None
    }

    /// Groups of settings that say the same in different ways: who pins one has pinned all of its group.
    fn same_choice(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// Settings that a search chooses anew wherever they are not pinned: what is written of them changes nothing.
    fn searched(&self) -> &'static [&'static str] {
        &[]
    }

    /// Settings that give so many users so many tokens of context each: what decides the context first, then what decides
    /// the number of users.
    fn load(&self, _context_per_slot: u64, _slots: u64) -> Settings {
        Settings::new()
    }

    /// The other settings as they are, with everything in its place: as much on GPUs as keeps the margin, nothing that
    /// is pinned changed. Where it does not fit, what comes closest. `None` where the engine would not start.
    fn arrange(&self, _inputs: &Inputs<'_>, _ask: &Ask<'_>) -> Option<Arrangement> {
        None
    }

    /// What no arrangement of these settings that fits has more of on GPUs, told at a small part of the cost of one; `None`
    /// where it cannot be told.
    fn bound(&self, _inputs: &Inputs<'_>, _pinned: &[String]) -> Option<Bound> {
        None
    }

    /// The layers with experts of each GPU that could stay in main memory one by one; `None` where none can.
    fn experts(&self, _inputs: &Inputs<'_>) -> Option<Vec<ExpertLayers>> {
        None
    }

    /// The change with which so many layers of this GPU have their experts in main memory; others stay where they are.
    fn place_experts(
        &self,
        _inputs: &Inputs<'_>,
        _gpu: usize,
        _in_ram: u64,
    ) -> Option<ExpertChange> {
        None
    }

    /// The settings with which a new plan of this model on this machine starts (useful, not the engine's defaults).
    fn starting_settings(&self, inputs: &Inputs<'_>) -> Settings;

    /// The steps that start the engine as planned.
    fn launch(&self, inputs: &LaunchInputs<'_>) -> Launch;
}

/// What an engine needs to know.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// What is loaded.
    pub model: &'a Model,
    /// The small model that drafts for it, where the plan names one.
    pub draft: Option<&'a Model>,
    /// What it is loaded on.
    pub machine: &'a Machine,
    /// Values by the engine's canonical names, checked in kind by [`setting::check`]; absent = default.
    pub settings: &'a Settings,
    /// Memory to keep free on each GPU; automatic choices respect it.
    pub margin: Margin,
    /// Results kept between calls; never changes what is returned.
    pub memo: &'a Memo,
}

/// What an engine says of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What is allocated. Empty moments where the engine refuses before it allocates.
    pub projection: Projection,
    /// Every setting with its effective value, automatic choices filled in.
    pub resolved: Settings,
    /// Errors, warnings, hints.
    pub notes: Vec<Note>,
    /// The engine would not start; an error note says why.
    pub refused: bool,
    /// More will be allocated than is projected, and nobody knows how much: only the weights of a model are known.
    pub lower_bound: bool,
    /// Figures beside the projection.
    pub derived: Derived,
    /// What is read and computed per token, where it is known.
    pub traffic: Option<Traffic>,
}

/// Figures beside the projection, in the meaning of the report's `derived` object.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Derived {
    /// Parameters of the model that is loaded.
    pub params_total: u64,
    /// Parameters that take part in one token.
    pub params_active: u64,
    /// Tensor bytes of the model file or checkpoint.
    pub file_bytes: Bytes,
    /// Loaded bytes over all devices, duplicates counted.
    pub weights_bytes: Bytes,
    /// 8 × `file_bytes` / the weights in that file: blocks that are in it and not loaded count on both sides.
    pub bits_per_weight: f64,
    /// Growth over all devices per token of context, at the planned context.
    pub kv_bytes_per_token: f64,
    /// Longest context that fits, in the meaning of the engine's own context flag; `None` where none does.
    pub max_context_tokens: Option<u64>,
    /// The same with every layer on a GPU, where the engine could also move layers to main memory; `None` where it could
    /// not, and where none does.
    pub max_context_tokens_on_gpus: Option<u64>,
    /// Tokens per second of one user at the beginning of a context of `max_context_tokens`, where that takes main memory
    /// for layers; the report fills it in.
    pub max_context_tokens_per_second: Option<f64>,
    /// Most users (slots, sequences) that fit with `max_batch_tokens_each`; `None` where none does, and where nobody asked
    /// ([`Engine::most_users`]).
    pub max_batch: Option<u64>,
    /// The same with every layer on a GPU, where the engine could also move layers to main memory.
    pub max_batch_on_gpus: Option<u64>,
    /// Tokens of context that each of these users has.
    pub max_batch_tokens_each: Option<u64>,
    /// Further figures under the engine's own names.
    #[serde(flatten)]
    pub further: indexmap::IndexMap<&'static str, f64>,
}

/// How many users a plan can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Users {
    /// The most that fit.
    pub most: u64,
    /// The most with every layer on a GPU, where the engine could also move layers to main memory.
    pub on_gpus: Option<u64>,
    /// Tokens of context that each of them has.
    pub tokens_each: u64,
}

/// One setting that can be swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Name of the setting.
    pub setting: &'static str,
    /// Values are spread by ratio (context) rather than evenly (layers).
    pub logarithmic: bool,
}

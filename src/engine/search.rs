//! What an engine lets the advisor search.

use super::Engine;
use crate::plan::Settings;

/// What is pinned, with the settings that say the same in other ways.
pub fn pinned_choices(engine: &dyn Engine, pinned: &[String]) -> Vec<String> {
    let groups = engine.same_choice().iter();
    let touched = groups.filter(|group| {
        let mut names = group.iter();
        names.any(|name| pinned.iter().any(|pinned| pinned == name))
    });
    let mut all = pinned.to_vec();
    for name in touched.copied().flatten() {
        if !all.iter().any(|known| known == name) {
            all.push((*name).to_owned());
        }
    }
    all
}

/// What a search starts from: what is written without what it chooses anew.
pub fn open_plan(engine: &dyn Engine, written: &Settings, pinned: &[String]) -> Settings {
    let searched = engine.searched();
    let mut open = written.clone();
    open.retain(|name, _| pinned.contains(name) || !searched.contains(&name.as_str()));
    open
}

/// Where there is a choice, beside the places of tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    /// Formats of the weights, most bits first.
    pub weights: Vec<Format>,
    /// Which of them a plan starts with that names none.
    pub usual_weights: usize,
    /// The one that the plan names.
    pub planned_weights: Option<usize>,
    /// Formats of the KV cache, most bits first.
    pub caches: Vec<Format>,
    /// Index of the first cache format that visibly costs quality: taken only where nothing else fits.
    pub lossy_caches: usize,
    /// Longest context per user that the model is meant for, in tokens.
    pub longest_context: u64,
    /// Contexts are multiples of this.
    pub context_step: u64,
    /// The most users that the engine serves at once.
    pub most_slots: u64,
    /// First and last numbers of users between which memory never shrinks, in order; empty: it never does.
    pub slot_stretches: Vec<(u64, u64)>,
    /// Context per user as the plan says it; `None` where it leaves it open.
    pub planned_context: Option<u64>,
    /// Users as the plan says it; `None` where it leaves it open.
    pub planned_slots: Option<u64>,
    /// Whether there are GPUs to put anything on.
    pub gpus: bool,
    /// Whether parts of layers can stay in main memory by themselves: experts.
    pub experts: bool,
}

/// One format and the settings that choose it.
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    /// As shown ("Q4_K_M", "q8_0").
    pub word: String,
    /// Bits per element of what most of it is stored in.
    pub bits: f64,
    /// What chooses it.
    pub set: Settings,
    /// What goes along with it where nobody pinned it: the same for what stands beside the model.
    pub along: Settings,
}

/// What must be on GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Residency {
    /// Nothing.
    Anywhere,
    /// All layers, but for experts.
    Layers,
    /// Everything.
    Whole,
}

/// How far an arrangement is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effort {
    /// The one that needs least of the GPUs: whether there is any.
    Possible,
    /// The one with most on the GPUs.
    Best,
    /// The same, and where none fits what the one that comes closest lacks, to the byte.
    Closest,
}

/// What is asked of an arrangement.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Settings that must stay as they are, by canonical name.
    pub pinned: &'a [String],
    /// What must be on GPUs.
    pub residency: Residency,
    /// How far it is worked out.
    pub effort: Effort,
}

/// Settings that put everything in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrangement {
    /// All settings, those that place tensors among them.
    pub settings: Settings,
    /// What comes of it.
    pub probe: Probe,
}

/// What no arrangement that fits has more of on GPUs.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// Nothing fits.
    Nowhere,
    /// What these settings have there, whether they fit or not.
    Settings(Settings),
}

/// What comes of settings, without the reasons.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probe {
    /// What every GPU in use has left beyond its margin, and main memory beyond what the system needs, the host last;
    /// negative where it lacks.
    pub room: Vec<i64>,
    /// The engine itself fills GPUs up to the margin by its own count, so that by ours less is left: room is what there is
    /// without a margin.
    pub fills_margin: bool,
    /// Of the model file.
    pub bits_per_weight: f64,
    /// Part of the loaded weights that lives on GPUs, from 0 to 1.
    pub gpu_share: f64,
    /// Layers on GPUs, as the engine counts them, and of how many.
    pub gpu_layers: (u64, u64),
    /// Layers with experts in main memory, in whole or in part.
    pub expert_layers_in_ram: u64,
    /// Tokens that one user can hold.
    pub context_per_slot: u64,
    /// Users at once.
    pub slots: u64,
    /// File type of the weights.
    pub weights: String,
    /// Formats of cached keys and values.
    pub cache: (String, String),
}

impl Probe {
    /// Whether every device keeps its margin.
    pub fn fits(&self) -> bool {
        self.room.iter().all(|room| *room >= 0)
    }

    /// What of the model is on GPUs.
    pub fn residency(&self) -> Residency {
        let (on_gpus, all) = self.gpu_layers;
        match (on_gpus >= all, self.expert_layers_in_ram) {
            (false, _) => Residency::Anywhere,
            (true, 0) => Residency::Whole,
            (true, _) => Residency::Layers,
        }
    }
}

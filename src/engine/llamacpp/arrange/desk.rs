//! A plan whose placement is open, as far as nothing of it is pinned.

use std::cell::Cell;

use super::trial::{self, Trial};
use crate::engine::Inputs;
use crate::engine::search::{Ask, Effort};
use crate::model::FeedForward;
use crate::plan::{Settings, Value};

/// Settings that are chosen anew where they are not pinned: formats, and those that say where tensors go.
pub(in super::super) const SEARCHED: [&str; 13] = [
    "weights",
    "cache_type_k",
    "cache_type_v",
    "cache_type_k_draft",
    "cache_type_v_draft",
    "n_gpu_layers",
    "tensor_split",
    "n_cpu_moe",
    "cpu_moe",
    "n_cpu_ffn",
    "override_tensor",
    "split_mode",
    "main_gpu",
];

/// Settings that say where tensors go; those that are not pinned are forgotten first.
fn is_placement(name: &str) -> bool {
    SEARCHED.contains(&name) && name != "weights" && !name.starts_with("cache_type_")
}

/// A pattern of overrides is worth its line from this part of a card on: a judgement, not a measurement.
const WORTH_A_PATTERN: i64 = 100;

/// One setting with a value to try.
pub(super) type Change = (&'static str, Value);

/// What is tried on.
pub(super) struct Desk<'a> {
    pub(super) inputs: Inputs<'a>,
    base: Settings,
    pinned: &'a [String],
    /// What is hopeless is worked out, too.
    exact: bool,
    /// The compute buffer of the trial before.
    buffer: Cell<i64>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(inputs: &Inputs<'a>, ask: &Ask<'a>) -> Self {
        let pinned = ask.pinned;
        let mut base = inputs.settings.clone();
        base.retain(|name, _| pinned.contains(name) || !is_placement(name));
        Self {
            inputs: *inputs,
            base,
            pinned,
            exact: ask.effort == Effort::Closest,
            buffer: Cell::new(0),
        }
    }

    /// The plan with these values; those of pinned settings are left as they are.
    fn with(&self, changes: &[Change]) -> Settings {
        let mut settings = self.base.clone();
        for (name, value) in changes {
            if self.is_open(name) {
                settings.insert((*name).to_owned(), value.clone());
            }
        }
        settings
    }

    /// Tries these values as if graphs took nothing.
    pub(super) fn sketch(&self, changes: &[Change]) -> Option<Trial> {
        Trial::sketch(&self.inputs, &self.with(changes))
    }

    /// Tries these values.
    pub(super) fn trial(&self, changes: &[Change]) -> Option<Trial> {
        self.trial_above(0, changes)
    }

    /// Tries values with which compute buffers come to `floor` at least.
    pub(super) fn trial_above(&self, floor: i64, changes: &[Change]) -> Option<Trial> {
        let settings = self.with(changes);
        let mut trial = Trial::new(&self.inputs, settings, self.exact, floor)?;
        if trial.hopeless {
            // About what graphs would take, so that what fits is soon guessed.
            let on_gpus = trial.probe.room.iter_mut().take(trial.gpus);
            let buffer = self.buffer.get().max(floor);
            on_gpus.for_each(|room| *room = room.saturating_sub(buffer));
        } else {
            self.buffer.set(trial.buffer);
        }
        Some(trial)
    }

    /// The same trial with its graphs, where it was hopeless.
    pub(super) fn worked_out(&self, trial: &Trial) -> Option<Trial> {
        if trial.hopeless {
            Trial::new(&self.inputs, trial.settings.clone(), true, 0)
        } else {
            Some(trial.clone())
        }
    }

    pub(super) fn is_open(&self, name: &str) -> bool {
        !self.pinned.iter().any(|pinned| pinned == name)
    }

    /// The cards in order of speed, where everything must be on one of them and nobody said on which.
    pub(super) fn single_cards(&self) -> Option<Vec<u64>> {
        let one = matches!(self.base.get("split_mode"), Some(Value::Text(word)) if word == "none");
        let count = self.inputs.machine.gpus.len();
        if !one || count < 2 || !self.is_open("main_gpu") || self.is_automatic() {
            return None;
        }
        Some(self.by_speed(count).map(|card| card as u64).collect())
    }

    /// The same with one of them to put everything on.
    pub(super) fn on(&self, card: u64) -> Self {
        let mut base = self.base.clone();
        let (name, value) = number("main_gpu", card);
        base.insert(name.to_owned(), value);
        Self {
            base,
            inputs: self.inputs,
            buffer: Cell::new(0),
            ..*self
        }
    }

    /// Cards by their bandwidth, the fastest first.
    fn by_speed(&self, gpus: usize) -> impl Iterator<Item = usize> {
        let mut order: Vec<usize> = (0..gpus).collect();
        let speed = |gpu: &usize| {
            let gpu = self.inputs.machine.gpus.get(*gpu);
            gpu.and_then(|gpu| gpu.bandwidth_gb_s).unwrap_or(0.0)
        };
        order.sort_by(|a, b| speed(b).total_cmp(&speed(a)));
        order.into_iter()
    }

    /// The number of layers is pinned, and pinned to what the engine chooses.
    pub(super) fn is_automatic(&self) -> bool {
        let inputs = Inputs {
            settings: &self.base,
            ..self.inputs
        };
        !self.is_open("n_gpu_layers") && trial::layers_are_automatic(&inputs)
    }

    pub(super) fn all_layers(&self) -> Change {
        if self.inputs.machine.gpus.is_empty() {
            // As the launch says it, too.
            number("n_gpu_layers", 0)
        } else {
            ("n_gpu_layers", Value::Text("all".to_owned()))
        }
    }

    pub(super) fn blocks(&self) -> u64 {
        self.inputs.model.layers.len() as u64
    }

    /// What sends all routed experts to main memory, where there are some and nothing of it is pinned.
    pub(super) fn without_experts(&self) -> Option<Vec<Change>> {
        let mut layers = self.inputs.model.layers.iter();
        let routed = layers.any(|layer| matches!(layer.feed_forward, FeedForward::Experts(_)));
        if !routed {
            return None;
        }
        if self.is_open("cpu_moe") {
            return Some(vec![("cpu_moe", Value::Bool(true))]);
        }
        self.is_open("n_cpu_moe")
            .then(|| vec![number("n_cpu_moe", self.blocks())])
    }

    /// Whether layers can be shared out among the cards one by one.
    pub(super) fn may_spread(&self) -> bool {
        ["tensor_split", "split_mode"]
            .iter()
            .all(|name| self.is_open(name))
    }

    /// Whether tensors can be told apart one by one.
    pub(super) fn may_override(&self) -> bool {
        self.is_open("override_tensor")
    }

    /// Whether cards of different speed are together.
    pub(super) fn gpus_differ(&self) -> bool {
        let speeds = self
            .inputs
            .machine
            .gpus
            .iter()
            .map(|gpu| gpu.bandwidth_gb_s);
        let mut speeds = speeds.flatten();
        let first = speeds.next();
        speeds.any(|speed| Some(speed) != first)
    }

    /// Everything on one of several cards: the others may be full.
    pub(super) fn one_gpu(&self, gpus: usize) -> Option<Trial> {
        if !self.is_open("split_mode") || !self.is_open("main_gpu") || !self.is_open("tensor_split")
        {
            return None;
        }
        self.by_speed(gpus).find_map(|gpu| {
            let changes = [
                self.all_layers(),
                ("split_mode", Value::Text("none".to_owned())),
                number("main_gpu", gpu as u64),
            ];
            self.trial(&changes).filter(|trial| trial.probe.fits())
        })
    }

    /// With matrices of the last layer whose experts are in main memory back on the GPU, where that is worth it.
    pub(super) fn parts_of_one_more(&self, in_ram: u64, best: &Trial) -> Option<Trial> {
        let floor = best.floor(in_ram.saturating_sub(1));
        let block = in_ram.checked_sub(1)?;
        let layer = self.inputs.model.layers.get(usize::try_from(block).ok()?)?;
        let routed = matches!(layer.feed_forward, FeedForward::Experts(_));
        if !routed || !self.is_open("override_tensor") {
            return None;
        }
        // One matrix of three, at least.
        let room = *best.probe.room.first()?;
        if room < *best.capacity.first()? / WORTH_A_PATTERN {
            return None;
        }
        ["down", "down|gate|gate_up"].iter().find_map(|matrices| {
            let rule = format!(r"blk\.{block}\.ffn_({matrices})_(ch|)exps=CPU");
            let changes = [
                self.all_layers(),
                number("n_cpu_moe", block),
                ("override_tensor", Value::List(vec![Value::Text(rule)])),
            ];
            self.trial_above(floor, &changes)
                .filter(|trial| trial.probe.fits())
        })
    }
}

/// A whole number for a setting.
pub(super) fn number(name: &'static str, number: u64) -> Change {
    (
        name,
        Value::Integer(i64::try_from(number).unwrap_or(i64::MAX)),
    )
}

//! What llama.cpp could do otherwise to need less.

use super::accepted::{accepted, refused};
use super::arrange::{LADDER, chosen};
use super::auto;
use super::config::{self, Config, Flash, GpuLayers};
use super::file_type::Weights;
use super::limits;
use super::parts;
use crate::engine::{Derived, Inputs, Margin, Remedy, Step};
use crate::model::{FeedForward, Model};
use crate::plan::{Settings, Value};
use crate::projection::grouped;

/// Steps in which experts are moved to main memory.
const EXPERT_STEPS: u64 = 8;

/// Bytes that every GPU has left beyond a margin, and main memory at all; negative where they lack. `None` where the engine
/// would not start.
pub(super) fn room(inputs: &Inputs<'_>, margin: Margin) -> Option<Vec<i64>> {
    let (subject, mut config) = accepted(inputs)?;
    let mut notes = Vec::new();
    parts::notes(&subject, &config, &mut notes);
    if refused(&notes) {
        return None;
    }
    let fitted = auto::choose(&subject, &mut config, &mut Vec::new());
    let spilled = auto::spilled(&subject, fitted.as_ref());
    let mut left = limits::slack(&subject, &config, &spilled, margin);
    let host = left.pop()?;
    let machine = inputs.machine;
    let repeats = machine.nodes.max(1) as usize;
    let mut all: Vec<i64> = std::iter::repeat_n(&machine.gpus, repeats)
        .flatten()
        .map(|gpu| gpu.memory.usable.signed_sub(gpu.memory.in_use).max(0))
        .collect();
    for (device, left) in subject.devices.iter().zip(left) {
        if let Some(slot) = all.get_mut(device.index) {
            *slot = left;
        }
    }
    all.push(host);
    Some(all)
}

/// Ways to need less, the cheapest for the user first.
pub(super) fn remedies(inputs: &Inputs<'_>, resolved: &Settings, derived: &Derived) -> Vec<Remedy> {
    // Nobody knows what caches, batches or other files of a model take of which only the weights are known.
    if inputs.model.only_weights().is_some() {
        return Vec::new();
    }
    let config = config::read(inputs.settings, inputs.draft.is_some(), &mut Vec::new());
    [
        windows(&config),
        cache(&config),
        layers(inputs, &config),
        experts(inputs),
        micro_batch(&config),
        context(resolved, derived, &config),
        weights(&config, inputs.model, derived),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Caches of windows as the engine has them by itself: prompts can then not be reused from any point, and no bits are
/// lost.
fn windows(config: &Config) -> Option<Remedy> {
    config.swa_full.then(|| Remedy {
        setting: "swa_full",
        steps: vec![Step {
            what: "A cache of the window alone in layers that see no more".to_owned(),
            set: set([("swa_full", Value::Bool(false))]),
            gain: None,
            known_to_fit: false,
        }],
    })
}

fn cache(config: &Config) -> Option<Remedy> {
    let plain = !config.cache_k.is_quantized() && !config.cache_v.is_quantized();
    // A quantized cache of values needs flash attention.
    let possible = plain && config.flash != Flash::Off;
    let step = |word: &str| Step {
        what: format!("A KV cache in {word}"),
        set: set([("cache_type_k", text(word)), ("cache_type_v", text(word))]),
        gain: None,
        known_to_fit: false,
    };
    possible.then(|| Remedy {
        setting: "cache_type_k",
        steps: vec![step("q8_0")],
    })
}

fn layers(inputs: &Inputs<'_>, config: &Config) -> Option<Remedy> {
    // The engine chooses layers only where split and overrides are untouched (`common/fit.cpp`, 0.6.0-dev).
    let untouched = config.overrides.is_empty() && config.tensor_split.is_empty();
    let by_hand = config.gpu_layers != GpuLayers::Auto;
    (by_hand && untouched && !inputs.machine.gpus.is_empty()).then(|| Remedy {
        setting: "n_gpu_layers",
        steps: vec![Step {
            what: "Leaving the number of GPU layers to the engine".to_owned(),
            set: set([("n_gpu_layers", text("auto"))]),
            gain: None,
            known_to_fit: false,
        }],
    })
}

fn experts(inputs: &Inputs<'_>) -> Option<Remedy> {
    let layers = inputs.model.layers.as_slice();
    let routed = layers
        .iter()
        .any(|layer| matches!(layer.feed_forward, FeedForward::Experts(_)));
    let all = inputs.settings.get("cpu_moe") == Some(&Value::Bool(true));
    if !routed || all || inputs.machine.gpus.is_empty() {
        return None;
    }
    let count = layers.len() as u64;
    let now = match inputs.settings.get("n_cpu_moe") {
        Some(Value::Integer(now)) => u64::try_from(*now).unwrap_or(0),
        _ => 0,
    };
    let steps = (1..=EXPERT_STEPS)
        .map(|step| count.saturating_mul(step).div_ceil(EXPERT_STEPS))
        .filter(|blocks| *blocks > now)
        .map(|blocks| Step {
            what: match blocks {
                1 => "Keeping the experts of the first layer in main memory".to_owned(),
                blocks => {
                    format!("Keeping the experts of the first {blocks} layers in main memory")
                }
            },
            set: set([("n_cpu_moe", number(blocks))]),
            gain: None,
            known_to_fit: false,
        })
        .collect();
    Some(Remedy {
        setting: "n_cpu_moe",
        steps,
    })
}

fn micro_batch(config: &Config) -> Option<Remedy> {
    // The engine's own default (`common/common.h`, 0.6.0-dev).
    (config.micro_batch > 512).then(|| Remedy {
        setting: "ubatch_size",
        steps: vec![Step {
            what: "A micro-batch of 512".to_owned(),
            set: set([("ubatch_size", number(512))]),
            gain: None,
            known_to_fit: false,
        }],
    })
}

fn context(resolved: &Settings, derived: &Derived, config: &Config) -> Option<Remedy> {
    let planned = match resolved.get("ctx_size") {
        Some(Value::Integer(planned)) => u64::try_from(*planned).unwrap_or(0),
        _ => 0,
    };
    let longest = derived.max_context_tokens?;
    let step = |tokens: u64, how: &str| Step {
        what: format!("A context of {} tokens{how}", grouped(tokens)),
        set: set([("ctx_size", number(tokens))]),
        gain: None,
        known_to_fit: false,
    };
    let steps: Vec<Step> = if longest < planned {
        vec![step(longest, "")]
    } else if config.gpu_layers == GpuLayers::Auto && planned > 0 {
        // The engine's own choice of layers does not fit with this context and does with another.
        let doubled = |tokens: &u64| tokens.checked_mul(2).filter(|tokens| *tokens <= longest);
        let contexts = std::iter::successors(Some(planned), doubled);
        contexts
            .map(|tokens| step(tokens, ", for which the engine chooses other layers,"))
            .collect()
    } else {
        Vec::new()
    };
    (!steps.is_empty()).then_some(Remedy {
        setting: "ctx_size",
        steps,
    })
}

/// Files with fewer bits per weight: of the model's own file, another one than what is open.
fn weights(config: &Config, model: &Model, derived: &Derived) -> Option<Remedy> {
    let planned = config.weights(model)?;
    let smaller = LADDER
        .iter()
        .enumerate()
        .filter(|(index, kind)| match planned {
            Weights::Native => kind.default_type().bits_per_element() < derived.bits_per_weight,
            Weights::Quantized(planned) => {
                let now = LADDER.iter().position(|kind| *kind == planned);
                *index >= now.map_or(1, |now| now + 1)
            }
        })
        .map(|(_, kind)| *kind);
    let steps: Vec<Step> = smaller
        .map(|kind| Step {
            what: format!("A file in {}", kind.name()),
            set: chosen(Weights::Quantized(kind)),
            gain: None,
            known_to_fit: false,
        })
        .collect();
    (!steps.is_empty()).then_some(Remedy {
        setting: "weights",
        steps,
    })
}

pub(super) fn set<const N: usize>(changes: [(&str, Value); N]) -> Settings {
    changes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

pub(super) fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

pub(super) fn number(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

//! What llama.cpp could do with memory that is left over.

use super::arrange::LADDER;
use super::file_type::FileType;
use super::remedies::{number, set, text};
use crate::engine::{Derived, Inputs, Remedy, Step};
use crate::plan::{Settings, Value};
use crate::projection::{Gain, counted, grouped};

/// Less than this part of all layers, or less than this times the context, is not worth a remark.
const FEW_LAYERS: u64 = 10;
const LONGER: u64 = 2;

/// What should fit by arithmetic, the most useful first: layers that are in main memory, more bits, a longer context.
pub(super) fn ideas(
    inputs: &Inputs<'_>,
    resolved: &Settings,
    derived: &Derived,
    spare: &[i64],
) -> Vec<Remedy> {
    // Where the engine moves layers it uses what there is itself, and makes room for any context in main memory.
    let moves = match inputs.settings.get("n_gpu_layers") {
        None => true,
        Some(Value::Text(word)) => word == "auto",
        Some(_) => false,
    };
    if moves {
        return Vec::new();
    }
    let gpus = spare.split_last().map_or(&[][..], |(_, gpus)| gpus);
    if inputs.machine.gpus.is_empty() || gpus.is_empty() || gpus.iter().any(|spare| *spare < 0) {
        return Vec::new();
    }
    let spare = gpus
        .iter()
        .fold(0_i64, |sum, spare| sum.saturating_add(*spare));
    let spare = spare.unsigned_abs();
    let layers = layers(inputs, derived, spare);
    let in_ram = layers.is_some() || !all_on_gpus(inputs, resolved);
    let weights = if in_ram {
        None
    } else {
        weights(resolved, derived, spare)
    };
    [layers, weights, context(resolved, derived)]
        .into_iter()
        .flatten()
        .collect()
}

fn integer(settings: &Settings, name: &str) -> Option<u64> {
    match settings.get(name) {
        Some(Value::Integer(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Whether nothing was sent to main memory.
fn all_on_gpus(inputs: &Inputs<'_>, resolved: &Settings) -> bool {
    let overrides =
        matches!(resolved.get("override_tensor"), Some(Value::List(rules)) if !rules.is_empty());
    let layers = inputs.model.layers.len() as u64;
    let some = integer(resolved, "n_gpu_layers").is_some_and(|count| count <= layers);
    let experts = integer(resolved, "n_cpu_moe").is_some_and(|count| count > 0)
        || resolved.get("cpu_moe") == Some(&Value::Bool(true));
    !(overrides || some || experts)
}

/// Layers, or experts of layers, that a plan keeps in main memory by hand although there is room.
fn layers(inputs: &Inputs<'_>, derived: &Derived, spare: u64) -> Option<Remedy> {
    let all = inputs.model.layers.len() as u64;
    let each = derived.weights_bytes.get() / all.max(1);
    // A layer brings its cache along; the trial says whether that fits.
    let room = spare / each.max(1);
    let worth = |count: u64| count.saturating_mul(FEW_LAYERS) >= all;
    let steps = |count: u64, step: &dyn Fn(u64) -> Step| -> Vec<Step> {
        let fewer = count.saturating_mul(3) / 4;
        let counts = [count, fewer].into_iter();
        counts.filter(|count| worth(*count)).map(step).collect()
    };
    if let Some(in_ram) = integer(inputs.settings, "n_cpu_moe").filter(|count| *count > 0) {
        let in_ram = in_ram.min(all);
        let back = |count: u64| Step {
            what: format!("the experts of {}", counted(count, "more layer")),
            set: set([("n_cpu_moe", number(in_ram.saturating_sub(count)))]),
            gain: None,
            known_to_fit: false,
        };
        return Some(Remedy {
            setting: "n_cpu_moe",
            steps: steps(room.min(in_ram), &back),
        })
        .filter(|remedy| !remedy.steps.is_empty());
    }
    let on_gpus = integer(inputs.settings, "n_gpu_layers").filter(|count| *count <= all)?;
    let more = |count: u64| Step {
        what: counted(count, "more layer"),
        set: set([("n_gpu_layers", number(on_gpus.saturating_add(count)))]),
        gain: None,
        known_to_fit: false,
    };
    Some(Remedy {
        setting: "n_gpu_layers",
        steps: steps(
            room.min(all.saturating_add(1).saturating_sub(on_gpus)),
            &more,
        ),
    })
    .filter(|remedy| !remedy.steps.is_empty())
}

/// A file with more bits per weight, the largest that should fit.
fn weights(resolved: &Settings, derived: &Derived, spare: u64) -> Option<Remedy> {
    let Some(Value::Text(word)) = resolved.get("weights") else {
        return None;
    };
    let planned: FileType = word.parse().ok()?;
    let now = LADDER.iter().position(|kind| *kind == planned)?;
    let bits = |kind: FileType| {
        let kind = kind.default_type();
        kind.block_bytes() as f64 / kind.block_elements() as f64
    };
    let steps: Vec<Step> = LADDER
        .iter()
        .take(now)
        // Above this nobody can tell a difference (`presets/quality.toml`).
        .filter(|kind| **kind != FileType::BF16)
        .filter(|kind| {
            let growth = bits(**kind) / bits(planned) - 1.0;
            derived.weights_bytes.get() as f64 * growth <= spare as f64
        })
        .map(|kind| Step {
            what: format!("{} instead of {}", kind.name(), planned.name()),
            set: set([("weights", text(kind.name()))]),
            gain: None,
            known_to_fit: false,
        })
        .collect();
    (!steps.is_empty()).then_some(Remedy {
        setting: "weights",
        steps,
    })
}

/// A much longer context, as a round number.
fn context(resolved: &Settings, derived: &Derived) -> Option<Remedy> {
    let planned = integer(resolved, "ctx_size")?;
    let longest = derived.max_context_tokens?;
    // A power of two, as people count contexts, where there is one between.
    let round = 1_u64.checked_shl(longest.checked_ilog2()?)?;
    let tokens = if round >= planned.saturating_mul(LONGER) {
        round
    } else {
        longest
    };
    let worth = planned > 0 && tokens >= planned.saturating_mul(LONGER);
    let gained = i64::try_from(tokens.saturating_sub(planned)).unwrap_or(i64::MAX);
    worth.then(|| Remedy {
        setting: "ctx_size",
        steps: vec![Step {
            what: format!("a context of {} tokens", grouped(tokens)),
            set: set([("ctx_size", number(tokens))]),
            gain: Some(Gain::Tokens(gained)),
            known_to_fit: true,
        }],
    })
}

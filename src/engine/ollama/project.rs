//! From a plan to what the server that Ollama starts allocates.

use super::Ollama;
use super::config::Layers;
use super::limits;
use super::loading::Loading;
use super::notes;
use super::settings::SETTINGS;
use super::translate::{Translation, number, translate, with_settings};
use crate::engine::llamacpp::{LlamaCpp, base};
use crate::engine::setting::Scope;
use crate::engine::traffic::{DeviceTraffic, Traffic};
use crate::engine::{Engine as _, Inputs, Margin, Outcome, Users};
use crate::plan::{Settings, Value};
use crate::projection::{DeviceTerms, Severity};

/// What Ollama would make of a plan.
pub(super) fn project(inputs: &Inputs<'_>) -> Outcome {
    let translation = translate(inputs);
    let (mut outcome, _) = project_as_is(inputs, &translation);
    if !outcome.refused {
        outcome.derived.max_context_tokens = limits::context(inputs, &translation);
        outcome.derived.max_context_tokens_on_gpus =
            all_on_gpus(inputs, &translation).and_then(|settings| {
                let inputs = with_settings(inputs, &settings);
                limits::context(&inputs, &translate(&inputs))
            });
    }
    outcome
}

/// The most requests at once with as much context each as planned.
pub(super) fn most_users(inputs: &Inputs<'_>) -> Option<Users> {
    let translation = translate(inputs);
    let (outcome, _) = project_as_is(inputs, &translation);
    if outcome.refused {
        return None;
    }
    let on_gpus = all_on_gpus(inputs, &translation);
    Some(Users {
        most: limits::users(inputs, &translation)?,
        on_gpus: on_gpus.and_then(|settings| {
            let inputs = with_settings(inputs, &settings);
            limits::users(&inputs, &translate(&inputs))
        }),
        tokens_each: translation.context.tokens,
    })
}

/// The plan with every layer on a GPU, where that is left to the server.
fn all_on_gpus(inputs: &Inputs<'_>, translation: &Translation<'_>) -> Option<Settings> {
    fits_itself(translation).then(|| {
        let mut settings = inputs.settings.clone();
        // What is chosen by the memory there is stays as it is.
        settings.insert("num_ctx".to_owned(), number(translation.context.tokens));
        settings.insert("num_gpu".to_owned(), Value::Text("all".to_owned()));
        settings
    })
}

/// The same without how far the plan could go, and whether everything is on GPUs.
pub(super) fn project_as_is(inputs: &Inputs<'_>, translation: &Translation<'_>) -> (Outcome, bool) {
    let mut outcome = base::project(&translation.inputs(inputs));
    let layers = outcome.resolved.get("n_gpu_layers").cloned();
    let flash = outcome.resolved.get("flash_attn").cloned();
    let overrides = outcome.resolved.get("override_tensor");
    let whole = matches!(overrides, Some(Value::List(rules)) if rules.is_empty())
        && are_all(translation, layers.as_ref());
    for moment in &mut outcome.projection.moments {
        let devices = std::mem::take(&mut moment.devices);
        moment.devices = translation.expand(inputs.machine, devices, |_| DeviceTerms::default());
    }
    if let Some(traffic) = &mut outcome.traffic {
        spread_out(inputs, translation, traffic);
    }
    outcome.notes = notes::notes(inputs, translation, outcome.notes);
    outcome.refused = outcome
        .notes
        .iter()
        .any(|note| note.severity == Severity::Error)
        || outcome.refused;
    outcome.resolved = resolved(inputs, translation, layers, flash);
    (outcome, whole)
}

/// Is it every layer of the file?
fn are_all(translation: &Translation<'_>, layers: Option<&Value>) -> bool {
    match layers {
        Some(Value::Text(_)) => true,
        Some(Value::Integer(count)) => translation
            .file
            .is_some_and(|file| u64::try_from(*count).is_ok_and(|count| count > file.blocks)),
        _ => false,
    }
}

/// Bytes that every device has left, GPUs in plan order and the host last.
pub(super) fn room(inputs: &Inputs<'_>, margin: Margin) -> Option<Vec<i64>> {
    let translation = translate(inputs);
    let left = base::room(&translation.inputs(inputs), margin)?;
    let unused = |index: usize| {
        let gpu = inputs.machine.gpus.get(index);
        gpu.map_or(0, |gpu| gpu.memory.usable.signed_sub(gpu.memory.in_use))
    };
    Some(translation.expand(inputs.machine, left, unused))
}

/// What the server would read and compute per token.
pub(super) fn traffic(inputs: &Inputs<'_>) -> Option<Traffic> {
    let translation = translate(inputs);
    let mut traffic = LlamaCpp.traffic(&translation.inputs(inputs))?;
    spread_out(inputs, &translation, &mut traffic);
    Some(traffic)
}

/// GPUs that the server does not see have nothing to do.
fn spread_out(inputs: &Inputs<'_>, translation: &Translation<'_>, traffic: &mut Traffic) {
    let mut devices = std::mem::take(&mut traffic.gpus);
    devices.push(DeviceTraffic::default());
    let mut gpus = translation.expand(inputs.machine, devices, |_| DeviceTraffic::default());
    gpus.truncate(inputs.machine.gpus.len());
    traffic.gpus = gpus;
}

/// Every setting with its effective value, in the order of the engine's list.
fn resolved(
    inputs: &Inputs<'_>,
    translation: &Translation<'_>,
    layers: Option<Value>,
    flash: Option<Value>,
) -> Settings {
    let scope = Scope {
        model: inputs.model,
        draft: inputs.draft,
        machine: inputs.machine,
        settings: inputs.settings,
    };
    let mut settings: Settings = SETTINGS
        .iter()
        .map(|setting| {
            let written = inputs.settings.get(setting.name).cloned();
            let value = written.unwrap_or_else(|| (setting.default)(&scope));
            (setting.name.to_owned(), value)
        })
        .collect();
    let mut put = |name: &str, value: Option<Value>| {
        if let (Some(known), Some(value)) = (settings.get_mut(name), value) {
            *known = value;
        }
    };
    put("num_ctx", Some(number(translation.context.tokens)));
    put("num_parallel", Some(number(translation.parallel)));
    put("num_batch", translation.batch.map(number));
    put(
        "use_mmap",
        Some(Value::Bool(translation.loading == Loading::Mapped)),
    );
    put("flash_attention", flash);
    let layers = match (translation.placement.gpus.is_empty(), layers) {
        (true, _) => Some(Value::Integer(0)),
        (false, Some(Value::Text(_))) => {
            let file = translation.file;
            file.map(|file| number(file.blocks.saturating_add(1)))
        }
        (false, layers) => layers,
    };
    put("num_gpu", layers);
    settings
}

/// Are the layers left to the server?
pub(super) fn fits_itself(translation: &Translation<'_>) -> bool {
    translation.config.layers == Layers::Auto && !translation.placement.gpus.is_empty()
}

impl Ollama {
    /// The engine itself, where its settings are asked for by name.
    pub(super) const THIS: &'static dyn crate::engine::Engine = &Self;
}

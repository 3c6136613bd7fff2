//! Every setting with its effective value, automatic choices filled in.

use super::auto::{Fitted, gpu_layers, overflows};
use super::config::{Config, GpuLayers};
use super::notes::buffer_names;
use super::settings::SETTINGS;
use crate::engine::Inputs;
use crate::engine::setting::Scope;
use crate::plan::{Settings, Value};

/// What the choices come from.
pub(super) struct Choices<'a> {
    /// Settings as taken, fitting applied.
    pub(super) config: &'a Config,
    /// Trained context.
    pub(super) trained: u64,
    /// What fitting decided, where it ran.
    pub(super) fitted: Option<&'a Fitted>,
    /// What flash attention comes to, where that is known.
    pub(super) flash: Option<bool>,
    /// Layers of the file without the output layer.
    pub(super) blocks: u64,
    /// Those of them that fitting counts: prediction blocks are not among them (`hp_ngl` in `common/fit.cpp`,
    /// 0.6.0-dev).
    pub(super) fitted_blocks: u64,
}

/// The settings in the order of the engine's list.
pub(super) fn resolved(inputs: &Inputs<'_>, choices: &Choices<'_>) -> Settings {
    let scope = Scope {
        model: inputs.model,
        draft: inputs.draft,
        machine: inputs.machine,
        settings: inputs.settings,
    };
    let mut settings = Settings::with_capacity(SETTINGS.len());
    for setting in SETTINGS {
        let written = inputs.settings.get(setting.name).cloned();
        let value = written.unwrap_or_else(|| (setting.default)(&scope));
        settings.insert(setting.name.to_owned(), value);
    }
    let mut put = |name: &str, value: Value| {
        if let Some(known) = settings.get_mut(name) {
            *known = value;
        }
    };
    let Choices {
        config,
        trained,
        fitted,
        flash,
        blocks,
        fitted_blocks,
    } = choices;
    put("ctx_size", number(config.asked_context(*trained)));
    put("parallel", number(config.sequences));
    put("kv_unified", Value::Bool(config.unified));
    put("n_outputs_max", number(config.outputs));
    put("batch_size", number(config.batch));
    if let Some(on) = flash {
        put(
            "flash_attn",
            Value::Text(if *on { "on" } else { "off" }.to_owned()),
        );
    }
    put("n_gpu_layers", layers(config, blocks + 1));
    if let Some(devices) = fitted.and_then(|fitted| fitted.candidate.layers.as_ref()) {
        if devices.len() > 1 {
            let shares = devices.iter().map(|device| number(device.layers.into()));
            put("tensor_split", Value::List(shares.collect()));
        }
        let names = buffer_names(&super::config::devices(inputs.machine, config), config);
        let rules = overflows(devices, *fitted_blocks)
            .into_iter()
            .map(|overflow| {
                let position = overflow.target.map_or(0, |gpu| gpu + 1);
                let target = names.get(position).map_or("CPU", String::as_str);
                Value::Text(format!("{}={target}", overflow.regex()))
            });
        put("override_tensor", Value::List(rules.collect()));
        put("n_gpu_layers", number(gpu_layers(devices)));
    }
    let fits_itself = super::launch::fits_itself(inputs.settings, &settings, inputs.machine);
    if !inputs.settings.contains_key("fit") {
        settings.insert("fit".to_owned(), Value::Bool(fits_itself));
    }
    settings
}

fn layers(config: &Config, all: u64) -> Value {
    match config.gpu_layers {
        // Left to itself the engine offloads everything.
        GpuLayers::All | GpuLayers::Auto => Value::Text("all".to_owned()),
        GpuLayers::Count(count) => number(count.min(all)),
    }
}

fn number(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

//! What `llama_init_from_model` (`src/llama-context.cpp`) and the loader (`src/llama.cpp`, `src/llama-model.cpp`) refuse,
//! 0.6.0-dev.

use super::{set, set_number, set_word};
use crate::engine::llamacpp::config::{Config, Device, Flash, Override, SplitMode, remote_names};
use crate::engine::llamacpp::tensors::Architecture;
use crate::model::{Mixer, Model};
use crate::plan::Value;
use crate::projection::Note;
use crate::quant::Type;

/// Architectures that cannot be split by tensor (`llm_arch_supports_sm_tensor`, `src/llama-arch.cpp` 0.6.0-dev).
const NO_TENSOR_SPLIT: &[Architecture] = &[
    Architecture::DeepSeek2,
    Architecture::DeepSeek2Expanded,
    Architecture::DeepSeek32,
    Architecture::FalconH1,
    Architecture::Gemma3n,
    Architecture::GlmDsa,
    Architecture::GraniteHybrid,
    Architecture::KimiK3,
    Architecture::MiniMax01,
    Architecture::MiniMaxM2,
    Architecture::MiniMaxM3,
    Architecture::NemotronH,
    Architecture::NemotronHMoe,
    Architecture::Olmo2,
    Architecture::Olmoe,
];

/// Errors for what cannot start.
pub(in super::super) fn refusals(
    model: &Model,
    architecture: Architecture,
    config: &Config,
    devices: &[Device<'_>],
    gpus: usize,
    notes: &mut Vec<Note>,
) {
    cache_types(model, architecture, config, notes);
    split(architecture, config, devices, gpus, notes);
    targets(config, devices, notes);
    // Of a model that is not known it may be said where nobody looked.
    if model.only_weights().is_none()
        && model.max_position_embeddings == 0
        && model.context_length == 0
        && config.asked_context(0) == 0
    {
        notes.push(
            Note::error(
                "no-context",
                "The model does not say how long its context is, and the plan does not either: the engine refuses.",
            )
            .on("ctx_size"),
        );
    }
}

fn cache_types(model: &Model, architecture: Architecture, config: &Config, notes: &mut Vec<Note>) {
    let (k, v) = (config.cache_k, config.cache_v);
    if !architecture.expands_latents() && keys_are_values(model) && k != v {
        notes.push(
            Note::error(
                "cache-types-differ",
                format!("This model keeps one vector for keys and values; the engine refuses {k} for keys with {v} for values."),
            )
            .on("cache_type_v")
            .fixed_by(set_word("cache_type_v", k.name())),
        );
    }
    if v.is_quantized() && config.flash == Flash::Off {
        notes.push(
            Note::error(
                "quantized-values-need-flash-attention",
                format!("A {v} cache of values needs flash attention; the engine refuses to start without."),
            )
            .on("flash_attn")
            .fixed_by(set_word("flash_attn", "auto")),
        );
    }
    if config.flash != Flash::Off {
        let (k_width, v_width) = head_widths(model, architecture);
        divides("cache_type_k", k, k_width, notes);
        divides("cache_type_v", v, v_width, notes);
    }
}

/// Keys and values are one latent vector.
fn keys_are_values(model: &Model) -> bool {
    model
        .layers
        .iter()
        .any(|layer| matches!(layer.mixer, Mixer::Latent(_) | Mixer::Compressed(_)))
}

/// Widths of key and value heads that blocks of a cache type must divide, over all layers.
fn head_widths(model: &Model, architecture: Architecture) -> (Vec<u64>, Vec<u64>) {
    let mut widths = (Vec::new(), Vec::new());
    for layer in &model.layers {
        let (k, v) = match &layer.mixer {
            Mixer::Attention(attention) | Mixer::AttentionAndMamba2(attention, _) => {
                (attention.head_dim, attention.v_head_dim)
            }
            Mixer::Latent(latent) if architecture.expands_latents() => {
                (latent.qk_head_dim(), latent.v_head_dim)
            }
            Mixer::Latent(latent) => (latent.latent_width(), latent.kv_lora_rank),
            Mixer::Compressed(compressed) => (compressed.head_dim, compressed.head_dim),
            Mixer::None
            | Mixer::GatedDelta(_)
            | Mixer::KimiDelta(_)
            | Mixer::Mamba2(_)
            | Mixer::Lightning(_) => continue,
        };
        if !widths.0.contains(&k) {
            widths.0.push(k);
        }
        if !widths.1.contains(&v) {
            widths.1.push(v);
        }
    }
    widths
}

fn divides(setting: &'static str, kind: Type, widths: Vec<u64>, notes: &mut Vec<Note>) {
    let block = kind.block_elements();
    if let Some(width) = widths
        .into_iter()
        .find(|width| !width.is_multiple_of(block))
    {
        notes.push(
            Note::error(
                "cache-type-does-not-divide-head",
                format!("Blocks of {kind} hold {block} elements, which do not divide the heads of {width}; the engine refuses."),
            )
            .on(setting)
            .fixed_by(set_word(setting, Type::F16.name())),
        );
    }
}

fn split(
    architecture: Architecture,
    config: &Config,
    devices: &[Device<'_>],
    gpus: usize,
    notes: &mut Vec<Note>,
) {
    match config.split_mode {
        SplitMode::Layer => {}
        SplitMode::None => {
            if let Some(main) = config.main_gpu
                && devices.is_empty()
                && gpus > 0
            {
                notes.push(
                    Note::error(
                        "no-such-gpu",
                        format!("There is no GPU {main}: the engine refuses to start."),
                    )
                    .on("main_gpu")
                    .fixed_by(set_number("main_gpu", 0)),
                );
            }
        }
        SplitMode::Row => row_split(config, devices, notes),
        SplitMode::Tensor => tensor_split(architecture, config, devices, notes),
    }
}

fn row_split(config: &Config, devices: &[Device<'_>], notes: &mut Vec<Note>) {
    if devices.is_empty() {
        return;
    }
    let note = if config.version.at_least("0.6.0") {
        Note::error(
            "row-split-gone",
            "Splitting by row is gone from this version: its CUDA backend has no split buffers, and loading fails.",
        )
    } else {
        Note::hint(
            "row-split-goes-away",
            "Splitting by row is gone from versions since 0.6.0. Matrices are split, caches and experts stay with their \
             layers, and pools take a little more than shown for the parts of results.",
        )
    };
    notes.push(
        note.on("split_mode")
            .fixed_by(set_word("split_mode", "layer")),
    );
}

fn tensor_split(
    architecture: Architecture,
    config: &Config,
    devices: &[Device<'_>],
    notes: &mut Vec<Note>,
) {
    let by_layer = || set_word("split_mode", "layer");
    if devices.is_empty() {
        notes.push(
            Note::error(
                "tensor-split-needs-gpu",
                "Splitting by tensor needs a GPU: the engine refuses to start.",
            )
            .on("split_mode")
            .fixed_by(by_layer()),
        );
    } else if NO_TENSOR_SPLIT.contains(&architecture) {
        notes.push(
            Note::error(
                "tensor-split-not-for-model",
                "The engine cannot split this architecture by tensor and refuses to load it.",
            )
            .on("split_mode")
            .fixed_by(by_layer()),
        );
    } else if config.flash == Flash::Off {
        notes.push(
            Note::error(
                "tensor-split-needs-flash-attention",
                "Splitting by tensor needs flash attention: the engine refuses to start.",
            )
            .on("flash_attn")
            .fixed_by(set_word("flash_attn", "auto")),
        );
    } else {
        notes.push(
            Note::hint(
                "tensor-split-is-experimental",
                "Splitting by tensor is experimental. Every GPU holds a part of each layer and a whole compute buffer, and \
                 works on prompts and answers at the same time as the others.",
            )
            .on("split_mode"),
        );
        even_parts(config, devices, notes);
    }
}

/// Most devices of a tensor split (`GGML_BACKEND_META_MAX_DEVICES`, `ggml/include/ggml-backend.h` 0.6.0-dev).
const MOST_TOGETHER: usize = 16;

/// Without shares the parts are even, whatever is free (`llama_meta_device_get_split_state`).
fn even_parts(config: &Config, devices: &[Device<'_>], notes: &mut Vec<Note>) {
    if devices.len() > MOST_TOGETHER {
        notes.push(
            Note::error(
                "too-many-for-tensor-split",
                format!(
                    "The engine splits tensors over at most {MOST_TOGETHER} GPUs, not {}.",
                    devices.len()
                ),
            )
            .on("split_mode")
            .fixed_by(set_word("split_mode", "layer")),
        );
    }
    let free = |device: &Device<'_>| {
        let memory = device.gpu.memory;
        memory.usable.saturating_sub(memory.in_use)
    };
    let least = devices.iter().map(free).min().unwrap_or_default();
    let most = devices.iter().map(free).max().unwrap_or_default();
    // A tenth is less than rounding to whole heads may move.
    if config.tensor_split.is_empty() && least.mul_ratio(11, 10) < most {
        let shares = devices.iter().map(|device| {
            let mib = free(device).get() / crate::units::MIB;
            Value::Integer(i64::try_from(mib).unwrap_or(i64::MAX))
        });
        notes.push(
            Note::warning(
                "even-parts-on-uneven-gpus",
                format!(
                    "Without shares every GPU gets an equal part, also where one has {least} free and another {most}."
                ),
            )
            .on("tensor_split")
            .fixed_by(set("tensor_split", Value::List(shares.collect()))),
        );
    }
}

/// Overrides to a buffer that is not there.
fn targets(config: &Config, devices: &[Device<'_>], notes: &mut Vec<Note>) {
    let names = buffer_names(devices, config);
    for rule in &config.overrides {
        if let Override::Pattern { regex: _, target } = rule
            && !names.contains(target)
        {
            notes.push(
                Note::error(
                    "unknown-buffer",
                    format!(
                        "There is no buffer type {target:?} here; the engine knows {}.",
                        names.join(", ")
                    ),
                )
                .on("override_tensor"),
            );
        }
    }
}

/// Names of buffer types, main memory first.
pub(in super::super) fn buffer_names(devices: &[Device<'_>], config: &Config) -> Vec<String> {
    let mut names = vec!["CPU".to_owned()];
    names.extend(remote_names(devices, config));
    let local: Vec<&Device<'_>> = devices
        .iter()
        .filter(|device| !device.is_remote())
        .collect();
    for (index, device) in local.iter().enumerate() {
        let before = local.iter().take(index);
        let position = before
            .filter(|other| other.gpu.vendor == device.gpu.vendor)
            .count();
        names.push(device.buffer_name(position));
    }
    names
}

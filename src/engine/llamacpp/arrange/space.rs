//! Where there is a choice: formats, context, slots.

use super::super::config::{self, CELL_PADDING, Context};
use super::super::limits;
use crate::engine::Inputs;
use crate::engine::llamacpp::accepted::accepted;
use crate::engine::llamacpp::file_type::{FileType, Weights};
use crate::engine::search::{Format, Space};
use crate::model::FeedForward;
use crate::plan::{Settings, Value};
use crate::quant::Type;

/// File types that people download, most bits first; each is a clear step smaller than the one before.
pub(in super::super) const LADDER: [FileType; 11] = [
    FileType::BF16,
    FileType::Q8_0,
    FileType::Q6_K,
    FileType::Q5_K_M,
    FileType::Q4_K_M,
    FileType::IQ4_XS,
    FileType::Q3_K_M,
    FileType::IQ3_M,
    FileType::Q2_K,
    FileType::IQ2_XXS,
    FileType::IQ1_M,
];

/// Formats of the KV cache that every backend has kernels for, most bits first. q8_0 loses next to nothing, q4_0 visibly
/// (`presets/quality.toml`).
const CACHES: [Type; 3] = [Type::F16, Type::Q8_0, Type::Q4_0];

/// What can be searched.
pub(in super::super) fn space(inputs: &Inputs<'_>) -> Option<Space> {
    // What is known by half has nothing that could be chosen well.
    if inputs.model.only_weights().is_some() {
        return None;
    }
    let (subject, config) = accepted(inputs)?;
    let planned = config.weights(inputs.model)?;
    let usual = Weights::usual(inputs.model);
    let names_weights = inputs.settings.contains_key("weights");
    let types = forms(inputs, (usual, planned), names_weights);
    let quantized = config.flash != config::Flash::Off;
    let mut caches: Vec<(Type, Type)> = CACHES
        .into_iter()
        .filter(|kind| quantized || !kind.is_quantized())
        .map(|kind| (kind, kind))
        .collect();
    let written = (config.cache_k, config.cache_v);
    let drafts = subject.companion.is_some() || subject.prediction.is_some();
    // Whoever pinned the model's own leaves those of what drafts.
    let own = ["cache_type_k", "cache_type_v"];
    let fixed = own.iter().all(|name| inputs.settings.contains_key(*name));
    let kept = (drafts && fixed).then_some(written);
    if kept.is_none() && !caches.contains(&written) {
        caches.push(written);
        caches.sort_by(|a, b| bits(*b).total_cmp(&bits(*a)));
    }
    let lossless = |caches: &(Type, Type)| bits(*caches) >= bits((Type::Q8_0, Type::Q8_0));
    let slots = plans_slots(inputs.settings);
    Some(Space {
        usual_weights: types.iter().position(|kind| *kind == usual).unwrap_or(0),
        planned_weights: names_weights
            .then(|| types.iter().position(|kind| *kind == planned))
            .flatten(),
        lossy_caches: caches.iter().filter(|caches| lossless(caches)).count(),
        weights: types
            .into_iter()
            .map(|form| weights(form, inputs))
            .collect(),
        caches: caches
            .into_iter()
            .map(|own| cache(kept.unwrap_or(own), drafts.then_some(own)))
            .collect(),
        longest_context: subject.trained.max(CELL_PADDING),
        context_step: CELL_PADDING,
        most_slots: limits::MAX_SEQUENCES,
        slot_stretches: limits::slot_stretches(|_| config.micro_batch),
        planned_context: match config.context {
            Context::Tokens(tokens) if slots => Some(tokens / config.sequences.max(1)),
            Context::Tokens(tokens) => Some(tokens),
            Context::Trained => Some(subject.trained),
            Context::Unset => None,
        },
        planned_slots: slots.then_some(config.sequences),
        gpus: !subject.devices.is_empty(),
        experts: inputs
            .model
            .layers
            .iter()
            .any(|layer| matches!(layer.feed_forward, FeedForward::Experts(_))),
    })
}

/// Whether a plan says how many slots there are, instead of leaving it to the engine.
pub(in super::super) fn plans_slots(settings: &Settings) -> bool {
    matches!(settings.get("parallel"), Some(Value::Integer(slots)) if *slots >= 0)
}

/// Bits of a cached key and its value, on average.
fn bits((keys, values): (Type, Type)) -> f64 {
    f64::midpoint(bits_of(keys), bits_of(values))
}

fn bits_of(kind: Type) -> f64 {
    8.0 * kind.block_bytes() as f64 / kind.block_elements() as f64
}

/// Forms of the weights that there is a choice of, most bits first. What is open is what a person has: other files are
/// looked at where the plan names one already.
fn forms(inputs: &Inputs<'_>, (usual, planned): (Weights, Weights), written: bool) -> Vec<Weights> {
    let published = Weights::Quantized(FileType::MXFP4_MOE);
    let mut forms: Vec<Weights> = if usual == Weights::Native && (planned == usual || !written)
        // Published that way: other types are larger and no better, since nothing was left out.
        || usual == published
    {
        vec![usual]
    } else {
        LADDER.map(Weights::Quantized).to_vec()
    };
    for own in [usual, planned] {
        if (written || own == usual) && !forms.contains(&own) {
            forms.push(own);
        }
    }
    // In the order of the engine's list: largest first.
    let bits = |form: &Weights| bits_of_form(*form, inputs);
    forms.sort_by(|a, b| match (a, b) {
        (Weights::Quantized(a), Weights::Quantized(b)) => a.cmp(b),
        _ => bits(b).total_cmp(&bits(a)),
    });
    forms
}

/// Bits of an element of what most of it is stored in; of the model's own file, on average.
fn bits_of_form(form: Weights, inputs: &Inputs<'_>) -> f64 {
    match (form, inputs.model.checkpoint.as_deref()) {
        (Weights::Quantized(kind), _) => bits_of(kind.default_type()),
        (Weights::Native, Some(file)) => {
            8.0 * file.bytes.get() as f64 / file.elements().max(1) as f64
        }
        (Weights::Native, None) => 0.0,
    }
}

fn weights(form: Weights, inputs: &Inputs<'_>) -> Format {
    Format {
        word: form.short(inputs.model).to_owned(),
        bits: bits_of_form(form, inputs),
        set: chosen(form),
        along: Settings::new(),
    }
}

/// What chooses a form; the quantizer writes the smallest ones only with an importance matrix (`tensor_requires_imatrix` in
/// `src/llama-quant.cpp`, 0.6.0-dev).
pub(in super::super) fn chosen(form: Weights) -> Settings {
    let mut set = Settings::from([("weights".to_owned(), Value::Text(form.word().to_owned()))]);
    if matches!(
        form,
        Weights::Quantized(FileType::IQ2_XXS | FileType::IQ1_M)
    ) {
        set.insert("imatrix".to_owned(), Value::Bool(true));
    }
    set
}

/// One of the model's caches, and of those of what drafts for it.
fn cache((keys, values): (Type, Type), draft: Option<(Type, Type)>) -> Format {
    let word = if keys == values {
        keys.name().to_owned()
    } else {
        format!("{}/{}", keys.name(), values.name())
    };
    let text = |kind: Type| Value::Text(kind.name().to_owned());
    Format {
        word,
        bits: bits((keys, values)),
        set: Settings::from([
            ("cache_type_k".to_owned(), text(keys)),
            ("cache_type_v".to_owned(), text(values)),
        ]),
        along: draft.map_or_else(Settings::new, |(keys, values)| {
            Settings::from([
                ("cache_type_k_draft".to_owned(), text(keys)),
                ("cache_type_v_draft".to_owned(), text(values)),
            ])
        }),
    }
}

/// So many slots with so many tokens each.
pub(in super::super) fn load(context_per_slot: u64, slots: u64) -> Settings {
    let number = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    Settings::from([
        (
            "ctx_size".to_owned(),
            number(context_per_slot.saturating_mul(slots)),
        ),
        ("parallel".to_owned(), number(slots)),
    ])
}

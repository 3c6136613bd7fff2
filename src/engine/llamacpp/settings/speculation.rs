//! Speculative decoding: who drafts, and where that lives.

use super::super::super::setting::{Choice, Group, Kind, Scope, Setting, Step};
use super::super::file_type::Weights;
use super::bounds;
use super::quantization::{cache_types, f16, forms};
use super::relevance::{draft, draft_and_gpu, draft_with_experts, drafting, drafting_by_context};
use super::shape::{auto, choices, empty, integer, off, on, zero};
use crate::plan::{Settings, Value};

/// Types of `common_speculative_type_to_str` (`common/speculative.cpp`, 0.6.0-dev).
const SPEC_TYPES: &[(&str, &str)] = &[
    ("none", "no drafting"),
    ("draft-simple", "a small model of the same vocabulary"),
    ("draft-mtp", "the model's own prediction blocks"),
    ("draft-eagle3", "a head trained for the model"),
    ("draft-dflash", "a block drafter trained for the model"),
    ("draft-dspark", "the same with a Markov head"),
    ("ngram-simple", "repeats what the text says already"),
    ("ngram-map-k", "the same with a map of its ends"),
    ("ngram-map-k4v", "the same with several continuations"),
    ("ngram-mod", "the same with a shared table"),
    ("ngram-cache", "the same with statistics kept in files"),
];

fn spec_types(_: &Scope<'_>) -> Vec<Choice> {
    choices(SPEC_TYPES)
}

/// The engine loads a draft model without using it where nothing says how; whoever names one wants it used.
fn spec_type(scope: &Scope<'_>) -> Value {
    let word = if scope.draft.is_some() {
        "draft-simple"
    } else {
        "none"
    };
    Value::Text(word.to_owned())
}

pub(super) const SPEC_TYPE: Setting = Setting {
    synonyms: &[("mtp", "draft-mtp"), ("nextn", "draft-mtp")],
    counterparts: super::meaning::SPEC_TYPE,
    since: Some("2026-05"),
    ..Setting::new(
        "spec_type",
        "Speculation",
        Group::Advanced,
        Kind::Choice {
            options: spec_types,
        },
        spec_type,
        "Who proposes tokens that the model then checks together: a draft model, the model's own prediction blocks, or \
         the text so far. With a draft model in the plan it is draft-simple unless written otherwise.",
    )
};

fn spec_draft_n_max(_: &Scope<'_>) -> Value {
    Value::Integer(3)
}

pub(super) const SPEC_DRAFT_N_MAX: Setting = Setting {
    aliases: &["draft_max", "draft_n"],
    counterparts: super::meaning::SPEC_DRAFT_N_MAX,
    applies: drafting,
    ..Setting::new(
        "spec_draft_n_max",
        "Draft tokens",
        Group::Advanced,
        integer(bounds::rollback_states, Step::By(1), "tokens"),
        spec_draft_n_max,
        "Most tokens that are drafted at once: each takes a row of logits per slot and, in recurrent models with \
         prediction blocks, a copy of the state.",
    )
};

fn draft_weights(scope: &Scope<'_>) -> Value {
    let form = Weights::of_draft(
        word(scope.settings, "weights"),
        scope.draft.unwrap_or(scope.model),
    );
    Value::Text(form.word().to_owned())
}

fn word<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
    match settings.get(name) {
        Some(Value::Text(word)) => Some(word),
        _ => None,
    }
}

fn forms_of_draft(scope: &Scope<'_>) -> Vec<Choice> {
    let Some(draft) = scope.draft else {
        // Not known here: whatever a draft may have.
        let mut all = forms(scope.model);
        if all.iter().all(|choice| choice.word != Weights::NATIVE) {
            all.insert(
                0,
                Choice {
                    word: Weights::NATIVE,
                    title: None,
                    hint: "as in the file".to_owned(),
                },
            );
        }
        return all;
    };
    forms(draft)
}

pub(super) const DRAFT_WEIGHTS: Setting = Setting {
    applies: draft,
    of_files: &[Weights::NATIVE],
    ..Setting::new(
        "draft_weights",
        "Draft weights",
        Group::Advanced,
        Kind::Choice {
            options: forms_of_draft,
        },
        draft_weights,
        "File type of the draft model; as the model's unless written. Not a flag: it is the file that is downloaded.",
    )
};

pub(super) const N_GPU_LAYERS_DRAFT: Setting = Setting {
    aliases: &["ngld", "gpu_layers_draft", "spec_draft_ngl"],
    applies: draft_and_gpu,
    ..Setting::new(
        "n_gpu_layers_draft",
        "Draft layers on GPU",
        Group::Advanced,
        Kind::Integer {
            bounds: bounds::draft_layers,
            step: Step::By(1),
            words: &["auto", "all"],
            unit: "layers",
        },
        auto,
        "How many layers of the draft model go to the GPUs; \"auto\" is all of them.",
    )
};

pub(super) const CACHE_TYPE_K_DRAFT: Setting = Setting {
    aliases: &["ctkd", "spec_draft_type_k"],
    applies: drafting_by_context,
    ..Setting::new(
        "cache_type_k_draft",
        "Draft cache, keys",
        Group::Advanced,
        Kind::Choice {
            options: cache_types,
        },
        f16,
        "Format of the keys in the draft's KV cache, which is as long as the model's.",
    )
};

pub(super) const CACHE_TYPE_V_DRAFT: Setting = Setting {
    aliases: &["ctvd", "spec_draft_type_v"],
    applies: drafting_by_context,
    ..Setting::new(
        "cache_type_v_draft",
        "Draft cache, values",
        Group::Advanced,
        Kind::Choice {
            options: cache_types,
        },
        f16,
        "Format of the values in the draft's KV cache; a quantized one needs flash attention.",
    )
};

pub(super) const CPU_MOE_DRAFT: Setting = Setting {
    aliases: &["cmoed", "spec_draft_cpu_moe"],
    applies: draft_with_experts,
    ..Setting::new(
        "cpu_moe_draft",
        "Draft experts on CPU",
        Group::Advanced,
        Kind::Toggle,
        off,
        "Keeps the routed experts of the draft model in main memory.",
    )
};

pub(super) const N_CPU_MOE_DRAFT: Setting = Setting {
    aliases: &["ncmoed", "spec_draft_n_cpu_moe"],
    applies: draft_with_experts,
    ..Setting::new(
        "n_cpu_moe_draft",
        "Draft layers with experts on CPU",
        Group::Advanced,
        integer(bounds::draft_layers, Step::By(1), "layers"),
        zero,
        "Keeps the routed experts of the draft model's first N layers in main memory.",
    )
};

pub(super) const OVERRIDE_TENSOR_DRAFT: Setting = Setting {
    aliases: &["otd", "spec_draft_override_tensor"],
    applies: draft_and_gpu,
    ..Setting::new(
        "override_tensor_draft",
        "Draft tensor overrides",
        Group::Advanced,
        Kind::Lines {
            example: r"\.ffn_(up|down)_exps\.=CPU",
        },
        empty,
        "Sends tensors of the draft model whose name matches a regular expression to a buffer type.",
    )
};

pub(super) const DEVICE_DRAFT: Setting = Setting {
    aliases: &["devd", "spec_draft_device"],
    applies: draft_and_gpu,
    ..Setting::new(
        "device_draft",
        "Draft devices",
        Group::Advanced,
        Kind::Text {
            example: "CUDA0,CUDA1",
        },
        auto,
        "GPUs that the draft model uses, by the engine's names; \"none\" is the processor, \"auto\" the model's own GPUs.",
    )
};

pub(super) const SPEC_DRAFT_BACKEND_SAMPLING: Setting = Setting {
    applies: super::relevance::prediction,
    since: Some("2026-08"),
    ..Setting::new(
        "spec_draft_backend_sampling",
        "Draft sampling on GPU",
        Group::Advanced,
        Kind::Toggle,
        on,
        "Samples drafted tokens on the device of the prediction blocks, which quadruples the draft's output buffer.",
    )
};

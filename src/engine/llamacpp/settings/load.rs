//! Context, slots, batches.

use super::super::super::setting::{Choice, Group, Kind, Scope, Setting, Step};
use super::bounds;
use super::meaning;
use super::shape::{auto, choices, integer, zero};
use crate::plan::Value;

pub(super) const CTX_SIZE: Setting = Setting {
    aliases: &["c", "ctx", "context", "n_ctx"],
    counterparts: meaning::CTX_SIZE,
    ..Setting::new(
        "ctx_size",
        "Context",
        Group::Load,
        integer(
            bounds::context,
            Step::Logarithmic { multiple: 256 },
            "tokens",
        ),
        zero,
        "Tokens that all slots hold together; 0 is the trained context, which automatic fitting may reduce where it \
         was not written.",
    )
};

pub(super) const PARALLEL: Setting = Setting {
    aliases: &["np", "n_parallel", "slots"],
    counterparts: meaning::PARALLEL,
    ..Setting::new(
        "parallel",
        "Slots",
        Group::Load,
        Kind::Integer {
            bounds: bounds::slots,
            step: Step::By(1),
            words: &["auto"],
            unit: "slots",
        },
        auto,
        "Requests served at once. \"auto\" is four slots that share one KV cache; with a number each slot gets its \
         part of the context unless the cache is unified.",
    )
};

/// On only where the number of slots is automatic (`tools/server`, 0.6.0-dev).
fn unified(scope: &Scope<'_>) -> Value {
    let automatic = match scope.settings.get("parallel") {
        None | Some(Value::Text(_)) => true,
        Some(Value::Integer(slots)) => *slots < 0,
        Some(_) => false,
    };
    Value::Bool(automatic)
}

pub(super) const KV_UNIFIED: Setting = Setting {
    aliases: &["kvu"],
    ..Setting::new(
        "kv_unified",
        "Shared KV cache",
        Group::Load,
        Kind::Toggle,
        unified,
        "One KV cache for all slots: any slot may use all of it, at the price of a larger sliding window.",
    )
};

fn batch(_: &Scope<'_>) -> Value {
    Value::Integer(2048)
}

pub(super) const BATCH_SIZE: Setting = Setting {
    aliases: &["b", "batch", "n_batch"],
    counterparts: meaning::BATCH_SIZE,
    ..Setting::new(
        "batch_size",
        "Batch",
        Group::Load,
        integer(bounds::batch, Step::Logarithmic { multiple: 32 }, "tokens"),
        batch,
        "Most tokens handed to the engine at once; the micro-batch is never larger.",
    )
};

fn micro_batch(_: &Scope<'_>) -> Value {
    Value::Integer(512)
}

pub(super) const UBATCH_SIZE: Setting = Setting {
    aliases: &["ub", "ubatch", "n_ubatch"],
    counterparts: meaning::UBATCH_SIZE,
    ..Setting::new(
        "ubatch_size",
        "Micro-batch",
        Group::Load,
        integer(
            bounds::micro_batch,
            Step::Logarithmic { multiple: 32 },
            "tokens",
        ),
        micro_batch,
        "Tokens computed at once: the compute buffer grows with it, and so does the speed of reading prompts.",
    )
};

const FLASH_MODES: &[(&str, &str)] = &[
    ("auto", "on where every layer's device has a kernel"),
    ("on", ""),
    ("off", "scores take memory by context"),
];

fn flash_modes(_: &Scope<'_>) -> Vec<Choice> {
    choices(FLASH_MODES)
}

pub(super) const FLASH_ATTN: Setting = Setting {
    aliases: &["fa"],
    counterparts: meaning::FLASH_ATTN,
    synonyms: &[
        ("enabled", "on"),
        ("1", "on"),
        ("disabled", "off"),
        ("0", "off"),
    ],
    ..Setting::new(
        "flash_attn",
        "Flash attention",
        Group::Load,
        Kind::Choice {
            options: flash_modes,
        },
        auto,
        "Computes attention without keeping its scores; a quantized V cache needs it.",
    )
};

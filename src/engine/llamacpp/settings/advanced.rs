//! Every further setting that matters for memory.

use super::super::super::setting::{Choice, Group, Kind, Scope, Setting, Step};
use super::bounds;
use super::meaning;
use super::relevance::windows;
use super::shape::{auto, choices, integer, off, on, zero};
use crate::plan::Value;

pub(super) const SWA_FULL: Setting = Setting {
    applies: windows,
    ..Setting::new(
        "swa_full",
        "Full-size window cache",
        Group::Advanced,
        Kind::Toggle,
        off,
        "Gives sliding-window layers a cache of the whole context, so that prompts can be reused from any point.",
    )
};

const LOAD_MODES: &[(&str, &str)] = &[
    ("auto", "mmap unless a device cannot"),
    ("mmap", "maps the file"),
    ("none", "reads into (pinned) memory"),
    ("mlock", "keeps it in RAM"),
    ("mmap+mlock", "maps and keeps it in RAM"),
    ("dio", "direct I/O"),
];

fn load_modes(_: &Scope<'_>) -> Vec<Choice> {
    choices(LOAD_MODES)
}

pub(super) const LOAD_MODE: Setting = Setting {
    aliases: &["lm", "mmap"],
    counterparts: meaning::LOAD_MODE,
    synonyms: &[("on", "mmap"), ("off", "none")],
    ..Setting::new(
        "load_mode",
        "Loading",
        Group::Advanced,
        Kind::Choice {
            options: load_modes,
        },
        auto,
        "How the file is read. Mapped weights are pages of the file that the system may drop and read again.",
    )
};

const LAZY_MODES: &[(&str, &str)] = &[
    ("auto", "only tensors above 4 GiB"),
    ("on", ""),
    ("off", ""),
];

fn lazy_modes(_: &Scope<'_>) -> Vec<Choice> {
    choices(LAZY_MODES)
}

pub(super) const LAZY_MODE: Setting = Setting {
    aliases: &["lzm"],
    since: Some("0.6.0"),
    ..Setting::new(
        "lazy_mode",
        "Read rows on demand",
        Group::Advanced,
        Kind::Choice {
            options: lazy_modes,
        },
        auto,
        "Leaves certain tensors on disk and reads their rows when needed (per-layer embeddings).",
    )
};

pub(super) const REPACK: Setting = Setting::new(
    "repack",
    "Repack for CPU",
    Group::Advanced,
    Kind::Toggle,
    on,
    "Copies weights on the processor into a layout that its vector units like; they are then no longer mapped.",
);

pub(super) const HOST_BUFFER: Setting = Setting::new(
    "host_buffer",
    "Pinned host buffers",
    Group::Advanced,
    Kind::Toggle,
    on,
    "Keeps weights in main memory in buffers pinned for the GPU; off is the flag --no-host.",
);

pub(super) const CHECK_TENSORS: Setting = Setting::new(
    "check_tensors",
    "Check weights",
    Group::Advanced,
    Kind::Toggle,
    off,
    "Looks for invalid numbers while loading; read instead of mapped, each tensor then needs main memory of its size.",
);

fn cache_ram(_: &Scope<'_>) -> Value {
    Value::Integer(8192)
}

pub(super) const CACHE_RAM: Setting = Setting {
    aliases: &["cram"],
    ..Setting::new(
        "cache_ram",
        "Prompt cache limit",
        Group::Advanced,
        integer(bounds::host_mib, Step::By(1024), "MiB"),
        cache_ram,
        "Most main memory that saved prompts may take, filled as requests come; 0 turns it off, -1 has no limit.",
    )
};

fn checkpoints(_: &Scope<'_>) -> Value {
    Value::Integer(32)
}

pub(super) const CTX_CHECKPOINTS: Setting = Setting {
    aliases: &["ctxcp", "swa_checkpoints"],
    ..Setting::new(
        "ctx_checkpoints",
        "Checkpoints per slot",
        Group::Advanced,
        integer(bounds::checkpoints, Step::By(1), ""),
        checkpoints,
        "Most copies of window caches and recurrent states kept per slot in main memory, made as prompts grow.",
    )
};

fn checkpoint_step(_: &Scope<'_>) -> Value {
    Value::Integer(8192)
}

pub(super) const CHECKPOINT_MIN_STEP: Setting = Setting {
    aliases: &["cms"],
    ..Setting::new(
        "checkpoint_min_step",
        "Checkpoint spacing",
        Group::Advanced,
        integer(bounds::checkpoint_step, Step::By(1024), "tokens"),
        checkpoint_step,
        "Least number of tokens between two checkpoints.",
    )
};

pub(super) const KV_UNIFIED_PER_SLOT: Setting = Setting {
    since: Some("0.6.0"),
    ..Setting::new(
        "kv_unified_per_slot",
        "Limit per slot",
        Group::Advanced,
        integer(
            bounds::context,
            Step::Logarithmic { multiple: 256 },
            "tokens",
        ),
        zero,
        "Most tokens of one slot in a shared KV cache; without a context it also sizes the cache. 0: no limit.",
    )
};

pub(super) const EMBEDDING: Setting = Setting {
    aliases: &["embeddings"],
    ..Setting::new(
        "embedding",
        "Embeddings only",
        Group::Advanced,
        Kind::Toggle,
        off,
        "Serves embeddings instead of text: results for every token of the batch are kept.",
    )
};

pub(super) const BACKEND_SAMPLING: Setting = Setting {
    aliases: &["bs"],
    ..Setting::new(
        "backend_sampling",
        "Sampling on GPU",
        Group::Advanced,
        Kind::Toggle,
        off,
        "Samples on the device (experimental); the output buffer triples.",
    )
};

fn output_rows(scope: &Scope<'_>) -> Value {
    match scope.settings.get("parallel") {
        Some(Value::Integer(slots)) if *slots > 0 => Value::Integer(*slots),
        _ => Value::Integer(4),
    }
}

pub(super) const N_OUTPUTS_MAX: Setting = Setting::new(
    "n_outputs_max",
    "Rows of logits in graphs",
    Group::Advanced,
    integer(bounds::output_rows, Step::By(1), "rows"),
    output_rows,
    "Rows of logits that the graph reserves: a server needs one per slot, other tools one per token of the batch (0). \
     Not a flag of the server: it follows from the slots and the draft.",
);

pub(super) const N_RS_SEQ: Setting = Setting::new(
    "n_rs_seq",
    "Rollback states",
    Group::Advanced,
    integer(bounds::rollback_states, Step::By(1), ""),
    zero,
    "Copies of the recurrent state per slot that speculative decoding can go back to. Not a flag: it follows from the \
     draft.",
);

pub(super) const FIT: Setting = Setting {
    since: Some("2025-12"),
    ..Setting::new(
        "fit",
        "Automatic fit",
        Group::Advanced,
        Kind::Toggle,
        on,
        "Lets the engine choose context, layers and split where they are not written, so that the margin stays free.",
    )
};

pub(super) const FIT_TARGET: Setting = Setting {
    aliases: &["fitt"],
    since: Some("2025-12"),
    applies: super::relevance::gpu,
    ..Setting::new(
        "fit_target",
        "Margin of fit",
        Group::Advanced,
        Kind::Proportions,
        super::shape::empty,
        "MiB that automatic fitting leaves free, one number for all GPUs or one for each; empty: the margin of the plan.",
    )
};

fn fit_context(_: &Scope<'_>) -> Value {
    Value::Integer(4096)
}

pub(super) const FIT_CTX: Setting = Setting {
    aliases: &["fitc"],
    since: Some("2025-12"),
    ..Setting::new(
        "fit_ctx",
        "Least context of fit",
        Group::Advanced,
        integer(
            bounds::context,
            Step::Logarithmic { multiple: 256 },
            "tokens",
        ),
        fit_context,
        "Automatic fitting does not reduce the context below this.",
    )
};

fn newest(_: &Scope<'_>) -> Value {
    Value::Text(super::super::version::NEWEST.to_owned())
}

pub(super) const ENGINE_VERSION: Setting = Setting {
    aliases: &["version"],
    ..Setting::new(
        "engine_version",
        "llama.cpp version",
        Group::Advanced,
        Kind::Text { example: "b9123" },
        newest,
        "Whose memory rules and flags to follow: a build (b9123), a release (0.6.0) or a month (2026-05). Not a flag.",
    )
};

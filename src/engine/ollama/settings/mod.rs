//! Every setting of Ollama that matters for memory or launch, described once.
//!
//! Names are those of the API's options (`api/types.go`) and of the environment without `OLLAMA_` in small letters
//! (`envconfig/config.go`), v0.33.0-rc2; defaults are Ollama's.

mod bounds;
mod defaults;
mod meaning;

use super::super::setting::{Choice, Group, Kind, Scope, Setting, Step};
use crate::engine::llamacpp::base::{IMATRIX, WEIGHTS};
use crate::plan::Value;

/// In the order of the window.
pub(super) const SETTINGS: &[Setting] = &[
    WEIGHTS,
    IMATRIX,
    KV_CACHE_TYPE,
    NUM_GPU,
    MAIN_GPU,
    SCHED_SPREAD,
    NUM_CTX,
    NUM_PARALLEL,
    NUM_BATCH,
    FLASH_ATTENTION,
    DRAFT_NUM_PREDICT,
    CONTEXT_LENGTH,
    USE_MMAP,
    NUM_THREAD,
    KEEP_ALIVE,
    MAX_LOADED_MODELS,
    GPU_OVERHEAD,
    IGPU_ENABLE,
    ENGINE_VERSION,
];

const fn integer(
    bounds: fn(&Scope<'_>) -> (i64, i64),
    step: Step,
    words: &'static [&'static str],
    unit: &'static str,
) -> Kind {
    Kind::Integer {
        bounds,
        step,
        words,
        unit,
    }
}

fn choices(words: &[(&'static str, &str)]) -> Vec<Choice> {
    let choice = |&(word, hint): &(&'static str, &str)| Choice {
        word,
        title: None,
        hint: hint.to_owned(),
    };
    words.iter().map(choice).collect()
}

fn gpu(scope: &Scope<'_>) -> bool {
    !scope.machine.gpus.is_empty()
}

fn several_gpus(scope: &Scope<'_>) -> bool {
    scope.machine.gpus.len() > 1
}

/// As documented (`docs/faq.mdx`, v0.33.0-rc2); any other word is passed on all the same.
const CACHE_TYPES: &[(&str, &str)] = &[
    ("f16", "Ollama's default"),
    ("q8_0", "about half of f16, next to no loss"),
    ("q4_0", "about a quarter of f16, visible loss"),
];

const KV_CACHE_TYPE: Setting = Setting {
    counterparts: meaning::KV_CACHE_TYPE,
    ..Setting::new(
        "kv_cache_type",
        "KV cache",
        Group::Quantization,
        Kind::Choice {
            options: |_| choices(CACHE_TYPES),
        },
        defaults::f16,
        "Format of keys and values in the cache, for every model of the server (OLLAMA_KV_CACHE_TYPE); a quantized one \
         needs flash attention.",
    )
};

const NUM_GPU: Setting = Setting {
    aliases: &["n_gpu_layers", "gpu_layers"],
    applies: gpu,
    counterparts: meaning::NUM_GPU,
    ..Setting::new(
        "num_gpu",
        "GPU layers",
        Group::Offload,
        integer(bounds::gpu_layers, Step::By(1), &["auto", "all"], "layers"),
        defaults::auto,
        "How many layers go to the GPUs, counted from the last; the output layer is one of them. \"auto\" (-1) lets \
         llama-server fit them, experts included; 0 is the processor alone.",
    )
};

const MAIN_GPU: Setting = Setting {
    applies: several_gpus,
    counterparts: meaning::MAIN_GPU,
    ..Setting::new(
        "main_gpu",
        "Only GPU",
        Group::Advanced,
        integer(bounds::gpu, Step::By(1), &["auto"], ""),
        defaults::auto,
        "Puts the whole model on this GPU, counted among those of one library.",
    )
};

const SCHED_SPREAD: Setting = Setting {
    applies: several_gpus,
    ..Setting::new(
        "sched_spread",
        "Spread over all GPUs",
        Group::Offload,
        Kind::Toggle,
        defaults::off,
        "Uses all GPUs even where one is believed to suffice (OLLAMA_SCHED_SPREAD, for every model of the server).",
    )
};

const NUM_CTX: Setting = Setting {
    aliases: &["ctx_size", "n_ctx", "context"],
    counterparts: meaning::NUM_CTX,
    ..Setting::new(
        "num_ctx",
        "Context",
        Group::Load,
        integer(
            bounds::context,
            Step::Logarithmic { multiple: 256 },
            &[],
            "tokens",
        ),
        defaults::context,
        "Tokens of one request; each of the parallel ones has as many. Without it Ollama takes 4096, 32768 or 262144 by \
         the memory of all GPUs, and no more than the model was trained for.",
    )
};

const NUM_PARALLEL: Setting = Setting {
    aliases: &["parallel"],
    counterparts: meaning::NUM_PARALLEL,
    ..Setting::new(
        "num_parallel",
        "Requests at once",
        Group::Load,
        integer(bounds::users, Step::By(1), &[], "requests"),
        |_| Value::Integer(1),
        "Requests that each model serves at once (OLLAMA_NUM_PARALLEL, for every model of the server): the cache grows \
         in proportion. Some architectures serve one at a time whatever it says.",
    )
};

const NUM_BATCH: Setting = Setting {
    aliases: &["n_batch", "batch_size", "ubatch_size"],
    counterparts: meaning::NUM_BATCH,
    ..Setting::new(
        "num_batch",
        "Batch",
        Group::Load,
        integer(
            bounds::batch,
            Step::Logarithmic { multiple: 32 },
            &["auto"],
            "tokens",
        ),
        defaults::auto,
        "Tokens computed at once: compute buffers grow with it. Without it Ollama takes 512, and for long contexts 1024 \
         or 2048 where it believes to have room.",
    )
};

const FLASH_WORDS: &[(&str, &str)] = &[
    ("auto", "on where GPU and model can"),
    ("on", ""),
    ("off", "scores take memory by context"),
];

const FLASH_ATTENTION: Setting = Setting {
    aliases: &["flash_attn"],
    synonyms: &[("true", "on"), ("1", "on"), ("false", "off"), ("0", "off")],
    counterparts: meaning::FLASH_ATTENTION,
    ..Setting::new(
        "flash_attention",
        "Flash attention",
        Group::Load,
        Kind::Choice {
            options: |_| choices(FLASH_WORDS),
        },
        defaults::auto,
        "Computes attention without keeping its scores (OLLAMA_FLASH_ATTENTION, for every model of the server).",
    )
};

const DRAFT_NUM_PREDICT: Setting = Setting {
    applies: |scope| scope.model.mtp.is_some(),
    counterparts: meaning::DRAFT_NUM_PREDICT,
    ..Setting::new(
        "draft_num_predict",
        "Tokens ahead",
        Group::Advanced,
        integer(bounds::draft_tokens, Step::By(1), &[], "tokens"),
        |_| Value::Integer(0),
        "Tokens that the model's own prediction blocks propose at once; 0 leaves them unused. They take weights and a \
         cache of their own.",
    )
};

const CONTEXT_LENGTH: Setting = Setting::new(
    "context_length",
    "Server's context",
    Group::Advanced,
    integer(
        bounds::server_context,
        Step::Logarithmic { multiple: 256 },
        &[],
        "tokens",
    ),
    |_| Value::Integer(0),
    "Context of every model whose own num_ctx is not written (OLLAMA_CONTEXT_LENGTH); 0: by the memory of all GPUs.",
);

const USE_MMAP: Setting = Setting {
    aliases: &["mmap"],
    counterparts: meaning::USE_MMAP,
    ..Setting::new(
        "use_mmap",
        "Map the file",
        Group::Advanced,
        Kind::Toggle,
        defaults::on,
        "Weights in main memory are pages of the file that the system may drop and read again. Ollama turns it off by \
         itself without a GPU, with CUDA on Windows, for a part of the layers on Metal and where memory is short.",
    )
};

const NUM_THREAD: Setting = Setting::new(
    "num_thread",
    "Threads",
    Group::Advanced,
    integer(bounds::threads, Step::By(1), &[], "threads"),
    |_| Value::Integer(0),
    "Threads of the processor that compute; 0 leaves it to the server. Takes no memory.",
);

const KEEP_ALIVE: Setting = Setting::new(
    "keep_alive",
    "Keep loaded for",
    Group::Advanced,
    Kind::Text { example: "30m" },
    |_| Value::Text("5m".to_owned()),
    "How long a model stays in memory after a request (OLLAMA_KEEP_ALIVE): a duration such as 30m, or -1 for ever.",
);

const MAX_LOADED_MODELS: Setting = Setting::new(
    "max_loaded_models",
    "Models at once",
    Group::Advanced,
    integer(bounds::models, Step::By(1), &[], "models"),
    |_| Value::Integer(0),
    "Most models in memory at once (OLLAMA_MAX_LOADED_MODELS); 0: three per GPU. The plan is for one; with 1 no other is \
     loaded beside it.",
);

const GPU_OVERHEAD: Setting = Setting {
    applies: gpu,
    ..Setting::new(
        "gpu_overhead",
        "Set aside per GPU",
        Group::Advanced,
        integer(bounds::overhead, Step::By(1 << 20), &[], "bytes"),
        |_| Value::Integer(0),
        "Bytes of each GPU that Ollama does not count (OLLAMA_GPU_OVERHEAD). Since it starts llama-server they only \
         lower the default context; what is kept free is the plan's margin.",
    )
};

const IGPU_WORDS: &[(&str, &str)] = &[
    ("auto", "only those known to be worth it"),
    ("on", ""),
    ("off", ""),
];

const IGPU_ENABLE: Setting = Setting {
    applies: |scope| scope.machine.gpus.iter().any(|gpu| gpu.unified),
    synonyms: &[("true", "on"), ("1", "on"), ("false", "off"), ("0", "off")],
    ..Setting::new(
        "igpu_enable",
        "Integrated GPUs",
        Group::Advanced,
        Kind::Choice {
            options: |_| choices(IGPU_WORDS),
        },
        defaults::auto,
        "Whether GPUs that share main memory are used (OLLAMA_IGPU_ENABLE): by itself Ollama uses NVIDIA's and AMD's \
         gfx1151. Apple's are always used.",
    )
};

const ENGINE_VERSION: Setting = Setting {
    aliases: &["version"],
    ..Setting::new(
        "engine_version",
        "Ollama version",
        Group::Advanced,
        Kind::Text { example: "0.32.6" },
        |_| Value::Text(super::version::NEWEST.to_owned()),
        "A release of Ollama: it decides which llama.cpp is started, with its memory rules. Not a setting of Ollama.",
    )
};

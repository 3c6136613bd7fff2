//! The settings of a plan as Ollama reads them from a Modelfile and from its environment.

use super::version::{self, Version};
use crate::plan::{Settings, Value};
use crate::projection::Note;

/// What a plan asks for (`api/types.go` `Runner`, `envconfig/config.go`, v0.33.0-rc2).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    /// Whose rules.
    pub(super) version: Version,
    /// `num_ctx`, where it is written.
    pub(super) num_ctx: Option<i64>,
    /// `OLLAMA_CONTEXT_LENGTH`; 0: not set.
    pub(super) context_length: u64,
    /// `OLLAMA_NUM_PARALLEL`, at least 1.
    pub(super) parallel: u64,
    /// `num_batch`, where it is written.
    pub(super) num_batch: Option<i64>,
    /// `num_gpu`.
    pub(super) layers: Layers,
    /// `main_gpu`, where it is written.
    pub(super) main_gpu: Option<i64>,
    /// `OLLAMA_SCHED_SPREAD`.
    pub(super) spread: bool,
    /// `OLLAMA_KV_CACHE_TYPE`, where it is set.
    pub(super) cache_type: Option<String>,
    /// `OLLAMA_FLASH_ATTENTION`, where it is set.
    pub(super) flash: Option<bool>,
    /// `use_mmap`, where it is written.
    pub(super) use_mmap: Option<bool>,
    /// `OLLAMA_GPU_OVERHEAD` in bytes.
    pub(super) overhead: u64,
    /// `draft_num_predict`; without it the prediction blocks of a model stay unused.
    pub(super) draft_tokens: u64,
    /// `OLLAMA_IGPU_ENABLE`, where it is set.
    pub(super) integrated: Option<bool>,
}

/// Layers on GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layers {
    /// As `llama-server` fits them.
    Auto,
    /// All of them: a plan's word, written as their number.
    All,
    /// So many; 0 is the processor alone.
    Count(u64),
}

/// Reads them.
pub(super) fn read(settings: &Settings, notes: &mut Vec<Note>) -> Config {
    let number = |name: &str| match settings.get(name) {
        Some(Value::Integer(number)) => Some(*number),
        _ => None,
    };
    // A text that is no unsigned number counts as not set (`envconfig.Uint`).
    let unsigned = |name: &str| number(name).and_then(|number| u64::try_from(number).ok());
    let toggle = |name: &str| match settings.get(name) {
        Some(Value::Bool(on)) => Some(*on),
        _ => None,
    };
    let switch = |name: &str| match settings.get(name) {
        Some(Value::Text(word)) if word.eq_ignore_ascii_case("on") => Some(true),
        Some(Value::Text(word)) if word.eq_ignore_ascii_case("off") => Some(false),
        _ => None,
    };
    Config {
        version: read_version(settings, notes),
        num_ctx: number("num_ctx"),
        context_length: unsigned("context_length").unwrap_or(0),
        parallel: unsigned("num_parallel").unwrap_or(1).max(1),
        num_batch: number("num_batch"),
        layers: match settings.get("num_gpu") {
            Some(Value::Text(word)) if word == "all" => Layers::All,
            Some(Value::Integer(layers)) => {
                u64::try_from(*layers).map_or(Layers::Auto, Layers::Count)
            }
            _ => Layers::Auto,
        },
        main_gpu: number("main_gpu"),
        spread: toggle("sched_spread").unwrap_or(false),
        cache_type: match settings.get("kv_cache_type") {
            Some(Value::Text(word)) => Some(word.clone()),
            _ => None,
        },
        flash: switch("flash_attention"),
        use_mmap: toggle("use_mmap"),
        overhead: unsigned("gpu_overhead").unwrap_or(0),
        draft_tokens: unsigned("draft_num_predict").unwrap_or(0),
        integrated: switch("igpu_enable"),
    }
}

fn read_version(settings: &Settings, notes: &mut Vec<Note>) -> Version {
    let Some(Value::Text(text)) = settings.get("engine_version") else {
        return Version::newest();
    };
    let version = Version::parse(text);
    let newest = version::NEWEST;
    let message = match version {
        None => format!("{text:?} is no release of Ollama; the rules of {newest} are used."),
        Some(version) if !version.starts_llama_server() => format!(
            "Ollama {text} ran an engine of its own, which is not modelled; since 0.30 it starts llama-server, and the \
             rules of that are used."
        ),
        Some(version) => return version,
    };
    notes.push(Note::warning("unknown-version", message).on("engine_version"));
    version.unwrap_or_else(Version::newest)
}

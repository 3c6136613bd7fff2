//! Reads settings as `common/arg.cpp` and the server do (0.6.0-dev); what it would refuse becomes an error note.

use super::super::draft::{SpecType, Speculation};
use super::words::{Flash, GpuLayers, LazyMode, LoadMode, SplitMode, Words};
use super::{Config, Context};
use crate::engine::llamacpp::version::{self, Version};
use crate::plan::{Settings, Value};
use crate::projection::Note;
use crate::quant::Type;

/// Slots of a server where their number is automatic (`tools/server`, 0.6.0-dev).
const AUTOMATIC_SLOTS: u64 = 4;

/// Most sequences (`LLAMA_MAX_SEQ`, `src/llama-cparams.h`).
const MAX_SEQUENCES: u64 = 256;

/// Most rollback states: each is a handful of nodes per layer, of a graph that has 40 per token of the micro-batch
/// (`graph_max_nodes`, `src/llama-context.cpp` 0.6.0-dev).
const MAX_ROLLBACK: u64 = 64;

/// Numbers are parsed by `std::stoi`, which takes 32 bits.
const MAX_NUMBER: i64 = i32::MAX as i64;

/// The settings as the engine takes them, with notes on what it would refuse or change. `draft`: the plan names a
/// draft model.
pub(in super::super) fn read(settings: &Settings, draft: bool, notes: &mut Vec<Note>) -> Config {
    let mut reader = Reader { settings, notes };
    let version = reader.version();
    let (sequences, automatic) = reader.slots();
    let unified = reader.unified(automatic);
    let context = reader.context(sequences);
    let embedding = reader.toggle("embedding", false);
    let (batch, micro_batch) = reader.batches(embedding);
    let speculation = reader.speculation(draft);
    reader.of_parts();
    let outputs = reader.outputs(version, speculation.rows(sequences, batch), embedding);
    Config {
        version,
        written_weights: reader.text("weights").map(str::to_owned),
        imatrix: reader.toggle("imatrix", false),
        context,
        sequences,
        unified,
        batch,
        micro_batch,
        outputs,
        embedding,
        backend_sampling: reader.toggle("backend_sampling", false),
        speculation,
        rollback: reader.rollback(speculation.rollback()),
        flash: reader.word("flash_attn", Flash::Auto),
        cache_k: reader.cache_type("cache_type_k"),
        cache_v: reader.cache_type("cache_type_v"),
        swa_full: reader.toggle("swa_full", false),
        kv_offload: reader.toggle("kv_offload", true),
        op_offload: reader.toggle("op_offload", true),
        gpu_layers: reader.gpu_layers(),
        split_mode: reader.word("split_mode", SplitMode::Layer),
        rpc: reader.servers(),
        tensor_split: reader.proportions("tensor_split"),
        // Negative: no GPU (`llama_prepare_model_devices`, `src/llama.cpp`).
        main_gpu: usize::try_from(reader.number("main_gpu").unwrap_or(0)).ok(),
        overrides: reader.overrides(),
        load_mode: reader.word("load_mode", LoadMode::Auto),
        lazy_mode: reader.word("lazy_mode", LazyMode::Auto),
        repack: reader.toggle("repack", true),
        host_buffer: reader.toggle("host_buffer", true),
        check_tensors: reader.toggle("check_tensors", false),
        cache_ram_mib: reader.number("cache_ram").unwrap_or(8192),
        checkpoints: reader.count("ctx_checkpoints", 32),
        checkpoint_step: reader.count("checkpoint_min_step", 8192),
        fit: reader.toggle("fit", true),
        fit_target: reader.mib_per_gpu("fit_target"),
        fit_context: reader.count("fit_ctx", 4096),
    }
}

/// Reads one plan.
pub(super) struct Reader<'a> {
    pub(super) settings: &'a Settings,
    pub(super) notes: &'a mut Vec<Note>,
}

impl<'a> Reader<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        match self.settings.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn toggle(&self, name: &str, default: bool) -> bool {
        match self.settings.get(name) {
            Some(Value::Bool(value)) => *value,
            _ => default,
        }
    }

    /// A number as written, limited to what the engine can parse.
    fn number(&mut self, name: &'static str) -> Option<i64> {
        let Some(Value::Integer(number)) = self.settings.get(name) else {
            return None;
        };
        if number.unsigned_abs() > MAX_NUMBER.unsigned_abs() {
            self.notes.push(
                Note::error(
                    "number-out-of-range",
                    format!("The engine cannot read {number}: its numbers end at {MAX_NUMBER}."),
                )
                .on(name),
            );
        }
        Some((*number).clamp(-MAX_NUMBER, MAX_NUMBER))
    }

    /// A number that must not be negative.
    pub(super) fn count(&mut self, name: &'static str, default: u64) -> u64 {
        match self.number(name) {
            None => default,
            Some(number) => u64::try_from(number).unwrap_or_else(|_| {
                self.notes.push(
                    Note::error(
                        "negative",
                        format!("{number} is negative: the engine refuses it."),
                    )
                    .on(name),
                );
                default
            }),
        }
    }

    /// Batch and micro-batch.
    fn batches(&mut self, embedding: bool) -> (u64, u64) {
        let micro_batch = self.batch("ubatch_size", 512);
        let batch = self.batch("batch_size", 2048);
        if batch == 0 && micro_batch == 0 {
            self.notes.push(
                Note::error(
                    "batch-zero",
                    "Batch and micro-batch cannot both be zero: the engine refuses to start.",
                )
                .on("batch_size"),
            );
        }
        if embedding && batch > micro_batch {
            // A batch of embeddings must be computed at once (`common/common.cpp`).
            return (micro_batch, micro_batch);
        }
        (batch, micro_batch)
    }

    /// A batch size; negative ones become huge unsigned numbers, which the context then limits.
    fn batch(&mut self, name: &'static str, default: u64) -> u64 {
        match self.number(name) {
            None => default,
            Some(number) => u64::try_from(number).unwrap_or(u64::from(u32::MAX)),
        }
    }

    fn word<T: Words>(&mut self, name: &'static str, default: T) -> T {
        let Some(word) = self.text(name) else {
            return default;
        };
        T::from_word(word).unwrap_or_else(|| {
            let words: Vec<&str> = T::WORDS.iter().map(|&(word, _)| word).collect();
            self.notes.push(
                Note::error(
                    "unknown-word",
                    format!(
                        "The engine does not know {word:?} here; it takes one of {}.",
                        words.join(", ")
                    ),
                )
                .on(name),
            );
            default
        })
    }

    fn cache_type(&mut self, name: &'static str) -> Type {
        let Some(word) = self.text(name) else {
            return Type::F16;
        };
        let found = word.parse().ok().filter(|kind| Type::CACHE.contains(kind));
        found.unwrap_or_else(|| {
            let words: Vec<&str> = Type::CACHE.iter().map(|kind| kind.name()).collect();
            self.notes.push(
                Note::error(
                    "unknown-cache-type",
                    format!(
                        "The engine has no cache type {word:?}; it takes one of {}.",
                        words.join(", ")
                    ),
                )
                .on(name),
            );
            Type::F16
        })
    }

    fn version(&mut self) -> Version {
        let Some(text) = self.text("engine_version") else {
            return Version::newest();
        };
        Version::parse(text).unwrap_or_else(|| {
            self.notes.push(
                Note::warning(
                    "unknown-version",
                    format!(
                        "{text:?} is no known build, release or month; the rules of {} are used.",
                        version::NEWEST
                    ),
                )
                .on("engine_version"),
            );
            Version::newest()
        })
    }

    /// Sequences, and whether their number is automatic.
    fn slots(&mut self) -> (u64, bool) {
        let Some(number) = self.number("parallel") else {
            return (AUTOMATIC_SLOTS, true);
        };
        let Ok(slots) = u64::try_from(number) else {
            return (AUTOMATIC_SLOTS, true);
        };
        if slots == 0 || slots > MAX_SEQUENCES {
            self.notes.push(
                Note::error(
                    "slots-out-of-range",
                    format!("The engine takes 1 to {MAX_SEQUENCES} slots, not {slots}."),
                )
                .on("parallel"),
            );
        }
        (slots.clamp(1, MAX_SEQUENCES), false)
    }

    /// States to go back to: as many as a draft has tokens.
    fn rollback(&mut self, drafted: u64) -> u64 {
        let states = self.count("n_rs_seq", drafted);
        if states > MAX_ROLLBACK {
            self.notes.push(
                Note::error(
                    "rollback-out-of-range",
                    format!(
                        "The engine's graphs have no room for {states} rollback states; at most {MAX_ROLLBACK} are \
                         projected, and a draft has a few tokens."
                    ),
                )
                .on("n_rs_seq"),
            );
        }
        states.min(MAX_ROLLBACK)
    }

    /// Numbers of what is loaded beside the model: the command line is read whole, whatever is used of it.
    fn of_parts(&mut self) {
        for name in [
            "n_gpu_layers_draft",
            "n_cpu_moe_draft",
            "image_min_tokens",
            "image_max_tokens",
        ] {
            self.number(name);
        }
    }

    fn speculation(&mut self, draft: bool) -> Speculation {
        let default = if draft {
            SpecType::Simple
        } else {
            SpecType::None
        };
        Speculation {
            kind: self.word("spec_type", default),
            draft_max: self.count("spec_draft_n_max", 3),
            samples_on_device: self.toggle("spec_draft_backend_sampling", true),
        }
    }

    fn unified(&mut self, automatic: bool) -> bool {
        let asked = match self.settings.get("kv_unified") {
            Some(Value::Bool(asked)) => Some(*asked),
            _ => None,
        };
        if automatic && asked == Some(false) {
            self.notes.push(
                Note::warning(
                    "unified-with-automatic-slots",
                    "With an automatic number of slots the server shares one KV cache, whatever is asked for; give a number of slots to have one each.",
                )
                .on("kv_unified"),
            );
        }
        automatic || asked.unwrap_or(false)
    }

    fn context(&mut self, sequences: u64) -> Context {
        match self.number("ctx_size") {
            Some(0) => Context::Trained,
            Some(number) => {
                if let Ok(tokens) = u64::try_from(number) {
                    return Context::Tokens(tokens);
                }
                self.notes.push(
                    Note::error(
                        "context-negative",
                        format!("A context of {number} tokens is read as a huge one and cannot be allocated."),
                    )
                    .on("ctx_size"),
                );
                Context::Trained
            }
            None => match self.number("kv_unified_per_slot") {
                Some(tokens) if tokens > 0 => {
                    Context::Tokens(tokens.unsigned_abs().saturating_mul(sequences))
                }
                _ => Context::Unset,
            },
        }
    }

    /// Rows of logits: what a server sets, or the plan says.
    fn outputs(&mut self, version: Version, needed: u64, embedding: bool) -> u64 {
        if let Some(rows) = self.number("n_outputs_max") {
            return u64::try_from(rows).unwrap_or(0);
        }
        if embedding || !version.lean_outputs() {
            return 0;
        }
        needed
    }

    fn gpu_layers(&mut self) -> GpuLayers {
        match self.text("n_gpu_layers") {
            Some(word) if word.eq_ignore_ascii_case("all") => return GpuLayers::All,
            Some(_) => return GpuLayers::Auto,
            None => {}
        }
        match self.number("n_gpu_layers") {
            None | Some(-1) => GpuLayers::Auto,
            // Any other negative number counts as all (`llama_model::n_gpu_layers`).
            Some(number) => u64::try_from(number).map_or(GpuLayers::All, GpuLayers::Count),
        }
    }
}

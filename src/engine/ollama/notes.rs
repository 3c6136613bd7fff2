//! What a person should know about a plan for Ollama: what the server below says of it, in Ollama's words, and where
//! Ollama does otherwise than expected.

use super::Ollama;
use super::batch;
use super::config::Layers;
use super::context::{Origin, next_lower, total};
use super::translate::{Translation, number};
use crate::engine::Inputs;
use crate::engine::llamacpp::LlamaCpp;
use crate::engine::meaning::{carry_over, counterpart};
use crate::plan::{Settings, Value};
use crate::projection::{Fix, Note, grouped};
use crate::units::Bytes;

/// All of them, the server's own with `below` in its words.
pub(super) fn notes(
    inputs: &Inputs<'_>,
    translation: &Translation<'_>,
    below: Vec<Note>,
) -> Vec<Note> {
    let mut notes = translation.notes.clone();
    context(translation, &mut notes);
    users(inputs, translation, &mut notes);
    batch(translation, &mut notes);
    placement(inputs, translation, &mut notes);
    if let Some(draft) = inputs.draft {
        notes.push(Note::warning(
            "draft-left-out",
            format!(
                "Ollama drafts with prediction blocks or with a part made for the model (DRAFT in a Modelfile), not with \
                 another chat model: {} is left out.",
                draft.name
            ),
        ));
    }
    if translation.config.overhead > 0 {
        notes.push(
            Note::warning(
                "overhead-without-effect",
                "Since Ollama starts llama-server, the memory set aside only counts for the default context: models may \
                 still fill it. The margin of the plan is what the server keeps free (LLAMA_ARG_FIT_TARGET).",
            )
            .on("gpu_overhead"),
        );
    }
    let own = below.into_iter().map(|note| translated(note, translation));
    notes.extend(own);
    notes
}

fn context(translation: &Translation<'_>, notes: &mut Vec<Note>) {
    let context = translation.context;
    if context.tokens < context.asked && context.origin != Origin::Tier {
        let name = match context.origin {
            Origin::Server => "context_length",
            Origin::Written | Origin::Tier => "num_ctx",
        };
        notes.push(
            Note::warning(
                "context-cut",
                format!(
                    "The model was trained for {} tokens: Ollama takes that instead of {}.",
                    grouped(context.tokens),
                    grouped(context.asked)
                ),
            )
            .on(name)
            .fixed_by(set(name, number(context.tokens))),
        );
    }
    if context.origin == Origin::Tier {
        let memory = Bytes::new(total(&translation.devices, translation.config.overhead));
        let again = next_lower(context.tokens).map_or_else(String::new, |lower| {
            format!(
                " Where that does not fit, it tries once more with {}.",
                grouped(lower)
            )
        });
        notes.push(
            Note::hint(
                "context-by-memory",
                format!(
                    "Without num_ctx Ollama chooses the context by the memory of all GPUs: {} tokens for {memory}.{again} \
                     Write num_ctx to have it the same everywhere.",
                    grouped(context.tokens)
                ),
            )
            .on("num_ctx")
            .fixed_by(set("num_ctx", number(context.tokens))),
        );
    }
}

fn users(inputs: &Inputs<'_>, translation: &Translation<'_>, notes: &mut Vec<Note>) {
    if translation.parallel < translation.config.parallel {
        let architecture = translation
            .file
            .map_or("", |file| file.architecture.name(inputs.model));
        notes.push(
            Note::warning(
                "one-request-at-a-time",
                format!(
                    "Ollama serves models of the architecture {architecture} one request at a time, whatever \
                     OLLAMA_NUM_PARALLEL says."
                ),
            )
            .on("num_parallel")
            .fixed_by(set("num_parallel", number(1))),
        );
    }
}

fn batch(translation: &Translation<'_>, notes: &mut Vec<Note>) {
    let automatic = translation.config.num_batch.is_none();
    let larger = translation.batch.filter(|size| *size > batch::DEFAULT);
    if let Some(size) = larger.filter(|_| automatic) {
        notes.push(
            Note::hint(
                "batch-by-context",
                format!(
                    "For a context this long Ollama raises num_batch from {} to {} by itself: prompts are read faster, \
                     and compute buffers are larger.",
                    batch::DEFAULT,
                    grouped(size)
                ),
            )
            .on("num_batch")
            .fixed_by(set("num_batch", number(batch::DEFAULT))),
        );
    }
}

fn placement(inputs: &Inputs<'_>, translation: &Translation<'_>, notes: &mut Vec<Note>) {
    let placement = &translation.placement;
    let found = translation.devices.len();
    if translation.config.layers == Layers::Count(0) {
        return;
    }
    if let ([device], true) = (placement.gpus.as_slice(), placement.fits_one) {
        notes.push(
            Note::hint(
                "one-gpu-suffices",
                format!(
                    "Ollama believes that {} are needed, no more than 80 % of the {} that GPU {} has free, and leaves the \
                     other GPUs alone.",
                    Bytes::new(translation.predicted),
                    Bytes::new(translation.available),
                    device.index
                ),
            )
            .on("sched_spread")
            .fixed_by(set("sched_spread", Value::Bool(true))),
        );
    } else if placement.gpus.len() < found && translation.config.main_gpu.is_none() {
        notes.push(Note::hint(
            "one-library",
            "Ollama uses GPUs of one library together: CUDA, ROCm, Metal or Vulkan. The others stay unused.",
        ));
    }
    if found < inputs.machine.gpus.len() {
        notes.push(
            Note::hint(
                "integrated-gpu-dropped",
                "Ollama leaves this integrated GPU out unless OLLAMA_IGPU_ENABLE says otherwise.",
            )
            .on("igpu_enable")
            .fixed_by(set("igpu_enable", Value::Text("on".to_owned()))),
        );
    }
}

/// A note of the server below under Ollama's names; a fix that Ollama cannot say is dropped.
fn translated(note: Note, translation: &Translation<'_>) -> Note {
    let Note {
        setting, fix, code, ..
    } = &note;
    let setting = setting.and_then(|name| counterpart(&LlamaCpp, Ollama::THIS, name));
    let fix = fix
        .as_ref()
        .and_then(|fix| translated_fix(fix, translation))
        .or_else(|| match *code {
            // Not Ollama's to switch on where the GPU has none.
            "quantized-values-need-flash-attention" => {
                Some(set("kv_cache_type", Value::Text("f16".to_owned())))
            }
            _ => None,
        });
    Note {
        setting,
        fix,
        ..note
    }
}

fn translated_fix(fix: &Fix, translation: &Translation<'_>) -> Option<Fix> {
    let set = in_own_words(&fix.set, &translation.settings)?;
    // "auto" where it is automatic already and off all the same.
    let changes = set.iter().any(|(name, value)| {
        name != "flash_attention"
            || translation.config.flash.is_some()
            || *value != Value::Text("auto".to_owned())
    });
    changes.then(|| Fix {
        set,
        gain: fix.gain,
    })
}

/// Changes of the server's settings as changes of Ollama's; `None` where it cannot say one of them.
pub(super) fn in_own_words(changes: &Settings, before: &Settings) -> Option<Settings> {
    let mut after = before.clone();
    after.extend(
        changes
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    // Keys and values have one format here.
    if let (Some(values), None) = (changes.get("cache_type_v"), changes.get("cache_type_k")) {
        after.insert("cache_type_k".to_owned(), values.clone());
    }
    let carried = carry_over(&LlamaCpp, Ollama::THIS, &after);
    changes
        .keys()
        .map(|name| {
            let own = counterpart(&LlamaCpp, Ollama::THIS, name)?;
            Some((own.to_owned(), carried.get(own)?.clone()))
        })
        .collect()
}

fn set(name: &str, value: Value) -> Fix {
    Fix {
        set: Settings::from([(name.to_owned(), value)]),
        gain: None,
    }
}

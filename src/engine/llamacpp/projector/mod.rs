//! The projector that turns images into tokens: a file of its own (`mmproj`), with weights and a compute buffer beside
//! those of the model (`tools/mtmd/clip.cpp`, 0.6.0-dev).

mod pictures;

use std::collections::BTreeMap;

use pictures::Sizes;

use super::compute::{Picture, picture_buffers};
use super::config::Device;
use super::parts::{Parts, unread_note};
use super::subject::Subject;
use super::tensors::held;
use crate::engine::Inputs;
use crate::model::{AttachedAs, Checkpoint, Encoder, Model, TowerKind, Vision, product};
use crate::plan::Value;
use crate::projection::{Category, Fix, Note, Part, Term, Why};
use crate::quant::Type;
use crate::units::Bytes;

const SOURCE: &str = "tools/mtmd/clip.cpp, 0.6.0-dev; files of ggml-org by their sizes";

/// Settings of the projector.
struct Settings {
    /// Type of the file.
    kind: Type,
    on_gpu: bool,
    least: u64,
    most: u64,
}

/// The settings where the projector is loaded.
fn settings(inputs: Inputs<'_>) -> Option<Settings> {
    let settings = inputs.settings;
    if settings.get("mmproj") != Some(&Value::Bool(true)) {
        return None;
    }
    let kind = match (
        &inputs.model.attached.projector,
        settings.get("mmproj_type"),
    ) {
        (Some(file), _) => most_of(file),
        (None, Some(Value::Text(word))) => word.parse().unwrap_or(Type::F16),
        (None, _) => Type::F16,
    };
    let number = |name: &str| match settings.get(name) {
        Some(Value::Integer(number)) => u64::try_from(*number).unwrap_or(0),
        _ => 0,
    };
    Some(Settings {
        kind,
        on_gpu: settings.get("mmproj_offload") != Some(&Value::Bool(false)),
        least: number("image_min_tokens"),
        most: number("image_max_tokens"),
    })
}

/// The terms of the projector: on the first GPU, or in main memory.
pub(super) fn add(subject: &Subject<'_>, parts: &mut Parts) {
    let inputs = subject.inputs;
    let Some(settings) = settings(inputs) else {
        return;
    };
    let first = subject.devices.first().filter(|_| settings.on_gpu);
    let home = first.map(|_| 0);
    let file = inputs.model.attached.projector.as_deref();
    if let Some(file) = file {
        parts.add(home, [projecting(file_weights(file, home))]);
    }
    if let Some(vision) = &inputs.model.vision {
        if file.is_none() {
            parts.add(home, [projecting(weights(vision, settings.kind))]);
        }
        for (home, term) in buffers(inputs, vision, &settings, first) {
            parts.add(home, [projecting(term)]);
        }
    }
    if let (Some(audio), None) = (&inputs.model.audio, file) {
        parts.add(home, [projecting(audio_weights(audio, settings.kind))]);
    }
}

/// Tokens of another width than the model's: a projector of another model (`mtmd_context::init_vision`,
/// `tools/mtmd/mtmd.cpp` 0.6.0-dev).
fn misfit(model: &Model, notes: &mut Vec<Note>) {
    let Some(width) = model.attached.projector_width else {
        return;
    };
    if model.hidden_size > 0 && width != model.hidden_size {
        notes.push(
            Note::error(
                "projector-of-other-model",
                format!(
                    "The projector makes tokens of {width} numbers and the model takes {}: it is one of another model, and \
                     the engine refuses it. Name the `mmproj` file that was published with this model.",
                    model.hidden_size
                ),
            )
            .on("mmproj"),
        );
    }
}

fn not_loaded() -> Note {
    Note::hint(
        "projector-not-loaded",
        "The plan names a projector (mmproj_path), and `mmproj` does not load it: it is neither counted nor in the launch.",
    )
    .on("mmproj")
    .fixed_by(Fix {
        set: crate::plan::Settings::from([("mmproj".to_owned(), Value::Bool(true))]),
        gain: None,
    })
}

/// Of a model that is not known to see; `named`: the plan names a projector.
fn without_vision(model: &Model, named: bool) -> Option<Note> {
    let note = if model.attached.projector.is_some() {
        Note::warning(
            "projector-buffer-unknown",
            "The projector's weights are those of its file; its compute buffer is not projected, because the model's file \
             does not say what the tower computes.",
        )
    } else if model.audio.is_some() || named && model.checkpoint.is_some() {
        // A language model's own file does not say what sees for it, and that the other is not here was said.
        return None;
    } else {
        Note::error(
            "no-projector",
            "The model takes neither images nor sounds: there is no projector for it.",
        )
    };
    Some(note.on("mmproj"))
}

/// What a person should know about the projector.
pub(super) fn notes(subject: &Subject<'_>, notes: &mut Vec<Note>) {
    let inputs = subject.inputs;
    let attached = &inputs.model.attached;
    let named = attached.projector.is_some() || attached.unread(AttachedAs::Projector).count() > 0;
    let Some(settings) = settings(inputs) else {
        notes.extend(named.then(not_loaded));
        return;
    };
    let unread = attached.unread(AttachedAs::Projector);
    notes.extend(unread.map(|own| unread_note(own, "mmproj")));
    misfit(inputs.model, notes);
    let Some(vision) = &inputs.model.vision else {
        notes.extend(without_vision(inputs.model, named));
        return;
    };
    if vision.tower.kind == TowerKind::Other {
        notes.push(
            Note::error(
                "projector-unknown",
                "The engine has no projector for this model's vision tower.",
            )
            .on("mmproj"),
        );
    } else if let Some(sizes) = Sizes::of(vision, settings.least, settings.most)
        && sizes.largest > sizes.first
    {
        notes.push(
            Note::hint(
                "projector-buffer-grows",
                format!(
                    "The projector's buffer is made for an image of {} tokens and grows with larger ones, up to {} tokens: \
                     see its range, and limit image_max_tokens where memory is short.",
                    sizes.tokens(sizes.first),
                    sizes.tokens(sizes.largest)
                ),
            )
            .on("image_max_tokens"),
        );
    }
}

/// The type in which most of a file is stored.
fn most_of(file: &Checkpoint) -> Type {
    let mut sums: BTreeMap<Type, Bytes> = BTreeMap::new();
    for tensor in &file.tensors {
        if let Some(kind) = tensor.kind {
            *sums.entry(kind).or_default() += tensor.bytes;
        }
    }
    let most = sums.into_iter().max_by_key(|(_, bytes)| *bytes);
    most.map_or(Type::F16, |(kind, _)| kind)
}

/// As its own file has them (`clip_model_loader::load_tensors` in `tools/mtmd/clip.cpp`, 0.6.0-dev).
fn file_weights(file: &Checkpoint, home: Option<usize>) -> Term {
    let held = file.tensors.iter().map(|tensor| {
        let (gpu, host) = held(tensor.bytes, tensor.kind, &tensor.shape);
        home.map_or(host, |_| gpu)
    });
    let bytes: Bytes = held.sum();
    let why = Why::new(
        "llama.cpp/weights/projector-file",
        "{tensors} tensors of the projector's file, {stored} in it, most of them in {type}",
        SOURCE,
    )
    .with("tensors", file.tensors.len() as u64)
    .with("stored", file.bytes)
    .with("type", most_of(file).name());
    Term::exact(Category::Weights, bytes, why)
}

/// Matrices in the type of the file; positions, norms and biases in f32, and the patch embedding too where the file is
/// not f16 (the converter's rules; Gemma 3 keeps both embeddings in f32 always).
fn weights(vision: &Vision, kind: Type) -> Term {
    let shares = vision.tower.shares;
    let patches = patch_type(vision, kind);
    // Rows that are no whole number of blocks stay in 16 bits: down projections of odd widths.
    let inner = vision.tower.intermediate_size;
    let odd = if inner.is_multiple_of(kind.block_elements()) {
        0
    } else {
        product(&[
            vision.encoder.num_hidden_layers,
            inner,
            vision.encoder.hidden_size,
        ])
        .min(shares.matrices)
    };
    let matrices = size(kind, shares.matrices - odd) + size(Type::F16, odd);
    let single = size(Type::F32, shares.positions.saturating_add(shares.vectors));
    let bytes = matrices + size(patches, shares.patches) + single;
    let why = Why::new(
        "llama.cpp/weights/projector",
        "{matrices} of matrices in {type}, {single} of positions, norms and biases in f32, {patches} of patch embedding",
        SOURCE,
    )
    .with("matrices", matrices)
    .with("type", kind.name())
    .with("single", single)
    .with("patches", size(patches, shares.patches));
    Term::exact(Category::Weights, bytes, why)
}

fn patch_type(vision: &Vision, kind: Type) -> Type {
    if kind == Type::F16 && vision.tower.kind != TowerKind::Siglip {
        Type::F16
    } else {
        Type::F32
    }
}

/// The audio tower, of which only the size is known: all of it in the type of the file, or its small tensors in f32.
fn audio_weights(audio: &Encoder, kind: Type) -> Term {
    let bytes = size(kind, audio.parameters);
    let layers = product(&[audio.num_hidden_layers, audio.hidden_size]);
    // A layer has some dozens of vectors: norms, biases, scales.
    let high = bytes + size(Type::F32, layers.saturating_mul(64));
    let why = Why::new(
        "llama.cpp/weights/audio",
        "{parameters} parameters of the audio tower in {type}; vectors stay in f32, and its compute buffer is not \
         projected",
        SOURCE,
    )
    .with("parameters", audio.parameters)
    .with("type", kind.name());
    Term {
        range: (bytes, high),
        ..Term::exact(Category::Weights, bytes, why)
    }
}

fn size(kind: Type, elements: u64) -> Bytes {
    let blocks = elements.div_ceil(kind.block_elements());
    Bytes::new(blocks.saturating_mul(kind.block_bytes()))
}

/// The compute buffers: as they are made at the start, and what the largest image makes of them.
fn buffers(
    inputs: Inputs<'_>,
    vision: &Vision,
    settings: &Settings,
    device: Option<&Device<'_>>,
) -> Vec<(Option<usize>, Term)> {
    let Some(sizes) = Sizes::of(vision, settings.least, settings.most) else {
        return Vec::new();
    };
    let capability = device.map(Device::compute_capability);
    let at = |side: u64| {
        let picture = Picture {
            side,
            compute_capability: capability,
            matrices: settings.kind,
            patches: patch_type(vision, settings.kind),
        };
        let key = (inputs.model.fingerprint, picture);
        *inputs.memo.get(&key, || picture_buffers(vision, picture))
    };
    let (first, largest) = (at(sizes.first), at(sizes.largest));
    let term = |bytes: Bytes, most: Bytes| {
        let why = Why::new(
            "llama.cpp/compute/projector",
            "{layers} layers over {patches} patches of {edge} pixels, as at the start; an image of {largest} patches \
             needs {most}",
            "tools/mtmd/clip.cpp warmup and build_vit, ggml/src/ggml-alloc.c, 0.6.0-dev",
        )
        .with("layers", vision.encoder.num_hidden_layers)
        .with("patches", sizes.first.saturating_mul(sizes.first))
        .with("edge", vision.patch_size)
        .with("largest", sizes.largest.saturating_mul(sizes.largest))
        .with("most", most);
        Term {
            range: (bytes, most.max(bytes)),
            ..Term::exact(Category::Compute, bytes, why)
        }
    };
    let mut terms = vec![(None, term(first.1, largest.1))];
    if device.is_some() {
        terms.push((Some(0), term(first.0, largest.0)));
    }
    terms
}

fn projecting(term: Term) -> Term {
    Term {
        part: Part::Projector,
        ..term
    }
}

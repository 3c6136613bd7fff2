//! Images and sounds: the projector beside the model.

use super::super::super::setting::{Choice, Group, Kind, Scope, Setting, Step};
use super::bounds;
use super::relevance::{projector, vision, vision_and_gpu};
use super::shape::{choices, integer, off, on, zero};
use crate::plan::Value;

pub(super) const MMPROJ: Setting = Setting {
    aliases: &["mm"],
    applies: projector,
    since: Some("2025-06"),
    ..Setting::new(
        "mmproj",
        "Vision projector",
        Group::Advanced,
        Kind::Toggle,
        off,
        "Loads the projector that turns images (or sounds) into tokens: a second file with weights and a buffer of its \
         own, for which the engine's fit leaves room.",
    )
};

const PROJECTOR_TYPES: &[(&str, &str)] = &[
    ("f16", "as most are published"),
    ("bf16", "as large as f16"),
    ("q8_0", "about half of f16"),
    ("f32", "twice f16"),
];

fn projector_types(_: &Scope<'_>) -> Vec<Choice> {
    choices(PROJECTOR_TYPES)
}

fn f16(_: &Scope<'_>) -> Value {
    Value::Text("f16".to_owned())
}

pub(super) const MMPROJ_TYPE: Setting = Setting {
    applies: vision,
    ..Setting::new(
        "mmproj_type",
        "Projector weights",
        Group::Advanced,
        Kind::Choice {
            options: projector_types,
        },
        f16,
        "File type of the projector. Not a flag: it is the file that is loaded.",
    )
};

pub(super) const MMPROJ_OFFLOAD: Setting = Setting {
    applies: vision_and_gpu,
    ..Setting::new(
        "mmproj_offload",
        "Projector on GPU",
        Group::Advanced,
        Kind::Toggle,
        on,
        "Keeps the projector on the first GPU; off computes images on the processor, which takes seconds each.",
    )
};

pub(super) const IMAGE_MIN_TOKENS: Setting = Setting {
    applies: vision,
    since: Some("2025-12"),
    ..Setting::new(
        "image_min_tokens",
        "Least tokens of an image",
        Group::Advanced,
        integer(bounds::image_tokens, Step::By(16), "tokens"),
        zero,
        "Smaller images are enlarged to so many tokens, in models that take any size; 0 is the model's own choice.",
    )
};

pub(super) const IMAGE_MAX_TOKENS: Setting = Setting {
    applies: vision,
    since: Some("2025-12"),
    ..Setting::new(
        "image_max_tokens",
        "Most tokens of an image",
        Group::Advanced,
        integer(bounds::image_tokens, Step::By(16), "tokens"),
        zero,
        "Larger images are reduced to so many tokens, in models that take any size; the projector's buffer grows with \
         it. 0 is the model's own choice.",
    )
};

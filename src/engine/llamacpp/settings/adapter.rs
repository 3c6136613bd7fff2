//! Adapters and control vectors loaded beside the model.

use super::super::super::setting::{Group, Kind, Setting};
use super::shape::{empty, off};

pub(super) const LORA: Setting = Setting {
    aliases: &["lora_adapters"],
    ..Setting::new(
        "lora",
        "LoRA adapters",
        Group::Advanced,
        Kind::Lines {
            example: "rank=16 targets=all-linear type=f16",
        },
        empty,
        "One line per adapter: its rank, which matrices it changes (all-linear, attention, mlp, or names such as \
         attn_q,attn_v; experts are added with +experts) and its file type. Not the flag, which takes the files named \
         in [launch].",
    )
};

pub(super) const CONTROL_VECTOR: Setting = Setting::new(
    "control_vector",
    "Control vector",
    Group::Advanced,
    Kind::Toggle,
    off,
    "Adds a direction to the residual stream of every layer but the first; however many files, they become one vector \
     per layer. The files are named in [launch].",
);

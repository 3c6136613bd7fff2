//! Presets: models, GPUs and machines, embedded and from the user's folder.

pub mod gpus;
pub mod machines;
pub mod models;
mod names;

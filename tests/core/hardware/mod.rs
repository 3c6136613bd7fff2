//! What there is: presets, descriptions by hand, detection.

mod gpus;
mod machines;

//! What there is: presets, descriptions by hand, detection.

mod apple;
mod bugs;
mod diagnostic;
mod gpus;
mod machines;
mod merge;
mod mock;
mod nvml;
mod system;
mod vulkan;

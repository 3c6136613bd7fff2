//! The window, driven by the names that screen readers see. No display, no GPU.

#[path = "gui/desk.rs"]
mod desk;
#[path = "gui/files.rs"]
mod files;
#[path = "gui/flow.rs"]
mod flow;
#[path = "gui/pixels.rs"]
mod pixels;
#[path = "gui/snapshots.rs"]
mod snapshots;
#[path = "gui/states.rs"]
mod states;

//! The window, driven by the names that screen readers see. No display, no GPU.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that finds something else than it expects is to fail there"
)]

#[path = "gui/beside.rs"]
mod beside;
#[path = "gui/desk.rs"]
mod desk;
#[path = "gui/faithful.rs"]
mod faithful;
#[path = "gui/files.rs"]
mod files;
#[path = "gui/fit.rs"]
mod fit;
#[path = "gui/flow.rs"]
mod flow;
#[path = "gui/hub.rs"]
mod hub;
#[path = "gui/model_files.rs"]
mod model_files;
#[path = "gui/models.rs"]
mod models;
#[path = "gui/pins.rs"]
mod pins;
#[path = "gui/pixels.rs"]
mod pixels;
#[path = "gui/plan.rs"]
mod plan;
#[path = "gui/snapshots.rs"]
mod snapshots;
#[path = "gui/states.rs"]
mod states;

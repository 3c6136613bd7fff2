//! The real binary: exit codes, output, messages. No display, no GPU.
#![expect(clippy::expect_used, reason = "what cannot go on should say where")]

#[path = "cli/accuracy.rs"]
mod accuracy;
#[path = "cli/export.rs"]
mod export;
#[path = "cli/fit.rs"]
mod fit;
#[path = "cli/hostile.rs"]
mod hostile;
#[path = "cli/hub.rs"]
mod hub;
#[path = "cli/hub_parts.rs"]
mod hub_parts;
#[path = "cli/inspect.rs"]
mod inspect;
#[path = "cli/lies.rs"]
mod lies;
#[path = "cli/lists.rs"]
mod lists;
#[path = "cli/local.rs"]
mod local;
#[path = "cli/process.rs"]
mod process;
#[path = "cli/project.rs"]
mod project;
#[path = "cli/refusals.rs"]
mod refusals;
#[path = "cli/unchanged.rs"]
mod unchanged;

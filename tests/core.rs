//! Tests of the core: no display, no GPU, no network.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

#[path = "core/accuracy.rs"]
mod accuracy;
#[path = "core/advisor.rs"]
mod advisor;
#[path = "core/checkpoints/mod.rs"]
mod checkpoints;
#[path = "core/compute.rs"]
mod compute;
#[path = "core/experts.rs"]
mod experts;
#[path = "core/export/mod.rs"]
mod export;
#[path = "core/fit/mod.rs"]
mod fit;
#[path = "fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a crate of its own where fuzzing uses it")]
mod fuzz;
#[path = "core/gguf/mod.rs"]
mod gguf;
#[path = "core/hardware/mod.rs"]
mod hardware;
#[path = "core/host_memory.rs"]
mod host_memory;
#[path = "core/hostile.rs"]
mod hostile;
#[path = "core/hub/mod.rs"]
mod hub;
#[path = "core/inspect.rs"]
mod inspect;
#[path = "core/library/mod.rs"]
mod library;
#[path = "core/limits.rs"]
mod limits;
#[path = "core/llamacpp_rules/mod.rs"]
mod llamacpp_rules;
#[path = "core/llamacpp_sizes.rs"]
mod llamacpp_sizes;
#[path = "core/modelled.rs"]
mod modelled;
#[path = "core/models/mod.rs"]
mod models;
#[path = "core/native/mod.rs"]
mod native;
#[path = "core/ollama/mod.rs"]
mod ollama;
#[path = "core/parts/mod.rs"]
mod parts;
#[path = "core/plans.rs"]
mod plans;
#[path = "core/quality.rs"]
mod quality;
#[path = "core/report.rs"]
mod report;
#[path = "core/several_gpus.rs"]
mod several_gpus;
#[path = "core/speed/mod.rs"]
mod speed;
#[path = "core/store.rs"]
mod store;
#[path = "core/traffic.rs"]
mod traffic;

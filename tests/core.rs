//! Tests of the core: no display, no GPU, no network.
#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on should say where"
)]

#[path = "core/hardware/mod.rs"]
mod hardware;

//! Plimsoll: how every byte of VRAM and RAM will be used, known before the model is loaded.
//!
//! This file is the map of the house. Arrows point one way:
//!
//! ```text
//! units <- quant <- model <- source, hardware, plan <- projection <- engine <- speed, quality <- advisor <- report <- export <- app, main
//! ```
//!
//! `accuracy` compares projections with measurements; `inspect` says what a model is. `catalog` (presets), `store` (files of the user) and `beside` (plans that run beside another) are used from the edges
//! and hand plain data in.
//!
//! Invariants:
//!
//! 1. The core builds with the `gui` feature off and never names a GUI crate; only [`app`] does.
//! 2. `Model + Machine + Plan -> Report` is pure and total: odd input gives a report with notes, never a panic.
//! 3. Whatever is shown comes from [`report::Report`]; the window formats and never computes.
//! 4. Each [`projection::Term`] says why: rule, inputs with values, source. Explanation, docs and code cannot disagree.
//! 5. A new model of a known family is a preset file. A new engine, exporter or probe is one file or folder and one
//!    line in its registry ([`engine::ENGINES`], [`export::EXPORTERS`], [`hardware::probe::PROBES`]).
//! 6. A setting is described once, by its engine ([`engine::setting::Setting`]); the window, the plan file, the command
//!    line and the launch derive from it.
//! 7. No model is recognised by its name: data decides. No constant without its source beside it.
//!
//! `quant`, `model`, `plan`, `projection`, `engine`, `advisor`, `report` and `export` do no I/O, read no clock and no
//! environment.

pub mod accuracy;
pub mod advisor;
#[cfg(feature = "gui")]
pub mod app;
pub mod beside;
pub mod catalog;
pub mod engine;
pub mod export;
pub mod hardware;
pub mod inspect;
pub mod model;
pub mod plain;
pub mod plan;
pub mod projection;
pub mod quality;
pub mod quant;
pub mod report;
pub mod source;
pub mod speed;
pub mod store;
pub mod table;
pub mod units;

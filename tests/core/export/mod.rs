//! Launches as they are built and as they are written, read as the person who runs them would.

mod adapters;
mod batch;
mod case;
mod json;
mod llama_server;
mod modelfile;
mod models_preset;
mod ollama;
mod power_shell;
mod registry;
mod shell;
mod snapshots;
mod versions;

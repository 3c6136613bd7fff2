//! With which settings a new plan starts.

use super::Ollama;
use crate::engine::llamacpp::LlamaCpp;
use crate::engine::meaning::carry_over;
use crate::engine::{Engine as _, Inputs};
use crate::plan::Settings;

/// Those of llama.cpp in Ollama's words; layers are left to the server below, which also moves experts to main memory,
/// where Ollama has no setting for that.
pub(super) fn starting_settings(inputs: &Inputs<'_>) -> Settings {
    let written = Settings::new();
    let start = LlamaCpp.starting_settings(&Inputs {
        settings: &written,
        ..*inputs
    });
    let mut settings = carry_over(&LlamaCpp, Ollama::THIS, &start);
    settings.shift_remove("num_gpu");
    settings
}

//! How far the context of a plan could go, in agreement with its verdict.

use super::{Report, Request, Verdict};
use crate::engine::{self, Inputs};
use crate::plan::Value;
use crate::speed;

/// The longest context, in the meaning of the engine's own setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextLimit {
    /// This plan could hold so many tokens.
    Fits(u64),
    /// It holds more already, and so many with the margin kept.
    KeepsMargin(u64),
    /// So many fit once the plan says the number: the engine, which now cuts the context or chooses layers that do not
    /// fit, then chooses other layers for it.
    Written(u64),
}

/// Code of the note by which an engine says that it takes a shorter context than the model's, for want of memory.
const CUT: &str = "context-fitted";

impl Report {
    /// The longest context with every layer on a GPU, where a longer one fits with layers in main memory.
    pub fn context_on_gpus(&self) -> Option<u64> {
        let on_gpus = self.derived.max_context_tokens_on_gpus?;
        Some(on_gpus).filter(|on_gpus| Some(*on_gpus) < self.derived.max_context_tokens)
    }

    /// The longest context; `None` where none fits.
    pub fn context_limit(&self) -> Option<ContextLimit> {
        let longest = self.derived.max_context_tokens?;
        let axis = engine::find(self.engine)?.axes().first()?;
        let planned = match self.settings.get(axis.setting) {
            Some(Value::Integer(tokens)) => u64::try_from(*tokens).unwrap_or(0),
            _ => 0,
        };
        let cut = self.notes.iter().any(|note| note.code == CUT);
        Some(match self.verdict {
            _ if cut && longest > planned => ContextLimit::Written(longest),
            Verdict::Exceeds if longest >= planned => ContextLimit::Written(longest),
            Verdict::Tight if longest < planned => ContextLimit::KeepsMargin(longest),
            _ => ContextLimit::Fits(longest),
        })
    }
}

/// Tokens per second of one user at the beginning of the longest context, where that takes main memory for layers that
/// shorter ones leave on GPUs.
pub(super) fn speed_at(request: &Request<'_>, inputs: &Inputs<'_>, report: &Report) -> Option<f64> {
    let longest = report.derived.max_context_tokens?;
    report.context_on_gpus()?;
    let axis = request.engine.axes().first()?;
    let mut settings = inputs.settings.clone();
    let value = Value::Integer(i64::try_from(longest).ok()?);
    settings.insert(axis.setting.to_owned(), value);
    let settings = &settings;
    let traffic = request.engine.traffic(&Inputs {
        settings,
        ..*inputs
    })?;
    Some(
        speed::estimate(&traffic, inputs.machine)
            .ok()?
            .decode
            .likely,
    )
}

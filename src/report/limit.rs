//! How far the context of a plan could go, in agreement with its verdict.

use super::{Report, Verdict};
use crate::engine;
use crate::plan::Value;

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

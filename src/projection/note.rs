//! What a person should know about a plan, as data.

use serde::Serialize;

use crate::plan::Settings;

/// An error, a warning or a hint.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Note {
    /// How much it matters.
    pub severity: Severity,
    /// Stable identity ("kv-cache-too-large").
    pub code: &'static str,
    /// What happens, what it means, what to do: one or two sentences.
    pub message: String,
    /// The setting concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<&'static str>,
    /// The change that would mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

impl Note {
    /// A note without a setting or a fix; chain [`Note::on`] and [`Note::fixed_by`].
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            setting: None,
            fix: None,
        }
    }

    /// The engine would not start.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// It starts, but not as the user expects.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// Something could be better.
    pub fn hint(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Hint, code, message)
    }

    /// Names the setting concerned.
    #[must_use]
    pub fn on(mut self, setting: &'static str) -> Self {
        self.setting = Some(setting);
        self
    }

    /// Adds the change that would mend it.
    #[must_use]
    pub fn fixed_by(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }
}

/// How much a note matters; the order is that of display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The engine would refuse to start, or start and die.
    Error,
    /// It starts, but not as the user expects.
    Warning,
    /// Something could be better.
    Hint,
}

/// A change to the plan that mends a note.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fix {
    /// Settings and their new values.
    pub set: Settings,
    /// What it saves or gains, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
}

/// What a fix is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "unit", content = "value", rename_all = "lowercase")]
pub enum Gain {
    /// Bytes saved on the fullest device.
    Bytes(i64),
    /// Tokens of context gained.
    Tokens(i64),
}

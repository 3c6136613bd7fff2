//! What a fit makes best.

use std::fmt;
use std::str::FromStr;

/// What a fit makes best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// What most people want of a new plan, and what is done where none is named: a useful context first, then everything
    /// on the GPUs, then as many bits per weight as still tell apart.
    #[default]
    Balanced,
    /// The longest context that moves nothing off the GPUs.
    Context,
    /// The most bits per weight at which answers come as fast as people read.
    Quality,
    /// The most tokens per second.
    Speed,
    /// The most users at the planned context each.
    Batch,
}

/// A word that names no objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no objective `{found}`; it is one of {}", Objective::words())]
pub struct UnknownObjective {
    /// As written.
    pub found: String,
}

impl Objective {
    /// Every one, in the order offered.
    pub const ALL: [Self; 5] = [
        Self::Balanced,
        Self::Context,
        Self::Quality,
        Self::Speed,
        Self::Batch,
    ];

    /// As written in a plan and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Balanced => "balanced",
            Self::Context => "context",
            Self::Quality => "quality",
            Self::Speed => "speed",
            Self::Batch => "batch",
        }
    }

    /// All words, for a message.
    pub(super) fn words() -> String {
        Self::ALL.map(Self::word).join(", ")
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl FromStr for Objective {
    type Err = UnknownObjective;

    fn from_str(word: &str) -> Result<Self, UnknownObjective> {
        let known = Self::ALL
            .into_iter()
            .find(|objective| objective.word().eq_ignore_ascii_case(word));
        known.ok_or_else(|| UnknownObjective {
            found: word.to_owned(),
        })
    }
}

//! Why a setting cannot be taken as written.

/// Why a setting cannot be taken as written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such setting.
    #[error("unknown setting `{name}` for {engine}{}", suggestion(.nearest.as_deref()))]
    Unknown {
        /// As written.
        name: String,
        /// The engine's identity.
        engine: &'static str,
        /// The nearest valid name.
        nearest: Option<String>,
    },
    /// A setting of another engine.
    #[error("`{name}` is a setting of {other}: {engine} {}", in_own_words(*.own))]
    OfOther {
        /// As written.
        name: String,
        /// The engine's identity.
        engine: &'static str,
        /// The identity of the engine that has it.
        other: &'static str,
        /// What this engine calls what it says; `None`: it has nothing of the kind.
        own: Option<&'static str>,
    },
    /// The same setting twice, under two spellings.
    #[error("setting `{name}` is given twice, as `{first}` and as `{second}`")]
    Twice {
        /// Canonical name.
        name: &'static str,
        /// One spelling.
        first: String,
        /// The other.
        second: String,
    },
    /// Not one of the words.
    #[error("setting `{name}` cannot be {found:?}; it is one of {}{}", words.join(", "), suggestion(.nearest.as_deref()))]
    Word {
        /// Canonical name.
        name: &'static str,
        /// As written.
        found: String,
        /// What it can be.
        words: Vec<&'static str>,
        /// The nearest of them.
        nearest: Option<String>,
    },
    /// A word that this model has not.
    #[error(
        "setting `{name}` can be {found:?} only where the model was opened from a file of its own (`path` or `repo` under \
         [model]); leave `{name}` out, or take one of {}",
        words.join(", ")
    )]
    OfFiles {
        /// Canonical name.
        name: &'static str,
        /// As written.
        found: String,
        /// What it can be.
        words: Vec<&'static str>,
    },
    /// The value is of the wrong kind.
    #[error("setting `{name}` takes {expected}, not {found}")]
    Kind {
        /// Canonical name.
        name: &'static str,
        /// What it takes, in words.
        expected: String,
        /// What was written.
        found: String,
    },
}

fn in_own_words(own: Option<&str>) -> String {
    own.map_or_else(
        || "has none of the kind; leave it out".to_owned(),
        |name| format!("says it with `{name}`"),
    )
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

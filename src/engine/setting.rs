//! One description per setting: the window's controls, the plan file's checks, the command line and the launch derive
//! from it.

mod error;

pub use error::Error;

use super::meaning::{Counterpart, counterpart};
use crate::hardware::Machine;
use crate::model::Model;
use crate::plan::{Settings, Value};

/// One knob of an engine.
pub struct Setting {
    /// The engine's long flag name in snake_case, positive form.
    pub name: &'static str,
    /// Older and shorter spellings.
    pub aliases: &'static [&'static str],
    /// Older words of a choice with the current ones; a switch counts as "on" or "off".
    pub synonyms: &'static [(&'static str, &'static str)],
    /// Words of a choice that only models have which were opened from files.
    pub of_files: &'static [&'static str],
    /// What the window calls it, in two or three words.
    pub label: &'static str,
    /// Where the window shows it.
    pub group: Group,
    /// What values it takes.
    pub kind: Kind,
    /// Does it change anything for this model on this machine? The window leaves out what does not.
    pub applies: fn(&Scope<'_>) -> bool,
    /// The engine's own default, as the value a user would write.
    pub default: fn(&Scope<'_>) -> Value,
    /// One sentence: what it does and what it costs. Says so where the engine has no such flag.
    pub help: &'static str,
    /// First engine version that has it.
    pub since: Option<&'static str>,
    /// Last engine version that has it.
    pub until: Option<&'static str>,
    /// What it says that settings of other engines say too.
    pub counterparts: &'static [Counterpart],
}

/// What bounds and defaults may depend on.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The model.
    pub model: &'a Model,
    /// The small model that drafts for it.
    pub draft: Option<&'a Model>,
    /// The machine.
    pub machine: &'a Machine,
    /// The other settings, canonical names.
    pub settings: &'a Settings,
}

/// Where the window shows a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Weights and cache formats.
    Quantization,
    /// What lives where.
    Offload,
    /// Context, batch, concurrency.
    Load,
    /// Everything else.
    Advanced,
}

/// What values a setting takes.
#[derive(Clone, Copy)]
pub enum Kind {
    /// On or off.
    Toggle,
    /// A whole number, or one of `words`.
    Integer {
        /// Least and most that the engine accepts and that make sense here.
        bounds: fn(&Scope<'_>) -> (i64, i64),
        /// How a slider walks.
        step: Step,
        /// Words accepted in place of a number ("all", "auto").
        words: &'static [&'static str],
        /// What is counted ("tokens", "layers", "MiB"); empty where the label says it.
        unit: &'static str,
    },
    /// One of a list of words, in any case of letters.
    Choice {
        /// The words in the order offered.
        options: fn(&Scope<'_>) -> Vec<Choice>,
    },
    /// One non-negative number per GPU; empty = the engine's own split.
    Proportions,
    /// A list of texts, one per line; `example` shows the form.
    Lines {
        /// One line as a user would write it.
        example: &'static str,
    },
    /// A text.
    Text {
        /// One as a user would write it.
        example: &'static str,
    },
}

/// How a slider walks through whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// In equal steps.
    By(i64),
    /// By ratio, snapping to multiples.
    Logarithmic {
        /// Values are multiples of this.
        multiple: i64,
    },
}

/// One word of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// As written in a plan.
    pub word: &'static str,
    /// What is shown in its place, where the word alone does not say it.
    pub title: Option<String>,
    /// A few words beside it ("4.9 bits per weight"); may be empty.
    pub hint: String,
}

impl Choice {
    /// What is shown.
    pub fn shown(&self) -> &str {
        self.title.as_deref().unwrap_or(self.word)
    }
}

/// The setting with this name or alias.
pub fn find(engine: &dyn super::Engine, name: &str) -> Option<&'static Setting> {
    engine
        .settings()
        .iter()
        .find(|setting| setting.name == name || setting.aliases.contains(&name))
}

/// Settings as an engine takes them: canonical names, each value of the right kind, words as the engine spells them;
/// order kept. Bounds are the engine's business: it clamps or notes as it would in reality.
///
/// # Errors
/// The first setting that does not exist, is given twice, or has a value it cannot have.
pub fn checked(
    engine: &dyn super::Engine,
    written: &Settings,
    model: &Model,
    machine: &Machine,
) -> Result<Settings, Error> {
    let mut settings = canonical(engine, written)?;
    let words: Vec<(&'static Setting, Vec<Choice>)> = engine
        .settings()
        .iter()
        .filter(|setting| settings.contains_key(setting.name))
        .filter_map(|setting| match setting.kind {
            Kind::Choice { options } => Some((
                setting,
                options(&Scope {
                    model,
                    // No list of words depends on it.
                    draft: None,
                    machine,
                    settings: &settings,
                }),
            )),
            _ => None,
        })
        .collect();
    for (setting, choices) in words {
        if let Some(Value::Text(word)) = settings.get_mut(setting.name) {
            word.replace_range(.., setting.spell(word, &choices)?);
        }
    }
    Ok(settings)
}

/// Settings under their canonical names, each value of the right kind; order kept. Needs no model: words of a choice
/// are not looked up.
///
/// # Errors
/// The first setting that does not exist, is given twice, or is of the wrong kind.
pub fn canonical(engine: &dyn super::Engine, written: &Settings) -> Result<Settings, Error> {
    let mut settings = Settings::with_capacity(written.len());
    let mut spelling: Vec<(&'static str, &str)> = Vec::with_capacity(written.len());
    for (name, value) in written {
        let Some(setting) = find(engine, name) else {
            return Err(unknown(engine, name));
        };
        if let Some((_, first)) = spelling
            .iter()
            .find(|(canonical, _)| *canonical == setting.name)
        {
            return Err(Error::Twice {
                name: setting.name,
                first: (*first).to_owned(),
                second: name.clone(),
            });
        }
        spelling.push((setting.name, name));
        settings.insert(setting.name.to_owned(), setting.accept(value)?);
    }
    Ok(settings)
}

/// Checks names of settings, as in the `pinned` of a plan.
///
/// # Errors
/// The first that does not exist.
pub fn known(engine: &dyn super::Engine, names: &[String]) -> Result<(), Error> {
    match names.iter().find(|name| find(engine, name).is_none()) {
        None => Ok(()),
        Some(name) => Err(unknown(engine, name)),
    }
}

fn unknown(engine: &dyn super::Engine, name: &str) -> Error {
    let others = super::ENGINES.iter().copied();
    let mut others = others.filter(|other| other.id() != engine.id());
    if let Some(other) = others.find(|other| find(*other, name).is_some()) {
        return Error::OfOther {
            name: name.to_owned(),
            engine: engine.id(),
            other: other.id(),
            own: counterpart(other, engine, name),
        };
    }
    Error::Unknown {
        name: name.to_owned(),
        engine: engine.id(),
        nearest: nearest(engine, name),
    }
}

/// Most bytes of a name or word that may be a slip of the keyboard.
const LONGEST_NAME: usize = 100;

/// The closest name or alias, where one is close enough to be a slip.
fn nearest(engine: &dyn super::Engine, name: &str) -> Option<String> {
    // Comparing costs the square of the length, and nothing that long is a slip.
    if name.len() > LONGEST_NAME {
        return None;
    }
    let name = name.to_ascii_lowercase();
    engine
        .settings()
        .iter()
        .flat_map(|setting| {
            std::iter::once(&setting.name)
                .chain(setting.aliases)
                .map(|alias| (setting.name, *alias))
        })
        // Anything short is like an abbreviation of something.
        .filter(|(_, alias)| alias.len() > 3 || **alias == *name)
        .map(|(canonical, alias)| (strsim::jaro_winkler(&name, alias), canonical))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, canonical)| canonical.to_owned())
}

impl Setting {
    /// A setting without aliases that applies everywhere and that every known version has; further fields by struct
    /// update.
    pub(in crate::engine) const fn new(
        name: &'static str,
        label: &'static str,
        group: Group,
        kind: Kind,
        default: fn(&Scope<'_>) -> Value,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            synonyms: &[],
            of_files: &[],
            label,
            group,
            kind,
            applies: |_| true,
            default,
            help,
            since: None,
            until: None,
            counterparts: &[],
        }
    }

    /// The value as this setting holds it (words lower-cased, a single text as a list of one), or why not.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn accept(&self, value: &Value) -> Result<Value, Error> {
        let accepted = match (&self.kind, value) {
            (Kind::Toggle, Value::Bool(_)) | (Kind::Integer { .. }, Value::Integer(_)) => {
                Some(value.clone())
            }
            (Kind::Integer { words, .. }, Value::Text(word)) => {
                let word = word.to_ascii_lowercase();
                words
                    .contains(&word.as_str())
                    .then(|| Value::Text(word.clone()))
                    .or_else(|| word.parse().ok().map(Value::Integer))
            }
            (Kind::Text { .. }, Value::Text(_)) => Some(value.clone()),
            // A build without its letter: 99 is as good as "99".
            (Kind::Text { .. }, Value::Integer(number)) => Some(Value::Text(number.to_string())),
            (Kind::Choice { .. }, Value::Text(word)) => Some(self.current(word)),
            // `flash_attn = true` and `mmap = false` were switches in older versions.
            (Kind::Choice { .. }, Value::Bool(on)) => {
                Some(self.current(if *on { "on" } else { "off" }))
            }
            (Kind::Proportions, Value::List(items)) => {
                let valid = |item: &Value| match item {
                    Value::Integer(number) => *number >= 0,
                    Value::Number(number) => number.is_finite() && *number >= 0.0,
                    _ => false,
                };
                items.iter().all(valid).then(|| value.clone())
            }
            (Kind::Lines { .. }, Value::Text(_)) => Some(Value::List(vec![value.clone()])),
            (Kind::Lines { .. }, Value::List(items)) => items
                .iter()
                .all(|item| matches!(item, Value::Text(_)))
                .then(|| value.clone()),
            _ => None,
        };
        accepted.ok_or_else(|| Error::Kind {
            name: self.name,
            expected: self.expectation(),
            found: describe(value),
        })
    }

    /// The current word for an older one.
    fn current(&self, word: &str) -> Value {
        let older = self
            .synonyms
            .iter()
            .find(|(older, _)| older.eq_ignore_ascii_case(word));
        Value::Text(older.map_or(word, |&(_, current)| current).to_owned())
    }

    /// The word as the engine spells it, whatever the case of its letters.
    fn spell(&self, word: &str, choices: &[Choice]) -> Result<&'static str, Error> {
        let known = choices
            .iter()
            .find(|choice| choice.word.eq_ignore_ascii_case(word));
        let words = || choices.iter().map(|choice| choice.word).collect();
        let mut of_files = self.of_files.iter();
        if known.is_none() && of_files.any(|own| own.eq_ignore_ascii_case(word)) {
            return Err(Error::OfFiles {
                name: self.name,
                found: word.to_owned(),
                words: words(),
            });
        }
        known.map(|choice| choice.word).ok_or_else(|| Error::Word {
            name: self.name,
            found: word.to_owned(),
            words: words(),
            nearest: choices
                .iter()
                .filter(|_| word.len() <= LONGEST_NAME)
                .map(|choice| {
                    (
                        strsim::jaro_winkler(
                            &word.to_ascii_lowercase(),
                            &choice.word.to_ascii_lowercase(),
                        ),
                        choice.word,
                    )
                })
                .filter(|(similarity, _)| *similarity > 0.8)
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, word)| word.to_owned()),
        })
    }

    /// What values it takes, in words.
    pub fn expectation(&self) -> String {
        match self.kind {
            Kind::Toggle => "true or false".to_owned(),
            Kind::Integer { words: [], .. } => "a whole number".to_owned(),
            Kind::Integer { words, .. } => {
                format!("a whole number or one of \"{}\"", words.join("\", \""))
            }
            Kind::Choice { .. } => "a word".to_owned(),
            Kind::Proportions => "a list of non-negative numbers, one per GPU".to_owned(),
            Kind::Lines { example } => format!("a list of texts such as {example:?}"),
            Kind::Text { example } => format!("a text such as {example:?}"),
        }
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        // With its point: 1e9 is no whole number to a plan.
        Value::Number(value) => format!("{value:?}"),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => {
            let items: Vec<String> = items.iter().take(8).map(describe).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

//! Short forms for the kinds of setting that occur here.

use super::super::super::setting::{Choice, Kind, Scope, Step};
use crate::plan::Value;

/// A whole number without words.
pub(super) const fn integer(
    bounds: fn(&Scope<'_>) -> (i64, i64),
    step: Step,
    unit: &'static str,
) -> Kind {
    Kind::Integer {
        bounds,
        step,
        words: &[],
        unit,
    }
}

/// A list of words with hints as choices.
pub(super) fn choices(words: &[(&'static str, &str)]) -> Vec<Choice> {
    words
        .iter()
        .map(|&(word, hint)| Choice {
            word,
            title: None,
            hint: hint.to_owned(),
        })
        .collect()
}

/// Default: on.
pub(super) fn on(_: &Scope<'_>) -> Value {
    Value::Bool(true)
}

/// Default: off.
pub(super) fn off(_: &Scope<'_>) -> Value {
    Value::Bool(false)
}

/// Default: zero.
pub(super) fn zero(_: &Scope<'_>) -> Value {
    Value::Integer(0)
}

/// Default: the word "auto".
pub(super) fn auto(_: &Scope<'_>) -> Value {
    Value::Text("auto".to_owned())
}

/// Default: the empty list.
pub(super) fn empty(_: &Scope<'_>) -> Value {
    Value::List(Vec::new())
}

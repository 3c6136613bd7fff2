//! What a person should know about a plan: what the engine refuses, and what it does otherwise than expected.

mod after;
mod file;
mod machine;
mod memory;
mod model;
mod published;
mod refusals;

pub(super) use after::{Seen, after};
pub(super) use file::{file, unknown_file_type};
pub(super) use machine::{machine, spills};
pub(super) use model::{model, unloadable};
pub(super) use refusals::{buffer_names, refusals};

use crate::plan::{Settings, Value};
use crate::projection::Fix;

/// A change of one setting to a word.
pub(super) fn set_word(name: &str, word: &str) -> Fix {
    set(name, Value::Text(word.to_owned()))
}

/// A change of one setting to a number.
fn set_number(name: &str, number: u64) -> Fix {
    set(
        name,
        Value::Integer(i64::try_from(number).unwrap_or(i64::MAX)),
    )
}

fn set(name: &str, value: Value) -> Fix {
    Fix {
        set: Settings::from([(name.to_owned(), value)]),
        gain: None,
    }
}

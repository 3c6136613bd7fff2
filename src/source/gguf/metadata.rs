//! Keys and values of a header. What is long and of no use for memory (tokens, merges, templates) is passed over; how
//! much it was is kept.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::cursor::Cursor;
use super::error::{Reason, shown};
use crate::plain::{shows_itself, tame};

/// What a header says of its model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    entries: BTreeMap<String, Entry>,
    /// Elements of lists so far.
    elements: u64,
}

/// A value, or how long it was.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A number, a switch, a text, or a list of them.
    Value(Value),
    /// A list of so many elements that was passed over.
    List(u64),
    /// A text of so many bytes that was passed over.
    Text(u64),
}

/// The shortest entry: a key of one letter, its length, the kind and one byte.
const LEAST_ENTRY: u64 = 8 + 1 + 4 + 1;
/// Most keys; real files have some dozens.
const KEYS: u64 = 1 << 16;
/// Longest key (`docs/gguf.md` of ggml).
const KEY: u64 = (1 << 16) - 1;
/// Longest text that is kept: names, licences, addresses; not templates.
const TEXT: u64 = 4096;
/// Most elements of all lists that are kept; lists by layer have as many as there are layers.
const ELEMENTS: u64 = 1 << 16;

impl Metadata {
    /// Reads so many entries.
    pub(super) fn read(cursor: &mut Cursor<'_>, count: u64) -> Result<Self, Reason> {
        let most = KEYS.min(cursor.rest() / LEAST_ENTRY);
        if count > most {
            return Err(Reason::Claim {
                what: "keys",
                claimed: count,
                most,
            });
        }
        let mut metadata = Self::default();
        for _ in 0..count {
            let key = name(cursor, "key", KEY)?;
            let kind = cursor.u32()?;
            let entry = metadata.entry(cursor, &key, kind)?;
            if metadata.entries.contains_key(&key) {
                return Err(Reason::Duplicate {
                    what: "keys",
                    name: shown(key.as_bytes()),
                });
            }
            metadata.entries.insert(key, entry);
        }
        Ok(metadata)
    }

    fn entry(&mut self, cursor: &mut Cursor<'_>, key: &str, kind: u32) -> Result<Entry, Reason> {
        match kind {
            STRING => {
                let length = cursor.u64()?;
                if length > TEXT || is_tokenizers(key) && length > 64 {
                    cursor.skip(length)?;
                    return Ok(Entry::Text(length));
                }
                text(cursor, length).map(Entry::Value)
            }
            ARRAY => self.list(cursor, key),
            _ => scalar(cursor, key, kind).map(Entry::Value),
        }
    }

    fn list(&mut self, cursor: &mut Cursor<'_>, key: &str) -> Result<Entry, Reason> {
        let kind = cursor.u32()?;
        let count = cursor.u64()?;
        let least = if kind == STRING { 8 } else { width(key, kind)? };
        let most = cursor.rest() / least;
        if count > most {
            return Err(Reason::Claim {
                what: "elements of a list",
                claimed: count,
                most,
            });
        }
        let elements = self.elements.saturating_add(count);
        let kept = !is_tokenizers(key) && elements <= ELEMENTS;
        if kind == STRING {
            return strings(cursor, count, kept && count <= 1024);
        }
        if !kept {
            cursor.skip(count.saturating_mul(least))?;
            return Ok(Entry::List(count));
        }
        self.elements = elements;
        let values: Result<_, _> = (0..count).map(|_| scalar(cursor, key, kind)).collect();
        values.map(Value::Array).map(Entry::Value)
    }

    /// Whether and how a key is there, kept or not.
    pub fn entry_of(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// A value that was kept.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self.entries.get(key)? {
            Entry::Value(value) => Some(value),
            Entry::List(_) | Entry::Text(_) => None,
        }
    }

    /// A text that was kept.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// A whole number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// How many elements a list has, kept or not.
    pub fn elements(&self, key: &str) -> Option<u64> {
        match self.entries.get(key)? {
            Entry::Value(Value::Array(list)) => Some(list.len() as u64),
            Entry::List(count) => Some(*count),
            Entry::Value(_) | Entry::Text(_) => None,
        }
    }

    /// Every key with what is known of its value, in order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .map(|(key, entry)| (key.as_str(), entry))
    }
}

/// Kinds of values (`gguf_type` in `ggml/include/gguf.h`, ggml 0.26).
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Lists as long as the vocabulary, and templates.
fn is_tokenizers(key: &str) -> bool {
    key.starts_with("tokenizer.")
}

/// Bytes of a value that is neither text nor list.
fn width(key: &str, kind: u32) -> Result<u64, Reason> {
    match kind {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        ARRAY => Err(Reason::Nested {
            key: shown(key.as_bytes()),
        }),
        _ => Err(Reason::ValueKind {
            key: shown(key.as_bytes()),
            kind,
        }),
    }
}

fn scalar(cursor: &mut Cursor<'_>, key: &str, kind: u32) -> Result<Value, Reason> {
    let count = width(key, kind)? as usize;
    let mut bytes = [0; 8];
    if let Some(bytes) = bytes.get_mut(..count) {
        bytes.copy_from_slice(cursor.take(count)?);
    }
    let whole = u64::from_le_bytes(bytes);
    // Shifted up and down again, a number keeps its sign.
    let shift = 64 - 8 * count as u32;
    let signed = || Value::from((whole << shift).cast_signed() >> shift);
    let real = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::Number);
    Ok(match kind {
        1 | 3 | 5 | 11 => signed(),
        6 => real(f64::from(f32::from_bits(whole as u32))),
        7 => Value::Bool(whole != 0),
        12 => real(f64::from_bits(whole)),
        _ => Value::from(whole),
    })
}

/// A text of at most [`TEXT`] bytes; what is no text is replaced, what would not show as itself left out.
fn text(cursor: &mut Cursor<'_>, length: u64) -> Result<Value, Reason> {
    let bytes = cursor.take(length as usize)?;
    Ok(Value::String(tame(&String::from_utf8_lossy(bytes))))
}

fn strings(cursor: &mut Cursor<'_>, count: u64, kept: bool) -> Result<Entry, Reason> {
    let mut values = Vec::new();
    for _ in 0..count {
        let length = cursor.u64()?;
        if kept && length <= 256 {
            values.push(text(cursor, length)?);
        } else {
            cursor.skip(length)?;
        }
    }
    let complete = values.len() as u64 == count;
    Ok(if complete && kept {
        Entry::Value(Value::Array(values))
    } else {
        Entry::List(count)
    })
}

/// A name of at most `most` bytes that shows as itself.
pub(super) fn name(
    cursor: &mut Cursor<'_>,
    what: &'static str,
    most: u64,
) -> Result<String, Reason> {
    let length = cursor.u64()?;
    if length > cursor.rest() {
        return Err(Reason::Claim {
            what: "bytes of a name",
            claimed: length,
            most: cursor.rest(),
        });
    }
    if length > most {
        return Err(Reason::Name {
            what,
            shown: format!("it has {length} bytes, more than {most}"),
        });
    }
    let bytes = cursor.take(length as usize)?;
    match std::str::from_utf8(bytes) {
        Ok(name) if !name.is_empty() && name.chars().all(shows_itself) => Ok(name.to_owned()),
        _ => Err(Reason::Name {
            what,
            shown: shown(bytes),
        }),
    }
}

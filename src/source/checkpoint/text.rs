//! Small files, read up to a limit.

use serde_json::Value;

use super::error::Reason;
use crate::source::access::{Collection, RandomAccess};
use crate::units::Bytes;

/// How the pointers of Git LFS begin (<https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>).
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Is this what Git leaves where large files were not fetched?
pub(super) fn is_pointer(first: &[u8]) -> bool {
    first.starts_with(POINTER)
}

/// Reads up to `count` bytes from the start, as many as there are.
pub(super) fn first(file: &dyn RandomAccess, count: u64) -> Result<Vec<u8>, Reason> {
    let size = file.size().min(count);
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let read = file.read_at(0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Reads a text of at most `limit` bytes.
pub(super) fn read(collection: &dyn Collection, name: &str, limit: u64) -> Result<String, Reason> {
    let file = collection.open(name)?;
    if file.size() > limit {
        return Err(Reason::TooLarge {
            limit: Bytes::new(limit),
        });
    }
    let bytes = first(file.as_ref(), limit)?;
    if is_pointer(&bytes) {
        return Err(Reason::Pointer);
    }
    String::from_utf8(bytes).map_err(|_| Reason::NotText)
}

/// Reads JSON as Python writes it: with `Infinity` and `NaN`, which become null.
pub(super) fn parse(text: &str) -> Result<Value, Reason> {
    serde_json::from_str(text)
        .or_else(|error| match without_infinities(text) {
            Some(plain) => serde_json::from_str(&plain),
            None => Err(error),
        })
        .map_err(|error| sound(&error))
}

/// The reader's reason, in words where it names a limit of its own.
pub(super) fn sound(error: &serde_json::Error) -> Reason {
    let reason = error.to_string();
    Reason::Json(match reason.strip_prefix("recursion limit exceeded") {
        // serde_json's limit.
        Some(place) => format!("it is nested more than 127 deep{place}"),
        None => reason,
    })
}
/// The text with null for Python's names of numbers that JSON does not have; `None` where it has none.
fn without_infinities(text: &str) -> Option<String> {
    const NAMES: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let (mut quoted, mut found) = (false, false);
    while let Some(letter) = rest.chars().next() {
        let name = NAMES
            .iter()
            .find(|name| !quoted && rest.starts_with(**name));
        let (written, read) = match name {
            Some(name) => ("null", name.len()),
            // A backslash in a string takes the next character with it.
            None if quoted && letter == '\\' => {
                let end = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
                (rest.get(..end)?, end)
            }
            None => (rest.get(..letter.len_utf8())?, letter.len_utf8()),
        };
        found |= name.is_some();
        quoted ^= letter == '"';
        plain.push_str(written);
        rest = rest.get(read..)?;
    }
    found.then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_that_only_python_writes() {
        let text = r#"{"a": [0.0, Infinity, -Infinity, NaN], "b": "Infinity \" NaN \\"}"#;
        let value = parse(text).unwrap();
        assert_eq!(value["a"], serde_json::json!([0.0, null, null, null]));
        assert_eq!(value["b"], "Infinity \" NaN \\");
        assert!(parse("{Infinity").is_err());
        assert!(parse("{\"a\": Infinit}").is_err());
    }
}

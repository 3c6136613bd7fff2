use std::io;

use crate::model;
use crate::plain::quoted;

/// Why a GGUF file is not opened, and which file it is.
#[derive(Debug, thiserror::Error)]
#[error("{reason}: {file}")]
pub struct Error {
    /// The file's name, fit to be shown.
    pub file: String,
    /// What is wrong with it.
    pub reason: Box<Reason>,
}

/// What is wrong with a GGUF file. Names from the file are shown escaped.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "each says in its message what it stands for, fields included"
)]
pub enum Reason {
    /// The system's reason.
    #[error("cannot be read ({0})")]
    Read(io::Error),
    #[error("this is {0}, not a GGUF file")]
    Foreign(&'static str),
    #[error("this is no GGUF file: it does not begin with the four letters GGUF")]
    NotGguf,
    #[error(
        "this GGUF file is big-endian, for machines such as IBM Z: engines on other machines do not load it; \
         get the usual one, or convert it with `gguf-convert-endian`"
    )]
    BigEndian,
    #[error(
        "this GGUF file is of version {0}; engines load 2 and 3 only. Get a newer conversion of the model"
    )]
    OldVersion(u32),
    #[error("this GGUF file is of version {0}, which is newer than this program knows (2 and 3)")]
    NewVersion(u32),
    #[error(
        "the file ends inside its header, after {size} bytes: the download is not complete{}", joined(*.piece)
    )]
    HeaderCut { size: u64, piece: bool },
    #[error(
        "the file ends after {size} of {expected} bytes: the download is not complete{}", joined(*.piece)
    )]
    Cut {
        size: u64,
        expected: u64,
        piece: bool,
    },
    #[error("the header claims {claimed} {what}; in a file of this size there are at most {most}")]
    Claim {
        what: &'static str,
        claimed: u64,
        most: u64,
    },
    #[error("the header is larger than {most} bytes, which no real one is")]
    HeaderTooLarge { most: u64 },
    #[error("a {what} has no usable name: {shown}")]
    Name { what: &'static str, shown: String },
    #[error("two {what} have the name {name}")]
    Duplicate { what: &'static str, name: String },
    #[error("the value of {key} is of kind {kind}, which GGUF does not have")]
    ValueKind { key: String, kind: u32 },
    #[error("the value of {key} is a list of lists, which no engine reads")]
    Nested { key: String },
    #[error("`general.alignment` is {0}; it must be a power of two")]
    Alignment(String),
    #[error("the tensor {tensor} has {count} dimensions; engines take at most 4")]
    Dimensions { tensor: String, count: u32 },
    #[error("the tensor {tensor} has more elements than can be")]
    Shape { tensor: String },
    #[error(
        "the tensor {tensor} has rows of {elements} elements, no whole number of {kind} blocks"
    )]
    Row {
        tensor: String,
        kind: &'static str,
        elements: u64,
    },
    #[error("the tensor {tensor} begins at {offset}, no multiple of the alignment {alignment}")]
    Unaligned {
        tensor: String,
        offset: u64,
        alignment: u64,
    },
    #[error("the tensors {first} and {second} lie over each other")]
    Overlap { first: String, second: String },
    #[error("part {number} of {count} is missing, {name}")]
    MissingPart {
        name: String,
        number: u64,
        count: u64,
    },
    #[error(
        "this is part {number} of {count} of a model, but its name does not say so; give the parts the names that \
         they had (ending in {ending}), so that the others are found"
    )]
    Unnamed {
        number: u64,
        count: u64,
        ending: String,
    },
    #[error(
        "by its name this is part {named_number} of {named_count}, by its contents {number} of {count}"
    )]
    OtherPart {
        named_number: u64,
        named_count: u64,
        number: u64,
        count: u64,
    },
    #[error(
        "all parts together have {found} tensors, but there should be {expected}: one is from another set"
    )]
    PartTensors { found: u64, expected: u64 },
    #[error("this is {0}, no model; open the model's own file instead")]
    NotAModel(&'static str),
    #[error("this is {0}, no projector")]
    NotAProjector(&'static str),
    #[error("{0}")]
    Lacking(String),
    #[error(transparent)]
    Model(model::Error),
}

fn joined(piece: bool) -> &'static str {
    if piece {
        ", or this is one of several pieces that must be joined first"
    } else {
        ""
    }
}

impl Error {
    /// Whether reading failed, rather than what was read.
    pub fn is_io(&self) -> bool {
        matches!(*self.reason, Reason::Read(_))
    }
}

/// A text from a file, fit to be shown, in quotes.
pub(super) fn shown(text: &[u8]) -> String {
    // Four bytes are the most that a letter has; what is behind those that are shown is not looked at.
    const MOST: usize = 4 * 100;
    let text = String::from_utf8_lossy(text.get(..MOST).unwrap_or(text));
    format!("`{}`", quoted(&text))
}

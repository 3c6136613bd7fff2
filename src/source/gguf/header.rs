//! One file's header: magic, version, metadata and the list of tensors, as the format's specification has them
//! (`docs/gguf.md` of ggml; `gguf_init_from_reader` in `ggml/src/gguf.cpp`, ggml 0.26).

use super::cursor::Cursor;
use super::error::{Reason, shown};
use super::metadata::{Metadata, name};
use crate::source::access::RandomAccess;

/// What one file says.
pub(super) struct Header {
    pub(super) metadata: Metadata,
    pub(super) tensors: Vec<Info>,
    /// Where tensors begin.
    pub(super) data: u64,
    pub(super) alignment: u64,
}

/// A tensor as the header has it.
pub(super) struct Info {
    pub(super) name: String,
    pub(super) shape: [u64; 4],
    /// The number of its type.
    pub(super) kind: u32,
    /// Its place behind the header.
    pub(super) offset: u64,
}

/// The shortest description of a tensor: a name of one letter and its length, no dimensions, type and place.
const LEAST_INFO: u64 = 8 + 1 + 4 + 4 + 8;
/// Most tensors of a file; the largest real ones have some thousands.
const TENSORS: u64 = 1 << 20;
/// Longest name of a tensor: twice what llama.cpp takes (`GGML_MAX_NAME` in `ggml/include/ggml.h`), as some programs
/// are built with more.
const NAME: u64 = 127;
/// `GGUF_DEFAULT_ALIGNMENT` in `ggml/include/gguf.h`.
const ALIGNMENT: u64 = 32;

impl Header {
    /// Reads no more than the header and one buffer.
    pub(super) fn read(file: &dyn RandomAccess) -> Result<Self, Reason> {
        let mut cursor = Cursor::new(file);
        magic(&mut cursor)?;
        version(cursor.u32()?)?;
        let tensors = cursor.u64()?;
        let keys = cursor.u64()?;
        let most = TENSORS.min(cursor.rest() / LEAST_INFO);
        if tensors > most {
            return Err(Reason::Claim {
                what: "tensors",
                claimed: tensors,
                most,
            });
        }
        let metadata = Metadata::read(&mut cursor, keys)?;
        let alignment = alignment(&metadata)?;
        let list: Result<Vec<Info>, Reason> =
            (0..tensors).map(|_| Info::read(&mut cursor)).collect();
        Ok(Self {
            metadata,
            tensors: list?,
            data: cursor.position().next_multiple_of(alignment),
            alignment,
        })
    }
}

impl Info {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reason> {
        let name = name(cursor, "tensor", NAME)?;
        let dimensions = cursor.u32()?;
        let mut shape = [1; 4];
        let extents = shape.get_mut(..dimensions as usize);
        let Some(extents) = extents else {
            return Err(Reason::Dimensions {
                tensor: shown(name.as_bytes()),
                count: dimensions,
            });
        };
        for extent in extents {
            *extent = cursor.u64()?;
        }
        let elements = shape
            .iter()
            .try_fold(1_u64, |elements, extent| elements.checked_mul(*extent));
        if elements.is_none_or(|elements| i64::try_from(elements).is_err()) {
            return Err(Reason::Shape {
                tensor: shown(name.as_bytes()),
            });
        }
        Ok(Self {
            shape,
            kind: cursor.u32()?,
            offset: cursor.u64()?,
            name,
        })
    }
}

/// What the first bytes of other files are in small letters, where people take them for GGUF.
const FOREIGN: [(&[u8], &str); 9] = [
    (b"tjgg", "a model of llama.cpp from before GGUF (GGJT)"),
    (b"lmgg", "a model of llama.cpp from before GGUF (GGML)"),
    (b"fmgg", "a model of llama.cpp from before GGUF (GGMF)"),
    (
        b"version https://git-lfs",
        "a pointer of Git LFS to the file, fetched without its contents",
    ),
    (b"<!doctype html", "a web page"),
    (b"<html", "a web page"),
    (b"pk\x03\x04", "a ZIP or PyTorch archive"),
    (b"{", "JSON"),
    (b"\x1f\x8b", "a gzip archive"),
];

/// Checks the first four bytes.
fn magic(cursor: &mut Cursor<'_>) -> Result<(), Reason> {
    // Enough to tell every one of the others.
    let length = cursor.rest().min(24);
    if length == 0 {
        return Err(Reason::Foreign("an empty file"));
    }
    if length >= 4 && cursor.peek(4)? == b"GGUF" {
        return cursor.skip(4);
    }
    let mut first = cursor.take(length as usize)?.to_owned();
    // safetensors: the length of its JSON in eight bytes, then that JSON.
    let safetensors = first.get(8) == Some(&b'{') && first.get(7) == Some(&0);
    first.make_ascii_lowercase();
    let foreign = FOREIGN.iter().find(|(magic, _)| first.starts_with(magic));
    Err(match foreign {
        Some((_, what)) => Reason::Foreign(what),
        None if safetensors => Reason::Foreign("a safetensors file"),
        None => Reason::NotGguf,
    })
}

/// Version 1 had other lengths; what has its bytes the other way round is for other machines.
fn version(version: u32) -> Result<(), Reason> {
    match version {
        2 | 3 => Ok(()),
        0 | 1 => Err(Reason::OldVersion(version)),
        // As the loader tells it: both low bytes are zero.
        other if other.trailing_zeros() >= 16 => Err(Reason::BigEndian),
        other => Err(Reason::NewVersion(other)),
    }
}

fn alignment(metadata: &Metadata) -> Result<u64, Reason> {
    let Some(value) = metadata.get("general.alignment") else {
        return Ok(ALIGNMENT);
    };
    // Stored in 32 bits.
    value
        .as_u64()
        .filter(|alignment| alignment.is_power_of_two() && *alignment <= 1 << 31)
        .ok_or_else(|| Reason::Alignment(shown(value.to_string().as_bytes())))
}

//! GGUF files: what is in them, from their headers alone.
//!
//! The crates that read GGUF were looked at first: `gguf` 0.1.2 and `gguf-rs` 0.1.8 read one file each, keep every
//! token and merge of the vocabulary in memory, allocate what a header claims before they look whether the file has
//! it, and end at types that they do not know; none reads sets of parts. So the reader here is ours, small, and
//! - reads the header and at most one buffer more, whatever the size of the file, and through [`RandomAccess`], so that
//!   it reads a file on a server as well;
//! - checks every number against the size of the file before it allocates or loops, and passes over what is long;
//! - takes names for what they are, data of strangers: those that would not show as themselves are refused.

mod architecture;
mod cursor;
mod error;
mod facts;
mod header;
mod kind;
pub(super) mod label;
mod metadata;
mod model;
mod split;
mod tensors;
mod towers;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

pub use error::{Error, Reason};
pub use kind::Kind;
pub use metadata::{Entry, Metadata};
pub use towers::Towers;

use self::error::shown;
use self::header::Header;
use self::split::Part;
use super::access::{Collection, LocalFolder, RandomAccess};
use crate::model::{Checkpoint, Container, FileTensor};
use crate::plain::quoted;
use crate::store;
use crate::units::Bytes;

/// A GGUF file, or a set of them that is one model.
#[derive(Clone, Debug)]
pub struct Gguf {
    /// What it is for.
    pub kind: Kind,
    /// Its files in order, the first being the one that engines are given.
    pub files: Vec<String>,
    /// Size of all files.
    pub size: Bytes,
    /// What the first file says.
    pub metadata: Metadata,
    /// The tensors of all files.
    pub checkpoint: Arc<Checkpoint>,
    /// What had to be assumed of the tensors, each a whole sentence.
    pub assumptions: Vec<String>,
}

/// How every GGUF file begins.
pub const MAGIC: [u8; 4] = *b"GGUF";

/// Is a file meant as GGUF, there or not: by its ending, or by how it begins? What has the ending is read as such, so that
/// the reason is given where it is something else.
pub fn is_meant(path: &Path) -> bool {
    is_named(path) || path.is_file() && store::begins_with(path, &MAGIC)
}

/// Has a file the ending of GGUF?
pub fn is_named(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"))
}

/// Opens a file of this computer, and the other parts beside it where it is one of several.
///
/// # Errors
/// What is wrong with it.
pub fn open(path: &Path) -> Result<Gguf, Error> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let name = path.file_name().map(|name| name.to_string_lossy());
    let mut gguf = read(&LocalFolder::new(folder), &name.unwrap_or_default())?;
    if let Some(own) = Arc::get_mut(&mut gguf.checkpoint) {
        own.file = path.to_str().map(str::to_owned);
    }
    Ok(gguf)
}

/// Opens a file of a collection, and the other parts where it is one of several; any of the parts may be named.
///
/// # Errors
/// What is wrong with it.
pub fn read(collection: &dyn Collection, name: &str) -> Result<Gguf, Error> {
    let first = File::read(collection, name)?;
    let count = first.metadata.number("split.count").unwrap_or(1);
    let files = if count > 1 {
        parts(collection, first, count)?
    } else {
        vec![first]
    };
    joined(files)
}

/// One file.
struct File {
    name: String,
    size: u64,
    metadata: Metadata,
    tensors: tensors::Sized,
}

impl File {
    fn read(collection: &dyn Collection, name: &str) -> Result<Self, Error> {
        let file = collection
            .open(name)
            .map_err(|cause| refused(name, Reason::Read(cause)))?;
        Self::of(file.as_ref(), name).map_err(|reason| refused(name, reason))
    }

    fn of(file: &dyn RandomAccess, name: &str) -> Result<Self, Reason> {
        let size = file.size();
        let Header {
            metadata,
            tensors,
            data,
            alignment,
        } = Header::read(file)?;
        let place = tensors::Place {
            data,
            alignment,
            size,
        };
        Ok(Self {
            name: name.to_owned(),
            size,
            metadata,
            tensors: tensors::sized(tensors, &place)?,
        })
    }
}

/// The reason with the file's name, and for a file cut short whether its name is that of a piece.
fn refused(name: &str, reason: Reason) -> Error {
    let is_piece = split::is_piece(name);
    let reason = match reason {
        Reason::HeaderCut { size, .. } => Reason::HeaderCut {
            size,
            piece: is_piece,
        },
        Reason::Cut { size, expected, .. } => Reason::Cut {
            size,
            expected,
            piece: is_piece,
        },
        other => other,
    };
    Error {
        file: quoted(name),
        reason: Box::new(reason),
    }
}

/// All parts of a set of which one is open.
fn parts(collection: &dyn Collection, open: File, count: u64) -> Result<Vec<File>, Error> {
    let fail = |reason| refused(&open.name, reason);
    let part = open.part(count).map_err(fail)?;
    let there = collection
        .entries()
        .map_err(|cause| fail(Reason::Read(cause)))?;
    let there: HashSet<&str> = there.iter().map(|entry| entry.name.as_str()).collect();
    let names: Vec<String> = (1..=count).map(|number| part.name(number)).collect();
    for (number, name) in (1..).zip(&names) {
        if !there.contains(name.as_str()) {
            return Err(fail(Reason::MissingPart {
                name: shown(name.as_bytes()),
                number,
                count,
            }));
        }
    }
    let place = usize::try_from(part.number.saturating_sub(1)).unwrap_or(0);
    let mut files = Vec::new();
    for name in names.iter().filter(|name| **name != open.name) {
        let file = File::read(collection, name)?;
        file.part(count).map_err(|reason| refused(name, reason))?;
        files.push(file);
    }
    files.insert(place.min(files.len()), open);
    Ok(files)
}

impl File {
    /// Which part it is of a set of so many, where name and contents agree.
    fn part(&self, count: u64) -> Result<Part<'_>, Reason> {
        let says = |key| self.metadata.number(key);
        // Counted from 0 in the file, from 1 in names.
        let number = says("split.no").unwrap_or(0).saturating_add(1);
        let own_count = says("split.count").unwrap_or(1);
        let Some(named) = Part::of(&self.name) else {
            return Err(Reason::Unnamed {
                number,
                count,
                ending: format!("-{number:05}-of-{count:05}.gguf"),
            });
        };
        if (named.number, named.count) != (number, own_count) || own_count != count {
            return Err(Reason::OtherPart {
                named_number: named.number,
                named_count: named.count,
                number,
                count: own_count,
            });
        }
        Ok(named)
    }
}

/// The files of a set as one.
fn joined(files: Vec<File>) -> Result<Gguf, Error> {
    distinct(&files)?;
    let mut names = Vec::new();
    let mut metadata = None;
    let mut size = 0_u64;
    let mut tensors: Vec<FileTensor> = Vec::new();
    let mut unknown: BTreeMap<u32, u64> = BTreeMap::new();
    for file in files {
        tensors.extend(file.tensors.tensors);
        for (kind, count) in file.tensors.unknown {
            *unknown.entry(kind).or_default() += count;
        }
        size = size.saturating_add(file.size);
        metadata.get_or_insert(file.metadata);
        names.push(file.name);
    }
    let metadata = metadata.unwrap_or_default();
    let name = names.first().map(String::as_str).unwrap_or_default();
    let found = tensors.len() as u64;
    if let Some(expected) = metadata.number("split.tensors.count")
        && names.len() > 1
        && expected != found
    {
        return Err(refused(name, Reason::PartTensors { found, expected }));
    }
    Ok(Gguf {
        kind: Kind::of(&metadata, !tensors.is_empty()),
        size: Bytes::new(size),
        assumptions: unknown.into_iter().map(assumed).collect(),
        checkpoint: Arc::new(Checkpoint::new(
            Container::Gguf,
            label::of(stem(name), &metadata, &tensors),
            tensors,
        )),
        metadata,
        files: names,
    })
}

/// Refuses files of which two tensors have one name.
fn distinct(files: &[File]) -> Result<(), Error> {
    let count = files.iter().map(|file| file.tensors.tensors.len()).sum();
    let mut seen = HashSet::with_capacity(count);
    for file in files {
        for tensor in &file.tensors.tensors {
            if !seen.insert(tensor.name.as_str()) {
                let reason = Reason::Duplicate {
                    what: "tensors",
                    name: shown(tensor.name.as_bytes()),
                };
                return Err(refused(&file.name, reason));
            }
        }
    }
    Ok(())
}

/// A file's name without folders, ending and number of part.
fn stem(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    match Part::of(name) {
        Some(part) => part.prefix,
        None => name.strip_suffix(".gguf").unwrap_or(name),
    }
}

/// What is assumed of tensors whose type is not known.
fn assumed((kind, count): (u32, u64)) -> String {
    let (tensors, each) = match count {
        1 => ("tensor is", "it"),
        _ => ("tensors are", "each"),
    };
    format!(
        "{count} {tensors} of type {kind}, which this version does not know: {each} is taken to reach to the next one, \
         which is at most the file's alignment too much."
    )
}

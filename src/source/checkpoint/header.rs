//! Headers of safetensors files. The `safetensors` crate checks that tensors lie one after the other and are as large
//! as their shape and type make them; how large a header may be, and whether the file is as long as it says, is
//! checked here, because the crate wants the whole file in memory for that. A tensor of a type that the crate does not
//! know is shown to it as the bytes that the header gives the tensor.

use std::collections::{HashMap, HashSet};
use std::fmt;

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::de::value::{Error as NoType, StrDeserializer};
use serde::de::{Deserialize, Deserializer, IntoDeserializer as _, MapAccess, Visitor};

use super::error::Reason;
use super::text;
use crate::plain::{one_line, quoted};
use crate::source::access::RandomAccess;
use crate::units::Bytes;

/// The header's length stands before it.
const LENGTH: u64 = 8;

/// Most bytes of a header. The format allows 100,000,000; those of the largest shards published have one million.
const LIMIT: u64 = 32 << 20;

/// Read at once, so that most files on a server need one request.
const FIRST: u64 = 256 << 10;

/// A tensor as a header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) dtype: ElementType,
    /// Slowest dimension first.
    pub(super) shape: Vec<u64>,
    pub(super) bytes: u64,
}

/// How elements are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ElementType {
    /// A type of the format.
    Known(Dtype),
    /// A newer one, by its name in the header.
    Newer(String),
}

impl ElementType {
    fn of(name: &str) -> Self {
        let named: StrDeserializer<'_, NoType> = name.into_deserializer();
        Dtype::deserialize(named).map_or_else(|_| Self::Newer(quoted(name)), Self::Known)
    }

    pub(super) fn known(&self) -> Option<Dtype> {
        match self {
            Self::Known(dtype) => Some(*dtype),
            Self::Newer(_) => None,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(dtype) => dtype.fmt(formatter),
            Self::Newer(name) => formatter.write_str(name),
        }
    }
}

/// A header as it is written.
struct Header {
    tensors: Vec<(String, Written)>,
}

/// A tensor as it is written.
#[derive(serde::Deserialize)]
struct Written {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Header;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut tensors = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        // Texts by name, which nothing here needs.
                        map.next_value::<Option<HashMap<String, String>>>()?;
                    } else {
                        tensors.push((name, map.next_value()?));
                    }
                }
                Ok(Header { tensors })
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// The tensors of a file in the order of their bytes.
pub(super) fn read(file: &dyn RandomAccess) -> Result<Vec<Stored>, Reason> {
    let header = bytes(file)?;
    let length = header.len() as u64;
    let written: Header = serde_json::from_slice(&header).map_err(|error| unsound(&error))?;
    drop(header);
    let (tensors, data) = checked(written)?;
    let described = LENGTH.saturating_add(length).saturating_add(data);
    let held = file.size();
    if held < described {
        return Err(Reason::Truncated {
            held,
            claimed: described,
        });
    }
    if held > described {
        return Err(Reason::Longer {
            bytes: held - described,
        });
    }
    Ok(tensors)
}

/// The tensors in the order of their bytes, and how many bytes they have: one after the other, each as large as its
/// shape and type make it.
fn checked(mut header: Header) -> Result<(Vec<Stored>, u64), Reason> {
    let mut tensors = Vec::with_capacity(header.tensors.len());
    let mut infos = Vec::with_capacity(header.tensors.len());
    header
        .tensors
        .sort_by_key(|(_, written)| written.data_offsets);
    for (name, written) in header.tensors {
        if name.chars().any(char::is_control) {
            return Err(Reason::Name(quoted(&name)));
        }
        let (from, to) = written.data_offsets;
        let dtype = ElementType::of(&written.dtype);
        tensors.push(Stored {
            name: name.clone(),
            shape: written.shape.iter().map(|edge| *edge as u64).collect(),
            bytes: to.saturating_sub(from) as u64,
            dtype: dtype.clone(),
        });
        let (dtype, shape) = match dtype {
            ElementType::Known(dtype) => (dtype, written.shape),
            ElementType::Newer(_) => (Dtype::U8, vec![to.saturating_sub(from)]),
        };
        let info = TensorInfo {
            dtype,
            shape,
            data_offsets: (from, to),
        };
        infos.push((name, info));
    }
    let mut names = HashSet::with_capacity(tensors.len());
    if let Some(twice) = tensors
        .iter()
        .find(|tensor| !names.insert(tensor.name.as_str()))
    {
        let twice = quoted(&twice.name);
        return Err(Reason::Unsound(format!(
            "it has the tensor `{twice}` twice"
        )));
    }
    let unsound =
        |error: safetensors::SafeTensorError| Reason::Unsound(one_line(&error.to_string()));
    let metadata = Metadata::new(None, infos).map_err(unsound)?;
    Ok((tensors, metadata.data_len() as u64))
}

/// The header, without the length before it.
fn bytes(file: &dyn RandomAccess) -> Result<Vec<u8>, Reason> {
    let held = file.size();
    let mut first = text::first(file, FIRST)?;
    if text::is_pointer(&first) {
        return Err(Reason::Pointer);
    }
    let (Some(length), true) = (
        first.first_chunk::<8>(),
        first.get(8).is_none_or(|brace| *brace == b'{'),
    ) else {
        return Err(if held < LENGTH && first.is_empty() {
            Reason::Truncated {
                held,
                claimed: LENGTH,
            }
        } else {
            Reason::NotSafetensors
        });
    };
    let length = u64::from_le_bytes(*length);
    if length > LIMIT {
        return Err(Reason::Header {
            claimed: length,
            limit: Bytes::new(LIMIT),
        });
    }
    let end = LENGTH.saturating_add(length);
    if held < end {
        return Err(Reason::Truncated { held, claimed: end });
    }
    let have = first.len();
    let end = end as usize;
    first.resize(end, 0);
    if let Some(rest) = first.get_mut(have..).filter(|rest| !rest.is_empty()) {
        let read = file.read_at(have as u64, rest)?;
        if read < rest.len() {
            return Err(Reason::Truncated {
                held: (have + read) as u64,
                claimed: end as u64,
            });
        }
    }
    Ok(first.split_off(LENGTH as usize))
}

fn unsound(error: &serde_json::Error) -> Reason {
    match text::sound(error) {
        // The line is always the first.
        Reason::Json(reason) => Reason::Unsound(one_line(&reason)),
        other => other,
    }
}

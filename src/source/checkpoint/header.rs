//! Headers of safetensors files. The `safetensors` crate checks that tensors lie one after the other and are as large
//! as their shape and type make them; how large a header may be, and whether the file is as long as it says, is
//! checked here, because the crate wants the whole file in memory for that.

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use super::error::{Reason, shown};
use super::text;
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
    pub(super) dtype: Dtype,
    /// Slowest dimension first.
    pub(super) shape: Vec<u64>,
    pub(super) bytes: u64,
}

/// The tensors of a file in the order of their bytes.
pub(super) fn read(file: &dyn RandomAccess) -> Result<Vec<Stored>, Reason> {
    let header = bytes(file)?;
    let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| unsound(&error))?;
    let described = LENGTH
        .saturating_add(header.len() as u64)
        .saturating_add(metadata.data_len() as u64);
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
    metadata
        .offset_keys()
        .into_iter()
        .map(|name| stored(&metadata, name))
        .collect()
}

fn stored(metadata: &Metadata, name: String) -> Result<Stored, Reason> {
    if name.chars().any(char::is_control) {
        return Err(Reason::Name(shown(&name)));
    }
    let info = metadata.info(&name);
    let info = info.ok_or_else(|| Reason::Unsound("it has a tensor twice".to_owned()))?;
    let (from, to) = info.data_offsets;
    Ok(Stored {
        dtype: info.dtype,
        shape: info.shape.iter().map(|edge| *edge as u64).collect(),
        bytes: to.saturating_sub(from) as u64,
        name,
    })
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
        Reason::Json(reason) => Reason::Unsound(shown(&reason)),
        other => other,
    }
}

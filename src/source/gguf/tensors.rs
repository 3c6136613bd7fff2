//! Sizes of tensors: by their type, or by the distance to the next one where the type is not known.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::error::{Reason, shown};
use super::header::Info;
use crate::model::{FileTensor, TensorRole};
use crate::quant::Type;
use crate::units::Bytes;

/// Tensors of one file, checked against its size, and types that are not known with how many tensors have them.
pub(super) struct Sized {
    pub(super) tensors: Vec<FileTensor>,
    pub(super) unknown: BTreeMap<u32, u64>,
}

/// Sizes what a header lists in a file of `size` bytes.
pub(super) fn sized(list: Vec<Info>, place: &Place) -> Result<Sized, Reason> {
    let Place {
        data,
        alignment,
        size,
    } = *place;
    let mut order: Vec<(usize, &Info)> = list.iter().enumerate().collect();
    order.sort_unstable_by_key(|(_, info)| info.offset);
    // Where each tensor must end: before the next that begins elsewhere, or with the file.
    let behind = size.saturating_sub(data);
    let mut sizes = vec![0; list.len()];
    let mut unknown = BTreeMap::new();
    let mut reached: (u64, &str) = (0, "");
    let nexts = order.iter().skip(1).map(|(_, next)| Some(next.offset));
    for ((index, info), next) in order.iter().zip(nexts.chain([None])) {
        let tensor = || shown(info.name.as_bytes());
        if !info.offset.is_multiple_of(alignment) {
            return Err(Reason::Unaligned {
                tensor: tensor(),
                offset: info.offset,
                alignment,
            });
        }
        if info.offset < reached.0 {
            return Err(Reason::Overlap {
                first: shown(reached.1.as_bytes()),
                second: tensor(),
            });
        }
        let bytes = if let Some(kind) = Type::from_ggml_id(info.kind) {
            bytes(info, kind)?
        } else {
            *unknown.entry(info.kind).or_default() += 1;
            next.unwrap_or(behind).saturating_sub(info.offset)
        };
        if let Some(size) = sizes.get_mut(*index) {
            *size = bytes;
        }
        let end = info
            .offset
            .checked_add(bytes)
            .ok_or_else(|| Reason::Shape { tensor: tensor() })?;
        if bytes > 0 {
            reached = (end, &info.name);
        }
    }
    if reached.0 > behind {
        return Err(Reason::Cut {
            size,
            expected: data.saturating_add(reached.0),
            piece: false,
        });
    }
    let tensors = list.into_iter().zip(sizes);
    let tensors = tensors
        .map(|(info, bytes)| described(info, bytes))
        .collect();
    Ok(Sized { tensors, unknown })
}

/// Where in its file the data of a header is.
pub(super) struct Place {
    /// Where tensors begin.
    pub(super) data: u64,
    pub(super) alignment: u64,
    /// Bytes of the whole file.
    pub(super) size: u64,
}

fn bytes(info: &Info, kind: Type) -> Result<u64, Reason> {
    let [columns, ..] = info.shape;
    if kind.row_bytes(columns).is_none() {
        return Err(Reason::Row {
            tensor: shown(info.name.as_bytes()),
            kind: kind.name(),
            elements: columns,
        });
    }
    kind.shape_bytes(&info.shape)
        .map(Bytes::get)
        .ok_or_else(|| Reason::Shape {
            tensor: shown(info.name.as_bytes()),
        })
}

fn described(info: Info, bytes: u64) -> FileTensor {
    let kind = Type::from_ggml_id(info.kind);
    FileTensor {
        name: info.name,
        shape: info.shape,
        kind,
        type_name: kind.map_or_else(
            || Cow::Owned(format!("type {}", info.kind)),
            |kind| Cow::Borrowed(kind.name()),
        ),
        bytes: Bytes::new(bytes),
        role: TensorRole::Parameters,
    }
}

//! Sizes of tensors: by their type, or by the distance to the next one where the type is not known.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::error::{Reason, shown};
use super::header::{Header, Info};
use crate::model::{FileTensor, TensorRole};
use crate::quant::Type;
use crate::units::Bytes;

/// Tensors of one file, checked against its size, and types that are not known with how many tensors have them.
pub(super) struct Sized {
    pub(super) tensors: Vec<FileTensor>,
    pub(super) unknown: BTreeMap<u32, u64>,
}

/// Sizes what a header lists in a file of `size` bytes.
pub(super) fn sized(header: &Header, size: u64) -> Result<Sized, Reason> {
    let mut order: Vec<&Info> = header.tensors.iter().collect();
    order.sort_unstable_by_key(|info| info.offset);
    // Where each tensor must end: before the next that begins elsewhere, or with the file.
    let behind = size.saturating_sub(header.data);
    let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut unknown = BTreeMap::new();
    let mut reached: (u64, &str) = (0, "");
    for (info, next) in order
        .iter()
        .zip(order.iter().skip(1).map(Some).chain([None]))
    {
        let tensor = || shown(info.name.as_bytes());
        if !info.offset.is_multiple_of(header.alignment) {
            return Err(Reason::Unaligned {
                tensor: tensor(),
                offset: info.offset,
                alignment: header.alignment,
            });
        }
        if info.offset < reached.0 {
            return Err(Reason::Overlap {
                first: shown(reached.1.as_bytes()),
                second: tensor(),
            });
        }
        let end = next.map_or(behind.max(info.offset), |next| next.offset);
        let bytes = if let Some(kind) = Type::from_ggml_id(info.kind) {
            bytes(info, kind)?
        } else {
            *unknown.entry(info.kind).or_default() += 1;
            end - info.offset
        };
        sizes.insert(&info.name, bytes);
        let end = info
            .offset
            .checked_add(bytes)
            .ok_or_else(|| Reason::Shape { tensor: tensor() })?;
        if bytes > 0 {
            reached = (end, &info.name);
        }
    }
    let expected = header.data.saturating_add(reached.0);
    if reached.0 > behind {
        return Err(Reason::Cut {
            size,
            expected,
            piece: false,
        });
    }
    let tensors = header
        .tensors
        .iter()
        .map(|info| described(info, sizes.get(info.name.as_str()).copied()))
        .collect();
    Ok(Sized { tensors, unknown })
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

fn described(info: &Info, bytes: Option<u64>) -> FileTensor {
    let kind = Type::from_ggml_id(info.kind);
    FileTensor {
        name: info.name.clone(),
        shape: info.shape,
        kind,
        type_name: kind.map_or_else(
            || Cow::Owned(format!("type {}", info.kind)),
            |kind| Cow::Borrowed(kind.name()),
        ),
        bytes: Bytes::new(bytes.unwrap_or_default()),
        role: TensorRole::Parameters,
    }
}

//! Folders that exist in memory, with files of any size: headers, and zeros behind them.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll::source::access::{Collection, Entry, RandomAccess};
use serde_json::{Map, Value, json};

/// A tensor to be described in a header.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) dtype: &'static str,
    pub(super) shape: Vec<u64>,
}

pub(super) fn tensor(name: impl Into<String>, dtype: &'static str, shape: &[u64]) -> Tensor {
    Tensor {
        name: name.into(),
        dtype,
        shape: shape.to_vec(),
    }
}

impl Tensor {
    pub(super) fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    pub(super) fn bytes(&self) -> u64 {
        let bits = match self.dtype {
            "F4" => 4,
            "U8" | "I8" | "F8_E4M3" | "F8_E8M0" | "BOOL" => 8,
            "BF16" | "F16" | "I16" => 16,
            "F32" | "I32" => 32,
            "I64" => 64,
            other => panic!("{other}"),
        };
        self.elements() * bits / 8
    }
}

/// A file whose bytes behind the first ones are zeros.
#[derive(Clone, Debug)]
pub(super) struct Sparse {
    pub(super) first: Vec<u8>,
    pub(super) size: u64,
}

/// A safetensors file with these tensors.
pub(super) fn safetensors(tensors: &[Tensor]) -> Sparse {
    let mut header = Map::new();
    header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    let mut end = 0;
    for tensor in tensors {
        let from = end;
        end += tensor.bytes();
        let info =
            json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [from, end]});
        header.insert(tensor.name.clone(), info);
    }
    framed(Value::Object(header).to_string().as_bytes(), end)
}

/// A header with its length before it and so many bytes behind.
pub(super) fn framed(header: &[u8], behind: u64) -> Sparse {
    let mut first = (header.len() as u64).to_le_bytes().to_vec();
    first.extend_from_slice(header);
    Sparse {
        size: first.len() as u64 + behind,
        first,
    }
}

/// A folder in memory that counts what is read of it.
#[derive(Debug, Default)]
pub(super) struct Folder {
    files: BTreeMap<String, Sparse>,
    read: AtomicU64,
}

impl Folder {
    pub(super) fn with(mut self, name: &str, file: Sparse) -> Self {
        self.files.insert(name.to_owned(), file);
        self
    }

    pub(super) fn with_text(self, name: &str, text: impl Into<String>) -> Self {
        let first = text.into().into_bytes();
        let size = first.len() as u64;
        self.with(name, Sparse { first, size })
    }

    pub(super) fn with_json(self, name: &str, value: &Value) -> Self {
        self.with_text(name, value.to_string())
    }

    /// Bytes read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

struct Opened<'a>(&'a Sparse, &'a AtomicU64);

impl RandomAccess for Opened<'_> {
    fn size(&self) -> u64 {
        self.0.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
        self.1.fetch_add(count as u64, Ordering::Relaxed);
        for (index, byte) in buffer[..count].iter_mut().enumerate() {
            let place = offset as usize + index;
            *byte = self.0.first.get(place).copied().unwrap_or(0);
        }
        Ok(count)
    }
}

impl Collection for Folder {
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let entry = |(name, file): (&String, &Sparse)| Entry {
            name: name.clone(),
            bytes: file.size,
        };
        Ok(self.files.iter().map(entry).collect())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn RandomAccess + '_>> {
        let file = self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Opened(file, &self.read)))
    }
}

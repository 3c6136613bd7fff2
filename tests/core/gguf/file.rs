//! Writes GGUF files with their data left out, and counts what is read of them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;

use plimsoll::engine::llamacpp::tensors::TensorTable;
use plimsoll::source::access::{Collection, Entry, RandomAccess};
use serde_json::{Map, Value};

/// A file as it grows.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) version: u32,
    pub(super) alignment: u64,
    keys: Vec<u8>,
    key_count: u64,
    tensors: Vec<u8>,
    tensor_count: u64,
    /// Where the next tensor begins.
    end: u64,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self {
            version: 3,
            alignment: 32,
            keys: Vec::new(),
            key_count: 0,
            tensors: Vec::new(),
            tensor_count: 0,
            end: 0,
        }
    }

    /// A file with these keys, typed as the converter types them.
    pub(super) fn with(keys: &Map<String, Value>) -> Self {
        let mut writer = Self::new();
        for (key, value) in keys {
            writer.key(key, value);
        }
        writer
    }

    pub(super) fn key(&mut self, key: &str, value: &Value) -> &mut Self {
        let (kind, bytes) = typed(value);
        self.raw_key(key, kind, &bytes)
    }

    pub(super) fn raw_key(&mut self, key: &str, kind: u32, value: &[u8]) -> &mut Self {
        text(&mut self.keys, key.as_bytes());
        self.keys.extend(kind.to_le_bytes());
        self.keys.extend(value);
        self.key_count += 1;
        self
    }

    /// A tensor behind the last one.
    pub(super) fn tensor(&mut self, name: &str, shape: &[u64], kind: u32, bytes: u64) -> &mut Self {
        let offset = self.end;
        self.raw_tensor(name.as_bytes(), shape, kind, offset);
        self.end = (offset + bytes).next_multiple_of(self.alignment);
        self
    }

    pub(super) fn raw_tensor(
        &mut self,
        name: &[u8],
        shape: &[u64],
        kind: u32,
        offset: u64,
    ) -> &mut Self {
        text(&mut self.tensors, name);
        self.tensors.extend((shape.len() as u32).to_le_bytes());
        for extent in shape {
            self.tensors.extend(extent.to_le_bytes());
        }
        self.tensors.extend(kind.to_le_bytes());
        self.tensors.extend(offset.to_le_bytes());
        self.tensor_count += 1;
        self
    }

    /// Every tensor of a table.
    pub(super) fn table(&mut self, table: &TensorTable) -> &mut Self {
        for row in &table.rows {
            let shape = row.tensor.shape;
            // Converters leave out extents of one at the end.
            let used = shape.iter().rposition(|extent| *extent != 1).unwrap_or(0) + 1;
            let (name, id) = (&row.tensor.name, row.kind.ggml_id());
            let used = shape.get(..used).unwrap_or(&shape);
            self.tensor(name, used, id, row.bytes.get());
        }
        self
    }

    pub(super) fn header(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.tensor_count.to_le_bytes());
        bytes.extend(self.key_count.to_le_bytes());
        bytes.extend(&self.keys);
        bytes.extend(&self.tensors);
        bytes
    }

    /// The file: header, padding, and data that nobody reads.
    pub(super) fn file(&self) -> Sparse {
        let header = self.header();
        let data = (header.len() as u64).next_multiple_of(self.alignment);
        Sparse {
            size: data + self.end,
            header,
            read: Cell::default(),
        }
    }
}

fn text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text);
}

/// A value with the number of its kind.
fn typed(value: &Value) -> (u32, Vec<u8>) {
    match value {
        Value::Bool(flag) => (7, vec![u8::from(*flag)]),
        Value::String(words) => {
            let mut bytes = Vec::new();
            text(&mut bytes, words.as_bytes());
            (8, bytes)
        }
        Value::Array(list) => {
            let items: Vec<(u32, Vec<u8>)> = list.iter().map(typed).collect();
            // Lists of numbers are signed.
            let kind = match items.first() {
                Some((4, _)) | None => 5,
                Some((kind, _)) => *kind,
            };
            let mut bytes = kind.to_le_bytes().to_vec();
            bytes.extend((items.len() as u64).to_le_bytes());
            for (_, item) in items {
                bytes.extend(item);
            }
            (9, bytes)
        }
        Value::Number(number) if number.is_u64() => {
            let number = u32::try_from(number.as_u64().unwrap()).unwrap();
            (4, number.to_le_bytes().to_vec())
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap() as f32;
            (6, number.to_le_bytes().to_vec())
        }
        other => panic!("{other} is not written"),
    }
}

/// A header and a size.
#[derive(Clone)]
pub(super) struct Sparse {
    pub(super) header: Vec<u8>,
    pub(super) size: u64,
    /// Bytes read so far.
    pub(super) read: Cell<u64>,
}

impl RandomAccess for Sparse {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (buffer.len() as u64).min(self.size.saturating_sub(offset));
        let held = self.header.get(offset as usize..).unwrap_or_default();
        let bytes = held.iter().copied().chain(std::iter::repeat(0));
        for (to, from) in buffer.iter_mut().take(count as usize).zip(bytes) {
            *to = from;
        }
        self.read.set(self.read.get() + count);
        Ok(count as usize)
    }
}

/// Files by name.
#[derive(Default)]
pub(super) struct Folder(pub(super) BTreeMap<String, Sparse>);

impl Folder {
    pub(super) fn of(name: &str, file: Sparse) -> Self {
        Self(BTreeMap::from([(name.to_owned(), file)]))
    }
}

struct Opened<'a>(&'a Sparse);

impl RandomAccess for Opened<'_> {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buffer)
    }
}

impl Collection for Folder {
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let entry = |(name, file): (&String, &Sparse)| Entry {
            name: name.clone(),
            bytes: file.size,
        };
        Ok(self.0.iter().map(entry).collect())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn RandomAccess + '_>> {
        match self.0.get(name) {
            Some(file) => Ok(Box::new(Opened(file))),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

//! Files of models, wherever they are: bytes at places of a file, and files by name in a folder. Readers of formats
//! know no more than these two, so that what reads a folder reads a repository on a server too.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::store;

/// Bytes at places of a file.
pub trait RandomAccess {
    /// Size of the file.
    fn size(&self) -> u64;

    /// Reads bytes from a place into a buffer and says how many; fewer than asked for only at the end of the file, none
    /// behind it.
    ///
    /// # Errors
    /// What stood in the way.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

/// Files by name.
pub trait Collection {
    /// Every file with its size, in order of names. Names of files in folders have slashes.
    ///
    /// # Errors
    /// The list cannot be had.
    fn entries(&self) -> io::Result<Vec<Entry>>;

    /// One of the files.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be read.
    fn open(&self, name: &str) -> io::Result<Box<dyn RandomAccess + '_>>;
}

/// A file of a [`Collection`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Entry {
    /// Its name, with slashes where it is in a folder of the collection.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

impl RandomAccess for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.get(offset..))
            .unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

/// A file of this computer, opened for reading only.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    size: u64,
}

impl LocalFile {
    /// Opens what is a file and stays one.
    ///
    /// # Errors
    /// A folder, a device or pipe, a missing file, or one that may not be read.
    pub fn open(path: &Path) -> Result<Self, store::Error> {
        let file = store::open(path)?;
        let metadata = file.metadata().map_err(|cause| store::Error::Read {
            path: path.into(),
            cause,
        })?;
        Ok(Self {
            size: metadata.len(),
            file,
        })
    }
}

impl RandomAccess for LocalFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = 0;
        while let Some(rest) = buffer.get_mut(count..).filter(|rest| !rest.is_empty()) {
            match read_once(&self.file, rest, offset.saturating_add(count as u64)) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }
}

#[cfg(unix)]
fn read_once(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_once(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// A folder of this computer and nothing below it. Links in it are followed.
#[derive(Clone, Debug)]
pub struct LocalFolder {
    path: PathBuf,
}

/// Most files of a folder that are looked at.
const ENTRIES: usize = 100_000;

impl LocalFolder {
    /// A folder by its path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl Collection for LocalFolder {
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries: Vec<Entry> = std::fs::read_dir(&self.path)?
            .take(ENTRIES)
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name().into_string().ok()?;
                let bytes = match std::fs::metadata(entry.path()) {
                    Ok(metadata) => metadata.is_file().then_some(metadata.len())?,
                    // A link that leads nowhere is there; why it cannot be read is told where it is read.
                    Err(_) => entry.file_type().ok()?.is_symlink().then_some(0)?,
                };
                Some(Entry { name, bytes })
            })
            .collect();
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn RandomAccess + '_>> {
        // A name is one part of a path: an index in a file from elsewhere must not lead out of the folder.
        let mut parts = Path::new(name).components();
        let (Some(std::path::Component::Normal(part)), None) = (parts.next(), parts.next()) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{name}` is no file of this folder"),
            ));
        };
        let file = LocalFile::open(&self.path.join(part)).map_err(io::Error::other)?;
        Ok(Box::new(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_hands_out_its_own_files_only() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b.bin"), b"0123456789").unwrap();
        std::fs::write(folder.path().join("a.json"), b"{}").unwrap();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        let local = LocalFolder::new(folder.path());
        let names: Vec<_> = local
            .entries()
            .unwrap()
            .into_iter()
            .map(|e| (e.name, e.bytes))
            .collect();
        assert_eq!(names, [("a.json".to_owned(), 2), ("b.bin".to_owned(), 10)]);

        let file = local.open("b.bin").unwrap();
        let mut buffer = [0; 4];
        assert_eq!(file.read_at(3, &mut buffer).unwrap(), 4);
        assert_eq!(&buffer, b"3456");
        assert_eq!(file.read_at(8, &mut buffer).unwrap(), 2);
        assert_eq!(file.read_at(u64::MAX, &mut buffer).unwrap_or(0), 0);
        for outside in ["../b.bin", "/etc/passwd", "inner/x", "", ".", ".."] {
            assert!(local.open(outside).is_err(), "{outside}");
        }
    }
}

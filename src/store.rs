//! Files of the user: written whole or not at all, never replaced unasked, read up to a limit.

mod error;
mod folders;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

pub use error::{Error, is_circle};
pub use folders::Folders;

use crate::export::File;

/// What to do where a file of the name is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Leave it, and say so.
    Refuse,
    /// Replace it, as the user asked.
    Replace,
}

/// Writes a text whole or not at all: into a new file in the same folder, which then takes the name.
///
/// A file that is replaced keeps its permissions, and a link stays a link.
///
/// # Errors
/// What stood in the way; an older file of the name is then as it was.
pub fn save(path: &Path, text: &str, overwrite: Overwrite) -> Result<(), Error> {
    write(path, overwrite, Kind::Document, |file| {
        file.write_all(text.as_bytes())
    })
}

/// [`save`] for what is no text.
///
/// # Errors
/// As [`save`].
pub fn save_bytes(path: &Path, bytes: &[u8], overwrite: Overwrite) -> Result<(), Error> {
    write(path, overwrite, Kind::Document, |file| {
        file.write_all(bytes)
    })
}

/// [`save`] for an export, which is made executable where it is a script to be run by its name.
///
/// # Errors
/// As [`save`].
pub fn save_export(path: &Path, file: &File, overwrite: Overwrite) -> Result<(), Error> {
    let kind = if file.executable {
        Kind::Script
    } else {
        Kind::Document
    };
    write(path, overwrite, kind, |target| {
        target.write_all(file.text.as_bytes())
    })
}

/// Writes several exports into a folder, which is made where it is missing; returns their paths.
///
/// # Errors
/// Where one of the names is taken and not to be replaced, nothing is written. Otherwise the first failure; files
/// written before it stay.
pub fn save_exports(
    folder: &Path,
    files: &[File],
    overwrite: Overwrite,
) -> Result<Vec<PathBuf>, Error> {
    make_folder(folder)?;
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.name)).collect();
    for path in &paths {
        check(path, overwrite)?;
    }
    for (path, file) in paths.iter().zip(files) {
        save_export(path, file, overwrite)?;
    }
    Ok(paths)
}

/// Reads a text of at most `limit` bytes.
///
/// # Errors
/// A folder, a file that is too large, is not text, or cannot be read.
pub fn read(path: &Path, limit: u64) -> Result<String, Error> {
    let bytes = read_bytes(path, limit)?;
    String::from_utf8(bytes).map_err(|_| Error::NotText { path: path.into() })
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// A folder, a file that is too large or cannot be read.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let file = open(path)?;
    let failed = |cause| Error::Read {
        path: path.into(),
        cause,
    };
    let mut bytes = Vec::new();
    // One more than allowed tells a full file from a larger one, whatever its size is said to be.
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(Error::TooLarge {
            path: path.into(),
            limit,
        });
    }
    Ok(bytes)
}

/// Does a file begin with these bytes? Anything that cannot be read begins with nothing.
pub fn begins_with(path: &Path, magic: &[u8]) -> bool {
    let mut first = vec![0; magic.len()];
    open(path).is_ok_and(|mut file| file.read_exact(&mut first).is_ok()) && first == magic
}

/// Opens what ends: a file, or a descriptor that a shell hands over and writes to.
///
/// # Errors
/// A folder, a device, or a file that is not there or may not be read.
pub fn open(path: &Path) -> Result<fs::File, Error> {
    let failed = |cause| Error::Read {
        path: path.into(),
        cause,
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(Error::IsFolder { path: path.into() });
    }
    if !is_handed_over(path) && (!metadata.is_file() || is_of_the_kernel(path)) {
        return Err(Error::IsDevice { path: path.into() });
    }
    fs::File::open(path).map_err(failed)
}

/// `<(...)` and standard input, under the names that systems have for them; links to these are nobody's.
fn is_handed_over(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

/// Files that wait like devices although Linux calls them regular (`/proc/kmsg`, `trace_pipe`).
fn is_of_the_kernel(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|real| real.starts_with("/proc") || real.starts_with("/sys"))
}

/// Makes a folder and those above it; fine where it is there.
///
/// # Errors
/// The system's reason.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    if path.is_file() {
        return Err(Error::NoFolder { path: path.into() });
    }
    fs::create_dir_all(path).map_err(|cause| Error::Write {
        path: path.into(),
        cause,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Document,
    Script,
}

/// Is the path free, or free to be replaced?
fn check(path: &Path, overwrite: Overwrite) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(Error::IsFolder { path: path.into() }),
        // Whoever may write to a folder of devices would put a file in the place of one.
        Ok(metadata) if !metadata.is_file() => Err(Error::IsDevice { path: path.into() }),
        Ok(_) if overwrite == Overwrite::Refuse => Err(Error::Exists { path: path.into() }),
        Ok(metadata) if metadata.permissions().readonly() => {
            Err(Error::ReadOnly { path: path.into() })
        }
        _ => Ok(()),
    }
}

fn write(
    path: &Path,
    overwrite: Overwrite,
    kind: Kind,
    content: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), Error> {
    check(path, overwrite)?;
    // A link is followed, so that the file it stands for is replaced and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.file_name().is_none() {
        return Err(Error::NoName { path: path.into() });
    }
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(Error::NoFolder {
            path: folder.into(),
        });
    }
    let failed = |cause| Error::Write {
        path: path.into(),
        cause: without_path(cause),
    };
    // Dropped on any way out, which removes it.
    let mut file = new_file(folder, kind).map_err(failed)?;
    content(file.as_file_mut()).map_err(failed)?;
    if let Ok(metadata) = fs::metadata(&target) {
        let permissions = kept(metadata.permissions(), kind);
        file.as_file()
            .set_permissions(permissions)
            .map_err(failed)?;
    }
    // On disk before the name points to it: a power cut leaves the older file or the newer one.
    file.as_file().sync_all().map_err(failed)?;
    match overwrite {
        Overwrite::Replace => file.persist(&target).map_err(|error| failed(error.error))?,
        // Refused by the system itself where a file appeared since the check.
        Overwrite::Refuse => {
            file.persist_noclobber(&target)
                .map_err(|error| match error.error.kind() {
                    io::ErrorKind::AlreadyExists => Error::Exists { path: path.into() },
                    _ => failed(error.error),
                })?
        }
    };
    sync_folder(folder);
    Ok(())
}

#[cfg(unix)]
fn new_file(folder: &Path, kind: Kind) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    // The user's mask takes away from these, as for any new file.
    let mode = match kind {
        Kind::Document => 0o666,
        Kind::Script => 0o777,
    };
    tempfile::Builder::new()
        .prefix(".plimsoll-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(folder)
}

#[cfg(not(unix))]
fn new_file(folder: &Path, _kind: Kind) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".plimsoll-")
        .tempfile_in(folder)
}

/// The permissions of the file that is replaced; a script can be run by all who can read it.
#[cfg(unix)]
fn kept(permissions: fs::Permissions, kind: Kind) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = permissions.mode();
    match kind {
        Kind::Document => permissions,
        Kind::Script => fs::Permissions::from_mode(mode | ((mode & 0o444) >> 2)),
    }
}

#[cfg(not(unix))]
fn kept(permissions: fs::Permissions, _kind: Kind) -> fs::Permissions {
    permissions
}

/// The system's reason without the name of the file in the making, which nobody knows.
fn without_path(error: io::Error) -> io::Error {
    let inner = error
        .get_ref()
        .and_then(|wrapper| wrapper.source())
        .and_then(|inner| inner.downcast_ref::<io::Error>());
    match inner.and_then(io::Error::raw_os_error) {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error,
    }
}

/// Best effort: the file is whole either way, and not every system can do it.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = fs::File::open(folder) {
        folder.sync_all().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A disk that takes some bytes and then is full.
    fn full_disk(file: &mut fs::File) -> io::Result<()> {
        file.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    }

    #[test]
    fn a_full_disk_leaves_nothing_half_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("launch.sh");
        let error = write(&path, Overwrite::Refuse, Kind::Script, full_disk).unwrap_err();
        assert!(
            error.to_string().starts_with("could not write ("),
            "{error}"
        );
        assert!(error.to_string().ends_with("launch.sh"), "{error}");
        assert_eq!(names(folder.path()), [""; 0]);

        save(&path, "older", Overwrite::Refuse).unwrap();
        write(&path, Overwrite::Replace, Kind::Script, full_disk).unwrap_err();
        assert_eq!(read(&path, 100).unwrap(), "older");
        assert_eq!(names(folder.path()), ["launch.sh"]);
    }

    /// The file appears between the check and the renaming.
    #[test]
    fn a_race_does_not_replace_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        let error = write(&path, Overwrite::Refuse, Kind::Document, |_| {
            fs::write(&path, "theirs")
        });
        assert!(matches!(error, Err(Error::Exists { .. })), "{error:?}");
        assert_eq!(read(&path, 100).unwrap(), "theirs");
        assert_eq!(names(folder.path()), ["plan.toml"]);
    }
}

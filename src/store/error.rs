//! Why a file cannot be read or written.

use std::io;
use std::path::PathBuf;

/// What stood in the way. The cause comes first, the path last.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is there and nobody asked to replace it.
    #[error("a file of this name is already there: {}", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file was wanted.
    #[error("this is a folder, not a file: {}", .path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The file to replace may not be written.
    #[error("this file is marked read-only: {}", .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A folder on the way is not there, or is a file.
    #[error("there is no such folder: {}", .path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The path names nothing that can be a file.
    #[error("this is no file name: {}", .path.display())]
    NoName {
        /// As given.
        path: PathBuf,
    },
    /// The system refused while writing. Nothing of the file was changed.
    #[error("could not write ({}); nothing was changed: {}", reason(.cause), .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason, which the message says: no `source`, or it would be said twice.
        cause: io::Error,
    },
    /// The system refused while reading.
    #[error("could not read ({}): {}", reason(.cause), .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason, which the message says: no `source`, or it would be said twice.
        cause: io::Error,
    },
    /// A device, pipe or socket: one that a file would replace, or that might never end.
    #[error("this is a device or a pipe, not a file: {}", .path.display())]
    IsDevice {
        /// The device.
        path: PathBuf,
    },
    /// Larger than anything of its kind.
    #[error("this file is larger than {limit} bytes: {}", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Most bytes that are read.
        limit: u64,
    },
    /// Not text in UTF-8.
    #[error("this file is not text in UTF-8: {}", .path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The system knows no home folder.
    #[error("no home folder is known, so there is no place for preferences (set HOME)")]
    NoHome,
}

/// Is it a link that leads, over others or at once, back to itself?
pub fn is_circle(cause: &io::Error) -> bool {
    /// What systems call it: `ELOOP` of Linux, of macOS and the BSDs, `ERROR_CANT_RESOLVE_FILENAME` of Windows.
    const CODE: i32 = if cfg!(windows) {
        1921
    } else if cfg!(target_os = "linux") {
        40
    } else {
        62
    };
    cause.raw_os_error() == Some(CODE)
}

/// What the system says, without the number that it has for it.
fn reason(cause: &io::Error) -> String {
    if is_circle(cause) {
        return "this is a link that leads back to itself".to_owned();
    }
    let text = cause.to_string();
    match text.find(" (os error ") {
        Some(end) => text.get(..end).unwrap_or_default().to_owned(),
        None => text,
    }
}

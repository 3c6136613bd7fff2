//! Folders that the user names. What looks like the folder of a program is read as that program keeps it.

use std::path::Path;

use super::files::{self, Origin};
use super::ollama;
use super::scan::{DEPTH, Scan};

/// Reads a folder of the user.
pub(super) fn read(folder: &Path, scan: &mut Scan<'_>) {
    if ollama::is_store(folder) {
        ollama::read(folder, scan);
    } else {
        files::walk(folder, &Origin::default(), DEPTH, scan);
    }
}

//! The files of one model, on their way into the list.

use std::fs;
use std::path::{Path, PathBuf};

use super::Origin;
use crate::source::gguf;
use crate::source::library::scan::Scan;
use crate::source::library::{Found, Kind, Place, hugging_face, label};
use crate::store;
use crate::units::Bytes;

/// The files of one model.
pub(in crate::source::library) struct Weights {
    kind: Kind,
    path: PathBuf,
    files: Vec<PathBuf>,
    bytes: Bytes,
    quant: Option<String>,
    projector: Option<PathBuf>,
    digest: Option<String>,
}

/// What Git leaves where a large file was not fetched.
const LFS_POINTER: &[u8] = b"version https://git-lfs";

impl Weights {
    /// One file.
    pub(in crate::source::library) fn of_file(
        kind: Kind,
        path: &Path,
        scan: &mut Scan<'_>,
    ) -> Option<Self> {
        Self::of_files(kind, path, vec![path.to_owned()], scan)
    }

    /// Several files, which a plan opens by `path`. What is missing among them is listed.
    pub(in crate::source::library) fn of_files(
        kind: Kind,
        path: &Path,
        files: Vec<PathBuf>,
        scan: &mut Scan<'_>,
    ) -> Option<Self> {
        let mut bytes = Bytes::ZERO;
        for file in &files {
            match fs::metadata(file) {
                Ok(metadata) if metadata.is_file() => bytes += Bytes::new(metadata.len()),
                _ => {
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    scan.broken(path, format!("its file {name} is not there"));
                    return None;
                }
            }
        }
        Some(Self {
            kind,
            path: path.to_owned(),
            digest: match files.as_slice() {
                [file] => hugging_face::digest(file),
                _ => None,
            },
            files,
            bytes,
            quant: None,
            projector: None,
        })
    }

    /// With the form of its weights, where it is known.
    #[must_use]
    pub(in crate::source::library) fn with_quant(mut self, quant: Option<String>) -> Self {
        self.quant = quant;
        self
    }

    /// With the projector beside it.
    #[must_use]
    pub(in crate::source::library) fn with_projector(mut self, projector: Option<PathBuf>) -> Self {
        self.projector = projector;
        self
    }

    /// With the SHA-256 of its only file, where it is known.
    #[must_use]
    pub(in crate::source::library) fn with_digest(mut self, digest: Option<String>) -> Self {
        if self.files.len() == 1 {
            self.digest = digest;
        }
        self
    }

    /// Lists the model, or why it cannot be used.
    pub(in crate::source::library) fn found(mut self, origin: &Origin, scan: &mut Scan<'_>) {
        if let Some(reason) = self.flaw() {
            scan.broken(&self.path, reason);
            return;
        }
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let stem = label::split(&stem).map_or(stem.as_ref(), |(name, _, _)| name);
        if self.kind == Kind::Gguf {
            match gguf::open(&self.path) {
                // Names tell more than headers, which call every dynamic mixture by its main type.
                Ok(file) if file.kind == gguf::Kind::Model => {
                    let named = self.quant.or_else(|| label::quant(stem));
                    self.quant = named.or_else(|| file.checkpoint.label.clone());
                }
                // Adapters, projectors of any name, statistics: no models by themselves.
                Ok(_) => return,
                Err(error) => {
                    scan.broken(&self.path, error.reason.to_string());
                    return;
                }
            }
        }
        let title = match (&origin.title, self.kind, &origin.repository) {
            (Some(title), _, _) => title.clone(),
            (None, Kind::Safetensors | Kind::PyTorch, Some(repository)) => repository.clone(),
            (None, Kind::Safetensors | Kind::PyTorch, None) => {
                // The whole name: what stands behind a dot is no ending here.
                let name = self.path.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
            (None, Kind::Gguf, _) => stem.to_owned(),
        };
        let found = Found {
            title,
            kind: self.kind,
            files: self.files,
            bytes: self.bytes,
            quant: self.quant,
            projector: self.projector,
            repository: origin.repository.clone(),
            revision: origin.revision.clone(),
            places: vec![Place {
                library: scan.library,
                path: self.path.clone(),
            }],
            path: self.path,
        };
        scan.found(found, self.digest);
    }

    fn flaw(&self) -> Option<&'static str> {
        if self.path.to_str().is_none() {
            return Some("its path is not text, so no plan can name it");
        }
        let first = self.files.first()?;
        if self.bytes == Bytes::ZERO {
            return Some("it is empty");
        }
        store::begins_with(first, LFS_POINTER)
            .then_some("it is only Git's pointer to a large file; run `git lfs pull`")
    }
}

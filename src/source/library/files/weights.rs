//! The files of one model, on their way into the list.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Map;

use super::Origin;
use crate::model::Checkpoint;
use crate::source::access::LocalFolder;
use crate::source::library::scan::{self, Scan};
use crate::source::library::{Found, Kind, Place, Role, hugging_face, label};
use crate::source::{Error, checkpoint, config, gguf};
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
                    let flaw = scan::flaw(file).unwrap_or_else(|| "it is no file".to_owned());
                    scan.broken(path, format!("its file {name} cannot be used: {flaw}"));
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
        let opened = match self.kind {
            Kind::Gguf => of_gguf(&self.path),
            Kind::Safetensors | Kind::PyTorch => of_folder(&self.path),
        };
        let (role, label) = match opened {
            Ok(Some(opened)) => opened,
            // Projectors of any name, statistics: nothing to open by itself.
            Ok(None) => return,
            Err(reason) => {
                scan.broken(&self.path, reason);
                return;
            }
        };
        // What was opened tells; where it does not, the library may (Ollama).
        self.quant = label.or(self.quant);
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
            role,
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
        if self.bytes == Bytes::ZERO {
            return Some("it is empty");
        }
        let pointer = |file: &PathBuf| store::begins_with(file, LFS_POINTER);
        self.files
            .iter()
            .any(pointer)
            .then_some("it is only Git's pointer to a large file; run `git lfs pull`")
    }
}

/// What was opened, and what its files call the form of their weights.
type Opened = (Role, Option<String>);

/// Opens a GGUF file as whoever chooses it would; `None` where it is neither model nor adapter.
fn of_gguf(path: &Path) -> Result<Option<Opened>, String> {
    let file = gguf::open(path).map_err(|error| error.reason.to_string())?;
    let role = match file.kind {
        gguf::Kind::Model => Role::Model,
        gguf::Kind::Adapter => Role::Adapter,
        _ => return Ok(None),
    };
    if role == Role::Model {
        let model = file.model(&Map::new());
        model.map_err(|error| error.reason.to_string())?;
    }
    Ok(Some((role, file.checkpoint.label.clone())))
}

/// Opens a folder as whoever chooses it would, and more strictly: a model whose weights cannot be used is none.
fn of_folder(path: &Path) -> Result<Option<Opened>, String> {
    let label = |checkpoint: &Checkpoint| checkpoint.label.clone();
    if let Some((adapter, _)) = config::adapter(path).map_err(|error| reason(&error, path))? {
        return match adapter.checkpoint {
            Some(checkpoint) => Ok(Some((Role::Adapter, label(&checkpoint)))),
            None => Err(adapter
                .assumptions
                .join(" ")
                .trim_end_matches('.')
                .to_owned()),
        };
    }
    let model = config::read(path, &Map::new()).map_err(|error| reason(&error, path))?;
    match &model.checkpoint {
        Some(checkpoint) => Ok(Some((Role::Model, label(checkpoint)))),
        None => Err(checkpoint::flaw(&LocalFolder::new(path))
            .unwrap_or_else(|| "there are no weights".to_owned())),
    }
}

/// What is wrong, without the path at its end, which is said beside it.
fn reason(error: &Error, path: &Path) -> String {
    let mut said = error.to_string();
    let path = path.display();
    let ends = [format!(" in {path}"), format!(": {path}")];
    if let Some(at) = ends.iter().find_map(|end| said.rfind(end.as_str())) {
        said.truncate(at);
    }
    said
}

//! A scan as it runs: bounds, what was seen already, and whom to tell.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::content::{Compared, Content};
use super::{Broken, Found, Kind, Library, Place, Progress};
use crate::plain::quoted;
use crate::store;

/// Most files and folders that a scan looks at. A cache of a thousand repositories has some fifty thousand.
const ENTRIES: usize = 400_000;
/// Most models and most complaints that it lists.
const LISTED: usize = 20_000;
/// How deep folders of a library may go.
pub(super) const DEPTH: usize = 8;
/// Most bytes of a small file that describes a model: a manifest, a reference, a configuration.
pub(super) const SMALL: u64 = 4 << 20;

/// A scan.
pub(super) struct Scan<'a> {
    /// The library that is looked through.
    pub(super) library: &'static str,
    on: &'a mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    result: Library,
    contents: Vec<Content>,
    /// By the path that all links are resolved in.
    seen: BTreeMap<PathBuf, usize>,
    sizes: BTreeMap<u64, Vec<usize>>,
    visited: BTreeSet<PathBuf>,
    entries_left: usize,
}

/// A file or folder that a folder lists.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Its name.
    pub(super) name: String,
    /// Its path.
    pub(super) path: PathBuf,
    /// What it is, links followed.
    pub(super) kind: ItemKind,
}

/// What an [`Item`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A file of this many bytes.
    File(u64),
    /// A folder.
    Folder,
    /// A link that leads to nothing that can be looked at.
    BrokenLink(BrokenLink),
}

/// What is wrong with a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenLink {
    /// What it leads to is not there.
    Nowhere,
    /// It leads back to itself.
    Circle,
    /// What it leads to may not be looked at.
    Closed,
}

impl BrokenLink {
    fn of(error: &io::Error) -> Self {
        if store::is_circle(error) {
            Self::Circle
        } else if error.kind() == io::ErrorKind::PermissionDenied {
            Self::Closed
        } else {
            Self::Nowhere
        }
    }

    /// Half a sentence about the link at a path.
    pub(super) fn reason(self, path: &Path) -> String {
        let target = fs::read_link(path).unwrap_or_default();
        let target = quoted(&target.to_string_lossy());
        match self {
            Self::Nowhere => format!("it is a link to {target}, which is not there"),
            Self::Circle => "it is a link that leads back to itself".to_owned(),
            Self::Closed => format!("it is a link to {target}, which may not be read by this user"),
        }
    }
}

/// Why what should be a file cannot be opened, as half a sentence; `None` where it can be looked at.
pub(super) fn flaw(path: &Path) -> Option<String> {
    let error = fs::metadata(path).err()?;
    if path.is_symlink() {
        return Some(BrokenLink::of(&error).reason(path));
    }
    Some(match error.kind() {
        io::ErrorKind::PermissionDenied => "it may not be read by this user".to_owned(),
        _ => "it is not there".to_owned(),
    })
}

impl<'a> Scan<'a> {
    pub(super) fn new(on: &'a mut dyn FnMut(Progress<'_>) -> ControlFlow<()>) -> Self {
        Self {
            library: super::OF_USER,
            on,
            result: Library::default(),
            contents: Vec::new(),
            seen: BTreeMap::new(),
            sizes: BTreeMap::new(),
            visited: BTreeSet::new(),
            entries_left: ENTRIES,
        }
    }

    pub(super) fn finish(self) -> Library {
        self.result
    }

    /// Has it been told to end, or met a limit?
    pub(super) fn stopped(&self) -> bool {
        self.result.stopped
    }

    /// Is there a folder? One that may not be looked at is listed.
    pub(super) fn is_there(&mut self, folder: &Path) -> bool {
        match fs::metadata(folder) {
            Ok(metadata) => metadata.is_dir(),
            Err(error) => {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    self.unreadable(folder, &error);
                }
                false
            }
        }
    }

    /// What a folder holds, by name; nothing where it was looked through before or may not be.
    pub(super) fn list(&mut self, folder: &Path) -> Vec<Item> {
        if self.stopped() {
            return Vec::new();
        }
        // Links may lead back to where they came from; each folder is walked once, by its true path.
        match fs::canonicalize(folder) {
            Ok(path) => {
                if !self.visited.insert(path) {
                    return Vec::new();
                }
            }
            Err(error) => {
                self.unreadable(folder, &error);
                return Vec::new();
            }
        }
        self.tell(Progress::Folder(folder));
        match fs::read_dir(folder) {
            Ok(entries) => self.items(entries),
            Err(error) => {
                self.unreadable(folder, &error);
                Vec::new()
            }
        }
    }

    fn items(&mut self, entries: fs::ReadDir) -> Vec<Item> {
        let mut items = Vec::new();
        for entry in entries.flatten() {
            let Some(left) = self.entries_left.checked_sub(1) else {
                self.result.stopped = true;
                break;
            };
            self.entries_left = left;
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                // Only what looks like a model is worth a word.
                if path.extension().is_some_and(|ending| ending == "gguf") {
                    self.broken(&path, "its name is not text, so no plan can name it");
                }
                continue;
            };
            let kind = match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => ItemKind::Folder,
                Ok(metadata) if metadata.is_file() => ItemKind::File(metadata.len()),
                Err(error) if path.is_symlink() => ItemKind::BrokenLink(BrokenLink::of(&error)),
                // Pipes and devices are no models.
                Ok(_) | Err(_) => continue,
            };
            items.push(Item { name, path, kind });
        }
        items.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        items
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        let reason = match error.kind() {
            io::ErrorKind::PermissionDenied => "it may not be read by this user".to_owned(),
            io::ErrorKind::NotFound => "there is no such folder".to_owned(),
            _ if store::is_circle(error) => "it is a link that leads back to itself".to_owned(),
            _ => format!("it cannot be read ({error})"),
        };
        self.broken(path, reason);
    }

    /// A small text that describes something; what cannot be read is listed.
    pub(super) fn text(&mut self, path: &Path) -> Option<String> {
        match store::read(path, SMALL) {
            Ok(text) => Some(text),
            Err(error) => {
                // The path is said beside the reason.
                let reason = error.to_string();
                let said = format!(": {}", path.display());
                self.broken(path, reason.trim_end_matches(said.as_str()));
                None
            }
        }
    }

    /// Lists something that cannot be used.
    pub(super) fn broken(&mut self, path: &Path, reason: impl Into<String>) {
        if self.stopped() {
            return;
        }
        if self.result.broken.len() >= LISTED {
            self.result.stopped = true;
            return;
        }
        let broken = Broken {
            library: self.library,
            path: path.to_owned(),
            reason: reason.into(),
        };
        self.tell(Progress::Broken(&broken));
        self.result.broken.push(broken);
    }

    /// Lists a model, or another place of one that is listed. `sha256` is its content's, where the library knows it.
    pub(super) fn found(&mut self, found: Found, sha256: Option<String>) {
        if self.stopped() {
            return;
        }
        let path = fs::canonicalize(&found.path).unwrap_or_else(|_| found.path.clone());
        if let Some(at) = self.seen.get(&path).copied() {
            return self.another_place(at, found);
        }
        let mut content = Content::new(sha256, (found.kind != Kind::Gguf).then_some(&*found.path));
        let (same, damaged) = self.same(&found, &mut content);
        if let Some(at) = same {
            self.seen.insert(path, at);
            return self.another_place(at, found);
        }
        if let Some(other) = damaged.and_then(|at| self.result.models.get(at)) {
            let reason = format!(
                "its digest promises the same bytes as {}, but they differ: one of the two is damaged",
                quoted(&other.path.to_string_lossy())
            );
            self.broken(&found.path, reason);
        }
        if self.result.models.len() >= LISTED {
            self.result.stopped = true;
            return;
        }
        let at = self.result.models.len();
        self.seen.insert(path, at);
        self.sizes.entry(found.bytes.get()).or_default().push(at);
        self.contents.push(content);
        self.tell(Progress::Found(at, &found));
        self.result.models.push(found);
    }

    /// The model of the same content, and one that should have the same and has not. Contents are looked at only where sizes agree, which hardly any do by chance.
    fn same(&mut self, found: &Found, content: &mut Content) -> (Option<usize>, Option<usize>) {
        let Some(candidates) = self.sizes.get(&found.bytes.get()) else {
            return (None, None);
        };
        let mut damaged = None;
        let same = candidates.iter().copied().find(|at| {
            let (Some(model), Some(other)) =
                (self.result.models.get(*at), self.contents.get_mut(*at))
            else {
                return false;
            };
            if model.kind != found.kind || model.files.len() != found.files.len() {
                return false;
            }
            match content.compare(&found.files, other, &model.files) {
                Compared::Same => true,
                Compared::Different => false,
                Compared::Damaged => {
                    damaged.get_or_insert(*at);
                    false
                }
            }
        });
        (same, damaged)
    }

    fn another_place(&mut self, at: usize, found: Found) {
        let Some(model) = self.result.models.get_mut(at) else {
            return;
        };
        let new: Vec<Place> = found
            .places
            .into_iter()
            .filter(|place| !model.places.contains(place))
            .collect();
        if new.is_empty() {
            return;
        }
        model.places.extend(new);
        // What one library knows, another may not.
        model.repository = model.repository.take().or(found.repository);
        model.revision = model.revision.take().or(found.revision);
        model.projector = model.projector.take().or(found.projector);
        model.quant = model.quant.take().or(found.quant);
        let model = model.clone();
        self.tell(Progress::Found(at, &model));
    }

    fn tell(&mut self, progress: Progress<'_>) {
        if (self.on)(progress).is_break() {
            self.result.stopped = true;
        }
    }
}

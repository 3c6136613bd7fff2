//! The models that come with the program and the user's own: `presets/models/<family>/<id>.toml`.
//!
//! The catalogue knows its files at once and reads a file when it is asked for: finding one model never parses the
//! others, and a listing reads only what stands before a preset's configuration.

mod preset;
mod save;
mod search;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use include_dir::{Dir, include_dir};

pub use preset::{Entry, Origin, Preset, Published};
pub use save::{SaveError, id_of};

use super::names;
use crate::{model, store};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/presets/models");

/// Most bytes of a preset file of the user; the largest that comes with the program has a tenth.
const FILE_LIMIT: u64 = 1 << 20;
/// Most preset files of the user, and how deep their folders may go.
const FILES: usize = 10_000;
const DEPTH: usize = 4;

/// Every model preset, by id.
#[derive(Debug, Default)]
pub struct ModelCatalog {
    files: Vec<File>,
    listing: OnceLock<Listing>,
}

/// What is wrong with a preset or the wish for one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No preset has this id.
    #[error("no model preset is called `{id}`{}", names::suggestion(.nearest))]
    Unknown {
        /// As asked.
        id: String,
        /// Ids that come near.
        nearest: Vec<String>,
    },
    /// A preset file cannot be understood.
    #[error("{reason} in the preset of {id}")]
    Malformed {
        /// The preset.
        id: String,
        /// What the reader says.
        reason: String,
    },
    /// A preset file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The configuration of a preset is no model.
    #[error("{reason} in the model {id}")]
    Model {
        /// The preset.
        id: String,
        /// What is wrong with its configuration.
        reason: model::Error,
    },
}

/// A preset that is listed no further than with its error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The file.
    pub path: PathBuf,
    /// Why it is left out.
    pub error: Error,
}

/// A preset file, not yet read.
#[derive(Clone, Debug)]
struct File {
    id: String,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Embedded(&'static str),
    User(PathBuf),
}

#[derive(Debug, Default)]
struct Listing {
    entries: Vec<Entry>,
    broken: Vec<Broken>,
}

impl ModelCatalog {
    /// The presets that come with the program.
    pub fn embedded() -> Self {
        let mut catalog = Self::default();
        for folder in EMBEDDED.dirs() {
            for file in folder.files() {
                if let (Some(id), Some(text)) = (stem(file.path()), file.contents_utf8()) {
                    catalog.files.push(File {
                        id,
                        content: Content::Embedded(text),
                    });
                }
            }
        }
        catalog
    }

    /// Adds the user's own presets, `*.toml` in a folder and the folders in it. One of an id that is there replaces
    /// it. A folder that is not there adds nothing.
    pub fn add_folder(&mut self, folder: &Path) {
        let mut paths = Vec::new();
        preset_files(folder, DEPTH, &mut paths);
        paths.sort();
        for path in paths {
            let Some(id) = stem(&path) else { continue };
            self.files.retain(|file| !file.id.eq_ignore_ascii_case(&id));
            self.files.push(File {
                id,
                content: Content::User(path),
            });
        }
        self.listing = OnceLock::new();
    }

    /// All ids, in no order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.id.as_str())
    }

    /// What to show of every preset, by family and title.
    pub fn list(&self) -> &[Entry] {
        &self.listing().entries
    }

    /// Is the preset of this id one of the user's own?
    pub fn is_of_user(&self, id: &str) -> bool {
        let mut files = self.files.iter();
        files.any(|file| {
            matches!(file.content, Content::User(_)) && file.id.eq_ignore_ascii_case(id)
        })
    }

    /// Presets of the user that cannot be used.
    pub fn broken(&self) -> &[Broken] {
        &self.listing().broken
    }

    /// The presets that a query may mean, the likeliest first; all of them for an empty one. Order, case, spaces and
    /// hyphens do not matter, words may be cut short or misspelt a little.
    pub fn search(&self, query: &str) -> Vec<&Entry> {
        search::search(self.list(), query)
    }

    /// The preset of an id, in any case of letters.
    ///
    /// # Errors
    /// No such preset, with the nearest ones; or a file that is none.
    pub fn find(&self, id: &str) -> Result<Preset, Error> {
        let file = self
            .files
            .iter()
            .find(|file| file.id.eq_ignore_ascii_case(id));
        match file {
            Some(file) => file.preset(),
            None => Err(Error::Unknown {
                id: id.chars().take(100).collect(),
                nearest: search::nearest(self.ids(), id),
            }),
        }
    }

    fn listing(&self) -> &Listing {
        self.listing.get_or_init(|| {
            let mut listing = Listing::default();
            for file in &self.files {
                match file.entry() {
                    Ok(entry) => listing.entries.push(entry),
                    Err(error) => listing.broken.push(Broken {
                        path: file.path(),
                        error,
                    }),
                }
            }
            listing.entries.sort_by_cached_key(search::order);
            listing
        })
    }
}

impl File {
    fn path(&self) -> PathBuf {
        match &self.content {
            Content::Embedded(_) => PathBuf::from(format!("{}.toml", self.id)),
            Content::User(path) => path.clone(),
        }
    }

    fn preset(&self) -> Result<Preset, Error> {
        match &self.content {
            Content::Embedded(text) => Preset::parse(&self.id, text, Origin::Program),
            Content::User(path) => {
                let text = store::read(path, FILE_LIMIT)
                    .map_err(|error| Error::Unreadable(error.to_string()))?;
                Preset::parse(&self.id, &text, Origin::User(path.clone()))
            }
        }
    }

    /// What to show. A preset of the program has its sizes written down before its configuration, which a test keeps
    /// true; one of the user is read whole, and its sizes are counted.
    fn entry(&self) -> Result<Entry, Error> {
        match &self.content {
            Content::Embedded(text) => {
                let head = text.split("\n[config").next().unwrap_or_default();
                let mut entry = Preset::parse(&self.id, head, Origin::Program)?.entry;
                let mut lines = text.lines();
                let vocabulary = lines.find_map(|line| line.strip_prefix("vocab_size = "));
                entry.vocab_size = vocabulary.and_then(|size| size.parse().ok());
                Ok(entry)
            }
            Content::User(_) => {
                let mut preset = self.preset()?;
                let parameters = preset.model(&serde_json::Map::new())?.parameters();
                preset.entry.total_parameters = parameters.total();
                preset.entry.active_parameters = parameters.active();
                Ok(preset.entry)
            }
        }
    }
}

fn stem(path: &Path) -> Option<String> {
    let toml = path
        .extension()
        .is_some_and(|extension| extension == "toml");
    let stem = path.file_stem().filter(|_| toml)?;
    stem.to_str().map(str::to_owned)
}

/// Collects preset files; what cannot be listed is passed over, as a folder that is not there is.
fn preset_files(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if paths.len() >= FILES {
            return;
        }
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => preset_files(&path, depth - 1, paths),
            Ok(kind) if !kind.is_dir() && stem(&path).is_some() => paths.push(path),
            _ => {}
        }
    }
}

//! Models that are on this computer already: what other programs have downloaded, and folders the user names.
//!
//! Each program is a [`Shelf`] in a file of its own: where it keeps models, and how. Nothing is written, no file is
//! read beyond its header and a few samples, links that lead in a circle are walked once, and what cannot be used is
//! listed with the reason.

mod content;
mod files;
mod folders;
mod gpt4all;
mod hugging_face;
mod jan;
mod label;
mod llama_cpp;
mod lm_studio;
mod ollama;
mod places;
mod scan;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub use places::Places;

use crate::units::Bytes;
use scan::Scan;

/// A program that keeps models on this computer.
trait Shelf: Sync {
    /// What people call it.
    fn name(&self) -> &'static str;

    /// The folders where it may keep models here, whether they are there or not.
    fn roots(&self, places: &Places) -> Vec<PathBuf>;

    /// Looks through one of its folders.
    fn read(&self, root: &Path, scan: &mut Scan<'_>);
}

/// Every program that is looked for, in the order of the list. A file that several of them share is named after the
/// first.
const SHELVES: &[&dyn Shelf] = &[
    &hugging_face::HuggingFace,
    &llama_cpp::LlamaCpp,
    &ollama::Ollama,
    &lm_studio::LmStudio,
    &jan::Jan,
    &gpt4all::Gpt4All,
];

/// A model on this computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What to call it.
    pub title: String,
    /// What it is for.
    pub role: Role,
    /// The kind of its files.
    pub kind: Kind,
    /// What a plan's `[model] path` opens: the file, the first part of a split one, or the folder.
    pub path: PathBuf,
    /// Every file with weights, parts in order.
    pub files: Vec<PathBuf>,
    /// Bytes of these files.
    pub bytes: Bytes,
    /// What its files call the form of its weights ("Q4_K_M", "fp8"), where they or their names say.
    pub quant: Option<String>,
    /// The projector beside it that gives it eyes or ears.
    pub projector: Option<PathBuf>,
    /// Where it was downloaded from (`owner/name` on Hugging Face), where the folders say.
    pub repository: Option<String>,
    /// The commit of that repository.
    pub revision: Option<String>,
    /// Where it is, once for each copy or link; never empty.
    pub places: Vec<Place>,
}

/// What is found on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A model.
    Model,
    /// A LoRA adapter, which goes on a model.
    Adapter,
}

impl Role {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Adapter => "adapter",
        }
    }
}

/// A kind of model files on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A GGUF file, split or whole.
    Gguf,
    /// A folder with a configuration and safetensors files.
    Safetensors,
    /// A folder with a configuration and PyTorch archives.
    PyTorch,
}

impl Kind {
    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gguf => "GGUF",
            Self::Safetensors => "safetensors",
            Self::PyTorch => "PyTorch",
        }
    }
}

/// Where a model was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The program that keeps it, or [`OF_USER`].
    pub library: &'static str,
    /// Its path there.
    pub path: PathBuf,
}

/// The library of folders that the user named.
pub const OF_USER: &str = "Folder";

/// What is there and cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The program that keeps it, or [`OF_USER`].
    pub library: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// Why, as half a sentence.
    pub reason: String,
}

impl Broken {
    /// What to call it: by its own name, or by its repository where the cache of Hugging Face names by revisions and sums.
    pub fn title(&self) -> String {
        let repository = hugging_face::repository_of(&self.path);
        repository.unwrap_or_else(|| {
            let name = self.path.file_name().unwrap_or(self.path.as_os_str());
            name.to_string_lossy().into_owned()
        })
    }
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    /// The models in the order they were found, each content once.
    pub models: Vec<Found>,
    /// What cannot be used.
    pub broken: Vec<Broken>,
    /// The scan ended before everything was looked through, because it was told to or met a limit.
    pub stopped: bool,
}

/// What a scan tells while it runs.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// It looks into this folder.
    Folder(&'a Path),
    /// A model, at its place in [`Library::models`]; told again with the same place when another copy of it turns up.
    Found(usize, &'a Found),
    /// Something that cannot be used.
    Broken(&'a Broken),
}

/// Looks through every library and the user's folders. `on` hears everything as it is found, and ends the scan by
/// [`ControlFlow::Break`].
pub fn scan(
    places: &Places,
    folders: &[PathBuf],
    on: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Library {
    let mut scan = Scan::new(on);
    for shelf in SHELVES {
        scan.library = shelf.name();
        for root in shelf.roots(places) {
            // A program that is not installed has no folder, which is nothing to complain about.
            if scan.is_there(&root) {
                shelf.read(&root, &mut scan);
            }
        }
    }
    scan.library = OF_USER;
    for folder in folders {
        folders::read(folder, &mut scan);
    }
    scan.finish()
}

//! What a repository holds, at one commit.

use serde::{Deserialize, Serialize};

use super::Error;
use super::address::{is_commit, is_file};
use super::choices::{self, Choice, Role};
use crate::model::Container;
use crate::plain::quoted;
use crate::plan::ModelRef;
use crate::source::access::Entry;

/// The files of a repository at one commit, and what can be loaded of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// "owner/name".
    pub repository: String,
    /// The commit that everything is read at, so that a repository that changes meanwhile is not mixed.
    pub commit: String,
    /// Every file, in order of names.
    pub files: Vec<Entry>,
    /// What can be loaded, models first and the smallest first.
    pub choices: Vec<Choice>,
}

/// Most files of a repository that are looked at.
const FILES: usize = 100_000;

impl Listing {
    pub(super) fn new(repository: &str, commit: &str, mut files: Vec<Entry>) -> Self {
        // Names that lead elsewhere or do not show as they are belong to no model.
        files.retain(|entry| is_file(&entry.name));
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        files.dedup_by(|a, b| a.name == b.name);
        files.truncate(FILES);
        Self {
            repository: repository.to_owned(),
            commit: commit.to_owned(),
            choices: choices::choices(&files),
            files,
        }
    }

    /// The models, without what comes with them.
    pub fn models(&self) -> impl Iterator<Item = &Choice> {
        self.choices
            .iter()
            .filter(|choice| choice.role == Role::Model)
    }

    /// The choice that a person names by its label or by one of its files; with no name the only one there is, or the
    /// checkpoint where the others are made from it.
    ///
    /// # Errors
    /// None fits, or several do.
    pub fn find(&self, wanted: Option<&str>) -> Result<&Choice, Error> {
        match wanted {
            Some(wanted) => self.named(wanted),
            None => self.only(),
        }
    }

    fn named(&self, wanted: &str) -> Result<&Choice, Error> {
        let last = |file: &String| file.rsplit('/').next() == Some(wanted);
        let found = self
            .choices
            .iter()
            .find(|choice| choice.files.iter().any(|file| file == wanted))
            .or_else(|| {
                self.models()
                    .find(|choice| choice.label.eq_ignore_ascii_case(wanted))
            })
            .or_else(|| {
                self.choices
                    .iter()
                    .find(|choice| choice.files.iter().any(last))
            });
        found.ok_or_else(|| self.no_choice(wanted))
    }

    /// Why none is meant: several are of that quantization, it is that of what comes with a model, or there is none.
    fn no_choice(&self, wanted: &str) -> Error {
        let repository = self.repository.clone();
        let is_wanted = |choice: &&Choice| choice.quantization().eq_ignore_ascii_case(wanted);
        let same: Vec<&Choice> = self.models().filter(is_wanted).collect();
        if same.len() > 1 {
            let labels: Vec<&str> = same.iter().map(|choice| choice.label.as_str()).collect();
            return Error::SeveralOfOne {
                repository,
                count: same.len(),
                wanted: quoted(wanted),
                choices: labels.join(", "),
            };
        }
        let beside = self.choices.iter().find(is_wanted);
        if let Some(file) = beside.and_then(|choice| choice.files.first()) {
            return Error::OfBeside {
                repository,
                wanted: quoted(wanted),
                file: file.clone(),
                choices: self.labels(),
            };
        }
        Error::NoChoice {
            repository,
            wanted: quoted(wanted),
            choices: self.labels(),
        }
    }

    fn only(&self) -> Result<&Choice, Error> {
        let mut models = self.models();
        match (models.next(), models.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Error::NoModel {
                repository: self.repository.clone(),
            }),
            (Some(_), Some(_)) => {
                let checkpoint = self
                    .models()
                    .find(|choice| choice.container != Container::Gguf);
                checkpoint.ok_or_else(|| Error::Several {
                    repository: self.repository.clone(),
                    choices: self.labels(),
                })
            }
        }
    }

    /// The labels of the models, for a message.
    fn labels(&self) -> String {
        let labels: Vec<&str> = self.models().map(|choice| choice.label.as_str()).collect();
        if labels.is_empty() {
            "no models".to_owned()
        } else {
            labels.join(", ")
        }
    }

    /// How a plan names a choice, with the commit, so that it means the same tomorrow.
    pub fn reference(&self, choice: &Choice) -> ModelRef {
        // A checkpoint is all of its files; naming one would look like a choice of that one.
        let file = choice
            .files
            .first()
            .filter(|_| choice.container == Container::Gguf);
        ModelRef {
            repo: Some(self.repository.clone()),
            file: file.cloned(),
            revision: Some(self.commit.clone()),
            ..ModelRef::default()
        }
    }
}

/// The hub's answer about a revision.
#[derive(Debug, Deserialize)]
pub(super) struct Revision {
    sha: Option<String>,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Debug, Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    lfs: Option<Lfs>,
}

#[derive(Debug, Deserialize)]
struct Lfs {
    size: Option<u64>,
}

impl Revision {
    /// The commit that was answered about.
    pub(super) fn commit(&self) -> Option<&str> {
        self.sha.as_deref().filter(|sha| is_commit(sha))
    }

    /// The files, where the server says how large they are.
    pub(super) fn files(self) -> Option<Vec<Entry>> {
        let files = self.siblings.into_iter().map(|sibling| {
            // What is stored apart has a pointer's size for its own in some answers.
            let bytes = sibling.lfs.and_then(|lfs| lfs.size).or(sibling.size)?;
            Some(Entry {
                name: sibling.rfilename,
                bytes,
            })
        });
        files.collect()
    }
}

/// One line of the hub's list of a tree.
#[derive(Debug, Deserialize)]
pub(super) struct Node {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    lfs: Option<Lfs>,
}

impl Node {
    /// The file, where it is one.
    pub(super) fn entry(self) -> Option<Entry> {
        let bytes = self.lfs.and_then(|lfs| lfs.size).unwrap_or(self.size);
        (self.kind == "file").then_some(Entry {
            name: self.path,
            bytes,
        })
    }
}

/// A listing as it is kept on the disk.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    files: Vec<(String, u64)>,
}

impl Kept {
    pub(super) fn of(listing: &Listing) -> Self {
        let files = listing
            .files
            .iter()
            .map(|entry| (entry.name.clone(), entry.bytes));
        Self {
            files: files.collect(),
        }
    }

    pub(super) fn listing(self, repository: &str, commit: &str) -> Listing {
        let files = self
            .files
            .into_iter()
            .map(|(name, bytes)| Entry { name, bytes });
        Listing::new(repository, commit, files.collect())
    }
}

//! Whether two models are the same bytes, without reading them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use super::scan::SMALL;
use crate::source::access::{LocalFile, RandomAccess as _};
use crate::source::checkpoint;
use crate::store;

/// How many places of each file are compared, and how many bytes at each.
const SAMPLES: u64 = 16;
const BYTES: usize = 1024;

/// How the bytes of two models compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// They are the same.
    Same,
    /// They are not.
    Different,
    /// They should be the same by their digests, and are not.
    Damaged,
}

/// What is known of a model's bytes. Samples are taken when they are asked for.
pub(super) struct Content {
    sha256: Option<String>,
    /// Of what describes the bytes: the same weights under another description are another model.
    description: u64,
    samples: Option<u64>,
}

impl Content {
    /// `folder` is that of a checkpoint, whose configuration describes its weights.
    pub(super) fn new(sha256: Option<String>, folder: Option<&Path>) -> Self {
        Self {
            sha256,
            description: folder.map_or(0, description),
            samples: None,
        }
    }

    /// Are these the bytes of the other, whose files are as many and together as large? Different digests are
    /// different contents; otherwise samples spread over each file decide, its first and last bytes among them.
    pub(super) fn compare(
        &mut self,
        files: &[PathBuf],
        other: &mut Self,
        others: &[PathBuf],
    ) -> Compared {
        if self.description != other.description {
            return Compared::Different;
        }
        let promised = match (&self.sha256, &other.sha256) {
            (Some(a), Some(b)) if a != b => return Compared::Different,
            (Some(_), Some(_)) => true,
            _ => false,
        };
        match (self.samples(files), other.samples(others)) {
            (Some(a), Some(b)) if a == b => Compared::Same,
            _ if promised => Compared::Damaged,
            _ => Compared::Different,
        }
    }

    fn samples(&mut self, files: &[PathBuf]) -> Option<u64> {
        if self.samples.is_none() {
            let mut hasher = DefaultHasher::new();
            for file in files {
                sample(file, &mut hasher)?;
            }
            self.samples = Some(hasher.finish());
        }
        self.samples
    }
}

fn description(folder: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in [checkpoint::CONFIG, checkpoint::PARAMS, checkpoint::ADAPTER] {
        // What is not there describes nothing.
        store::read_bytes(&folder.join(name), SMALL)
            .unwrap_or_default()
            .hash(&mut hasher);
    }
    hasher.finish()
}

fn sample(path: &Path, hasher: &mut DefaultHasher) -> Option<()> {
    let file = LocalFile::open(path).ok()?;
    hasher.write_u64(file.size());
    let last = file.size().saturating_sub(BYTES as u64);
    let mut buffer = [0; BYTES];
    for part in 0..SAMPLES {
        let offset = u128::from(last) * u128::from(part) / u128::from(SAMPLES - 1);
        let count = file
            .read_at(u64::try_from(offset).ok()?, &mut buffer)
            .ok()?;
        hasher.write(buffer.get(..count)?);
    }
    Some(())
}

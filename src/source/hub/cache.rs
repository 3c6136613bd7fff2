//! What was read of repositories, kept in a folder of this program: whole entries or none, the oldest dropped first.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::store::{self, Folders, Overwrite};

/// A folder of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// Most bytes in the folder. Headers of a model have some ten million at most.
const LIMIT: u64 = 256 << 20;

/// How entries are called.
const ENDING: &str = "hub";

/// The first line of an entry.
#[derive(Serialize, Deserialize)]
struct Head {
    /// What it is an entry of, in full.
    key: String,
    /// Places and lengths of the parts that follow, in order.
    parts: Vec<(u64, u64)>,
    /// Checksum of what follows.
    sum: u64,
}

impl Cache {
    /// In the user's folder of caches; `None` where no home is known.
    pub fn of_user() -> Option<Self> {
        Folders::of_user()
            .ok()
            .map(|folders| Self::at(folders.hub()))
    }

    /// In a folder, which is made when something is kept.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            limit: LIMIT,
        }
    }

    /// The same with another bound.
    #[must_use]
    pub const fn of_at_most(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Keeps parts of something, best effort: without a cache it is only read again.
    pub(super) fn keep<'a>(&self, key: &str, parts: impl Iterator<Item = (u64, &'a [u8])>) {
        let mut body = Vec::new();
        let mut places = Vec::new();
        for (start, bytes) in parts {
            places.push((start, bytes.len() as u64));
            body.extend_from_slice(bytes);
        }
        let head = Head {
            key: key.to_owned(),
            parts: places,
            sum: checksum(&body),
        };
        let Ok(mut entry) = serde_json::to_vec(&head) else {
            return;
        };
        entry.push(b'\n');
        entry.append(&mut body);
        let kept = store::make_folder(&self.folder)
            .and_then(|()| store::save_bytes(&self.path(key), &entry, Overwrite::Replace));
        if let Err(error) = kept {
            log::warn!("nothing is kept of what was read: {error}");
        }
    }

    /// The parts that were kept; `None` where there are none, or they are not what was kept.
    pub(super) fn find(&self, key: &str) -> Option<Vec<(u64, Vec<u8>)>> {
        let entry = store::read_bytes(&self.path(key), self.limit).ok()?;
        let end = entry.iter().position(|byte| *byte == b'\n')?;
        let head: Head = serde_json::from_slice(entry.get(..end)?).ok()?;
        let mut rest = entry.get(end.checked_add(1)?..)?;
        if head.key != key || head.sum != checksum(rest) {
            return None;
        }
        let mut parts = Vec::new();
        for (start, length) in head.parts {
            let (part, more) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            parts.push((start, part.to_vec()));
            rest = more;
        }
        rest.is_empty().then_some(parts)
    }

    /// Drops the oldest entries until the rest is within bounds.
    pub(super) fn trim(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let metadata = fs::symlink_metadata(&path).ok()?;
                // Only what this program put there.
                let own =
                    metadata.is_file() && path.extension().is_some_and(|ending| ending == ENDING);
                own.then_some((metadata.modified().ok()?, metadata.len(), path))
            })
            .collect();
        entries.sort();
        let mut total = entries
            .iter()
            .fold(0_u64, |sum, entry| sum.saturating_add(entry.1));
        for (_, bytes, path) in entries {
            if total <= self.limit {
                break;
            }
            if fs::remove_file(&path).is_ok() {
                total = total.saturating_sub(bytes);
            }
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        Path::new(&self.folder).join(format!("{:016x}.{ENDING}", checksum(key.as_bytes())))
    }
}

/// FNV-1a of 64 bits: the same in every build and version, unlike the standard library's hashes.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(cache: &Cache, key: &str) -> Option<Vec<(u64, Vec<u8>)>> {
        cache.find(key)
    }

    #[test]
    fn what_is_kept_is_found_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("hub"));
        assert_eq!(kept(&cache, "a"), None);
        let parts: [(u64, &[u8]); 2] = [(0, b"head\n\0"), (100, b"tail")];
        cache.keep("a", parts.into_iter());
        let expected = vec![(0, b"head\n\0".to_vec()), (100, b"tail".to_vec())];
        assert_eq!(kept(&cache, "a"), Some(expected));
        assert_eq!(kept(&cache, "b"), None);

        let path = cache.path("a");
        let whole = fs::read(&path).unwrap();
        for at in [0, whole.len() / 2, whole.len() - 1] {
            let mut broken = whole.clone();
            broken[at] ^= 1;
            fs::write(&path, &broken).unwrap();
            assert_eq!(kept(&cache, "a"), None, "byte {at}");
        }
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(kept(&cache, "a"), None);
        // An entry under another's name.
        fs::write(cache.path("b"), &whole).unwrap();
        assert_eq!(kept(&cache, "b"), None);
    }

    #[test]
    fn the_oldest_goes_first_and_others_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path()).of_at_most(2500);
        fs::write(folder.path().join("theirs.txt"), vec![0; 5000]).unwrap();
        for (age, key) in [(3, "old"), (2, "older than new"), (1, "new")] {
            cache.keep(key, [(0, [7_u8; 1000].as_slice())].into_iter());
            let file = fs::File::options()
                .write(true)
                .open(cache.path(key))
                .unwrap();
            let hours = std::time::Duration::from_hours(age);
            file.set_modified(SystemTime::now() - hours).unwrap();
        }
        cache.trim();
        assert_eq!(kept(&cache, "old"), None);
        assert!(kept(&cache, "older than new").is_some());
        assert!(kept(&cache, "new").is_some());
        assert!(folder.path().join("theirs.txt").exists());
    }
}

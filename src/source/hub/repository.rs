//! A repository as a collection of files, of which only what is read is fetched.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::cache::Cache;
use super::extents::Extents;
use super::failure::Asked;
use super::http::Http;
use super::listing::Listing;
use super::part::Part;
use super::url::{self, Url};
use super::{Error, Watch};
use crate::source::access::{Collection, Entry, RandomAccess};

/// Most bytes that are read of one model, and so the most memory that one takes: headers of the largest vocabularies
/// have 20 MiB, those of the largest checkpoints, of which the first 128 KiB of each file are fetched, less than 64.
const MOST: u64 = 128 << 20;

/// Most bytes that are fetched in one request without being asked for.
const AHEAD: u64 = 8 << 20;

/// Files whose beginnings are fetched at the same time.
const AT_ONCE: usize = 8;

/// The files of a folder of a listing, of which only what is read is fetched.
pub struct Repository<'a> {
    pub(super) listing: &'a Listing,
    /// The folder that readers see, with a slash at its end.
    folder: &'a str,
    endpoint: &'a Url,
    /// None: what is not in the cache cannot be had.
    network: Option<(&'a Http, &'a Watch<'a>)>,
    cache: Option<&'a Cache>,
    files: Vec<Mutex<State>>,
    fetched: AtomicU64,
    /// The first failure.
    failed: Mutex<Option<Error>>,
}

/// What is known of a file.
#[derive(Default)]
struct State {
    extents: Extents,
    /// The cache was asked.
    asked: bool,
    /// Something is known that the cache does not know.
    fresh: bool,
    /// End of what was read.
    read: u64,
}

impl<'a> Repository<'a> {
    pub(super) fn new(
        listing: &'a Listing,
        folder: &'a str,
        endpoint: &'a Url,
        network: Option<(&'a Http, &'a Watch<'a>)>,
        cache: Option<&'a Cache>,
    ) -> Self {
        Self {
            files: listing.files.iter().map(|_| Mutex::default()).collect(),
            listing,
            folder,
            endpoint,
            network,
            cache,
            fetched: AtomicU64::new(0),
            failed: Mutex::default(),
        }
    }

    /// The first failure, whatever a reader made of it.
    pub fn failure(&self) -> Option<Error> {
        lock(&self.failed).clone()
    }

    /// Fetches the beginnings of files, several at a time.
    pub(super) fn begin(&self, names: &[String]) -> Result<(), Error> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), Error> {
            while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.failure().is_some() {
                    break;
                }
                if let Some(file) = self.find(name) {
                    file.read(0, &mut [0; 1])?;
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..AT_ONCE.min(names.len()))
                .map(|_| scope.spawn(work))
                .collect();
            let ended = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or(Ok(())));
            // The scope waits for those behind the first failure too.
            ended.collect()
        })
    }

    /// Puts what was read into the cache.
    pub fn keep(&self) {
        let Some(cache) = self.cache else { return };
        for (entry, state) in self.listing.files.iter().zip(&self.files) {
            let mut state = lock(state);
            if std::mem::take(&mut state.fresh) {
                cache.keep(&self.key(entry), state.extents.until(state.read));
            }
        }
        cache.trim();
    }

    fn key(&self, entry: &Entry) -> String {
        let Listing {
            repository, commit, ..
        } = self.listing;
        let Entry { name, bytes } = entry;
        format!(
            "file {} {repository} {commit} {bytes} {name}",
            self.endpoint
        )
    }

    fn find(&self, name: &str) -> Option<File<'_, 'a>> {
        let at = self
            .listing
            .files
            .binary_search_by(|entry| entry.name.as_str().cmp(name))
            .ok()?;
        let (entry, state) = (self.listing.files.get(at)?, self.files.get(at)?);
        {
            let mut state = lock(state);
            if !std::mem::replace(&mut state.asked, true)
                && let Some(parts) = self.cache.and_then(|cache| cache.find(&self.key(entry)))
            {
                for (start, bytes) in parts {
                    state.read = state.read.max(start.saturating_add(bytes.len() as u64));
                    state.extents.insert(start, bytes);
                }
            }
        }
        Some(File {
            repository: self,
            entry,
            state,
        })
    }

    fn fetch(&self, entry: &Entry, range: Range<u64>) -> Result<Vec<u8>, Error> {
        let repository = &self.listing.repository;
        let Some((http, watch)) = self.network else {
            return Err(Error::NotKept {
                repository: repository.clone(),
                what: format!("{} of {repository}", entry.name),
            });
        };
        let length = range.end.saturating_sub(range.start);
        if self
            .fetched
            .fetch_add(length, Ordering::Relaxed)
            .saturating_add(length)
            > MOST
        {
            return Err(Error::TooLarge {
                what: format!("what describes the model in {repository}"),
                limit: MOST,
            });
        }
        let path = format!(
            "/{}/resolve/{}/{}",
            url::path(repository),
            url::part(&self.listing.commit),
            url::path(&entry.name)
        );
        let last = range.end.saturating_sub(1);
        let response = http.get(&self.endpoint.with(&path), Some((range.start, last)), watch)?;
        let part = Part {
            asked: Asked {
                settings: &http.settings,
                repository,
                what: format!("{} of {repository}", entry.name),
            },
            name: &entry.name,
            size: entry.bytes,
            range,
        };
        part.receive(response, watch)
    }
}

/// How much of a file is fetched at first, and at most, where less is asked for. Headers of GGUF hold whole
/// vocabularies; those of safetensors rarely pass 100 kB; configurations and indexes are read whole.
fn ahead(name: &str) -> Range<u64> {
    let first = match name.rsplit('.').next() {
        Some("json") => AHEAD,
        Some("safetensors") => 128 << 10,
        _ => 512 << 10,
    };
    first..AHEAD
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file of a repository.
struct File<'a, 'b> {
    repository: &'a Repository<'b>,
    entry: &'a Entry,
    state: &'a Mutex<State>,
}

impl File<'_, '_> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let size = self.entry.bytes;
        let left = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let mut state = lock(self.state);
        let mut count = 0;
        while count < wanted {
            let at = offset.saturating_add(count as u64);
            let rest = buffer.get_mut(count..wanted).unwrap_or_default();
            let copied = state.extents.copy(at, rest);
            count += copied;
            if copied == 0 {
                let range =
                    state
                        .extents
                        .next(at, rest.len() as u64, size, ahead(&self.entry.name));
                let bytes = self
                    .repository
                    .fetch(self.entry, range)
                    .inspect_err(|error| {
                        lock(&self.repository.failed).get_or_insert_with(|| error.clone());
                    })?;
                state.extents.insert(at, bytes);
                state.fresh = true;
            }
        }
        state.read = state.read.max(offset.saturating_add(wanted as u64));
        Ok(count)
    }
}

impl RandomAccess for File<'_, '_> {
    fn size(&self) -> u64 {
        self.entry.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.read(offset, buffer)?)
    }
}

impl Collection for Repository<'_> {
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let own = |entry: &Entry| {
            let name = entry.name.strip_prefix(self.folder)?;
            (!name.contains('/')).then(|| Entry {
                name: name.to_owned(),
                bytes: entry.bytes,
            })
        };
        Ok(self.listing.files.iter().filter_map(own).collect())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn RandomAccess + '_>> {
        match self.find(&format!("{}{name}", self.folder)) {
            Some(file) => Ok(Box::new(file)),
            None => Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("{} has no file {name}", self.listing.repository),
            )),
        }
    }
}

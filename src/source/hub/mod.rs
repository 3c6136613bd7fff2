//! Models by the name of their repository on a Hugging Face compatible endpoint: lists, configurations and headers, by
//! requests for parts of files. Nothing here is called unless the user asks for it; a plan is opened from what was kept.

mod address;
mod cache;
mod choices;
mod error;
mod extents;
mod failure;
mod http;
mod listing;
mod part;
mod proxy;
mod read;
mod repository;
mod settings;
mod url;
mod watch;

pub use address::Address;
pub use cache::Cache;
pub use choices::{Choice, Role};
pub use error::Error;
pub use listing::Listing;
pub use repository::Repository;
pub use settings::{Settings, Waits};
pub use watch::{Progress, Watch};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::model::{Container, Model};
use crate::plan::ModelRef;
use crate::source::access::Entry;
use address::is_commit;
use failure::Asked;
use http::{Http, Response};
use listing::{Kept, Node, Revision};
use read::read;
use url::Url;

/// Most bytes of a list of files. One of ten thousand files has some three million.
const LIST: u64 = 32 << 20;

/// Most pages of a list, of a thousand files each (the hub's own size of a page).
const PAGES: usize = 100;

/// An endpoint, and what was read from it before.
#[derive(Debug)]
pub struct Hub {
    http: Http,
    cache: Option<Cache>,
}

impl Hub {
    /// The endpoint of the environment, and the user's cache.
    ///
    /// # Errors
    /// The environment names what is none.
    pub fn of_user() -> Result<Self, Error> {
        Ok(Self::new(Settings::of_environment()?, Cache::of_user()))
    }

    /// An endpoint with a cache or without.
    pub fn new(settings: Settings, cache: Option<Cache>) -> Self {
        Self {
            http: Http::new(settings),
            cache,
        }
    }

    /// The files and models of a repository, at the commit that the revision means now.
    ///
    /// # Errors
    /// What stood in the way, and what to do about it.
    pub fn list(&self, address: &Address, watch: &Watch<'_>) -> Result<Listing, Error> {
        let (repository, revision) = (address.repository.as_str(), address.revision());
        let endpoint = &self.http.settings.endpoint;
        // What a commit holds never changes.
        if is_commit(revision)
            && let Some(listing) = kept_listing(self.cache.as_ref(), endpoint, repository, revision)
        {
            return Ok(listing);
        }
        if self.http.settings.offline.is_some()
            && let Some(listing) = self.kept_at(repository, revision)
        {
            return Ok(listing);
        }
        let name = url::path(repository);
        let path = format!(
            "/api/models/{name}/revision/{}?blobs=true",
            url::part(revision)
        );
        let (answer, _): (Revision, _) = self.json(repository, revision, &path, watch)?;
        let Some(commit) = answer.commit().map(str::to_owned) else {
            return Err(Error::Answer {
                host: endpoint.host().to_owned(),
                what: repository.to_owned(),
                reason: "no commit".to_owned(),
            });
        };
        let files = match answer.files() {
            Some(files) => files,
            None => self.tree(repository, &commit, watch)?,
        };
        let listing = Listing::new(repository, &commit, files);
        if let Some(cache) = &self.cache {
            keep_listing(cache, endpoint, revision, &listing);
        }
        Ok(listing)
    }

    /// What a revision meant when it was listed last.
    fn kept_at(&self, repository: &str, revision: &str) -> Option<Listing> {
        let (cache, endpoint) = (self.cache.as_ref(), &self.http.settings.endpoint);
        let commit = kept_commit(cache, endpoint, repository, revision)?;
        kept_listing(cache, endpoint, repository, &commit)
    }

    /// The files one page after the other, from servers that do not say sizes otherwise.
    fn tree(&self, repository: &str, commit: &str, watch: &Watch<'_>) -> Result<Vec<Entry>, Error> {
        let name = url::path(repository);
        let first = format!("/api/models/{name}/tree/{commit}?recursive=true");
        let mut path = first.clone();
        let mut files = Vec::new();
        for _ in 0..PAGES {
            let (nodes, next): (Vec<Node>, _) = self.json(repository, commit, &path, watch)?;
            files.extend(nodes.into_iter().filter_map(Node::entry));
            match next {
                Some(cursor) => path = format!("{first}&cursor={cursor}"),
                None => return Ok(files),
            }
        }
        Err(Error::TooLarge {
            what: format!("the list of files of {repository}"),
            limit: LIST,
        })
    }

    /// An answer of the hub's API, and where its next page begins.
    fn json<T: DeserializeOwned>(
        &self,
        repository: &str,
        revision: &str,
        path: &str,
        watch: &Watch<'_>,
    ) -> Result<(T, Option<String>), Error> {
        let settings = &self.http.settings;
        let response = self.http.get(&settings.endpoint.with(path), None, watch)?;
        let what = match revision {
            "main" => format!("repository {repository}"),
            revision => format!("repository {repository} at {revision}"),
        };
        let asked = Asked {
            settings,
            repository,
            what,
        };
        if response.status != 200 {
            return Err(asked.refused(&response));
        }
        let next = next_page(&response);
        let host = response.url.host().to_owned();
        let wrong = |reason: String| Error::Answer {
            host,
            what: asked.what.clone(),
            reason,
        };
        let is_page = response
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/html"));
        if let Some(encoding) = response.compressed() {
            let reason = format!("something compressed ({encoding}), which was not asked for");
            return Err(wrong(reason));
        }
        let body = response.whole(&format!("the list of {repository}"), LIST, watch)?;
        match serde_json::from_slice(&body) {
            Ok(answer) => Ok((answer, next)),
            Err(_) if is_page || body.trim_ascii_start().starts_with(b"<") => {
                Err(wrong("a web page".to_owned()))
            }
            Err(error) => Err(wrong(format!("something else ({error})"))),
        }
    }

    /// Reads a model by what describes it: headers of its files, and its configuration.
    ///
    /// # Errors
    /// What stood in the way, and what to do about it.
    pub fn open(
        &self,
        listing: &Listing,
        choice: &Choice,
        watch: &Watch<'_>,
    ) -> Result<Model, Error> {
        let repository = self.files(listing, choice, watch);
        if choice.container != Container::PyTorch {
            repository.begin(&choice.files)?;
        }
        let model = read(&repository, choice, &Map::new())?;
        repository.keep();
        Ok(model)
    }

    /// The files in the folder of a choice, for a reader; nothing is fetched before it reads.
    pub fn files<'a>(
        &'a self,
        listing: &'a Listing,
        choice: &'a Choice,
        watch: &'a Watch<'a>,
    ) -> Repository<'a> {
        let endpoint = &self.http.settings.endpoint;
        let network = Some((&self.http, watch));
        Repository::new(
            listing,
            choice.folder(),
            endpoint,
            network,
            self.cache.as_ref(),
        )
    }

    /// The model that a plan names, from what this endpoint's cache has of it: no connection is opened.
    ///
    /// # Errors
    /// As [`kept`].
    pub fn kept(
        &self,
        reference: &ModelRef,
        overrides: &Map<String, Value>,
    ) -> Result<Model, Error> {
        kept_in(
            self.cache.as_ref(),
            &self.http.settings.endpoint,
            reference,
            overrides,
        )
    }
}

/// Where the next page begins, as a `Link` header has it. Only that is taken of it: the pages of a mirror's own host stay
/// there.
fn next_page(response: &Response) -> Option<String> {
    let link = response.header("link")?;
    let next = link.split(',').find(|link| link.contains("rel=\"next\""))?;
    let url = next.split('<').nth(1)?.split('>').next()?;
    let query = url.split_once('?')?.1;
    let cursor = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("cursor="))?;
    Some(cursor.to_owned())
}

/// The model that a plan names by its repository, from what was kept of it: no connection is opened.
///
/// # Errors
/// Nothing was kept, or not enough; what it was says so.
pub fn kept(reference: &ModelRef, overrides: &Map<String, Value>) -> Result<Model, Error> {
    let cache = Cache::of_user();
    let endpoint = settings::endpoint(&settings::environment)?;
    kept_in(cache.as_ref(), &endpoint, reference, overrides)
}

fn kept_in(
    cache: Option<&Cache>,
    endpoint: &Url,
    reference: &ModelRef,
    overrides: &Map<String, Value>,
) -> Result<Model, Error> {
    let repository = reference.repo.as_deref().unwrap_or_default();
    let revision = reference.revision.as_deref().unwrap_or("main");
    let commit = kept_commit(cache, endpoint, repository, revision);
    let listing = commit.and_then(|commit| kept_listing(cache, endpoint, repository, &commit));
    let listing = listing.ok_or_else(|| Error::NotKept {
        repository: repository.to_owned(),
        what: match revision {
            "main" => format!("repository {repository}"),
            revision => format!("repository {repository} at {revision}"),
        },
    })?;
    let choice = listing.find(reference.file.as_deref())?;
    let repository = Repository::new(&listing, choice.folder(), endpoint, None, cache);
    read(&repository, choice, overrides)
}

/// The commit that a revision is, or meant when it was listed last.
fn kept_commit(
    cache: Option<&Cache>,
    endpoint: &Url,
    repository: &str,
    revision: &str,
) -> Option<String> {
    if is_commit(revision) {
        return Some(revision.to_owned());
    }
    let parts = cache?.find(&commit_key(endpoint, repository, revision))?;
    String::from_utf8(parts.into_iter().next()?.1).ok()
}

fn commit_key(endpoint: &Url, repository: &str, revision: &str) -> String {
    format!("commit {endpoint} {repository} {revision}")
}

fn listing_key(endpoint: &Url, repository: &str, commit: &str) -> String {
    format!("list {endpoint} {repository} {commit}")
}

fn keep_listing(cache: &Cache, endpoint: &Url, revision: &str, listing: &Listing) {
    let Listing {
        repository, commit, ..
    } = listing;
    if let Ok(text) = serde_json::to_vec(&Kept::of(listing)) {
        let key = listing_key(endpoint, repository, commit);
        cache.keep(&key, std::iter::once((0, text.as_slice())));
        let key = commit_key(endpoint, repository, revision);
        cache.keep(&key, std::iter::once((0, commit.as_bytes())));
    }
}

fn kept_listing(
    cache: Option<&Cache>,
    endpoint: &Url,
    repository: &str,
    commit: &str,
) -> Option<Listing> {
    let parts = cache?.find(&listing_key(endpoint, repository, commit))?;
    let kept: Kept = serde_json::from_slice(&parts.into_iter().next()?.1).ok()?;
    Some(kept.listing(repository, commit))
}

//! A model of a repository, read over the network because the user names it here.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::model::{Container, Model};
use plimsoll::plan::ModelRef;
use plimsoll::source::access::Entry;
use plimsoll::source::hub::{Address, Choice, Error, Hub, Listing, Progress, Role, Watch};
use plimsoll::source::{Part, checkpoint, gguf};
use plimsoll::table::Table;
use plimsoll::units::Bytes;
use serde_json::json;

use super::answer::{one_line, print_json, print_plain};
use super::{Answer, Failure};

/// What a repository has under a name.
pub(super) enum Fetched {
    /// Several models, of which none is named.
    Several(Box<Listing>),
    /// A model, with how a plan names it.
    Model {
        model: Box<Model>,
        files: Vec<Entry>,
        reference: Box<ModelRef>,
    },
    /// A file that comes with a model.
    Part { part: Part, files: Vec<Entry> },
}

/// How often progress is shown.
const EVERY: Duration = Duration::from_millis(100);

/// The repository that is meant, where it is neither a preset nor something on this computer, nor called like a file or
/// like something in a folder that is here.
pub(super) fn address(name: &str, catalog: &ModelCatalog) -> Option<Address> {
    let path = Path::new(name);
    let files = ["bin", "gguf", "json", "safetensors", "toml"];
    let ending = path.extension().and_then(|ending| ending.to_str());
    let file = !name.contains([':', '@']) && ending.is_some_and(|ending| files.contains(&ending));
    let folder = path
        .parent()
        .is_some_and(|folder| !folder.as_os_str().is_empty() && folder.is_dir());
    if path.symlink_metadata().is_ok() || file || folder || catalog.find(name).is_ok() {
        return None;
    }
    name.parse().ok()
}

/// Reads what describes the model that an address names.
pub(super) fn fetch(address: &Address) -> Result<Fetched, Failure> {
    let hub = Hub::of_user().map_err(failure)?;
    let line = Line::default();
    let cancel = AtomicBool::new(false);
    let tell = |progress: Progress<'_>| line.show(progress);
    let watch = Watch::new(&cancel, &tell);
    let found = of_hub(&hub, address, &watch);
    line.clear();
    found.map_err(failure)
}

fn of_hub(hub: &Hub, address: &Address, watch: &Watch<'_>) -> Result<Fetched, Error> {
    let listing = hub.list(address, watch)?;
    let choice = match listing.find(address.choice.as_deref()) {
        Ok(choice) => choice.clone(),
        Err(Error::Several { .. }) => return Ok(Fetched::Several(Box::new(listing))),
        Err(error) => return Err(error),
    };
    let files = entries(&listing, &choice);
    if choice.container != Container::Gguf && checkpoint::is_adapter(&listing.files) {
        return adapter(hub, &listing, &choice, watch);
    }
    if choice.role == Role::Model {
        return Ok(Fetched::Model {
            model: Box::new(hub.open(&listing, &choice, watch)?),
            files,
            reference: Box::new(listing.reference(&choice)),
        });
    }
    let repository = hub.files(&listing, &choice, watch);
    let first = choice.files.first().map(String::as_str).unwrap_or_default();
    let part = gguf::read(&repository, first.rsplit('/').next().unwrap_or(first));
    repository.keep();
    match (part, repository.failure()) {
        (Ok(part), None) => Ok(Fetched::Part {
            part: Part::Gguf(Box::new(part)),
            files,
        }),
        (_, Some(failure)) => Err(failure),
        (Err(error), None) => Err(Error::Model(error.to_string())),
    }
}

/// The adapter that a repository is.
fn adapter(
    hub: &Hub,
    listing: &Listing,
    choice: &Choice,
    watch: &Watch<'_>,
) -> Result<Fetched, Error> {
    let repository = hub.files(listing, choice, watch);
    let adapter = checkpoint::adapter(&repository);
    repository.keep();
    if let Some(failure) = repository.failure() {
        return Err(failure);
    }
    let adapter = adapter.map_err(|error| Error::Model(error.to_string()))?;
    let name = listing.repository.rsplit('/').next().unwrap_or_default();
    let part = Part::Adapter {
        adapter: Box::new(adapter),
        name: name.to_owned(),
    };
    let files = checkpoint::files(&repository, None).unwrap_or_default();
    Ok(Fetched::Part { part, files })
}

/// The files of a choice with their sizes.
fn entries(listing: &Listing, choice: &Choice) -> Vec<Entry> {
    let own = |entry: &&Entry| choice.files.contains(&entry.name);
    listing.files.iter().filter(own).cloned().collect()
}

/// What the user can name after a colon.
pub(super) fn choices(listing: &Listing, json: bool) -> Result<Answer, Failure> {
    if json {
        let choices = listing.choices.iter().map(|choice| {
            json!({
                "role": role(choice.role),
                "label": choice.label,
                "container": choice.container.name(),
                "files": choice.files,
                "bytes": choice.bytes,
                "missing_files": choice.missing,
            })
        });
        print_json(&json!({
            "schema": 1,
            "repo": listing.repository,
            "revision": listing.commit,
            "choices": choices.collect::<Vec<_>>(),
        }))?;
        return Ok(Answer::Yes);
    }
    let mut table = Table::new(&["choice", "what", ">GiB", ">files", "first file"]);
    for choice in &listing.choices {
        let first = choice.files.first().map(String::as_str).unwrap_or_default();
        let what = match choice.missing {
            0 => role(choice.role).to_owned(),
            missing => format!("{}, {missing} files missing", role(choice.role)),
        };
        // Labels mean models; what comes with one goes by its file.
        let name = match choice.role {
            Role::Model => &choice.label,
            Role::Projector | Role::Draft | Role::Imatrix => first,
        };
        table.row([
            one_line(name),
            what,
            format!("{:.2}", Bytes::new(choice.bytes).as_gib()),
            choice.files.len().to_string(),
            one_line(first),
        ]);
    }
    let Listing {
        repository, commit, ..
    } = listing;
    let label = listing.models().next().map_or("", |choice| &choice.label);
    print_plain(&format!(
        "{repository} at {commit} has several models; name one, for example `plimsoll inspect {repository}:{label}`\n\n{}",
        table.text()
    ))?;
    Ok(Answer::Yes)
}

/// How a plan names what was read.
pub(super) fn plan(reference: &ModelRef) -> String {
    let lines = toml::to_string(reference).unwrap_or_default();
    format!("\nin a plan\n[model]\n{lines}")
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Model => "model",
        Role::Projector => "projector",
        Role::Draft => "draft model",
        Role::Imatrix => "imatrix",
    }
}

/// Bad input is what another name or another environment would cure.
fn failure(error: Error) -> Failure {
    match error {
        Error::Address { .. }
        | Error::Endpoint { .. }
        | Error::ProxyName { .. }
        | Error::Token { .. }
        | Error::Offline { .. }
        | Error::NoModel { .. }
        | Error::Several { .. }
        | Error::NoChoice { .. }
        | Error::SeveralOfOne { .. }
        | Error::OfBeside { .. }
        | Error::Model(_) => Failure::input(error),
        _ => Failure::io(error),
    }
}

/// A line of a terminal that says how far it is; nothing where standard error is no terminal.
#[derive(Default)]
struct Line {
    shown: Mutex<Option<Instant>>,
}

impl Line {
    fn show(&self, progress: Progress<'_>) {
        let Ok(mut shown) = self.shown.lock() else {
            return;
        };
        let recent = shown.is_some_and(|shown| shown.elapsed() < EVERY);
        let mut error = io::stderr().lock();
        if recent || !error.is_terminal() {
            return;
        }
        *shown = Some(Instant::now());
        let Progress { what, bytes } = progress;
        let mib = Bytes::new(bytes).as_gib() * 1024.0;
        // A terminal that is gone is no reason to stop.
        write!(error, "\r\u{1b}[K{mib:.1} MiB, {}", one_line(what)).ok();
        error.flush().ok();
    }

    fn clear(&self) {
        if self.shown.lock().is_ok_and(|shown| shown.is_some()) {
            write!(io::stderr().lock(), "\r\u{1b}[K").ok();
        }
    }
}

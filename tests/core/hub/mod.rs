//! Repositories of an endpoint that behaves like the hub, or badly.

mod cached;
mod ranges;
mod refusals;
mod requests;
mod server;
mod socks;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll::source::access::Collection as _;
use plimsoll::source::hub::{Cache, Error, Hub, Listing, Settings, Waits, Watch};

use server::{Asked, Reply, Server};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Files by name.
type Files = BTreeMap<&'static str, Vec<u8>>;

/// Bytes that differ from place to place.
fn bytes(count: usize) -> Vec<u8> {
    (0..count)
        .map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8)
        .collect()
}

/// The list of files as the hub answers it, for one repository.
fn revision(files: &Files) -> String {
    let siblings: Vec<String> = files
        .iter()
        .map(|(name, bytes)| format!("{{\"rfilename\":\"{name}\",\"size\":{}}}", bytes.len()))
        .collect();
    format!(
        "{{\"id\":\"o/r\",\"sha\":\"{COMMIT}\",\"siblings\":[{}]}}",
        siblings.join(",")
    )
}

/// What the hub answers about `o/r`, whatever prefix its paths have.
fn answer(asked: &Asked, files: &Files) -> Reply {
    if asked.path.contains("/api/models/o/r/revision/") {
        return Reply::new(200, revision(files)).with("content-type", "application/json");
    }
    let name = asked
        .path
        .split_once(&format!("/o/r/resolve/{COMMIT}/"))
        .map(|(_, name)| name);
    match name.and_then(|name| files.get(name)) {
        Some(file) => Reply::part(asked, file),
        None => Reply::new(404, "Not Found"),
    }
}

fn settings(server: &Server, more: &[(&str, &str)]) -> Settings {
    let url = server.url();
    let own = [("HF_ENDPOINT", url.as_str())];
    let mut settings = Settings::of(&|name| {
        let found = more.iter().chain(&own).find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    })
    .unwrap();
    settings.waits = Waits {
        connect: Duration::from_millis(500),
        silence: Duration::from_millis(900),
        total: Duration::from_secs(5),
    };
    settings
}

fn hub(server: &Server, more: &[(&str, &str)]) -> Hub {
    Hub::new(settings(server, more), None)
}

fn hub_with(server: &Server, cache: &Cache) -> Hub {
    Hub::new(settings(server, &[]), Some(cache.clone()))
}

fn list_of(hub: &Hub, address: &str) -> Result<Listing, Error> {
    let (cancel, quiet) = (
        AtomicBool::new(false),
        |_: plimsoll::source::hub::Progress<'_>| {},
    );
    hub.list(&address.parse().unwrap(), &Watch::new(&cancel, &quiet))
}

fn list(hub: &Hub) -> Result<Listing, Error> {
    list_of(hub, "o/r")
}

/// Reads from a place of the only model's first file; keeps what was read.
fn read(hub: &Hub, offset: u64, count: usize) -> Result<Vec<u8>, Error> {
    let listing = list(hub)?;
    read_of(hub, &listing, offset, count)
}

fn read_of(hub: &Hub, listing: &Listing, offset: u64, count: usize) -> Result<Vec<u8>, Error> {
    let (cancel, quiet) = (
        AtomicBool::new(false),
        |_: plimsoll::source::hub::Progress<'_>| {},
    );
    let watch = Watch::new(&cancel, &quiet);
    let choice = listing.find(None)?;
    let repository = hub.files(listing, choice, &watch);
    let name = choice.files[0].rsplit('/').next().unwrap();
    let file = repository.open(name).unwrap();
    let mut buffer = vec![0; count];
    match file.read_at(offset, &mut buffer) {
        Ok(read) => {
            buffer.truncate(read);
            repository.keep();
            Ok(buffer)
        }
        Err(error) => {
            let failure = repository.failure().expect("a failure is kept");
            assert_eq!(error.to_string(), failure.to_string());
            Err(failure)
        }
    }
}

/// A server of one GGUF file, whose answers about it are made by `change`.
fn serving(
    file: Vec<u8>,
    change: impl Fn(&Asked, &[u8]) -> Reply + Send + Sync + 'static,
) -> Server {
    let files = Files::from([("m-Q4_0.gguf", file)]);
    Server::start(move |asked| {
        if asked.path.contains("/resolve/") {
            change(asked, &files["m-Q4_0.gguf"])
        } else {
            answer(asked, &files)
        }
    })
}

/// The error says each of these.
fn says(error: &Error, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
}

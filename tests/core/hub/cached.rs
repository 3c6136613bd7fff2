//! What was read stays, and is enough without the server.

use plimsoll::plan::ModelRef;
use plimsoll::source::hub::{Cache, Hub};
use serde_json::Map;

use super::server::Reply;
use super::{COMMIT, bytes, hub_with, list_of, read, read_of, says, serving, settings};

#[test]
fn what_was_read_is_enough_when_the_server_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("hub"));
    let file = bytes(2_000_000);
    let server = serving(file.clone(), Reply::part);
    assert!(read(&hub_with(&server, &cache), 0, 600_000).unwrap() == file[..600_000]);
    let before = server.asked().len();

    // The commit is known, and so is what was read.
    let later = hub_with(&server, &cache);
    let listing = list_of(&later, &format!("o/r@{COMMIT}")).unwrap();
    assert!(read_of(&later, &listing, 100, 500_000).unwrap() == file[100..500_100]);
    assert_eq!(server.asked().len(), before);
    // More is fetched from where it ends.
    assert!(read_of(&later, &listing, 590_000, 20_000).unwrap() == file[590_000..610_000]);
    let asked = server.asked();
    assert_eq!(asked.len(), before + 1);
    assert_eq!(asked[before].range().unwrap().0, 600_000);
    assert!(read_of(&later, &listing, 590_000, 20_000).unwrap() == file[590_000..610_000]);
    assert_eq!(server.asked().len(), before + 1);

    // Entries that are broken are as good as none.
    for entry in std::fs::read_dir(folder.path().join("hub")).unwrap() {
        std::fs::write(entry.unwrap().path(), "{}").unwrap();
    }
    assert!(list_of(&hub_with(&server, &cache), &format!("o/r@{COMMIT}")).is_ok());
    assert_eq!(server.asked().len(), before + 2);
}

#[test]
fn a_plan_opens_what_was_kept_and_no_connection() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let server = serving(bytes(1000), Reply::part);
    let hub = Hub::new(settings(&server, &[]), Some(cache));
    let reference = ModelRef {
        repo: Some("o/r".to_owned()),
        ..ModelRef::default()
    };
    let error = hub.kept(&reference, &Map::new()).unwrap_err();
    says(
        &error,
        &["repository o/r is not in the cache", "plimsoll inspect o/r"],
    );
    assert_eq!(server.connections(), 0);

    // The list alone is not enough.
    list_of(&hub, "o/r").unwrap();
    let connections = server.connections();
    let error = hub.kept(&reference, &Map::new()).unwrap_err();
    says(
        &error,
        &[
            "m-Q4_0.gguf of o/r is not in the cache",
            "plimsoll inspect o/r",
        ],
    );
    let other = ModelRef {
        revision: Some("v2".to_owned()),
        ..reference
    };
    let error = hub.kept(&other, &Map::new()).unwrap_err();
    says(&error, &["repository o/r at v2 is not in the cache"]);
    assert_eq!(server.connections(), connections);
}

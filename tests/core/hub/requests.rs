//! What is asked, of whom, and with which token.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use plimsoll::source::hub::{Progress, Watch};

use super::server::{Reply, Server, Then};
use super::{COMMIT, Files, answer, bytes, hub, list, list_of, read, says, serving};

#[test]
fn a_header_costs_a_handful_of_requests() {
    let file = bytes(40 << 20);
    let server = serving(file.clone(), Reply::part);
    let hub = hub(&server, &[]);
    let listing = list(&hub).unwrap();
    assert_eq!(listing.commit, COMMIT);
    let (cancel, seen) = (AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
    let tell = |progress: Progress<'_>| {
        seen.lock()
            .unwrap()
            .push((progress.what.to_owned(), progress.bytes));
    };
    let watch = Watch::new(&cancel, &tell);
    let choice = listing.find(None).unwrap();
    let repository = hub.files(&listing, choice, &watch);
    let source = plimsoll::source::access::Collection::open(&repository, "m-Q4_0.gguf").unwrap();
    // As a reader does: small steps through six million bytes.
    let mut read = Vec::new();
    let mut step = vec![0; 10_000];
    while read.len() < 6_000_000 {
        let count = source.read_at(read.len() as u64, &mut step).unwrap();
        read.extend_from_slice(&step[..count]);
    }
    assert!(read == file[..read.len()], "what was read is what is there");

    let asked = server.asked();
    assert_eq!(asked.len(), 1 + 5, "{asked:?}");
    assert!(server.sent() < 9 << 20, "{} bytes", server.sent());
    for request in &asked {
        let agent = request.header("user-agent").unwrap();
        assert!(agent.starts_with("plimsoll/"), "{agent}");
        assert_eq!(request.header("authorization"), None);
    }
    assert!(
        asked[1..]
            .iter()
            .all(|request| request.path == format!("/o/r/resolve/{COMMIT}/m-Q4_0.gguf"))
    );
    let seen = seen.lock().unwrap();
    assert!(seen.iter().all(|(what, _)| what == "m-Q4_0.gguf"));
    assert!(seen.windows(2).all(|pair| pair[0].1 < pair[1].1));
    assert_eq!(seen.last().unwrap().1, watch.received());
}

#[test]
fn the_token_stays_with_the_endpoint() {
    let storage = serving(bytes(1000), Reply::part);
    let elsewhere = format!("http://localhost:{}/o/r/resolve/x?sig=1", storage.port);
    let server = serving(bytes(1000), move |asked, _| {
        // A relative one first, as for a renamed repository.
        if asked.path.starts_with("/new") {
            Reply::new(302, "").with("location", &elsewhere)
        } else {
            Reply::new(307, "").with("location", "/new/r/resolve/x/m-Q4_0.gguf")
        }
    });
    let hub = hub(&server, &[("HF_TOKEN", "hf_secret")]);
    assert_eq!(read(&hub, 10, 20).unwrap(), bytes(1000)[10..30]);
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    for request in asked {
        assert_eq!(request.header("authorization"), Some("Bearer hf_secret"));
    }
    let asked = storage.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/o/r/resolve/x?sig=1");
    assert_eq!(asked[0].header("authorization"), None);
    assert!(!format!("{asked:?}").contains("hf_secret"));
    // Another port of the same host is another server too.
    assert_eq!(asked[0].range(), Some((10, 999)));
}

#[test]
fn redirections_end() {
    let server = serving(bytes(10), |asked, _| {
        Reply::new(302, "").with("location", format!("{}x", asked.path))
    });
    let error = read(&hub(&server, &[]), 0, 1).unwrap_err();
    says(&error, &["127.0.0.1 redirects more than 5 times"]);
    assert_eq!(server.asked().len(), 1 + 6);
}

#[test]
fn mirrors_may_have_a_path() {
    let files = Files::from([("UD-Q2_K/m-UD-Q2_K.gguf", bytes(100))]);
    let server = Server::start(move |asked| answer(asked, &files));
    let endpoint = format!("{}/repository/hf/", server.url());
    let hub = hub(&server, &[("HF_ENDPOINT", &endpoint)]);
    assert_eq!(read(&hub, 0, 100).unwrap(), bytes(100));
    let paths: Vec<String> = server.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(
        paths,
        [
            "/repository/hf/api/models/o/r/revision/main?blobs=true".to_owned(),
            format!("/repository/hf/o/r/resolve/{COMMIT}/UD-Q2_K/m-UD-Q2_K.gguf")
        ]
    );
}

#[test]
fn sizes_may_come_in_pages() {
    let server = Server::start(|asked| {
        if asked.path.contains("/revision/") {
            let siblings = "[{\"rfilename\":\"a-Q4_0.gguf\"},{\"rfilename\":\"b-Q8_0.gguf\"}]";
            return Reply::new(
                200,
                format!("{{\"sha\":\"{COMMIT}\",\"siblings\":{siblings}}}"),
            );
        }
        assert!(
            asked
                .path
                .starts_with(&format!("/api/models/o/r/tree/{COMMIT}?recursive=true"))
        );
        if asked.path.contains("cursor=abc%3D") {
            Reply::new(
                200,
                "[{\"type\":\"file\",\"path\":\"b-Q8_0.gguf\",\"size\":135,\"lfs\":{\"size\":2000}}]",
            )
        } else {
            let link = "<https://huggingface.co/api/models/o/r/tree/x?recursive=true&cursor=abc%3D>; rel=\"next\"";
            let file = "[{\"type\":\"directory\",\"path\":\"d\"},{\"type\":\"file\",\"path\":\"a-Q4_0.gguf\",\"size\":1000}]";
            Reply::new(200, file).with("link", link)
        }
    });
    let listing = list_of(&hub(&server, &[]), "o/r@refs/pr/1").unwrap();
    assert_eq!(
        server.asked()[0].path,
        "/api/models/o/r/revision/refs%2Fpr%2F1?blobs=true"
    );
    let found: Vec<_> = listing
        .models()
        .map(|choice| (choice.label.as_str(), choice.bytes))
        .collect();
    assert_eq!(found, [("Q4_0", 1000), ("Q8_0", 2000)]);
    // A plan holds the commit, so that it means the same tomorrow.
    let reference = listing.reference(listing.find(Some("q8_0")).unwrap());
    assert_eq!(reference.repo.as_deref(), Some("o/r"));
    assert_eq!(reference.file.as_deref(), Some("b-Q8_0.gguf"));
    assert_eq!(reference.revision.as_deref(), Some(COMMIT));
    says(
        &listing.find(None).unwrap_err(),
        &["several models", "Q4_0, Q8_0"],
    );
    says(
        &listing.find(Some("Q5_K_M")).unwrap_err(),
        &["has no Q5_K_M", "Q4_0, Q8_0"],
    );
}

/// A quantization of two files, or of a projector alone, is told apart from one that is not there.
#[test]
fn a_name_that_means_none_or_several_says_so() {
    let files = Files::from([
        ("a-Q4_K_M.gguf", bytes(100)),
        ("b-Q4_K_M.gguf", bytes(200)),
        ("a-Q8_0.gguf", bytes(300)),
        ("mmproj-F16.gguf", bytes(50)),
    ]);
    let server = Server::start(move |asked| answer(asked, &files));
    let listing = list_of(&hub(&server, &[]), "o/r").unwrap();
    let several = listing.find(Some("q4_k_m")).unwrap_err();
    says(
        &several,
        &["2 files of q4_k_m", "name one of them: a-Q4_K_M, b-Q4_K_M"],
    );
    let beside = listing.find(Some("F16")).unwrap_err();
    says(&beside, &["no model of F16, only mmproj-F16.gguf"]);
    assert!(listing.find(Some("mmproj-F16.gguf")).is_ok());
    assert!(listing.find(Some("b-Q4_K_M")).is_ok());
}

#[test]
fn a_proxy_is_used_where_the_environment_names_one() {
    let files = Files::from([("m-Q4_0.gguf", bytes(100))]);
    let proxy = Server::start(move |asked| match asked.method.as_str() {
        "CONNECT" => Reply::new(200, ""),
        _ => answer(asked, &files),
    });
    let url = proxy.url();
    let through = [
        ("HF_ENDPOINT", "http://hub.invalid"),
        ("http_proxy", url.as_str()),
    ];
    assert_eq!(read(&hub(&proxy, &through), 0, 9).unwrap(), bytes(9));
    let asked = proxy.asked();
    assert_eq!(asked[0].method, "CONNECT");
    assert_eq!(asked[0].path, "hub.invalid:80");

    let refusing = Server::start(|_| Reply::new(407, "who are you"));
    let url = refusing.url();
    let refused = [
        ("HF_ENDPOINT", "http://hub.invalid"),
        ("ALL_PROXY", url.as_str()),
        ("HF_TOKEN", "hf_secret"),
    ];
    let error = list(&hub(&refusing, &refused)).unwrap_err();
    says(
        &error,
        &[
            "the proxy of ALL_PROXY would not connect to hub.invalid",
            "NO_PROXY",
        ],
    );
    assert!(!format!("{:?}", refusing.asked()).contains("hf_secret"));

    // A host of NO_PROXY is reached without it.
    let direct = serving(bytes(100), Reply::part);
    let aside = [
        ("HTTP_PROXY", url.as_str()),
        ("NO_PROXY", "127.0.0.1,localhost"),
    ];
    assert!(list(&hub(&direct, &aside)).is_ok());
    assert_eq!(refusing.asked().len(), 1);
}

#[test]
fn cancelling_takes_no_time() {
    let (tell, stalls) = channel();
    let tell = std::sync::Mutex::new(tell);
    let server = Server::start(move |_| {
        tell.lock().unwrap().send(()).unwrap();
        let mut reply = Reply::new(200, "{");
        reply.length = Some(1000);
        reply.then = Then::Stall;
        reply
    });
    let mut settings = super::settings(&server, &[]);
    settings.waits.silence = Duration::from_secs(4);
    let hub = plimsoll::source::hub::Hub::new(settings, None);
    let cancel = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let quiet = |_: Progress<'_>| {};
            let error = hub
                .list(&"o/r".parse().unwrap(), &Watch::new(&cancel, &quiet))
                .unwrap_err();
            (error, Instant::now())
        });
        stalls.recv().unwrap();
        let since = Instant::now();
        cancel.store(true, Ordering::Relaxed);
        let (error, ended) = waiting.join().unwrap();
        assert_eq!(error.to_string(), "cancelled");
        let waited = ended.saturating_duration_since(since);
        assert!(waited < Duration::from_millis(200), "{waited:?}");
    });
}

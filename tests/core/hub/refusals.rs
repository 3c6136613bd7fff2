//! What a server or the network refuses, in words that say what to do.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::server::{Reply, Server, Then};
use super::{COMMIT, hub, list, list_of, read, says, serving};

/// Listing from a server that always answers so says this.
fn check(reply: Reply, variables: &[(&str, &str)], parts: &[&str]) {
    let server = Server::start(move |_| reply.clone());
    let error = list(&hub(&server, variables)).unwrap_err();
    says(&error, parts);
    assert!(!error.to_string().contains("hf_secret"), "{error}");
}

const TOKEN: [(&str, &str); 1] = [("HF_TOKEN", "hf_secret")];

#[test]
fn a_token_may_be_missing_or_wrong() {
    let unauthorized = || Reply::new(401, "{\"error\":\"Invalid username or password.\"}");
    check(
        unauthorized(),
        &[("HF_HOME", "/nowhere")],
        &["without a token", "HF_TOKEN", "/nowhere/token", "o/r"],
    );
    check(
        unauthorized(),
        &TOKEN,
        &["does not accept the token of HF_TOKEN", "o/r"],
    );
    // The hub says so of repositories that are not there.
    let missing = || unauthorized().with("x-error-code", "RepoNotFound");
    check(missing(), &[], &["private, or there is no such repository"]);
    check(
        missing(),
        &TOKEN,
        &[
            "has no repository o/r",
            "whether the token's account may see it",
        ],
    );
}

#[test]
fn a_licence_is_to_be_accepted() {
    let server = Server::start(|_| Reply::new(403, "").with("x-error-code", "GatedRepo"));
    let page = format!("accept its licence on {}/o/r", server.url());
    let error = list(&hub(&server, &TOKEN)).unwrap_err();
    says(
        &error,
        &["o/r is gated", &page, "that of HF_TOKEN was used"],
    );
    check(
        Reply::new(401, "").with("x-error-code", "GatedRepo"),
        &[],
        &["gated", "none was found in HF_TOKEN"],
    );
    check(
        Reply::new(403, ""),
        &TOKEN,
        &["refuses access to o/r (403)"],
    );
}

#[test]
fn what_is_not_there_is_named() {
    check(
        Reply::new(404, ""),
        &[],
        &[
            "has no repository o/r",
            "a private repository needs a token",
        ],
    );
    let server = Server::start(|_| Reply::new(404, "").with("x-error-code", "RevisionNotFound"));
    let error = list_of(&hub(&server, &[]), "o/r@v9").unwrap_err();
    says(&error, &["has no repository o/r at v9"]);
}

#[test]
fn a_busy_server_says_when_to_come_back() {
    check(
        Reply::new(429, "").with("retry-after", "37"),
        &[],
        &["(429)", "try again in 37 s", "HF_TOKEN"],
    );
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    check(
        Reply::new(429, "").with("retry-after", date),
        &TOKEN,
        &[&format!("try again after {date}")],
    );
    check(Reply::new(429, ""), &[], &["in a few minutes"]);
    check(Reply::new(503, ""), &[], &["trouble of its own (503)"]);
    check(
        Reply::new(418, ""),
        &[],
        &["answered 418", "repository o/r"],
    );
}

#[test]
fn files_are_refused_as_lists_are() {
    let server = serving(vec![0; 10], |_, _| {
        Reply::new(403, "").with("x-error-code", "GatedRepo")
    });
    says(&read(&hub(&server, &[]), 0, 1).unwrap_err(), &["gated"]);
    let server = serving(vec![0; 10], |_, _| Reply::new(404, ""));
    says(
        &read(&hub(&server, &[]), 0, 1).unwrap_err(),
        &["has no m-Q4_0.gguf of o/r"],
    );
    let server = serving(vec![0; 10], |_, _| Reply::new(401, ""));
    says(
        &read(&hub(&server, &TOKEN), 0, 1).unwrap_err(),
        &["does not accept the token of HF_TOKEN", "o/r"],
    );
    let server = serving(vec![0; 10], |_, _| {
        Reply::new(429, "").with("retry-after", "7")
    });
    says(
        &read(&hub(&server, &TOKEN), 0, 1).unwrap_err(),
        &["(429)", "try again in 7 s"],
    );
}

#[test]
fn what_is_no_list_is_not_read_as_one() {
    let page =
        Reply::new(200, "<!doctype html><title>Welcome</title>").with("content-type", "text/html");
    check(page, &[], &["a web page", "repository o/r"]);
    check(Reply::new(200, " <html>"), &[], &["a web page"]);
    check(Reply::new(200, "{\"sha\":"), &[], &["something else (EOF"]);
    check(Reply::new(200, "[]"), &[], &["something else"]);
    check(Reply::new(200, "{\"siblings\":[]}"), &[], &["no commit"]);
    check(
        Reply::new(200, "{\"sha\":\"../../x\",\"siblings\":[]}"),
        &[],
        &["no commit"],
    );
    check(
        Reply::new(200, "[".repeat(1 << 20)),
        &[],
        &["something else"],
    );
    check(
        Reply::new(200, "\u{1f}\u{8}").with("content-encoding", "gzip"),
        &[],
        &["something compressed (gzip)", "repository o/r"],
    );
    let mut huge = Reply::new(200, "{");
    huge.length = Some(10 << 30);
    check(huge, &[], &["larger than the 33554432 bytes"]);
    let mut endless = Reply::new(200, vec![b' '; 1 << 20]);
    endless.then = Then::Repeat;
    check(endless, &[], &["larger than the 33554432 bytes"]);
    let mut cut = Reply::new(200, "{\"sha\":");
    cut.length = Some(1000);
    check(cut, &[], &["broke off after 7 of 1000 bytes"]);
}

#[test]
fn names_that_lead_elsewhere_are_no_files() {
    let names = [
        "../../etc/passwd.gguf",
        "/x.gguf",
        "a//b.gguf",
        "a\\\\b.gguf",
        "\\u001b[2J.gguf",
        "good-Q4_0.gguf",
    ];
    let siblings: Vec<String> = names
        .iter()
        .map(|name| format!("{{\"rfilename\":\"{name}\",\"size\":1}}"))
        .collect();
    let answer = format!(
        "{{\"sha\":\"{COMMIT}\",\"siblings\":[{}]}}",
        siblings.join(",")
    );
    let server = Server::start(move |_| Reply::new(200, answer.clone()));
    let listing = list(&hub(&server, &[])).unwrap();
    let names: Vec<_> = listing
        .files
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    assert_eq!(names, ["good-Q4_0.gguf"]);
}

#[test]
fn the_network_is_left_alone_where_it_is_forbidden() {
    let server = Server::start(|_| Reply::new(500, ""));
    for variable in ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"] {
        let error = list(&hub(&server, &[(variable, "1")])).unwrap_err();
        says(&error, &[variable, "unset it"]);
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_network_that_is_not_there_is_explained() {
    let server = Server::start(|_| Reply::new(500, ""));
    // A port where nobody listens any more.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let closed = format!("http://127.0.0.1:{port}");
    let error = list(&hub(&server, &[("HF_ENDPOINT", &closed)])).unwrap_err();
    says(
        &error,
        &[
            "could not connect to 127.0.0.1 (Connection refused)",
            "HTTPS_PROXY",
        ],
    );
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    // Accepted by the system, and never answered.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::start(|_| Reply::new(500, ""));
    let since = Instant::now();
    let error = list(&hub(&server, &[("HF_ENDPOINT", &silent)])).unwrap_err();
    says(&error, &["127.0.0.1 did not answer within 1 s"]);
    assert!(
        since.elapsed() < Duration::from_secs(4),
        "{:?}",
        since.elapsed()
    );
}

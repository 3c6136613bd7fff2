//! Servers that do not do what they say, when asked for parts of files.

use std::time::{Duration, Instant};

use super::server::{Asked, Reply, Then};
use super::{Hub, bytes, hub, read, says, serving, settings};

const SIZE: usize = 3_000_000;

/// Reading a thousand bytes from this server fails and says why.
fn refused(change: impl Fn(&Asked, &[u8]) -> Reply + Send + Sync + 'static, parts: &[&str]) {
    let server = serving(bytes(SIZE), change);
    let since = Instant::now();
    let error = read(&hub(&server, &[]), 1_000_000, 1000).unwrap_err();
    says(&error, parts);
    assert!(since.elapsed() < Duration::from_secs(4), "{error}");
}

fn ranged(file: &[u8], range: &str) -> Reply {
    Reply::new(206, &file[..1000]).with("content-range", range)
}

#[test]
fn whole_files_are_read_no_further_than_needed() {
    let server = serving(bytes(SIZE), |_, file| Reply::new(200, file));
    let read = |offset, count| read(&hub(&server, &[]), offset, count).unwrap();
    assert!(read(1_000_000, 1000) == bytes(SIZE)[1_000_000..1_001_000]);
    assert!(read(SIZE as u64 - 10, 1000) == bytes(SIZE)[SIZE - 10..]);
}

#[test]
fn a_body_without_end_is_left_early() {
    let server = serving(bytes(SIZE), |_, _| {
        let mut reply = Reply::new(200, vec![7; 100_000]);
        reply.then = Then::Repeat;
        reply
    });
    assert!(read(&hub(&server, &[]), 1_000_000, 1000).unwrap() == [7; 1000]);
    // What the buffers of two sockets hold may be on the way.
    assert!(server.sent() < 30 << 20, "{} bytes", server.sent());
}

#[test]
fn a_far_place_is_not_waited_for() {
    let size = 70 << 20;
    let server = serving(vec![1; size], |_, file| Reply::new(200, file));
    let error = read(&hub(&server, &[]), size as u64 - 1, 1).unwrap_err();
    says(&error, &["sends the whole file", "m-Q4_0.gguf of o/r"]);
}

#[test]
fn other_parts_than_asked_for_are_refused() {
    for (range, reason) in [
        (
            "bytes 0-999/3000000",
            "bytes 0 to 999 instead of 1000000 to",
        ),
        (
            "bytes 1000000-2999999/3000000",
            "instead of 1000000 to 1524287",
        ),
        ("bytes 1000000-999999/3000000", "instead of"),
        (
            "bytes 1000000-1000999/4000000",
            "4000000 bytes, and the repository lists it with 3000000",
        ),
        ("bytes */3000000", "does not say which part"),
        ("items 1-2/3", "does not say which part"),
        (
            "bytes 1000000-99999999999999999999/3000000",
            "does not say which part",
        ),
    ] {
        refused(
            move |_, file| ranged(file, range),
            &[reason, "m-Q4_0.gguf of o/r"],
        );
    }
    refused(
        |_, file| Reply::new(206, &file[..10]),
        &["does not say which part"],
    );
    refused(|_, _| Reply::new(416, ""), &["there is no byte 1000000"]);
    refused(
        |asked, file| Reply::part(asked, file).with("content-encoding", "gzip"),
        &["compressed (gzip)"],
    );
}

#[test]
fn parts_may_be_smaller_than_asked_for() {
    let server = serving(bytes(SIZE), |asked, file| {
        let (first, _) = asked.range().unwrap();
        let last = first + 399;
        Reply::new(206, &file[first..=last])
            .with("content-range", format!("bytes {first}-{last}/*"))
    });
    let read = read(&hub(&server, &[]), 1_000_000, 1000).unwrap();
    assert!(read == bytes(SIZE)[1_000_000..1_001_000]);
    assert_eq!(server.asked().len(), 1 + 3);
}

#[test]
fn lengths_that_lie_are_noticed() {
    // Shorter than the part that is promised.
    refused(
        |asked, file| {
            let mut reply = Reply::part(asked, file);
            reply.length = Some(100);
            reply
        },
        &["broke off after 100 of 524288 bytes of m-Q4_0.gguf of o/r; try again"],
    );
    // Longer than what comes.
    refused(
        |asked, file| {
            let mut reply = Reply::part(asked, file);
            reply.body.truncate(5000);
            reply.length = Some(524_288);
            reply
        },
        &["broke off after 5000 of 524288 bytes"],
    );
    // Longer than the part that is promised: that much is not waited for.
    let server = serving(bytes(SIZE), |asked, file| {
        let mut reply = Reply::part(asked, file);
        reply.length = Some(u64::MAX / 2);
        reply.then = Then::Stall;
        reply
    });
    assert!(
        read(&hub(&server, &[]), 1_000_000, 1000).unwrap() == bytes(SIZE)[1_000_000..1_001_000]
    );
    // Another size than the list says.
    refused(
        |_, _| Reply::new(200, vec![0; 10]),
        &["the file has 10 bytes"],
    );
}

#[test]
fn silence_and_dripping_end() {
    refused(
        |asked, file| {
            let mut reply = Reply::part(asked, file);
            reply.body.truncate(500);
            reply.length = Some(524_288);
            reply.then = Then::Stall;
            reply
        },
        &["127.0.0.1 did not answer within 1 s"],
    );
    // Never silent for long, and never done.
    let server = serving(bytes(SIZE), |asked, file| {
        let mut reply = Reply::part(asked, file);
        reply.then = Then::Drip;
        reply
    });
    let mut settings = settings(&server, &[]);
    settings.waits.total = Duration::from_millis(1500);
    let since = Instant::now();
    let error = read(&Hub::new(settings, None), 1_000_000, 1000).unwrap_err();
    says(&error, &["127.0.0.1 did not send everything"]);
    assert!(since.elapsed() < Duration::from_secs(4), "{error}");
}

#[test]
fn a_login_page_is_no_file() {
    refused(
        |_, _| {
            Reply::new(200, "<html>log in</html>").with("content-type", "text/html; charset=utf-8")
        },
        &["a web page", "login page"],
    );
}

//! Folders, links and servers that lie: an answer or a reason, in bounded time and memory, measured on the real binary.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::hostile::{architecture, gguf, measured, measured_with, refused, sparse, text};
use super::hub::COMMIT;
use super::hub::server::{Asked, Reply, Server, Then};
use crate::process::{code, err, folder, out};

const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 512}"#;

/// A folder whose weights are of no use opens by its configuration, and says why in a sentence that steers no terminal.
fn told(folder: &Path, what: &str, reason: &str) {
    let home = crate::process::folder();
    let path = folder.to_str().expect("a text");
    let call = measured(&["inspect", path, "--json"], home.path());
    call.is_bounded(what);
    assert_eq!(code(&call.output), 0, "{what}: {}", err(&call.output));
    let told: Value = serde_json::from_str(&out(&call.output)).expect("JSON");
    let field = |name: &str| told.get(name).cloned().unwrap_or_default();
    assert_eq!(field("certainty"), "assumed", "{what}: {told}");
    let sentences = field("assumptions").to_string();
    assert!(sentences.contains(reason), "{what}: {sentences}");
    let list = field("assumptions");
    let list = list.as_array().expect("a list");
    let steers = |sentence: &Value| {
        sentence
            .as_str()
            .expect("a text")
            .contains(char::is_control)
    };
    assert!(!list.iter().any(steers), "{what}: {sentences}");
}

/// A folder with a sound configuration and another file, which is as large as this.
fn with(name: &str, bytes: &[u8], size: u64) -> tempfile::TempDir {
    let folder = folder();
    fs::write(folder.path().join("config.json"), CONFIG).expect("written");
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("written");
    let file = File::options().append(true).open(path).expect("there");
    file.set_len(size.max(bytes.len() as u64))
        .expect("a sparse file");
    folder
}

#[test]
fn safetensors_headers_that_lie_are_told() {
    let header = |length: u64, text: &str| [&length.to_le_bytes(), text.as_bytes()].concat();
    let framed = |text: &str| header(text.len() as u64, text);
    let deep = "[".repeat(1 << 20);
    let shape = r#"{"a":{"dtype":"F32","shape":[18446744073709551615,4],"data_offsets":[0,16]}}"#;
    let over = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}"#;
    let steering = r#"{"\u001b[2J\u0000":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#;
    let unsound = "is no sound safetensors file";
    for (what, bytes, size, reason) in [
        ("2^60", header(1 << 60, "{"), 10 << 30, "claims a header of"),
        (
            "2^64",
            header(u64::MAX, "{"),
            10 << 30,
            "claims a header of",
        ),
        (
            "beyond the file",
            header(30 << 20, "{"),
            1 << 20,
            "the download is not complete",
        ),
        ("zeros", header(30 << 20, "{"), 10 << 30, unsound),
        ("deep", framed(&format!("{{\"a\":{deep}")), 2 << 20, unsound),
        ("shape", framed(shape), 0, "overflow"),
        ("overlapping", framed(over), 0, "invalid offset"),
        ("steering", framed(steering), 0, "control characters"),
    ] {
        let folder = with("model.safetensors", &bytes, size);
        told(folder.path(), what, reason);
    }
}

#[test]
fn indexes_that_lead_elsewhere_are_told() {
    let index = "model.safetensors.index.json";
    for file in [
        "../../../../../../etc/passwd",
        "/etc/passwd",
        "/dev/zero",
        "..",
        "a\u{0}b",
        "\u{1b}[31m",
    ] {
        let map = json!({"weight_map": {"a": file}}).to_string();
        let folder = with(index, map.as_bytes(), 0);
        told(folder.path(), file, "which is no file of the folder");
    }
    let folder = with(index, br#"{"weight_map": {"a": "a.safetensors"}}"#, 0);
    symlink("/dev/zero", folder.path().join("a.safetensors")).expect("linked");
    told(folder.path(), "a device", "a.safetensors");
    let folder = with(index, b"{", 10 << 30);
    told(folder.path(), "ten gigabytes", "is larger than");
    let folder = with(index, &b"{\"weight_map\":".repeat(1 << 18), 0);
    told(folder.path(), "deep", "is not sound JSON");
}

#[test]
fn gguf_lists_and_texts_without_end_are_refused() {
    let folder = folder();
    let huge = (1_u64 << 60).to_le_bytes();
    let key = |name: &str, kind: u32, value: &[&[u8]]| {
        [text(name), kind.to_le_bytes().to_vec(), value.concat()].concat()
    };
    let list = |kind: u32, count: u64| [&kind.to_le_bytes()[..], &count.to_le_bytes()].concat();
    let nested = list(9, 1).repeat(10_000);
    let many = 1_u64 << 36;
    let cases = [
        ("long text", key("x", 8, &[&huge]), 1_u64 << 20, ""),
        (
            "list of lists",
            key("x", 9, &[&list(9, 1 << 60)]),
            1 << 20,
            "a list of lists",
        ),
        (
            "lists in lists",
            key("x", 9, &[&nested]),
            1 << 20,
            "a list of lists",
        ),
        // Zeros to the end of the disk: empty words, one after the other.
        (
            "words",
            key("tokenizer.ggml.tokens", 9, &[&list(8, many)]),
            1 << 40,
            "the header is larger",
        ),
        (
            "texts",
            key("x", 9, &[&list(8, many)]),
            1 << 40,
            "the header is larger",
        ),
        (
            "numbers",
            key("x", 9, &[&list(4, 1 << 37)]),
            1 << 40,
            "the header is larger",
        ),
    ];
    for (name, bytes, size, reason) in cases {
        let path = folder.path().join(format!("{name}.gguf"));
        fs::write(&path, gguf(0, 2, &[&architecture(), &bytes])).expect("written");
        let file = File::options().append(true).open(&path).expect("there");
        file.set_len(size).expect("a sparse file");
        refused(&path, reason);
    }
}

#[test]
fn links_that_lead_back_to_themselves_are_refused() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let circle = "leads back to itself";
    symlink("b.gguf", at("a.gguf")).expect("linked");
    symlink("a.gguf", at("b.gguf")).expect("linked");
    refused(&at("a.gguf"), circle);
    symlink("loop", at("loop")).expect("linked");
    refused(&at("loop"), circle);
    fs::create_dir(at("model")).expect("made");
    symlink("config.json", at("model/config.json")).expect("linked");
    refused(&at("model"), circle);
    // Neither a pipe nor a device is waited for.
    fs::create_dir(at("pipe")).expect("made");
    let made = Command::new("mkfifo").arg(at("pipe/config.json")).status();
    assert!(made.is_ok_and(|status| status.success()));
    refused(&at("pipe"), "config.json");
    symlink("/dev/zero", at("zero.gguf")).expect("linked");
    refused(&at("zero.gguf"), "");
    sparse(&at("plain/model.txt"));
    refused(&at("plain"), "");
}

/// A hub whose list has one file, larger than any disk, and which sends zeros for as long as anybody listens.
fn endless(asked: &Asked) -> Reply {
    if asked.path.contains("/revision/") {
        let files = json!([{"rfilename": "m-Q4_0.gguf", "size": 1_u64 << 50}]);
        return Reply::new(200, json!({"sha": COMMIT, "siblings": files}).to_string());
    }
    let Some((first, last)) = asked.range() else {
        return Reply::new(404, "");
    };
    // A vocabulary of empty words.
    let words = [&8_u32.to_le_bytes()[..], &(1_u64 << 40).to_le_bytes()].concat();
    let vocabulary = [
        text("tokenizer.ggml.tokens"),
        9_u32.to_le_bytes().to_vec(),
        words,
    ]
    .concat();
    let header = gguf(0, 2, &[&architecture(), &vocabulary]);
    let held = header.get(first..).unwrap_or_default();
    let mut body = vec![0; last - first + 1];
    for (to, from) in body.iter_mut().zip(held) {
        *to = *from;
    }
    let range = format!("bytes {first}-{last}/{}", 1_u64 << 50);
    Reply::new(206, body).with("content-range", range)
}

#[test]
fn servers_that_never_end_are_left() {
    let check = |what: &str, answer: fn(&Asked) -> Reply, name: &str, reason: &str| {
        let server = Server::start(answer);
        let home = folder();
        let url = server.url();
        let variables = [("HF_ENDPOINT", url.as_str()), ("NO_PROXY", "127.0.0.1")];
        let call = measured_with(&variables, &["inspect", name], home.path());
        call.is_refused(what, reason);
    };
    let spaces = |_: &Asked| {
        let mut reply = Reply::new(200, vec![b' '; 1 << 20]);
        reply.then = Then::Repeat;
        reply
    };
    check("a list of spaces", spaces, "o/r", "larger than");
    let huge = |_: &Asked| {
        let mut reply = Reply::new(200, "{");
        reply.length = Some(10 << 30);
        reply
    };
    check("a list of ten gigabytes", huge, "o/r", "larger than");
    let deep = |_: &Asked| Reply::new(200, "[".repeat(16 << 20));
    check("a deep list", deep, "o/r", "something else");
    let many = |_: &Asked| {
        let name = "\"rfilename\":\"\\u001b[2J.gguf\"";
        let sibling = format!("{{{name},\"size\":1}},");
        let siblings = sibling.repeat(500_000);
        Reply::new(
            200,
            format!("{{\"sha\":\"{COMMIT}\",\"siblings\":[{siblings}{{}}]}}"),
        )
    };
    check("half a million names", many, "o/r", "");
    let back = |asked: &Asked| Reply::new(302, "").with("location", asked.path.as_str());
    check(
        "a redirection to itself",
        back,
        "o/r",
        "redirects more than 5 times",
    );
    check("a file without end", endless, "o/r", "larger than");
}

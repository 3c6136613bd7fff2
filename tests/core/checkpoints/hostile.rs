//! Files made to do harm: refused with a reason, in bounded time and memory.

use std::time::{Duration, Instant};

use plimsoll::source::checkpoint;
use proptest::prelude::{ProptestConfig, any};
use proptest::{prop_assert, proptest};
use serde_json::{Map, json};

use super::folders::{config, open, tensors};
use super::synthetic::{Folder, Sparse, framed, safetensors};

/// What is said of a file of weights with this header, for which this many bytes follow.
fn said(header: &str, behind: u64) -> String {
    said_of(framed(header.as_bytes(), behind))
}

fn said_of(file: Sparse) -> String {
    let folder = Folder::default()
        .with_json("config.json", &config())
        .with("model.safetensors", file);
    let model = open(&folder);
    assert!(model.checkpoint.is_none(), "{:?}", model.checkpoint);
    assert!(
        folder.bytes_read() < 64 << 20,
        "{} bytes read",
        folder.bytes_read()
    );
    let sentence = model.assumptions.join("; ");
    sentence
        .rsplit_once("configuration: ")
        .unwrap()
        .1
        .to_owned()
}

#[test]
fn headers_that_lie_are_refused() {
    let info = |shape: &str, offsets: &str| {
        format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    assert!(
        said(&info("[1]", "[0,8]"), 8).contains("invalid shape, data type, or offset"),
        "a size of its own"
    );
    assert!(
        said(&info("[2]", "[4,12]"), 12).contains("invalid offset for tensor `a`"),
        "a hole"
    );
    assert!(
        said(&info("[2]", "[8,0]"), 8).contains("invalid offset"),
        "backwards"
    );
    assert!(
        said(&info("[-2]", "[0,8]"), 8).contains("is no sound safetensors file"),
        "negative"
    );
    let huge = u64::MAX.to_string();
    assert!(
        said(&info(&format!("[{huge},{huge}]"), "[0,8]"), 8).contains("overflow"),
        "huge"
    );
    assert!(
        said(&info("[2]", &format!("[0,{huge}]")), 8).contains("invalid shape"),
        "huge offset"
    );
    assert!(
        said(&info("[281474976710656]", "[0,1125899906842624]"), 8).contains("holds"),
        "beyond the file"
    );
    let twice = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}"#;
    assert!(
        said(twice, 6).contains("invalid offset for tensor `b`"),
        "overlapping"
    );
    let named = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}"#;
    assert!(
        said(named, 8).contains("it has the tensor `a` twice"),
        "the same name twice"
    );
    let newer = r#"{"a":{"dtype":"F3_E1M1","shape":[8],"data_offsets":[3,0]}}"#;
    assert!(said(newer, 3).contains("invalid offset"), "backwards");
    let newer = r#"{"a":{"dtype":"F3_E1M1","shape":[8],"data_offsets":[0,300]}}"#;
    assert!(said(newer, 3).contains("holds"), "beyond the file");
    assert_eq!(
        said("{}", 5),
        "`model.safetensors` has 5 bytes behind its last tensor."
    );
    let name = r#"{"\u001b[2Jmodel\u0000":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#;
    assert_eq!(
        said(name, 4),
        "`model.safetensors` has a tensor with control characters in its name, `\\u{1b}[2Jmodel\\u{0}`."
    );
}

#[test]
fn lengths_are_not_believed() {
    let mut first = (1_u64 << 60).to_le_bytes().to_vec();
    first.push(b'{');
    let started = Instant::now();
    let claims = said_of(Sparse {
        first: first.clone(),
        size: 1 << 62,
    });
    assert!(
        claims.contains("claims a header of 1152921504606846976 bytes"),
        "{claims}"
    );
    first.splice(..8, (30_u64 << 20).to_le_bytes());
    let short = said_of(Sparse {
        first: first.clone(),
        size: 9,
    });
    assert_eq!(
        short,
        "`model.safetensors` holds 9 of 31457288 bytes: the download is not complete."
    );
    // Zeros are no JSON.
    let zeros = said_of(Sparse {
        first,
        size: 1 << 40,
    });
    assert!(zeros.contains("is no sound safetensors file"), "{zeros}");
    let deep = said(&format!("{{\"a\":{}", "[".repeat(1 << 20)), 0);
    assert!(deep.contains("is no sound safetensors file"), "{deep}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn configurations_of_any_size_and_depth_are_refused_soon() {
    let refused = |folder: &Folder| {
        checkpoint::model(folder, "m", &Map::new())
            .unwrap_err()
            .to_string()
    };
    let started = Instant::now();
    let huge = Folder::default().with(
        "config.json",
        Sparse {
            first: b"{".to_vec(),
            size: 10 << 30,
        },
    );
    assert_eq!(
        refused(&huge),
        "`config.json` is larger than 16.0 MiB, the most that is read"
    );
    assert_eq!(huge.bytes_read(), 0);
    let deep = Folder::default().with_text("config.json", "[".repeat(10 << 20));
    assert!(
        refused(&deep)
            .starts_with("`config.json` is not sound JSON: it is nested more than 127 deep"),
        "{}",
        refused(&deep)
    );
    let deep = Folder::default().with_text("config.json", r#"{"a":"#.repeat(1 << 20));
    assert!(
        refused(&deep).contains("nested more than 127 deep"),
        "{}",
        refused(&deep)
    );
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn indexes_lead_nowhere_else() {
    let of = |file: &str| {
        let map = json!({"weight_map": {"a": file}});
        let folder = Folder::default()
            .with_json("config.json", &config())
            .with_json("model.safetensors.index.json", &map);
        let model = open(&folder);
        model
            .assumptions
            .join("; ")
            .rsplit_once("configuration: ")
            .unwrap()
            .1
            .to_owned()
    };
    for (file, shown) in [
        ("../other/model.safetensors", "../other/model.safetensors"),
        ("/etc/passwd", "/etc/passwd"),
        ("C:\\model.safetensors", "C:\\model.safetensors"),
        ("a\u{0}b", "a\\u{0}b"),
        ("\u{1b}]0;x\u{7}", "\\u{1b}]0;x\\u{7}"),
        ("", ""),
        (".", "."),
    ] {
        assert_eq!(
            of(file),
            format!(
                "`model.safetensors.index.json` names `{shown}`, which is no file of the folder."
            )
        );
    }
    assert_eq!(
        of("b.safetensors"),
        "`b.safetensors` is missing: the download is not complete."
    );
}

#[test]
fn indexes_of_ten_million_tensors_take_little_memory() {
    use std::fmt::Write as _;
    let indexed = |entries: u32, files: u32| {
        let mut text = String::from("{\"weight_map\":{");
        for entry in 0..entries {
            let comma = if entry == 0 { "" } else { "," };
            write!(text, "{comma}\"{entry}\":\"f{}\"", entry % files).unwrap();
        }
        text.push_str("}}");
        let folder = Folder::default()
            .with_json("config.json", &config())
            .with_text("model.safetensors.index.json", text);
        open(&folder).assumptions.join("; ")
    };
    let started = Instant::now();
    let many = indexed(10_000_000, 2);
    assert!(
        many.contains("`model.safetensors.index.json` is larger than 64.0 MiB"),
        "{many}"
    );
    let fewer = indexed(4_000_000, 2);
    assert!(fewer.contains("`f0` is missing"), "{fewer}");
    let files = indexed(100_000, 100_000);
    assert!(files.contains("it names too many files"), "{files}");
    assert!(
        started.elapsed() < Duration::from_mins(1),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn the_same_tensor_in_two_files_is_refused() {
    let folder = Folder::default()
        .with_json("config.json", &config())
        .with("model-00001-of-00002.safetensors", safetensors(&tensors()))
        .with("model-00002-of-00002.safetensors", safetensors(&tensors()));
    let said = open(&folder).assumptions.join("; ");
    assert!(
        said.contains("the tensor `model.embed_tokens.weight` is there twice"),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn links_in_a_circle_end() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    symlink(at("config.json"), at("config.json")).unwrap();
    let read = || {
        let reference = plimsoll::plan::ModelRef {
            path: Some(folder.path().display().to_string()),
            ..Default::default()
        };
        plimsoll::source::model(
            &reference,
            &plimsoll::catalog::models::ModelCatalog::default(),
        )
    };
    assert!(
        read().unwrap_err().to_string().contains("config.json"),
        "{}",
        read().unwrap_err()
    );
    std::fs::remove_file(at("config.json")).unwrap();
    std::fs::write(at("config.json"), config().to_string()).unwrap();
    symlink(at("b.safetensors"), at("a.safetensors")).unwrap();
    symlink(at("a.safetensors"), at("b.safetensors")).unwrap();
    symlink(folder.path(), at("model.safetensors")).unwrap();
    let model = read().unwrap();
    assert!(model.checkpoint.is_none());
    let said = model.assumptions.join(" ");
    assert!(said.contains("a link that leads back to itself"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_never_panic(at in 0_usize..2000, byte in any::<u8>(), cut in 0_u64..40_000) {
        let mut file = safetensors(&tensors());
        let place = at % file.first.len();
        file.first[place] = byte;
        file.size = file.size.saturating_sub(cut / 20_000 * cut);
        let folder = Folder::default().with_json("config.json", &config()).with("model.safetensors", file);
        let model = open(&folder);
        prop_assert!(model.checkpoint.is_some() || !model.assumptions.is_empty());
    }
}

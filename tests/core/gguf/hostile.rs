//! Files that are wrong, by accident or on purpose.

use std::time::{Duration, Instant};

use plimsoll::source::gguf;
use serde_json::json;

use super::file::{Folder, Sparse, Writer};

fn read(file: Sparse) -> Result<gguf::Gguf, String> {
    gguf::read(&Folder::of("m.gguf", file), "m.gguf").map_err(|error| error.to_string())
}

fn said(file: Sparse) -> String {
    read(file).expect_err("an error")
}

/// A header of claims, in a file that says to be large.
fn claims(tensors: u64, keys: u64, rest: &[u8], size: u64) -> Sparse {
    let mut file = Writer::new().file();
    file.header = b"GGUF\x03\0\0\0".to_vec();
    file.header.extend(tensors.to_le_bytes());
    file.header.extend(keys.to_le_bytes());
    file.header.extend(rest);
    file.size = size.max(file.header.len() as u64);
    file
}

#[test]
fn claims_are_refused_before_anything_is_made_of_them() {
    let key = |rest: &[u8]| {
        let mut bytes = 1_u64.to_le_bytes().to_vec();
        bytes.extend(b"k");
        bytes.extend(rest);
        bytes
    };
    let list = |kind: u32, count: u64| {
        let mut bytes = 9_u32.to_le_bytes().to_vec();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        key(&bytes)
    };
    let text = |length: u64| {
        let mut bytes = 8_u32.to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        key(&bytes)
    };
    let most = 1 << 60;
    let began = Instant::now();
    for size in [0, 1 << 20, 1 << 40, u64::MAX] {
        for file in [
            claims(most, 0, &[], size),
            claims(u64::MAX, 0, &[], size),
            claims(1 << 19, 0, &[], size),
            claims(0, most, &[], size),
            claims(0, 1 << 15, &[], size),
            claims(0, 1, &list(8, most), size),
            claims(0, 1, &list(8, 1 << 36), size),
            claims(0, 1, &list(4, most), size),
            claims(0, 1, &list(4, 1 << 34), size),
            claims(0, 1, &list(9, 1), size),
            claims(0, 1, &list(99, 1), size),
            claims(0, 1, &text(most), size),
            claims(0, 1, &most.to_le_bytes(), size),
            claims(1, 0, &most.to_le_bytes(), size),
        ] {
            let read = file.read.clone();
            let error = gguf::read(&Folder::of("m.gguf", file), "m.gguf");
            assert!(error.is_err());
            // No more than the most that a header may have, whatever is claimed.
            assert!(read.get() <= 257 << 20);
        }
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

fn model() -> Writer {
    let mut writer = Writer::new();
    writer.key("general.architecture", &json!("llama"));
    writer
}

#[test]
fn names_that_would_not_show_as_themselves_are_refused_and_shown_escaped() {
    for name in [
        b"a\0b".as_slice(),
        b"\x1b[31mred",
        b"",
        b"\xff\xfe",
        "\u{202e}gnp.exe".as_bytes(),
        "zero\u{200b}width".as_bytes(),
        &[b'x'; 200],
    ] {
        let mut writer = model();
        writer.raw_tensor(name, &[1], 0, 0);
        let mut file = writer.file();
        file.size += 64;
        let said = said(file);
        assert!(said.contains("has no usable name"), "{said}");
        assert!(said.chars().all(|letter| !letter.is_control()), "{said:?}");
    }
    let mut writer = Writer::new();
    writer.raw_key("bad\u{7}key", 7, &[1]);
    assert!(said(writer.file()).contains("bad\\u{7}key"));
}

#[test]
fn texts_lose_what_would_not_show() {
    let mut writer = model();
    writer.key("general.name", &json!("\u{1b}[2Jnice\u{0}\u{202e} name"));
    let file = read(writer.file()).expect("a file");
    assert_eq!(file.metadata.text("general.name"), Some("[2Jnice name"));
}

#[test]
fn tensors_that_cannot_be_are_refused() {
    type Spoil<'a> = &'a dyn Fn(&mut Writer);
    let cases: [(&str, Spoil<'_>); 9] = [
        ("two tensors have the name", &|w| {
            w.tensor("a", &[8], 0, 32).tensor("a", &[8], 0, 32);
        }),
        ("lie over each other", &|w| {
            w.tensor("a", &[64], 0, 256).raw_tensor(b"b", &[8], 0, 32);
        }),
        ("lie over each other", &|w| {
            w.tensor("a", &[64], 0, 256).raw_tensor(b"b", &[8], 0, 0);
        }),
        ("no multiple of the alignment", &|w| {
            w.tensor("a", &[8], 0, 32).raw_tensor(b"b", &[1], 0, 36);
        }),
        ("no whole number of q4_K blocks", &|w| {
            w.tensor("a", &[100], 12, 64);
        }),
        ("5 dimensions", &|w| {
            w.tensor("a", &[1, 1, 1, 1, 1], 0, 32);
        }),
        ("more elements than can be", &|w| {
            w.tensor("a", &[1 << 40, 1 << 40], 0, 32);
        }),
        ("the download is not complete", &|w| {
            w.raw_tensor(b"a", &[8], 0, 1 << 40);
        }),
        ("the download is not complete", &|w| {
            w.raw_tensor(b"a", &[1 << 40], 0, 0);
        }),
    ];
    for (reason, write) in cases {
        let mut writer = model();
        write(&mut writer);
        let said = said(writer.file());
        assert!(said.contains(reason), "{said} should say: {reason}");
    }
}

#[test]
fn keys_are_checked() {
    let mut twice = model();
    twice.key("general.architecture", &json!("qwen3"));
    assert!(said(twice.file()).contains("two keys have the name `general.architecture`"));
    let mut kind = model();
    kind.raw_key("k", 77, &[0; 8]);
    assert!(said(kind.file()).contains("of kind 77"));
    let mut nested = model();
    nested.raw_key("k", 9, &[9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    nested.tensor("a", &[8], 0, 32);
    assert!(said(nested.file()).contains("the value of `k` is a list of lists"));
    for alignment in [0, 3, 100] {
        let mut writer = model();
        writer.key("general.alignment", &json!(alignment));
        writer.tensor("a", &[8], 0, 32);
        assert!(said(writer.file()).contains("must be a power of two"));
    }
}

#[test]
fn other_alignments_and_version_2_are_read() {
    let mut writer = model();
    (writer.version, writer.alignment) = (2, 4096);
    writer.key("general.alignment", &json!(4096));
    writer
        .tensor("a", &[8], 0, 32)
        .tensor("b", &[256, 4], 12, 576);
    let file = read(writer.file()).expect("a file");
    assert_eq!(file.checkpoint.bytes.get(), 32 + 576);
}

#[test]
fn a_file_cut_anywhere_says_so() {
    let mut writer = model();
    writer.key("tokenizer.ggml.tokens", &json!(["a", "b", "c"]));
    writer
        .tensor("a", &[8], 0, 32)
        .tensor("b", &[256, 4], 12, 576);
    let whole = writer.file();
    let header = whole.header.len() as u64;
    assert!(read(whole.clone()).is_ok());
    for size in 4..whole.size {
        let mut cut = whole.clone();
        cut.size = size;
        let said = said(cut);
        // Counts are checked against the size first.
        let cut = said.contains("the download is not complete") || said.contains("at most");
        assert!(cut, "{size}: {said}");
        assert!(
            size < header || said.contains(&format!("after {size} of {} bytes", whole.size)),
            "{said}"
        );
    }
    let mut piece = whole.clone();
    piece.size -= 1;
    let folder = Folder::of("m.gguf.part1of2", piece);
    let said = gguf::read(&folder, "m.gguf.part1of2")
        .expect_err("cut")
        .to_string();
    assert!(said.contains("must be joined"), "{said}");
}

#[test]
fn types_of_tomorrow_are_sized_by_their_neighbours() {
    let mut writer = model();
    writer
        .tensor("a", &[256, 2], 777, 300)
        .tensor("b", &[8], 0, 32)
        .tensor("c", &[256, 2], 777, 300);
    let mut file = writer.file();
    // The last tensor ends with the file.
    file.size -= 20;
    let file = read(file).expect("a file");
    let sizes: Vec<u64> = file
        .checkpoint
        .tensors
        .iter()
        .map(|t| t.bytes.get())
        .collect();
    assert_eq!(sizes, [320, 32, 300]);
    assert_eq!(file.checkpoint.tensors[0].type_name, "type 777");
    assert_eq!(file.assumptions.len(), 1);
    assert!(file.assumptions[0].contains("2 tensors are of type 777"));
}

#[test]
fn no_more_is_read_than_the_header_and_a_buffer() {
    let mut writer = model();
    let tokens: Vec<String> = (0..150_000).map(|token| format!("token{token}")).collect();
    writer.key("tokenizer.ggml.tokens", &json!(tokens));
    writer.key("tokenizer.ggml.token_type", &json!(vec![1; 150_000]));
    for tensor in 0..1000 {
        writer.tensor(
            &format!("blk.{tensor}.attn_q.weight"),
            &[4096, 4096],
            12,
            9_437_184,
        );
    }
    let file = writer.file();
    let header = file.header.len() as u64;
    let folder = Folder::of("m.gguf", file);
    let opened = gguf::read(&folder, "m.gguf").expect("a file");
    let read = folder.0["m.gguf"].read.get();
    // Lists of numbers of one size are not even read.
    assert!(read <= header + (128 << 10), "{read} of {header}");
    assert!(read + 400_000 < header, "{read} of {header}");
    assert_eq!(
        opened.metadata.elements("tokenizer.ggml.tokens"),
        Some(150_000)
    );
    assert_eq!(
        opened.metadata.elements("tokenizer.ggml.token_type"),
        Some(150_000)
    );
    assert!(opened.metadata.get("tokenizer.ggml.tokens").is_none());
}

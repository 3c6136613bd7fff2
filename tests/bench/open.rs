//! Opening a model file from a warm cache: the header of 1,000 tensors and a vocabulary of 150,000 tokens with scores,
//! types and merges, at most 30 ms. `tests/bench/open.py` measures the Python package `gguf` beside it.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a bench that cannot go on should say where"
)]

#[path = "../core/gguf/file.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod file;

use std::path::{Path, PathBuf};

use divan::Bencher;
use plimsoll::source::gguf;
use serde_json::json;

use file::Writer;

fn main() {
    divan::main();
}

const TOKENS: usize = 150_000;

/// A model of 111 layers of nine tensors, its data left out.
fn write(path: &Path) {
    let mut writer = Writer::new();
    writer
        .key("general.architecture", &json!("llama"))
        .key("llama.block_count", &json!(111))
        .key("llama.embedding_length", &json!(4096))
        .key("llama.context_length", &json!(131_072))
        .key("llama.feed_forward_length", &json!(14336))
        .key("llama.attention.head_count", &json!(32))
        .key("llama.attention.head_count_kv", &json!(8));
    let token = |number: usize| format!("tok{number}");
    let merge = |number: usize| format!("t{} k{number}", number / 7);
    writer
        .key("tokenizer.ggml.tokens", &(0..TOKENS).map(token).collect())
        .key("tokenizer.ggml.scores", &json!(vec![-0.5; TOKENS]))
        .key("tokenizer.ggml.token_type", &json!(vec![1; TOKENS]))
        .key("tokenizer.ggml.merges", &(0..TOKENS).map(merge).collect());
    writer.tensor(
        "token_embd.weight",
        &[4096, TOKENS as u64],
        12,
        576 * TOKENS as u64 * 4,
    );
    for block in 0..111 {
        for part in ["attn_norm", "ffn_norm"] {
            writer.tensor(&format!("blk.{block}.{part}.weight"), &[4096], 0, 16384);
        }
        for (part, rows) in [("q", 4096_u64), ("k", 1024), ("v", 1024), ("output", 4096)] {
            let name = format!("blk.{block}.attn_{part}.weight");
            writer.tensor(&name, &[4096, rows], 12, 2304 * rows);
        }
        for part in ["gate", "up"] {
            let name = format!("blk.{block}.ffn_{part}.weight");
            writer.tensor(&name, &[4096, 14336], 12, 2304 * 14336);
        }
        let name = format!("blk.{block}.ffn_down.weight");
        writer.tensor(&name, &[14336, 4096], 12, 8064 * 4096);
    }
    let sparse = writer.file();
    std::fs::write(path, &sparse.header).expect("written");
    let file = std::fs::File::options().write(true).open(path);
    file.and_then(|file| file.set_len(sparse.size))
        .expect("its size");
}

/// The file that is named by `GGUF`, or one made for the occasion.
fn path(folder: &tempfile::TempDir) -> PathBuf {
    if let Some(path) = std::env::var_os("GGUF") {
        return path.into();
    }
    let path = folder.path().join("model.gguf");
    write(&path);
    path
}

#[divan::bench]
fn header(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    bencher.bench(|| gguf::open(&path).expect("a file"));
}

#[divan::bench]
fn model(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let none = serde_json::Map::new();
    bencher.bench(|| {
        gguf::open(&path)
            .expect("a file")
            .model(&none)
            .expect("a model")
    });
}

//! What fuzzing found, each input through the target that found it (tests/fuzz).

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Every input of a folder of tests/data/hostile is answered, quickly and without a panic.
fn check(folder: &str, target: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/hostile")
        .join(folder);
    let mut inputs: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    for path in inputs {
        let input = fs::read(&path).unwrap();
        let start = Instant::now();
        target(&input);
        // The fuzzer's own limit, on a busy machine.
        let time = start.elapsed();
        assert!(
            time < Duration::from_secs(10),
            "{} took {time:?}",
            path.display()
        );
    }
}

#[test]
fn gguf_files_are_answered() {
    check("gguf", crate::fuzz::gguf);
}

#[test]
fn checkpoints_are_answered() {
    check("checkpoint", crate::fuzz::checkpoint);
}

#[test]
fn plans_are_answered() {
    check("plan", |input| {
        crate::fuzz::plan(&String::from_utf8_lossy(input));
    });
}

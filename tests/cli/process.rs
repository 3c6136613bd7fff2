//! Runs the binary.

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub(crate) const PLAN: &str = r#"schema = 1
engine = "llama.cpp"
[model]
preset = "DeepSeek-R1-Distill-Qwen-32B"
[machine]
ram_mib = 65536
gpus = [ { name = "NVIDIA GeForce RTX 4090", in_use_mib = 600 } ]
[settings]
weights = "Q4_K_M"
ctx_size = 8192
parallel = 1
n_gpu_layers = "all"
[launch]
model_path = "/models/a model.gguf"
"#;

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env("HOME", std::env::temp_dir());
    command
}

pub(crate) fn plimsoll(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary runs")
}

/// Runs with a plan on standard input.
pub(crate) fn with_plan(plan: &str, arguments: &[&str]) -> Output {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    match stdin.write_all(plan.as_bytes()) {
        // A program that refuses its arguments ends without reading; what it answers is still asserted.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.expect("it reads"),
    }
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

pub(crate) fn saved(folder: &tempfile::TempDir, plan: &str) -> PathBuf {
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, plan).expect("written");
    path
}

//! Files that were made to do harm: a reason, in bounded time and memory, measured on the real binary.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::process::{PLAN, err, folder, out};

/// Most address space that the program gets, in KiB: what it takes without using it, stacks of
/// threads above all, counts too.
const ADDRESS_SPACE: u64 = 1 << 20;
/// Most memory that it may use, in KiB. It uses a tenth with the catalogues read.
const MEMORY: u64 = 200 << 10;
/// Most time of a processor that it may take, not optimized. It takes a tenth.
const TIME: Duration = Duration::from_secs(10);
/// Most time that it may take on a machine that others keep busy too.
const PATIENCE: Duration = Duration::from_mins(2);

/// What a call cost.
pub(super) struct Measured {
    pub(super) output: Output,
    /// Of a processor.
    time: Duration,
    /// Most memory seen in use, in KiB.
    peak: u64,
}

/// Runs the program with little room, and watches what it takes.
pub(super) fn measured(arguments: &[&str], home: &Path) -> Measured {
    measured_with(&[], arguments, home)
}

/// The same with these variables in its environment.
pub(super) fn measured_with(
    variables: &[(&str, &str)],
    arguments: &[&str],
    home: &Path,
) -> Measured {
    let limited = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"");
    let start = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_plimsoll")])
        .args(arguments)
        .env("HOME", home)
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CACHE_HOME")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let (mut peak, mut time) = (0, Duration::ZERO);
    while child.try_wait().expect("it is ours").is_none() {
        peak = peak.max(high_water(&process).unwrap_or(0));
        time = time.max(processor_time(&process).unwrap_or_default());
        if start.elapsed() > PATIENCE {
            child.kill().expect("it is ours");
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Measured {
        time,
        output: child.wait_with_output().expect("it ended"),
        peak,
    }
}

fn high_water(process: &Path) -> Option<u64> {
    let text = fs::read_to_string(process.join("status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// What its threads took so far, in the program and in the system for it: fields 14 and 15 of `stat`, in hundredths of a
/// second (`proc_pid_stat(5)`).
fn processor_time(process: &Path) -> Option<Duration> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    // The name of the program, the second field, may have spaces.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut hundredths = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (hundredths()? + hundredths()?)))
}

impl Measured {
    pub(super) fn is_bounded(&self, what: &str) {
        assert!(self.time < TIME, "{what} took {:?}", self.time);
        assert!(self.peak < MEMORY, "{what} took {} KiB", self.peak);
    }

    /// Refused with one line that steers no terminal and says this.
    pub(super) fn is_refused(&self, what: &str, reason: &str) {
        self.is_bounded(what);
        let complaint = err(&self.output);
        let code = self.output.status.code();
        assert!(matches!(code, Some(2 | 3)), "{what}: {code:?} {complaint}");
        assert!(complaint.contains(reason), "{what}: {complaint}");
        assert_eq!(
            complaint.trim_end().lines().count(),
            1,
            "{what}: {complaint}"
        );
        let steers = |letter: char| letter.is_control() && letter != '\n';
        assert!(!complaint.contains(steers), "{what}: {complaint:?}");
    }
}

/// Opens a file or folder by `inspect` and by a plan; both refuse it.
pub(super) fn refused(path: &Path, reason: &str) {
    let home = folder();
    let what = path.file_name().expect("a name").to_string_lossy();
    let path = path.to_str().expect("a text");
    measured(&["inspect", path], home.path()).is_refused(&what, reason);
    let plan = home.path().join("plan.toml");
    let text = PLAN.replace("DeepSeek-R1-Distill-Qwen-32B", path);
    fs::write(&plan, text.replace("preset =", "path =")).expect("written");
    let plan = plan.to_str().expect("a text");
    measured(&["project", plan], home.path()).is_refused(&what, reason);
}

/// The beginning of a GGUF file of so many tensors and keys, the first key with it.
pub(super) fn gguf(tensors: u64, keys: u64, rest: &[&[u8]]) -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(tensors.to_le_bytes());
    bytes.extend(keys.to_le_bytes());
    bytes.extend(rest.concat());
    bytes
}

pub(super) fn text(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

/// The key that every file has.
pub(super) fn architecture() -> Vec<u8> {
    [
        text("general.architecture"),
        vec![8, 0, 0, 0],
        text("llama"),
    ]
    .concat()
}

fn tensor(name: &str, shape: &[u64], offset: u64) -> Vec<u8> {
    let mut bytes = text(name);
    bytes.extend((shape.len() as u32).to_le_bytes());
    bytes.extend(shape.iter().flat_map(|extent| extent.to_le_bytes()));
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes
}

#[test]
fn gguf_files_that_claim_too_much_are_refused() {
    let folder = folder();
    let huge = 1_u64 << 60;
    let long = huge.to_le_bytes();
    let list = [text("x"), vec![9, 0, 0, 0, 8, 0, 0, 0], long.to_vec()].concat();
    let tensors = |first: &[u64], second: u64| {
        let tensors = [
            tensor("a.weight", first, 0),
            tensor("b.weight", &[64], second),
        ];
        gguf(2, 1, &[&architecture(), &tensors.concat()])
    };
    let cases = [
        ("tensors", gguf(huge, 1, &[&architecture()]), "claims"),
        ("keys", gguf(0, huge, &[&architecture()]), "claims"),
        ("all of them", gguf(u64::MAX, u64::MAX, &[]), "claims"),
        ("long name", gguf(0, 1, &[&long, b"x"]), ""),
        ("long list", gguf(0, 2, &[&architecture(), &list]), ""),
        ("overlap", tensors(&[64], 32), ""),
        ("far away", tensors(&[64], huge), ""),
        ("product", tensors(&[1 << 40, 1 << 40], 0), ""),
        (
            "steering name",
            gguf(1, 1, &[&architecture(), &tensor("\u{1b}[31m\0x", &[8], 0)]),
            "name",
        ),
    ];
    for (name, bytes, reason) in cases {
        let path = folder.path().join(format!("{name}.gguf"));
        fs::write(&path, bytes).expect("written");
        // Large enough that only the header's own claims can be wrong, and no larger than a file can be.
        let file = File::options().append(true).open(&path).expect("there");
        file.set_len(1 << 20).expect("a sparse file");
        refused(&path, reason);
    }
}

/// A file of ten gigabytes that takes none.
pub(super) fn sparse(path: &Path) -> PathBuf {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let file = File::create(path).expect("made");
    file.set_len(10 << 30).expect("a sparse file");
    path.to_owned()
}

#[test]
fn configurations_that_are_no_configurations_are_refused() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).join("config.json");
    let write = |name: &str, text: &str| {
        let path = path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
        folder.path().join(name)
    };
    sparse(&path("large"));
    refused(&folder.path().join("large"), "larger than");
    refused(&write("deep", &"[".repeat(1 << 20)), "nested more than");
    let deep = format!(
        "{}{}",
        "{\"text_config\":".repeat(1 << 16),
        "}".repeat(1 << 16)
    );
    refused(&write("deep objects", &deep), "");
    let many = r#"{"model_type": "llama", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 1152921504606846976,
        "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 512}"#;
    refused(&write("many", many), "`num_hidden_layers` is");
    refused(
        &write("steering", "{\"model_type\": \"\\u001b[31m\\u0000\"}"),
        "",
    );
}

#[test]
fn plans_and_presets_of_ten_gigabytes_are_refused() {
    let home = folder();
    let plan = sparse(&home.path().join("plan.toml"));
    let plan = plan.to_str().expect("a text");
    measured(&["project", plan], home.path()).is_refused("plan", "larger than");

    sparse(&home.path().join(".local/share/plimsoll/presets/large.toml"));
    let list = measured(&["models", "qwen3-8b"], home.path());
    list.is_bounded("presets");
    assert_eq!(list.output.status.code(), Some(0));
    assert!(
        err(&list.output).contains("larger than"),
        "{}",
        err(&list.output)
    );
}

#[test]
fn libraries_that_were_made_to_do_harm_are_listed_with_reasons() {
    let home = folder();
    let models = home.path().join("models");
    let inner = models.join("a/b");
    fs::create_dir_all(&inner).expect("made");
    for (target, name) in [("..", "up"), (".", "self"), ("../../a", "again")] {
        symlink(target, inner.join(name)).expect("linked");
    }
    symlink("nowhere", models.join("gone.gguf")).expect("linked");
    fs::write(models.join("claim.gguf"), gguf(1 << 60, 1 << 60, &[])).expect("written");
    fs::write(models.join("\u{1b}[31m\u{202e}.gguf"), "GGUF").expect("written");
    sparse(&models.join("hub/models--a--b/refs/main"));
    sparse(&models.join("ollama/manifests/registry.ollama.ai/library/x/y"));
    fs::create_dir_all(models.join("ollama/blobs")).expect("made");
    sparse(&models.join("checkpoint/config.json"));
    fs::write(models.join("checkpoint/model.safetensors"), "x").expect("written");
    let arguments = ["models", "--folder", models.to_str().expect("a text")];
    let list = measured(&arguments, home.path());
    list.is_bounded("library");
    assert_eq!(list.output.status.code(), Some(0), "{}", err(&list.output));
    let complaints = err(&list.output);
    for reason in ["is a link to nowhere", "claims", "larger than"] {
        assert!(complaints.contains(reason), "{reason}: {complaints}");
    }
    let steers = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
    for text in [complaints, out(&list.output)] {
        assert!(!text.contains(steers), "{text:?}");
    }
}

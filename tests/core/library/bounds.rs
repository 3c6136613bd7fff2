//! Scans end, can be ended, and change nothing.

use std::fs;
use std::ops::ControlFlow;
use std::time::Instant;

use plimsoll::source::library::{self, Progress};

use super::Computer;

#[cfg(unix)]
#[test]
fn links_in_a_circle_are_walked_once() {
    let mut computer = Computer::linux();
    computer.add("models");
    computer.gguf("models/a/m.gguf");
    computer.link("..", "models/a/up");
    computer.link("loop", "models/loop");
    computer.link(".", "models/self");
    let root = computer.folder.path().to_str().unwrap().to_owned();
    computer.link(&root, "models/a/everything");
    assert_eq!(computer.titles(), ["m - Folder models/a/m.gguf"]);
}

#[test]
fn deep_folders_end_somewhere() {
    let mut computer = Computer::linux();
    computer.add("models");
    computer.gguf(&format!("models/{}m.gguf", "x/".repeat(60)));
    assert_eq!(computer.titles(), Vec::<String>::new());
}

#[test]
fn models_appear_while_the_scan_runs_and_it_can_be_ended() {
    let mut computer = Computer::linux();
    computer.add("models");
    for number in 0..10 {
        computer.gguf(&format!("models/{number}/m{number}.gguf"));
    }
    let mut heard = Vec::new();
    let library = library::scan(&computer.places, &computer.folders, &mut |progress| {
        if let Progress::Found(at, model) = progress {
            heard.push((at, model.title.clone()));
            if heard.len() == 3 {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    assert!(library.stopped);
    assert_eq!(library.models.len(), 3);
    assert_eq!(heard[2], (2, "m2".to_owned()));
}

/// Who may read everything (root) is not refused anything.
#[cfg(unix)]
#[test]
fn folders_that_may_not_be_read_are_listed() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut computer = Computer::linux();
    computer.add("models");
    computer.gguf("models/closed/m.gguf");
    computer.gguf("models/open/n.gguf");
    let closed = computer.path("models/closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let library = computer.scan();
    let readable = fs::read_dir(&closed).is_ok();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let refused: Vec<_> = library
        .broken
        .iter()
        .map(|broken| broken.reason.as_str())
        .collect();
    if readable {
        assert_eq!((library.models.len(), refused.len()), (2, 0));
    } else {
        assert_eq!(library.models.len(), 1);
        assert_eq!(refused, ["it may not be read by this user"]);
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_and_pipes_are_passed_by() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let mut computer = Computer::linux();
    computer.add("models");
    let name = OsStr::from_bytes(b"models/\xff\x1b[31m.gguf");
    fs::create_dir(computer.path("models")).unwrap();
    fs::write(computer.folder.path().join(name), "GGUF").unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(computer.path("models/pipe.gguf"))
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    let complaints = computer.complaints();
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].ends_with("its name is not text, so no plan can name it"));
}

/// Ten thousand files of which one is a model; sizes, not contents, are asked for.
#[test]
fn a_folder_of_many_files_is_quick() {
    let mut computer = Computer::linux();
    computer.add("models");
    for folder in 0..20 {
        fs::create_dir_all(computer.path(&format!("models/{folder}"))).unwrap();
        for file in 0..500 {
            fs::write(computer.path(&format!("models/{folder}/{file}.txt")), "").unwrap();
        }
    }
    computer.gguf("models/7/m.gguf");
    let start = Instant::now();
    assert_eq!(computer.titles().len(), 1);
    // Measured at a tenth of this on a busy machine.
    assert!(start.elapsed().as_secs_f64() < 5.0, "{:?}", start.elapsed());
}

#[test]
fn a_scan_leaves_everything_as_it_was() {
    let mut computer = Computer::linux();
    computer.add("models");
    let file = computer.gguf("models/m.gguf");
    computer.write("models/config.json", "{}");
    computer.write("models/model.safetensors", "x");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    computer.scan();
    let mut names: Vec<_> = fs::read_dir(computer.path("models"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["config.json", "m.gguf", "model.safetensors"]);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_dir(computer.path("home")).unwrap().count(), 0);
}

//! Saving and reading: whole or not at all, and a sentence that says what stood in the way.

use std::fs;
use std::path::Path;

use plimsoll::export::File;
use plimsoll::store::{self, Error, Folders, Overwrite};

fn file(name: &str, text: &str, executable: bool) -> File {
    File {
        name: name.to_owned(),
        text: text.to_owned(),
        executable,
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn never_replaces_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    store::save(&path, "first", Overwrite::Refuse).unwrap();
    let error = store::save(&path, "second", Overwrite::Refuse).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("a file of this name is already there: {}", path.display())
    );
    assert_eq!(store::read(&path, 100).unwrap(), "first");
    store::save(&path, "second", Overwrite::Replace).unwrap();
    assert_eq!(store::read(&path, 100).unwrap(), "second");
    assert_eq!(names(folder.path()), ["plan.toml"]);
}

#[test]
fn says_what_stands_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let blocker = folder.path().join("file");
    store::save(&blocker, "", Overwrite::Refuse).unwrap();
    let check = |path: &Path, expected: &str| {
        let error = store::save(path, "text", Overwrite::Replace).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    check(folder.path(), "this is a folder, not a file: ");
    check(
        &folder.path().join("none/a.sh"),
        "there is no such folder: ",
    );
    check(&blocker.join("a.sh"), "there is no such folder: ");
    check(Path::new(""), "this is no file name: ");
    check(&folder.path().join("x".repeat(300)), "could not write (");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn reads_up_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "12345").unwrap();
    assert_eq!(store::read(&path, 5).unwrap(), "12345");
    assert!(matches!(
        store::read(&path, 4),
        Err(Error::TooLarge { limit: 4, .. })
    ));
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(matches!(store::read(&path, 5), Err(Error::NotText { .. })));
    assert!(matches!(
        store::read(folder.path(), 5),
        Err(Error::IsFolder { .. })
    ));
    let missing = store::read(&folder.path().join("b"), 5).unwrap_err();
    assert!(
        missing.to_string().starts_with("could not read ("),
        "{missing}"
    );
}

#[test]
fn a_set_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new/place");
    let files = [file("a.sh", "a", true), file("b.json", "b", false)];
    store::save_exports(&target, &files, Overwrite::Refuse).unwrap();
    fs::remove_file(target.join("a.sh")).unwrap();
    let error = store::save_exports(&target, &files, Overwrite::Refuse).unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    assert_eq!(names(&target), ["b.json"]);

    let error = store::save_exports(&target.join("b.json"), &files, Overwrite::Replace);
    assert!(matches!(error, Err(Error::NoFolder { .. })), "{error:?}");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn keeps_permissions_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real.sh");
        let link = folder.path().join("link.sh");
        store::save(&real, "older", Overwrite::Refuse).unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        let script = file("link.sh", "newer", true);
        store::save_export(&link, &script, Overwrite::Replace).unwrap();
        assert!(link.is_symlink());
        assert_eq!(store::read(&real, 100).unwrap(), "newer");
        assert_eq!(mode(&real), 0o750);
        store::save(&real, "newest", Overwrite::Replace).unwrap();
        assert_eq!(mode(&real), 0o750);
    }

    #[test]
    fn a_read_only_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        store::save(&path, "mine", Overwrite::Refuse).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let error = store::save(&path, "yours", Overwrite::Replace).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("this file is marked read-only: "),
            "{error}"
        );
        assert_eq!(store::read(&path, 100).unwrap(), "mine");
    }

    #[test]
    fn a_new_document_is_not_executable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("launch.json");
        store::save(&path, "{}", Overwrite::Refuse).unwrap();
        assert_eq!(mode(&path) & 0o111, 0);
        assert_eq!(mode(&path) & 0o600, 0o600);
    }

    /// Not even root can make a file among processes.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_takes_no_files_says_so() {
        let error = store::save(Path::new("/proc/plan.toml"), "x", Overwrite::Refuse).unwrap_err();
        assert!(
            error.to_string().starts_with("could not write ("),
            "{error}"
        );
    }
}

#[test]
fn folders_bear_the_programs_name() {
    let folders = Folders::of_user().unwrap();
    for path in [
        folders.presets(),
        folders.recent_plans(),
        folders.preferences(),
    ] {
        assert!(path.components().any(|part| part.as_os_str() == "plimsoll"));
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_replaced_by_a_file() {
    use std::os::unix::fs::FileTypeExt as _;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for overwrite in [Overwrite::Refuse, Overwrite::Replace] {
        let error = store::save(&pipe, "text", overwrite).unwrap_err();
        assert!(matches!(error, Error::IsDevice { .. }), "{error}");
    }
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

//! Paths of a plan that is written to another folder than the one it was read from, in words alone.

use std::path::{Component, Path, PathBuf};

/// A path as it is written in a plan of a folder, both absolute.
pub fn counted(path: &Path, folder: &Path) -> String {
    counted_from(&plain(path), &plain(folder))
}

/// Without `.`, and with as few `..` as can be told from the words.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// A path as it is written in a file of a folder; with slashes, which every system reads.
fn counted_from(path: &Path, folder: &Path) -> String {
    let same = path.components().zip(folder.components());
    let same = same.take_while(|(path, folder)| path == folder).count();
    if same == 0 {
        // Another drive.
        return path.to_string_lossy().into_owned();
    }
    let up = folder.components().skip(same).map(|_| "..".to_owned());
    let down = path.components().skip(same);
    let down = down.map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn what_a_plan_names_is_found_from_its_new_folder() {
        for (path, to, expected) in [
            ("/plans/emb.toml", "/plans/sub", "../emb.toml"),
            ("/plans/emb.toml", "/plans", "emb.toml"),
            ("/plans/a/../emb.toml", "/plans/b/c", "../../emb.toml"),
            ("/plans/./x/emb.toml", "/", "plans/x/emb.toml"),
        ] {
            assert_eq!(counted(Path::new(path), Path::new(to)), expected);
        }
    }
}

//! Paths of a plan that is written to another folder than the one it was read from.

use std::path::{Component, Path, PathBuf};

use super::Plan;

impl Plan {
    /// Paths that count from the plan's folder, `from`, counted from another one; both absolute. What is absolute stays, and
    /// so do paths of models, which count from where a program is started.
    pub fn moved(&mut self, from: &Path, to: &Path) {
        for plan in &mut self.beside {
            if !plan.trim().is_empty() && Path::new(plan.as_str()).is_relative() {
                *plan = counted_from(&plain(&from.join(&*plan)), &plain(to));
            }
        }
    }
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
    fn neighbours_are_found_from_the_new_folder() {
        for (written, from, to, expected) in [
            ("emb.toml", "/plans", "/plans/sub", "../emb.toml"),
            ("emb.toml", "/plans", "/plans", "emb.toml"),
            ("../emb.toml", "/plans/a", "/plans/b/c", "../../emb.toml"),
            ("./x/emb.toml", "/plans", "/", "plans/x/emb.toml"),
            ("/other/emb.toml", "/plans", "/plans/sub", "/other/emb.toml"),
        ] {
            let mut plan = Plan::from_toml(&format!(
                "beside = [\"{written}\"]\nschema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"x\"\n"
            ))
            .expect("a plan");
            plan.moved(Path::new(from), Path::new(to));
            assert_eq!(plan.beside, [expected], "{written} from {from} to {to}");
        }
    }
}

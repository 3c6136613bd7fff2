//! Where the paths of a plan lead. One rule for all of them: from the plan's own folder, so that a plan can be moved
//! together with what it names.

use std::path::{Path, PathBuf};

use crate::plan::{LaunchOptions, ModelRef, Plan};

/// Where a path of a plan leads that lies in a folder. Earlier versions counted paths of models from where the program
/// was started: where there is something there and nothing in the plan's folder, that is still meant.
pub fn place(path: &str, folder: &Path) -> PathBuf {
    let own = folder.join(path);
    let older = Path::new(path);
    if older.is_relative() && !own.exists() && older.exists() {
        return older.to_owned();
    }
    own
}

/// A model of a plan in this folder, by where its path leads.
pub fn placed(reference: &ModelRef, folder: &Path) -> ModelRef {
    ModelRef {
        path: reference
            .path
            .as_deref()
            .map(|path| place(path, folder).display().to_string()),
        ..reference.clone()
    }
}

/// The files that a plan in this folder loads beside its model, by where their paths lead. Those that are not here are
/// left as they are written: they may be where the launch will run.
pub fn placed_files(options: &LaunchOptions, folder: &Path) -> LaunchOptions {
    let mut options = options.clone();
    for path in files_of(&mut options) {
        let found = place(path, folder);
        if found.exists() {
            *path = found.display().to_string();
        }
    }
    options
}

/// Paths of files that are loaded beside a model.
fn files_of(options: &mut LaunchOptions) -> impl Iterator<Item = &mut String> {
    let LaunchOptions {
        mmproj_path,
        lora_paths,
        control_vector_paths,
        ..
    } = options;
    let lists = lora_paths.iter_mut().chain(control_vector_paths);
    mmproj_path.iter_mut().chain(lists)
}

/// Writes every path of a plan anew that is relative and leads somewhere from `folder`; `write` says how, by where it
/// leads. Plans beside it lead there in any case, since nothing else can be meant.
pub fn rewrite(plan: &mut Plan, folder: &Path, write: impl Fn(&Path) -> String) {
    let anew = |path: &mut String, always: bool| {
        if path.trim().is_empty() || Path::new(path.as_str()).is_absolute() {
            return;
        }
        let found = place(path, folder);
        if always || found.exists() {
            *path = write(&found);
        }
    };
    for path in &mut plan.beside {
        anew(path, true);
    }
    let models = std::iter::once(&mut plan.model).chain(plan.draft.as_mut());
    for path in models.filter_map(|model| model.path.as_mut()) {
        anew(path, true);
    }
    for path in files_of(&mut plan.launch) {
        anew(path, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_from_the_plans_folder() {
        let own = std::env::temp_dir().join(format!("plimsoll-place-{}", std::process::id()));
        std::fs::create_dir_all(&own).expect("a folder");
        std::fs::write(own.join("model.gguf"), "").expect("a file");
        assert_eq!(place("model.gguf", &own), own.join("model.gguf"));
        // Nothing there: the file of this crate is where tests are started.
        assert_eq!(place("Cargo.toml", &own), Path::new("Cargo.toml"));
        // Nothing anywhere: from the plan's folder, so that the reason says where it should be.
        assert_eq!(place("none.gguf", &own), own.join("none.gguf"));
        let absolute = own.join("model.gguf").display().to_string();
        assert_eq!(
            place(&absolute, Path::new("elsewhere")),
            own.join("model.gguf")
        );
        let launch = LaunchOptions {
            mmproj_path: Some("model.gguf".to_owned()),
            lora_paths: vec!["far-away.gguf".to_owned()],
            ..LaunchOptions::default()
        };
        let found = placed_files(&launch, &own);
        assert_eq!(found.mmproj_path, Some(absolute));
        assert_eq!(found.lora_paths, launch.lora_paths);
        std::fs::remove_dir_all(own).ok();
    }
}

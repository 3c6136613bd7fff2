//! Jan: `llamacpp/models/<id>/model.yml` in its data folder, which names the files.
//!
//! Source: janhq/jan `src-tauri/src/core/app/commands.rs` (`resolve_jan_data_folder`: `JAN_DATA_FOLDER`, `data_folder`
//! of `settings.json`, which older versions kept elsewhere (`legacy_app_config_candidate_paths`), or `Jan/data` in the
//! system's folder for data) and `extensions/llamacpp-extension` (paths in
//! `model.yml` are relative to the data folder, or absolute for files that were imported in place).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::{self, Origin, Weights};
use super::scan::{DEPTH, Item, ItemKind, SMALL, Scan};
use super::{Kind, Places, Shelf};
use crate::hardware::Os;
use crate::store;

/// Jan.
pub(super) struct Jan;

impl Shelf for Jan {
    fn name(&self) -> &'static str {
        "Jan"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        if let Some(folder) = places.variable("JAN_DATA_FOLDER") {
            return vec![folder];
        }
        let Some(data) = places.data() else {
            return Vec::new();
        };
        // The first that is there is the one that Jan takes, and moves to the first place.
        let older = (places.os == Os::Linux).then(|| places.xdg("XDG_CONFIG_HOME", ".config"));
        let homes = [
            Some(data.join("Jan")),
            Some(data.join("jan.ai.app")),
            older.flatten().map(|config| config.join("Jan")),
        ];
        let chosen = homes.into_iter().flatten().find_map(|home| chosen(&home));
        vec![chosen.unwrap_or_else(|| data.join("Jan").join("data"))]
    }

    fn read(&self, root: &Path, scan: &mut Scan<'_>) {
        let models = root.join("llamacpp").join("models");
        if models.is_dir() {
            described(root, &models, DEPTH, scan);
        }
        // Before llamacpp-extension; and models for Apple's MLX.
        for older in [root.join("models"), root.join("mlx").join("models")] {
            if older.is_dir() {
                files::walk(&older, &Origin::default(), DEPTH, scan);
            }
        }
    }
}

/// The folder that the user chose in its settings.
fn chosen(home: &Path) -> Option<PathBuf> {
    let text = store::read(&home.join("settings.json"), SMALL).ok()?;
    let settings: Value = serde_json::from_str(&text).ok()?;
    Some(PathBuf::from(settings.get("data_folder")?.as_str()?))
}

/// Reads every `model.yml` below a folder.
fn described(data: &Path, folder: &Path, depth: usize, scan: &mut Scan<'_>) {
    let items = scan.list(folder);
    if let Some(description) = items.iter().find(|item| item.name == "model.yml") {
        describe(data, description, scan);
        return;
    }
    for item in items {
        if item.kind == ItemKind::Folder && depth > 1 {
            described(data, &item.path, depth - 1, scan);
        }
    }
}

fn describe(data: &Path, description: &Item, scan: &mut Scan<'_>) {
    let Some(text) = scan.text(&description.path) else {
        return;
    };
    let Some(path) = field(&text, "model_path") else {
        scan.broken(&description.path, "it names no model file (`model_path`)");
        return;
    };
    let origin = Origin {
        title: field(&text, "name"),
        ..Origin::default()
    };
    let projector = field(&text, "mmproj_path").map(|path| data.join(path));
    let path = data.join(path);
    let weights = Weights::of_file(Kind::Gguf, &path, scan);
    if let Some(weights) = weights {
        weights
            .with_projector(projector.filter(|path| path.is_file()))
            .found(&origin, scan);
    }
}

/// A field at the top of a `model.yml`. Jan writes scalars on one line, quoted only where they must be.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let value = line.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

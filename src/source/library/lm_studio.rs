//! LM Studio: `models/<owner>/<repository>/<file>` in its home.
//!
//! Source: lmstudio-ai/lms `src/modelsFolder.ts` (`downloadsFolder` of `settings.json`), `src/lmstudioPaths.ts`, and
//! `findLMStudioHome` of lmstudio-js: the home is what `~/.lmstudio-home-pointer` says, else the older
//! `~/.cache/lm-studio` where that is there, else `~/.lmstudio`. All of them are looked at, because a home that was
//! moved leaves files behind.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::{self, Origin};
use super::scan::{DEPTH, ItemKind, SMALL, Scan};
use super::{Places, Shelf};
use crate::store;

/// LM Studio.
pub(super) struct LmStudio;

impl Shelf for LmStudio {
    fn name(&self) -> &'static str {
        "LM Studio"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let pointer = places
            .below_home(".lmstudio-home-pointer")
            .and_then(|file| store::read(&file, SMALL).ok())
            .map(|text| PathBuf::from(text.trim()))
            .filter(|home| !home.as_os_str().is_empty());
        let homes = [
            pointer,
            places.below_home(".lmstudio"),
            places.below_home(".cache/lm-studio"),
        ];
        homes
            .into_iter()
            .flatten()
            .flat_map(|home| [chosen(&home), Some(home.join("models"))])
            .flatten()
            .collect()
    }

    fn read(&self, root: &Path, scan: &mut Scan<'_>) {
        for owner in scan.list(root) {
            if owner.kind != ItemKind::Folder {
                continue;
            }
            for repository in scan.list(&owner.path) {
                if repository.kind == ItemKind::Folder {
                    let origin = Origin {
                        repository: Some(format!("{}/{}", owner.name, repository.name)),
                        ..Origin::default()
                    };
                    files::walk(&repository.path, &origin, DEPTH, scan);
                }
            }
        }
    }
}

/// The folder that the user chose in its settings.
fn chosen(home: &Path) -> Option<PathBuf> {
    let text = store::read(&home.join("settings.json"), SMALL).ok()?;
    let settings: Value = serde_json::from_str(&text).ok()?;
    let folder = settings.get("downloadsFolder")?.as_str()?;
    Some(PathBuf::from(folder))
}
